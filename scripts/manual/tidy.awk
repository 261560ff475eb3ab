# The last step of scripts/manual/page: no paragraph macro right behind a heading, nor line of text
# longer than 80 bytes, but a list's tag. Neither changes what is shown; mandoc -T lint asks for both.

/^\.PP$/ && heading { next }
{ heading = /^\.S[HS] / }
/^\.EX/ { verbatim = 1 }
/^\.EE/ { verbatim = 0; $0 = ".EE\n.nh" } # it ends .nh as well
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
