# What text must be escaped by to stand in a manual page, for header.awk and help.awk.

function roff(s) {
    gsub(/\\/, "\\e", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    return s
}

# Code as it is typed: no typographic quotes or hyphens.
function code(s) {
    s = roff(s)
    gsub(/-/, "\\-", s)
    gsub(/'/, "\\(aq", s)
    gsub(/`/, "\\(ga", s)
    return s
}
