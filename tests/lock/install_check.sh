#!/bin/sh
# What `make install` leaves behind, and what a stranger can do with it.
#
#   REDIS_URL=... install_check.sh STEP DIR
#
# DIR is an empty directory that the caller makes and removes; step `install` fills it, the others
# use it. Run from the top of the repository. FLASHSALE_BUILD names the build to install. A step
# prints why it failed; status 77 means "can not be checked here".
# shellcheck disable=SC2046,SC2086 # compiler flags are lists of words
set -eu

step=$1
dir=$2
build=${FLASHSALE_BUILD:-build}
case $build in
build/*) san=${build#build/} ;;
*) san= ;;
esac
sanitize=${san:+-fsanitize=$san}
[ "$san" != address ] || sanitize=-fsanitize=address,undefined
cc=${CC:-cc}
cxx=${CXX:-c++}
stage=$dir/stage # DESTDIR of a packager
prefix=$dir/usr  # PREFIX of somebody at home
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"

fail() {
    echo "$*"
    exit 1
}

# All but the one that needs another library: step_libuv builds that.
examples() {
    find lock/examples -name '*.c' ! -name libuv.c
}

# Compiles and links an example as its user would, without a word about dialects; the rest of the
# words are passed on.
build_example() {
    source=$1
    program=$2
    shift 2
    $cc -Wall -Wextra -Werror $sanitize "$source" -o "$program" "$@"
}

step_install() {
    make -s install SAN="$san" DESTDIR="$stage" PREFIX=/usr
    make -s install SAN="$san" DESTDIR= PREFIX="$prefix"
}

# flashsale-orders, where a database's library is, and what comes with it.
step_layout() {
    orders_bin='' orders_unit='' orders_completion='' orders_page=''
    if [ -x "${FLASHSALE_BUILD:-build}/flashsale-orders" ]; then
        orders_bin="./usr/bin/flashsale-orders "
        orders_unit="./usr/lib/systemd/system/flashsale-orders.service "
        orders_completion="./usr/share/bash-completion/completions/flashsale-orders "
        orders_page="./usr/share/man/man1/flashsale-orders.1 "
    fi
    # Each function has its page, a link to that of its header.
    found=$(cd "$stage" && find . ! -type d \( ! -type l -o -path './usr/lib/*' \) | sort | tr '\n' ' ')
    version=$(sed -n 's/^Version: //p' "$stage/usr/lib/pkgconfig/dlock.pc")
    expected="./usr/bin/dlock ./usr/bin/flashsale ./usr/bin/flashsale-failover ${orders_bin}./usr/bin/loadtest \
./usr/include/dlock.h ./usr/include/dlock.hpp ./usr/include/dlock_redis.h \
./usr/lib/libdlock.a ./usr/lib/libdlock.so ./usr/lib/libdlock.so.0 \
./usr/lib/libdlock.so.$version ./usr/lib/pkgconfig/dlock.pc \
${orders_unit}./usr/lib/systemd/system/flashsale@.service \
./usr/share/bash-completion/completions/dlock \
./usr/share/bash-completion/completions/flashsale \
${orders_completion}./usr/share/bash-completion/completions/loadtest \
./usr/share/man/man1/dlock.1 ./usr/share/man/man1/flashsale-failover.1 \
${orders_page}./usr/share/man/man1/flashsale.1 ./usr/share/man/man1/loadtest.1 \
./usr/share/man/man3/dlock.3 ./usr/share/man/man3/dlock_redis.3 "
    [ "$found" = "$expected" ] || fail "installed: $found
expected:  $expected"
    soname=$(readelf -d "$stage/usr/lib/libdlock.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    [ "$soname" = libdlock.so.0 ] || fail "the soname is \"$soname\""
    for link in libdlock.so libdlock.so.0; do
        [ "$(readlink -f "$stage/usr/lib/$link")" = "$(readlink -f "$stage/usr/lib")/libdlock.so.$version" ] ||
            fail "$link does not lead to the library"
    done
    ! grep -q "$stage" "$stage/usr/lib/pkgconfig/dlock.pc" || fail "dlock.pc names DESTDIR"
    grep -q '^prefix=/usr$' "$stage/usr/lib/pkgconfig/dlock.pc" || fail "dlock.pc: wrong prefix"
    grep -q '^Requires: hiredis$' "$stage/usr/lib/pkgconfig/dlock.pc" ||
        fail "dlock.pc does not ask for hiredis"
}

# The programs run, the unit starts the one that was installed, and each page is found by its name.
step_programs() {
    for program in dlock flashsale loadtest; do
        [ "$("$prefix/bin/$program" --version)" = "$program $(sed -n 's/^Version: //p' \
            "$prefix/lib/pkgconfig/dlock.pc")" ] || fail "$program --version"
    done
    grep -q "^ExecStart=$prefix/bin/flashsale " "$prefix/lib/systemd/system/flashsale@.service" ||
        fail "the unit starts another flashsale"
    command -v man >/dev/null || exit 77
    for page in dlock flashsale loadtest dlock_redis dlock_acquire dlock_redis_open; do
        MANPATH=$prefix/share/man man -P cat "$page" >"$dir/page" 2>&1 || fail "man $page"
        grep -q "^NAME" "$dir/page" || fail "man $page shows: $(cat "$dir/page")"
    done
    MANPATH=$prefix/share/man man -w dlock_acquire | grep -q "^$prefix/share/man/man3/dlock" ||
        fail "man dlock_acquire shows another page"
}

# What is installed beside other files goes, and they stay.
step_uninstall() {
    make -s install SAN="$san" DESTDIR="$dir/removed" PREFIX=/usr
    touch "$dir/removed/usr/bin/other"
    make -s uninstall SAN="$san" DESTDIR="$dir/removed" PREFIX=/usr
    left=$(cd "$dir/removed" && find . ! -type d)
    [ "$left" = ./usr/bin/other ] || fail "left behind: $left"
}

step_symbols() {
    strange=$(nm -D --defined-only "$prefix/lib/libdlock.so" | awk '$3 !~ /^dlock_/ { print $3 }' |
        grep -v -e '^_init$' -e '^_fini$' || true)
    [ -z "$strange" ] || fail "libdlock.so exports:" $strange
    nm -D --defined-only "$prefix/lib/libdlock.so" | grep -q ' T dlock_acquire$' ||
        fail "libdlock.so does not export dlock_acquire"
    missing=$(sed -n 's/^DLOCK_API.* \**\(dlock_[a-z_]*\)(.*/\1/p' lock/dlock.h lock/dlock_redis.h |
        while read -r name; do
            nm -D --defined-only "$prefix/lib/libdlock.so" | grep -q " T $name\$" || echo "$name"
        done)
    [ -z "$missing" ] || fail "declared and not exported:" $missing
    # The package's list; dpkg-gensymbols refuses to build when it differs.
    exported=$(nm -D --defined-only "$prefix/lib/libdlock.so" | awk '$2 == "T" { print $3 }' |
        grep '^dlock_' | sort)
    listed=$(sed -n 's/^ \(dlock_.*\)@.*/\1/p' scripts/debian/libdlock0.symbols | sort)
    [ "$exported" = "$listed" ] ||
        fail "scripts/debian/libdlock0.symbols lists others than libdlock.so exports"
}

# A static link has one name space: whatever the archive defines may collide with its user's own.
# What the compiler adds begins with two underscores.
# The lock alone: the same files, no other program, and enough to build on.
step_lock() {
    make -s install-lock SAN="$san" DESTDIR= PREFIX="$dir/lock"
    found=$(ls "$dir/lock/bin")
    [ "$found" = dlock ] || fail "bin: $found"
    [ ! -e "$dir/lock/lib/systemd" ] || fail "it has units"
    (cd "$dir/lock" && find . -type f ! -name dlock.pc) | while read -r file; do
        cmp "$dir/lock/$file" "$prefix/$file" || fail "another $file"
    done
    PKG_CONFIG_PATH=$dir/lock/lib/pkgconfig
    build_example lock/examples/section.c "$dir/section" $(pkg-config --cflags --libs dlock)
}

step_prefix() {
    strange=$(nm -g --defined-only "$prefix/lib/libdlock.a" |
        awk 'NF == 3 && $3 !~ /^(dlock_|__)/ { print $3 }' | sort -u)
    [ -z "$strange" ] || fail "libdlock.a defines without the prefix dlock_:" $strange
    nm -g --defined-only "$prefix/lib/libdlock.a" | grep -q ' T dlock_acquire$' ||
        fail "libdlock.a does not define dlock_acquire"
}

# Links with the shared library, runs against it, and says which one it was.
step_shared() {
    flags=$(pkg-config --cflags --libs dlock)
    for source in $(examples); do
        program=$dir/shared_$(basename "$source" .c)
        build_example "$source" "$program" $flags
        readelf -d "$program" | grep -q 'NEEDED.*libdlock\.so\.0' ||
            fail "$program does not use libdlock.so.0"
    done
    code=0
    LD_LIBRARY_PATH=$prefix/lib "$dir/shared_declarative" 2>"$dir/usage" || code=$?
    [ $code = 64 ] || fail "the example did not start: exit $code, $(cat "$dir/usage")"
}

# Pending acquisitions in an event loop, with the Redis at REDIS_URL.
step_epoll() {
    build_example lock/examples/epoll.c "$dir/epoll" $(pkg-config --cflags --libs dlock)
    said=$(LD_LIBRARY_PATH=$prefix/lib "$dir/epoll" 300 "$REDIS_URL" 2>&1) || fail "epoll: $said"
    [ "$said" = "300 of 300 worked under their lock" ] || fail "epoll says: $said"
}

step_libuv() {
    pkg-config --exists libuv || exit 77
    build_example lock/examples/libuv.c "$dir/libuv" $(pkg-config --cflags --libs dlock libuv)
    said=$(LD_LIBRARY_PATH=$prefix/lib "$dir/libuv" "$REDIS_URL" 2>&1) || fail "libuv: $said"
    [ "$said" = "acquire: ok
write and release: ok" ] || fail "libuv says: $said"
}

# The linker takes the archive when there is no shared library beside it.
step_static() {
    cp -R "$prefix" "$dir/archive"
    rm "$dir"/archive/lib/libdlock.so*
    sed -i "s|$prefix|$dir/archive|" "$dir/archive/lib/pkgconfig/dlock.pc"
    flags=$(PKG_CONFIG_PATH=$dir/archive/lib/pkgconfig pkg-config --static --cflags --libs dlock)
    for source in $(examples); do
        program=$dir/static_$(basename "$source" .c)
        build_example "$source" "$program" $flags
        ! readelf -d "$program" | grep -q 'NEEDED.*libdlock' || fail "$program is not static"
    done
    code=0
    "$dir/static_declarative" 2>"$dir/usage" || code=$?
    [ $code = 64 ] || fail "the example did not start: exit $code, $(cat "$dir/usage")"
}

# Each compiler of a language that is here, once; with a sanitizer only the one that built the library.
compilers() {
    case $1 in
    c) list="$cc gcc clang" ;;
    cc) list="$cxx g++ clang++" ;;
    esac
    for compiler in $list; do
        program=$(command -v "$compiler") && echo "$compiler $(readlink -f "$program")"
        [ -z "$san" ] || break
    done | awk '!seen[$2]++ { print $1 }'
}

# The program in dlock.h, as C and as C++, by every compiler here, with the Redis at REDIS_URL.
# lock/README.md shows the same one.
step_lifecycle() {
    program=$(sed -n '/^ \*     #include/,/^ \*     }$/ s/^ \*\( \{5\}\)\{0,1\}//p' \
        "$prefix/include/dlock.h")
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    shown=$(sed -n '/^```c$/,/^```$/{ /^```/!p }' lock/README.md)
    [ "$program" = "$shown" ] || fail "lock/README.md shows another program than dlock.h"
    placed=$(printf '%s\n' "$program" | sed "s|\"redis://127.0.0.1:6379\"|\"$REDIS_URL\"|")
    [ "$placed" != "$program" ] || fail "the program in dlock.h names no server to replace"
    for language in c cc; do
        printf '%s\n' "$placed" >"$dir/lifecycle.$language"
        for compiler in $(compilers $language); do
            standard=c11
            [ $language = c ] || standard=c++11
            $compiler -std=$standard -pedantic -Wall -Wextra -Werror $sanitize \
                "$dir/lifecycle.$language" -o "$dir/lifecycle" $(pkg-config --cflags --libs dlock) ||
                fail "$compiler does not compile it"
            said=$(LD_LIBRARY_PATH=$prefix/lib "$dir/lifecycle" 2>&1) || fail "$compiler: $said"
            [ "$said" = ours ] || fail "compiled by $compiler it says: $said"
        done
    done
}

# Likewise the program in dlock.hpp, from C++17 on. tests/lock/cxx has the rest of that header.
step_raii() {
    compilers=$(compilers cc)
    if [ -z "$compilers" ]; then
        echo "there is no C++ compiler"
        exit 77
    fi
    sed -n '/^ \*     #include/,/^ \*     } / s/^ \*\( \{5\}\)\{0,1\}//p' "$prefix/include/dlock.hpp" |
        sed "s|\"redis://127.0.0.1:6379\"|\"$REDIS_URL\"|" >"$dir/raii.cc"
    grep -qF "$REDIS_URL" "$dir/raii.cc" || fail "the program in dlock.hpp names no server to replace"
    for compiler in $compilers; do
        for standard in c++17 c++20; do
            $compiler -std=$standard -Wall -Wextra -Wpedantic -Werror $sanitize "$dir/raii.cc" \
                -o "$dir/raii" $(pkg-config --cflags --libs dlock) || fail "$compiler does not compile it"
            said=$(LD_LIBRARY_PATH=$prefix/lib "$dir/raii" 2>&1) || fail "$compiler: $said"
            [ "$said" = ours ] || fail "compiled by $compiler it says: $said"
        done
    done
}

# What other programs include must do so in every dialect, each header by itself.
step_headers() {
    cat >"$dir/use.c" <<C
HEADER
static dlock_script script = DLOCK_SCRIPT("name", "return 1");
int main(void) { return script.ready; }
C
    for header in dlock.h dlock_redis.h dlock.hpp; do
        for language in c cc; do
            case $header.$language in
            dlock.hpp.c) continue ;;
            dlock.hpp.cc) standards="c++17 c++20" ;;
            *.c) standards="c99 c11 c17" ;;
            *.cc) standards="c++11 c++17 c++20" ;;
            esac
            sed "s|^HEADER|#include <$header>|" "$dir/use.c" >"$dir/use_header.$language"
            for standard in $standards; do
                for compiler in $(compilers $language); do
                    $compiler -std=$standard -pedantic -Wall -Wextra -Werror -fsyntax-only \
                        $(pkg-config --cflags dlock) "$dir/use_header.$language" ||
                        fail "$header: $compiler -std=$standard"
                done
            done
        done
    done
}

# lock/ as somebody copies it into a project of their own: libc and hiredis, no Makefile of ours, but
# the commands that the README tells.
step_copied() {
    mkdir "$dir/copied"
    cp -R lock "$dir/copied/lock"
    cd "$dir/copied"
    embed=$(sed -n 's/^    \(for script in .*; done\)$/\1/p' lock/README.md)
    sources=$(sed -n 's/^    cc .* -Ilock app\.c //p' lock/README.md)
    if [ -z "$embed" ] || [ -z "$sources" ]; then
        fail "lock/README.md does not tell how"
    fi
    eval "$embed"
    build_example lock/examples/guarded_write.c guarded_write -D_GNU_SOURCE -Ilock -pthread $sources
}

"step_$step"
