#!/bin/sh
# Turns files into rows of a C table: ASSET("page.css", "hash of the text", "text")
set -eu
for file; do
    printf 'ASSET("%s", "%s",\n' "$(basename "$file")" "$(sha256sum "$file" | cut -c 1-16)"
    # A question mark of its own could begin a trigraph.
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file"
    echo ')'
done
