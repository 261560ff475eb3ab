# shellcheck shell=bash
# A bare container of Debian, with HEAD at hand. Sourced by fresh-check and servers, in the tree.
#
# What is not committed is not in it. The container is removed when the script ends, however.

work=
container=flashsale-${0##*/}-$$

# Sets engine; fails where none runs.
find_engine() {
    for engine in docker podman; do
        ! "$engine" info >/dev/null 2>&1 || return 0
    done
    return 1
}

close_bare() {
    "$engine" rm -f -v "$container" >/dev/null 2>&1 || true
    rm -rf "$work"
}

open_bare() {
    work=$(mktemp -d)
    trap close_bare EXIT
    trap 'exit 130' INT TERM HUP
    git bundle create -q "$work/head.bundle" HEAD
}

# The first commands of a check that needs a clone of HEAD: they end in it.
clone_head() {
    cat <<'END_OF_CLONE'
set -eu
apt-get update >/dev/null
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git make \
    ca-certificates >/dev/null 2>&1
git -c advice.detachedHead=false -c init.defaultBranch=main clone -q /mnt/head.bundle /root/flashsale
cd /root/flashsale
END_OF_CLONE
}

# run_check IMAGE [OPTION...]: the shell script $work/check in a container of its own.
run_check() {
    local image=$1
    shift
    chmod -R a+rX "$work"
    # In the background: a signal ends a wait, not a program in the foreground.
    "$engine" run --rm --init --name "$container" -v "$work:/mnt:ro" "$@" "$image" sh /mnt/check &
    wait $!
}
