#!/bin/sh
# Follows CONTRIBUTING.md, "Add a strategy", on a copy of this tree.
#
#   tests/e2e/add_strategy.sh DIR     leaves the programs in DIR/$FLASHSALE_BUILD
#
# The steps are the indented lines of that section, run one after the other. The copy starts from
# this build's objects, so that only what a new strategy touches is compiled.
set -eu
dir=$1
build=${FLASHSALE_BUILD:-build}

mkdir -p "$dir/$build"
cp -a Makefile CONTRIBUTING.md lock server loadtest scripts tests docker "$dir"
for made in compiler gen obj man failpoints; do
    cp -a "$build/$made" "$dir/$build"
done

cd "$dir"
unset MAKEFLAGS MAKELEVEL
CC=$(cut -d' ' -f1 "$build/compiler")
SAN=${build#build}
SAN=${SAN#/}
export CC
[ -z "$SAN" ] || export SAN
sed -n "/^## Add a strategy/,/^## Add something/s#^    ##p" CONTRIBUTING.md |
    sed "s#build/#$build/#g" >steps
test -s steps
sh -eux steps
