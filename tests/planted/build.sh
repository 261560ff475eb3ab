#!/bin/bash
# Builds a program on a copy of the product with one defect in it.
#
#   tests/planted/build.sh PATCH DIR PROGRAM     leaves DIR/$FLASHSALE_BUILD/PROGRAM
#
#   PROGRAM   tests/lockload, dlock, or failpoints/flashsale: the service with fail points, which
#             do nothing unless they are armed
#
# Starts from this build's objects, so that only what the patch touches is compiled. A patch that no
# longer fits fails: then the defect has to be planted anew.
set -eu
patch=$1 dir=$2 program=$3
build=${FLASHSALE_BUILD:-build}

# Copies what is there: sources, and below the build what was made of them.
take() {
    local path
    for path; do
        mkdir -p "$dir/$(dirname "$path")"
        cp -a "$path" "$dir/$path"
    done
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

patch --directory="$dir" --strip=1 --fuzz=0 --silent <"$patch"
san=${build#build}
unset MAKEFLAGS MAKELEVEL
make --directory="$dir" --silent SAN="${san#/}" CC="$(cut -d' ' -f1 "$at/compiler")" \
    "${options[@]}" "$build/$program" >/dev/null
