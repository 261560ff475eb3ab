# Lists the one-token changes that can be made to sources in C and Lua. scripts/mutate draws from it.
#
#   awk -f scripts/mutations.awk -v seed=7 FILE...
#
# A line for each: random key, file, line number, what was, what it becomes, the line as it was, and
# as changed; with tabs between. The key depends on the seed, the file, the line's text and which of
# the lines with that text it is, so that a seed draws the same changes after the rest of the tree was
# edited. Changed is what runs: operators, conditions, small constants, return values, calls and
# assignments that are left out.
#
# Not changed are comments, texts, declarations (an array is not made larger), log lines, and what
# only gives memory back, as free() and freeReplyObject(): what is not freed is for `make asan` to
# find. Nor are the words "out of memory", which no test gets to hear, and what does nothing in
# glibc: to destroy a mutex or a condition, or to make one with the defaults where all bytes are
# zero. Nor is what makes no difference by itself: which of two is taken that are the same, as in
# "a < b ? a : b", and which of them comes first, as in "(a > b) - (a < b)".

BEGIN {
    memory_only = "^ *(free|freeReplyObject|cJSON_Delete|cJSON_free|freeaddrinfo|text_free|reply_free|" \
        "dlock_args_free|curl_slist_free_all|posix_spawn(attr|_file_actions)_destroy)\\("
    for (i = 1; i < 256; i++) ord[sprintf("%c", i)] = i
    split("==,!=,<=,<,<,<=,>=,>,>,>=,&&,||,||,&&,+,-,-,+,+=,-=,-=,+=,~=,==,and,or,or,and", pair, ",")
    for (i = 1; i in pair; i += 2) becomes[pair[i]] = pair[i + 1]
}

FNR == 1 {
    lua = FILENAME ~ /\.lua$/
    inside = lua # a function
    comment = logging = 0
    before = ";"
}

# The line with everything blanked that is not code.
function code_of(line,    out, i, c, two, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (comment) {
            if (two == "*/") { comment = 0; out = out " "; i++ }
            c = " "
        } else if (quote != "") {
            if (c == "\\") { out = out "_"; i++; c = "_" }
            else if (c == quote) quote = ""
            else c = "_"
        } else if (!lua && two == "/*") { comment = 1; out = out " "; i++; c = " " }
        else if (lua && two == "--") break
        else if (c == "\"" || c == "'") quote = c
        out = out c
    }
    return out
}

function key_of(text,    h, i) {
    h = seed % 46337 + 1
    for (i = 1; i <= length(text); i++) h = (h * 16807 + ord[substr(text, i, 1)]) % 2147483647
    for (i = 0; i < 4; i++) h = h * 48271 % 2147483647
    return h
}

# One change: `len` characters from `at` on become `new`.
function change(at, len, new,    old, line) {
    old = substr($0, at, len)
    line = substr($0, 1, at - 1) new substr($0, at + len)
    if (length(old) > 40) { old = substr(old, 1, 37) "..." }
    if (length(new) > 40) { new = substr(new, 1, 37) "..." }
    printf "%010d\t%s\t%d\t%s\t%s\t%s\t%s\n", key_of(FILENAME $0 at new nth), FILENAME, FNR, old,
        new == "" ? "(nothing)" : new, $0, line
}

function balanced(text) { return gsub(/\(/, "(", text) == gsub(/\)/, ")", text) }

# Whether the comparison at this place, with or without "=", decides between two that are the same
# then.
function is_choice(code, at, len,    left, right, between, first, last, same) {
    left = substr(code, 1, at - 2)
    right = substr(code, at + len + 1)
    if (right ~ /^[a-z_]+\) - \([a-z_]+ < [a-z_]+\);$/ || left ~ /\([a-z_]+ > [a-z_]+\) - \([a-z_]+$/)
        return 1
    if (!(between = index(right, " ? ")) || index(right, " : ") < between) return 0
    last = substr(right, 1, between - 1) # what stands on the right of the comparison
    right = substr(right, between + 3)
    first = substr(right, 1, index(right, " : ") - 1)
    right = substr(right, index(right, " : ") + 3)
    same = first
    if (first == last) { # "a < b ? b : a"
        same = right
        while (same != "" && (same ~ /[;,]$/ || !balanced(same))) same = substr(same, 1, length(same) - 1)
    } else if (right !~ /^[^?]*$/ || index(right, last) != 1 ||
               substr(right, length(last) + 1) !~ /^[;,)]/) return 0
    return same ~ /[a-z]/ && length(left) > length(same) &&
        substr(left, length(left) - length(same) + 1) == same &&
        substr(left, length(left) - length(same), 1) ~ /[ (]/
}

# Operators stand between blanks, or at a line's end; a word is one of its letters.
function operators(code,    n, word, i, at) {
    at = 1
    n = split(code, word, " ")
    for (i = 1; i <= n; i++) {
        at += index(substr(code, at), word[i]) - 1
        if ((word[i] in becomes) && !(word[i] ~ /^[<>]=?$/ && is_choice(code, at, length(word[i]))) && (lua ? word[i] !~ /[&|]/ : word[i] !~ /^(and|or|~=)$/))
            change(at, length(word[i]), becomes[word[i]])
        at += length(word[i])
    }
}

# Whether a place is within the brackets of a declared array: to make that larger changes nothing.
function in_size(code, at,    before) {
    before = substr(code, 1, at - 1)
    return before !~ /=/ && gsub(/\[/, "[", before) > gsub(/\]/, "]", before)
}

# Numbers, true and false, negations, ++ and --.
function tokens(code,    i, token, last, declared) {
    declared = code ~ /^ +(static |const )*(struct |unsigned )?[a-z_0-9]+ \*?[a-z_0-9]+\[/
    for (i = 1; i <= length(code); i++) {
        last = i > 1 ? substr(code, i - 1, 1) : " "
        if (last !~ /[A-Za-z0-9_.]/ && match(substr(code, i), /^[A-Za-z0-9_.]+/)) {
            token = substr(code, i, RLENGTH)
            if (token == "true" || token == "false")
                change(i, RLENGTH, token == "true" ? "false" : "true")
            else if (lua && token == "not" && substr(code, i + 3, 1) == " ")
                change(i, 4, "")
            else if (token ~ /^[0-9]+$/ && token !~ /^[1-9][0-9]*000$/ &&
                     !(declared && (last == "[" || (token != "1" && in_size(code, i)))) &&
                     substr(code, i - 1, 3) !~ /^(\{0\}|\[0\])$/)
                change(i, RLENGTH, token == "1" ? 0 : token + 1)
            i += length(token) - 1
        } else if (substr(code, i, 2) ~ /^![^=]/) change(i, 1, "")
        else if (code !~ /^ *for / && substr(code, i, 2) ~ /^(\+\+|--)$/) {
            change(i, 2, substr(code, i, 2) == "++" ? "--" : "++")
            i++
        }
    }
}

# What is all of a line: a condition, a return value, a statement.
function whole(code,    at) {
    if (code ~ /if \(![a-z_>.-]+\)/) return # without the "!" it is the same
    if (!lua && match(code, /if \(.*\)( \{)?$/) && balanced(code)) {
        at = RSTART + 4
        RLENGTH -= code ~ /\{$/ ? 7 : 5
        change(at, RLENGTH, "!(" substr($0, at, RLENGTH) ")")
    } else if (lua && match(code, /if .* then/)) {
        at = RSTART + 3
        change(at, RLENGTH - 8, "not (" substr($0, at, RLENGTH - 8) ")")
    } else if (!lua && code ~ /^ *return [^;]*[a-z][^;]*;$/ && code !~ /return (true|false|NULL|!.*);/) {
        at = match(code, /[^ ]/) + 7
        change(at, length(code) - at, "!(" substr($0, at, length(code) - at) ")")
    } else if ((at = match(code, /[^ ]/)) == 0 || before !~ /[;{})]$|else$|:$/ || !balanced(code)) return
    else if (code ~ memory_only || code ~ /^ *pthread_(mutex|cond|rwlock)_(destroy|init)\(/) return
    else if (!lua && code ~ /^ *([a-z_][a-z_0-9]*\(.*\)|[a-z_][^ ]*[.>\]][^ ]* [-+|]?= .*|break|continue|return);$/)
        change(at, length(code) - at, "")
    else if (lua && code ~ /^ *(redis\.call|[a-z_]+)\(.*\)$/)
        change(at, length(code) - at + 1, "")
}

{
    nth = lines[FILENAME, $0]++ # of the same text, or all of them would be drawn one after the other
    if (nth == 0) nth = ""
    code = code_of($0)
    sub(/ +$/, "", code)
    if (!lua && code == "{") inside = 1
    else if (!lua && code ~ /^}/) inside = 0
    else if (code ~ /(log_event|LOG_SOME|log_failure)\(/ || /out of memory/) logging = 1
    if (inside && !logging && code !~ /^#/ && code !~ /^ *(case|static const) /) {
        operators(code)
        tokens(code)
        whole(code)
    }
    if (code ~ /;$/) logging = 0
    if (code != "") before = lua ? ";" : code
}
