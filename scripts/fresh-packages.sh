#!/bin/sh
# Installs the packages in /mnt/packages, uses them as people do who have no source, and purges
# them. Runs as root in a bare Debian container: see fresh-check.
set -eu

ours="libdlock0 libdlock-dev dlock flashsale flashsale-orders loadtest"
[ -d /mnt/packages ] || { echo "fresh-packages.sh: this is for a container of fresh-check" >&2 && exit 64; }
work=$(mktemp -d)
cd "$work"

step() {
    echo "==== $*"
}

fail() {
    echo "FAILED: $*"
    exit 1
}

apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" >apt.log 2>&1 || {
        cat apt.log
        fail "apt-get $*"
    }
}

step "install"
rm -f /etc/dpkg/dpkg.cfg.d/docker # slim images throw manual pages away
apt update
files=
for package in $ours; do
    files="$files $(echo /mnt/packages/"${package}"_*.deb)"
done
# shellcheck disable=SC2086 # a list of words
apt install $files redis-server gcc libc6-dev pkgconf man-db bash-completion
# shellcheck disable=SC2086
dpkg-query -W $ours
for file in env orders; do
    [ "$(stat -c '%a %U' /etc/flashsale/$file)" = "600 root" ] || fail "/etc/flashsale/$file is not 0600"
done

redis-server --port 6399 --save '' --daemonize yes >/dev/null
export DLOCK_REDIS=redis://127.0.0.1:6399
until dlock status none >/dev/null 2>&1 || [ $? = 1 ]; do
    sleep 0.1
done

step "dlock run"
# shellcheck disable=SC2016 # for the inner shell
dlock run --wait 5 job -- sh -c 'echo "under the lock, fence $DLOCK_FENCE"; dlock status job'
code=0
dlock status job || code=$?
[ $code = 1 ] || fail "the lock is still held"

step "flashsale and loadtest"
flashsale --listen 127.0.0.1:7000 --redis "$DLOCK_REDIS" >service.log 2>&1 &
service=$!
until grep -q listening service.log; do
    kill -0 $service || fail "flashsale: $(cat service.log)"
    sleep 0.1
done
loadtest run --target http://127.0.0.1:7000 --strategy combined --stock 500 --users 50 \
    --requests 1000 --quiet >run.txt || fail "loadtest: $(cat run.txt)"
grep -w SAFE run.txt || fail "loadtest: $(cat run.txt)"
step "flashsale-orders"
export FLASHSALE_ORDERS_FROM=http://127.0.0.1:7000 FLASHSALE_ORDERS_TO=sqlite:orders.db
flashsale-orders follow --once || fail "follow: exit $?"
flashsale-orders check || fail "check: exit $?"
sold=$(flashsale-orders export --csv | tail -n +2 | wc -l)
[ "$sold" -ge 500 ] || fail "the database has $sold orders of 500 and the loadtest's own"
kill $service
wait $service || fail "flashsale ended with $?"

step "a program with libdlock-dev, shared and static"
# shellcheck disable=SC2046 # compiler flags are lists of words
gcc /usr/share/doc/libdlock-dev/examples/section.c -o shared $(pkg-config --cflags --libs dlock)
# shellcheck disable=SC2046
gcc /usr/share/doc/libdlock-dev/examples/section.c -o static $(pkg-config --cflags dlock) \
    -Wl,-Bstatic -ldlock -Wl,-Bdynamic $(pkg-config --static --libs dlock | sed 's/-ldlock//')
ldd shared | grep libdlock.so.0
! ldd static | grep libdlock || fail "static is not static"
for program in shared static; do
    ./$program "$DLOCK_REDIS" item || fail "$program: exit $?"
done

step "manual pages and completion"
for page in dlock flashsale flashsale-orders loadtest dlock_redis dlock_acquire; do
    man $page >page.txt 2>man.log || fail "man $page"
    [ ! -s man.log ] || fail "man $page: $(cat man.log)"
    [ "$(wc -l <page.txt)" -gt 50 ] || fail "man $page is short"
    man -w $page
done
for program in dlock flashsale flashsale-orders loadtest; do
    bash -c ". /usr/share/bash-completion/completions/$program && complete -p $program"
done
grep '^ExecStart=/usr/bin/flashsale ' '/usr/lib/systemd/system/flashsale@.service' \
    '/lib/systemd/system/flashsale@.service' 2>/dev/null | sort -u | head -n 1 | grep ExecStart

step "purge"
# shellcheck disable=SC2086
dpkg-query -L $ours | sort -u >installed.txt
mkdir -p /etc/systemd/system/multi-user.target.wants
ln -s /usr/lib/systemd/system/flashsale@.service \
    /etc/systemd/system/multi-user.target.wants/flashsale@7000.service
# shellcheck disable=SC2086
apt purge $ours
left=$(while read -r file; do
    [ -d "$file" ] || [ ! -e "$file" ] || echo "$file"
done <installed.txt)
# What man has rendered stays in its own cache.
left="$left$(find / -xdev \( -name '*flashsale*' -o -name 'dlock*' -o -name 'libdlock*' \
    -o -name 'loadtest*' \) ! -path '/proc/*' ! -path '/mnt/*' ! -path "$work/*" \
    ! -path '/var/cache/man/*')"
[ -z "$left" ] || fail "left behind: $left"
# shellcheck disable=SC2086
! dpkg-query -W $ours 2>/dev/null | grep . || fail "still known to dpkg"
echo "nothing is left"
