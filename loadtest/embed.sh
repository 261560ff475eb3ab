#!/bin/sh
# Turns a text file into a C string macro: report/page/page.html -> #define PAGE_HTML "..."
set -eu
name=$(basename "$1" | tr 'a-z.-' 'A-Z__')
echo "/* Made from $(basename "$1") by embed.sh. */"
echo "#define $name \\"
sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n" \\/' "$1"
echo '    ""'
