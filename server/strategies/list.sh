#!/bin/sh
# Makes the list of strategies: STRATEGY(name, "explanation") for each of the files that are named.
# The explanation is the file's opening comment, its title and the first paragraph.
set -eu
for file; do
    name=$(basename "$file" .c)
    awk -v name="$name" '
        /\*\// || (/^ \*$/ && ++paragraphs == 2) { exit }
        /^ \* / { text = text (text == "" ? "" : " ") substr($0, 4) }
        END {
            sub("^" name " - ", "", text)
            gsub(/\\/, "\\\\", text)
            gsub(/"/, "\\\"", text)
            printf "STRATEGY(%s, \"%s%s\")\n", name, toupper(substr(text, 1, 1)), substr(text, 2)
        }' "$file"
done
