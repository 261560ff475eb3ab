#!/bin/bash
# Builds lockload on a copy of the lock library with one defect in it.
#
#   tests/planted/build.sh PATCH DIR     leaves DIR/$FLASHSALE_BUILD/tests/lockload
#
# Starts from this build's objects, so that only what the patch touches is compiled. A patch that no
# longer fits fails: then the defect has to be planted anew.
set -eu
patch=$1 dir=$2
build=${FLASHSALE_BUILD:-build}

mkdir -p "$dir/tests" "$dir/$build/obj/tests/tools"
cp -a Makefile lock "$dir"
cp -a tests/tools tests/support "$dir/tests"
cp -a "$build/compiler" "$build/gen" "$dir/$build"
cp -a "$build/obj/lock" "$dir/$build/obj"
cp -a "$build/obj/tests/support" "$dir/$build/obj/tests"
cp -a "$build/obj/tests/tools/lockload" "$dir/$build/obj/tests/tools"

patch --directory="$dir" --strip=1 --fuzz=0 --silent <"$patch"
san=${build#build}
unset MAKEFLAGS MAKELEVEL
make --directory="$dir" --silent SAN="${san#/}" CC="$(cut -d' ' -f1 "$build/compiler")" \
    "$build/tests/lockload" >/dev/null
