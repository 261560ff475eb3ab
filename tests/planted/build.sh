#!/bin/bash
# Builds a program on a copy of the product with one defect in it.
#
#   tests/planted/build.sh DEFECT DIR PROGRAM     leaves DIR/$FLASHSALE_BUILD/PROGRAM
#
#   DEFECT    FILE.patch, or FILE.defects:NAME, which has a substitution of that name
#   PROGRAM   tests/lockload, dlock, or failpoints/flashsale: the service with fail points, which
#             do nothing unless they are armed
#
# Starts from this build's objects, so that only what the defect touches is compiled. A defect that
# no longer fits fails: then it has to be planted anew.
#
# Exit code: 0 built, 64 usage, another one when it does not fit or does not compile.
set -eu
defect=$1 dir=$2 program=$3
build=${FLASHSALE_BUILD:-build}

# Copies what is there: sources, and below the build what was made of them.
take() {
    local path
    for path; do
        mkdir -p "$dir/$(dirname "$path")"
        cp -a "$path" "$dir/$path"
    done
}

# A line of the defect NAME in FILE: what stands behind its first word.
line_of() {
    awk -v name="$2:" -v word="$3 " '
        NF == 0 { here = 0 }
        $1 == name { here = 1 }
        here && index($0, word) == 1 { print substr($0, length(word) + 1); exit }' "$1"
}

# Its one place has the other text. Exit code 1: there is none, or there are several.
substitute() {
    local file
    file=$dir/$(line_of "$1" "$2" file)
    WAS=$(line_of "$1" "$2" was) NOW=$(line_of "$1" "$2" now) awk '
        BEGIN { was = ENVIRON["WAS"]; now = ENVIRON["NOW"] }
        {
            at = index($0, was)
            if (at > 0) {
                rest = substr($0, at + length(was))
                found += index(rest, was) > 0 ? 2 : 1
                $0 = substr($0, 1, at - 1) now rest
            }
            print
        }
        END { exit found != 1 }' "$file" >"$file.planted"
    mv "$file.planted" "$file"
}

take Makefile lock
case $program in
tests/lockload)
    options=() at=$build
    take tests/tools tests/support "$at"/obj/tests/{support,tools/lockload}
    ;;
dlock)
    options=() at=$build
    ;;
failpoints/flashsale)
    options=(FAIL_POINTS=1) at=$build/failpoints
    take server loadtest/embed.sh loadtest/report/parts "$at/obj/server"
    ;;
*)
    echo "build.sh: what is $program?" >&2
    exit 64
    ;;
esac
take "$at/compiler" "$at/gen" "$at/obj/lock"

case $defect in
*.patch) patch --directory="$dir" --strip=1 --fuzz=0 --silent <"$defect" ;;
*) substitute "${defect%:*}" "${defect##*:}" ;;
esac
san=${build#build}
unset MAKEFLAGS MAKELEVEL
make --directory="$dir" --silent SAN="${san#/}" CC="$(cut -d' ' -f1 "$at/compiler")" \
    "${options[@]}" "$build/$program" >/dev/null
