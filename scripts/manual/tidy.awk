# The last step of scripts/manual/page: no paragraph macro right behind a heading, nor line of text
# longer than 80 bytes, but a list's tag. Neither changes what is shown; mandoc -T lint asks for both.
# And no word is broken, nor space put between words to fill a line, since many are code: by the
# requests, and by what macros of groff set these to again.

/^\.PP$/ && heading { next }
{ heading = /^\.S[HS] / }
/^\.EX/ { verbatim = 1 }
/^\.EE/ { verbatim = 0 }
/^\.TH / { print $0 "\n.nh\n.nr HY 0\n.ad l\n.ds AD l"; next }
/^[.']/ || verbatim || tag { tag = /^\.TP/; print; next }
{
    line = $1
    for (i = 2; i <= NF; i++) {
        if (length(line) + length($i) > 78 && $i !~ /^[.']/) {
            print line
            line = $i
        } else {
            line = line " " $i
        }
    }
    print line
}
