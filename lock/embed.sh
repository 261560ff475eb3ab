#!/bin/sh
# Turns a Lua script into a C string macro: fair_acquire.lua -> #define FAIR_ACQUIRE_LUA "..."
# Comment lines and indentation are left out, so that scripts stay small for Redis and long for
# readers. A "#!lua" line belongs to the C side, which joins fragments.
set -eu
name=$(basename "$1" .lua | tr 'a-z-' 'A-Z_')_LUA
echo "/* Made from $(basename "$1") by embed.sh. */"
echo "#define $name \\"
sed -e 's/^[[:space:]]*//' -e '/^--/d' -e '/^$/d' \
    -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n" \\/' "$1"
echo '    ""'
