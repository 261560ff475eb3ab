# Turns a public header into the parts of a manual page, in the man(7) macros.
#
#   awk -v part=name|names|promise|functions -f roff.awk -f header.awk HEADER
#
# How a header is read: its opening comment is "NAME.h - what it is.", then headings, each above
# its indented text; "---- NAME ----" begins a section; a comment at the margin is about the
# declarations right below it, one in a struct or enum about its member. Comments are paragraphs,
# and code where they are indented.

# Functions and constants in bold, as is what stands between backquotes.
function prose(s,    out, word) {
    s = roff(s)
    out = ""
    while (match(s, /dlock_[a-z_]+\(\)|DLOCK_[A-Z_]+|`[^`]*`/)) {
        word = substr(s, RSTART, RLENGTH)
        out = out substr(s, 1, RSTART - 1)
        s = substr(s, RSTART + RLENGTH)
        gsub(/`/, "", word)
        out = out "\\fB" (sub(/\(\)$/, "", word) ? word "\\fP()" : word "\\fP")
    }
    return out s
}

function put(s) {
    print (s ~ /^[.']/ ? "\\&" : "") s
}

function trimmed(s) {
    gsub(/^[ \t]+|[ \t]+$/, "", s)
    return s
}

# Writes a comment's lines: paragraphs, items that begin with "- ", and code, where they are
# indented by so much.
function put_text(text, code_indent,    n, i, lines, verbatim, fresh, deep, item) {
    n = split(text, lines, "\n")
    fresh = 1
    for (i = 1; i <= n; i++) {
        if (trimmed(lines[i]) == "") {
            fresh = 1
            continue
        }
        match(lines[i], /^ */)
        deep = RLENGTH >= code_indent && !(item && !fresh)
        if (deep && !verbatim) {
            print ".PP\n.in +4n\n.EX"
            verbatim = 1
        } else if (verbatim && !deep) {
            print ".EE\n.in"
            verbatim = 0
            fresh = 1
        } else if (verbatim && fresh) {
            print ""
        }
        if (verbatim)
            put(code(substr(lines[i], code_indent + 1)))
        else if (lines[i] ~ /^ *- /) {
            item = 1
            print ".IP \\(bu 2"
            put(prose(substr(trimmed(lines[i]), 3)))
        } else {
            if (fresh) {
                item = 0
                print ".PP"
            }
            put(prose(trimmed(lines[i])))
        }
        fresh = 0
    }
    if (verbatim)
        print ".EE\n.in"
}

# ---- the opening comment ------------------------------------------------------------------------

function put_promise(    i, text) {
    for (i = 3; i < opening_end; i++) {
        sub(/^ \* ?/, "", source[i])
        if (source[i] ~ /^[^ ]/) {
            if (text != "")
                put_text(text, 2)
            print ".SS " source[i]
            text = ""
        } else {
            text = text substr(source[i], 3) "\n"
        }
    }
    put_text(text, 2)
}

# ---- declarations -------------------------------------------------------------------------------

# A comment from line `at` on, without its marks; `after` is the first line behind it.
function comment_at(at, from,    s, text) {
    s = substr(source[at], from)
    while (1) {
        after = at + 1
        sub(/^\/\*/, "", s)
        sub(/^ *\*( |$)/, "", s)
        if (sub(/ *\*\/ *$/, "", s) || s ~ /\*\/$/ || at > NR) {
            sub(/ *\*?\/$/, "", s)
            return text s
        }
        text = text s "\n"
        s = source[++at]
    }
}

# The same, filled: a comment beside code is aligned to its column.
function beside(at, from,    text, n, lines, i) {
    n = split(comment_at(at, from), lines, "\n")
    for (i = 1; i <= n; i++)
        text = text (i > 1 ? "\n" : "") trimmed(lines[i])
    return text
}

# Writes what has been collected: declarations, then what is said about them.
function flush_group() {
    if (group != "" || about != "" || members != "") {
        if (group != "")
            printf ".PP\n.EX\n%s.EE\n", group
        boxed = group != "" && about members != ""
        if (boxed)
            print ".RS 4"
        put_text(about, 4)
        printf "%s", members
        if (boxed)
            print ".RE"
    }
    group = about = members = ""
}

function add_member(name, text,    n, lines, i) {
    sub(/[;,]$/, "", name)
    gsub(/[ \t]+/, " ", name)
    members = members ".TP\n\\fB" code(trimmed(name)) "\\fP\n"
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++)
        members = members (lines[i] ~ /^[.']/ ? "\\&" : "") prose(lines[i]) "\n"
}

# A struct or enum that begins at line i: its members, each with its comment. The line behind it.
function read_members(i,    head, name, text, at, line, nothing) {
    head = source[i]
    sub(/ *\{.*/, "", head)
    sub(/^typedef /, "", head)
    group = group "\\fB" code(head) "\\fP\n"
    name = text = ""
    for (i++; source[i] !~ /^}/ && i <= NR; ) {
        line = source[i]
        at = index(line, "/*")
        if (trimmed(substr(line, 1, at ? at - 1 : length(line))) == "") {
            if (name != "" && name ~ /[;,]$/) {
                add_member(name, text)
                name = text = ""
            }
            if (at) {
                text = text (text == "" ? "" : "\n") beside(i, at)
                i = after
            } else {
                i++
            }
            continue
        }
        if (name ~ /[;,]$/) {
            add_member(name, text)
            name = text = ""
        }
        name = name " " trimmed(substr(line, 1, at ? at - 1 : length(line)))
        if (at) {
            text = text (text == "" ? "" : "\n") beside(i, at)
            i = after
        } else {
            i++
        }
    }
    if (name != "")
        add_member(name, text)
    return i + 1
}

# Any other declaration from line i on, to its semicolon. The line behind it.
function read_declaration(i,    s, at) {
    for (; i <= NR; i++) {
        at = index(source[i], "/*")
        s = s " " trimmed(substr(source[i], 1, at ? at - 1 : length(source[i])))
        if (at) {
            about = about (about == "" ? "" : "\n") beside(i, at)
            i = after - 1
        }
        if (s ~ /; *$/)
            break
    }
    group = group declared(s)
    return i + 1
}

# A declaration, in lines that fit into a page.
function declared(s,    n, words, i, line, out) {
    gsub(/DLOCK_API|DLOCK_MUST_CHECK/, "", s)
    gsub(/[ \t]+/, " ", s)
    n = split(trimmed(s), words, ", ")
    line = words[1]
    for (i = 2; i <= n; i++) {
        line = line ","
        if (length(line) + length(words[i]) > 70) {
            out = out "\\fB" code(line) "\\fP\n"
            line = "    " words[i]
        } else {
            line = line " " words[i]
        }
    }
    return out "\\fB" code(line) "\\fP\n"
}

# A macro for callers, from line i on.
function read_macro(i,    s, at) {
    s = source[i]
    at = index(s, "/*")
    gsub(/[ \t]+/, " ", s)
    sub(/ *\\$/, "", s)
    if (at)
        add_member(substr(s, 1, index(s, "/*") - 1), beside(i, at))
    else
        group = group "\\fB" code(trimmed(s)) "\\fP\n"
    while (source[i] ~ /\\$/)
        i++
    return i + 1
}

function read_functions(    i) {
    for (i = opening_end + 1; i <= NR; ) {
        if (source[i] ~ /^\/\* ---- /) {
            flush_group()
            section = source[i]
            gsub(/^\/\* -+ | -+ \*\/$/, "", section)
            print ".SS " toupper(substr(section, 1, 1)) substr(section, 2)
            i++
        } else if (source[i] == "") {
            if (group != "" || section == "")
                flush_group()
            i++
        } else if (source[i] ~ /^\/\*/) {
            flush_group()
            about = comment_at(i, 1)
            i = after
        } else if (source[i] ~ /^#define DLOCK_[A-Z_]+[ (]/ && section != "") {
            i = read_macro(i)
        } else if (source[i] ~ /^#|^extern "C"|^}/) {
            about = ""
            i++
            while (source[i - 1] ~ /\\$/)
                i++
        } else if (source[i] ~ /\{$/) {
            i = read_members(i)
        } else {
            i = read_declaration(i)
        }
    }
    flush_group()
}

# `names`: a public function a line. `name`: all of them, and what the header is.
function put_names(    i, open, name, all) {
    all = base
    for (i = opening_end + 1; i <= NR; i++) {
        if (source[i] ~ /^DLOCK_API/)
            open = 1
        if (open && match(source[i], /dlock_[a-z_]+\(/)) {
            open = 0
            name = substr(source[i], RSTART, RLENGTH - 1)
            all = all ", " name
            if (part == "names")
                print name
        }
    }
    if (part == "name")
        put(all " \\- " summary)
}

{ source[NR] = $0 }
!opening_end && /\*\/$/ { opening_end = NR }

END {
    base = summary = source[2]
    sub(/^ \* /, "", base)
    sub(/\.h - .*/, "", base)
    sub(/^.* - /, "", summary)
    sub(/\.$/, "", summary)
    if (part == "name" || part == "names") {
        put_names()
    } else if (part == "promise") {
        put_promise()
    } else if (part == "functions") {
        read_functions()
    }
}
