# Turns what a program says to --help into the parts of a manual page, in the man(7) macros.
#
#   PROGRAM --help | awk -v part=name|usage|text|exit|examples -f roff.awk -f help.awk
#
# How a help text is read: "PROGRAM - what it is" is its name; "usage:" and what is indented behind
# it the usage; paragraphs that begin with "Exit" and "Example" are what they say, each up to the
# next blank line that no indented line follows; all else is the text. Lines at the margin are
# filled to paragraphs; a short one without a full stop is a heading. Lines indented by two are a
# list, if a description stands behind two spaces or below them, and otherwise code.

# Options and what stands between backquotes in bold.
function prose(s,    out, word) {
    s = roff(s)
    out = ""
    while (match(s, /(^|[ (\/"])--?[A-Za-z][A-Za-z-]*|`[^`]*`/)) {
        out = out substr(s, 1, RSTART - 1)
        word = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        if (word ~ /^[ (\/"]/) {
            out = out substr(word, 1, 1)
            word = substr(word, 2)
        }
        gsub(/`/, "", word)
        gsub(/-/, "\\-", word)
        out = out "\\fB" word "\\fP"
    }
    return out s
}

# What one types: options and commands in bold, what stands for something in italics.
function typed(s,    out, word) {
    s = roff(s)
    out = ""
    while (match(s, /--?[A-Za-z][a-z-]*|[A-Z]+|[a-z]+(-[a-z]+)*/)) {
        word = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1) (word ~ /^[A-Z]|^options$/ ? "\\fI" : "\\fB") word "\\fP"
        s = substr(s, RSTART + RLENGTH)
    }
    s = out s
    gsub(/-/, "\\-", s)
    gsub(/'/, "\\(aq", s)
    return s
}

function put(s) {
    print (s ~ /^[.']/ ? "\\&" : "") s
}

function indent(s) {
    match(s, /^ */)
    return RLENGTH
}

function trimmed(s) {
    gsub(/^ +| +$/, "", s)
    return s
}

# What stands before the description; that is in `rest` then.
function tag_of(s) {
    s = trimmed(s)
    rest = ""
    if (match(s, /  +/)) {
        rest = substr(s, RSTART + RLENGTH)
        s = substr(s, 1, RSTART - 1)
    }
    return s
}

function put_tag(s) {
    print ".TP"
    if (s ~ /^-/ || part == "examples")
        put(typed(s))
    else
        put(s ~ /^[A-Z]+$|^[0-9]/ ? "\\fB" s "\\fP" : prose(s))
}

# A list inside an item: deeper lines "word   description".
function put_inner(from, to,    i) {
    print ".RS"
    for (i = from; i <= to; i++) {
        tag = tag_of(lines[i])
        print ".TP 10"
        put("\\fB" tag "\\fP")
        put(prose(rest))
    }
    print ".RE"
}

# The items of lines[from..to].
function put_list(from, to,    i, column, j) {
    for (i = from; i <= to; i++) {
        put_tag(tag_of(lines[i]))
        column = rest == "" ? indent(lines[i + 1]) : index(lines[i], rest) - 1
        if (rest != "")
            put(prose(rest))
        while (i < to && indent(lines[i + 1]) > 2) {
            i++
            if (indent(lines[i]) > column && trimmed(lines[i]) ~ /^[a-z0-9]+  +/) {
                for (j = i; j < to && indent(lines[j + 1]) > column; j++)
                    ;
                put_inner(i, j)
                i = j
            } else {
                put(prose(trimmed(lines[i])))
            }
        }
    }
}

function put_code(from, to,    i) {
    print ".PP"
    print ".in +4n"
    print ".EX"
    for (i = from; i <= to; i++)
        put(code(substr(lines[i], 3)))
    print ".EE"
    print ".in"
}

# A description stands behind the words, or below them; a line that ends with "\" goes on.
function is_list(from, to,    i) {
    for (i = from; i <= to; i++) {
        if (lines[i] ~ /^  (-|[A-Za-z0-9][^ ]*( [^ ]+)*  )/)
            return 1
        if (indent(lines[i]) > 2 && lines[i - 1] !~ /\\$/)
            return 1
    }
    return 0
}

function is_heading(i) {
    return lines[i] ~ /^[A-Z][a-z ]*$/ && length(lines[i]) < 30 && (i == 1 || lines[i - 1] == "")
}

# Writes lines[from..to], which belong to one part.
function put_lines(from, to,    i, j) {
    for (i = from; i <= to; i = j) {
        for (j = i; j <= to && (lines[j] ~ /^ /) == (lines[i] ~ /^ /) && lines[j] != ""; j++)
            ;
        if (j == i) {
            j++ # blank
        } else if (lines[i] ~ /^ /) {
            if (is_list(i, j - 1))
                put_list(i, j - 1)
            else
                put_code(i, j - 1)
        } else if (is_heading(i)) {
            print ".SS " lines[i]
            j = i + 1
        } else {
            print ".PP"
            for (; i < j; i++)
                put(prose(lines[i]))
        }
    }
}

function put_usage(from, to,    i, s) {
    for (i = from; i <= to; i++) {
        s = lines[i]
        sub(/^usage:/, "", s)
        if (trimmed(s) == "")
            continue
        if (shown++)
            print ".br"
        put(typed(tag_of(s)))
    }
}

# Which part a line begins; "" when it goes on with the one before.
function part_at(i) {
    if (i == 1 && lines[i] ~ /^[a-z-]+ - /)
        return "name"
    if (lines[i] ~ /^usage:/)
        return "usage"
    if (lines[i] ~ /^Exit codes/)
        return "exit"
    if (lines[i] ~ /^Example/)
        return "examples"
    if (lines[i] ~ /^[^ ]/ && (i == 1 || lines[i - 1] == ""))
        return "text"
    return ""
}

function put_part(from, to,    s) {
    while (to > from && lines[to] == "")
        to--
    if (part == "name") {
        s = lines[from]
        sub(/ - /, " \\- ", s)
        put(s)
    } else if (part == "usage") {
        put_usage(from, to)
    } else {
        if (part != "text") {
            sub(/^(Exit codes.*:|Examples)$/, "", lines[from])
            sub(/^Example: /, "  ", lines[from])
            sub(/^Example, /, "", lines[from])
            lines[from] = toupper(substr(lines[from], 1, 1)) substr(lines[from], 2)
        }
        put_lines(from, to)
    }
}

{ lines[NR] = $0 }

END {
    for (i = 1; i <= NR && program == ""; i++) {
        split(lines[i], words, " ")
        program = words[1] == "usage:" ? words[2] : lines[i] ~ /^[a-z-]+ - / ? words[1] : ""
    }
    lines[NR + 1] = ""
    start = 1
    now = part_at(1)
    for (i = 2; i <= NR + 1; i++) {
        next_part = i > NR ? "end" : part_at(i)
        if (next_part != "") {
            if (now == part)
                put_part(start, i - 1)
            start = i
            now = next_part
        }
    }
}
