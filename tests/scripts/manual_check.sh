#!/bin/bash
# The manual pages and the completion against what the programs and the library have.
#
#   manual_check.sh STEP
#
# Run from the top of the repository, with the programs and the pages in FLASHSALE_BUILD. A step
# prints why it failed; status 77, with the reason, means "can not be checked here".
set -eu

build=${FLASHSALE_BUILD:-build}
export LC_ALL=C.UTF-8 MANWIDTH=100

fail() {
    echo "$*"
    exit 1
}

need() {
    command -v "$1" >/dev/null || {
        echo "there is no $1 here"
        exit 77
    }
}

shown() {
    man -P cat -l "$1" | col -bx
}

# The options among a text's words, one a line.
options_in() {
    grep -oE -- '(^|[^A-Za-z0-9-])--[a-z][a-z-]*' | grep -oE -- '--.*' | sort -u
}

# One section of a page.
section() {
    shown "$1" | sed -n "/^$2\$/,/^[A-Z]/p"
}

same() {
    [ -n "$2" ] || fail "$1: nothing was found"
    [ "$2" = "$3" ] || fail "$1:" "$(diff <(echo "$2") <(echo "$3"))"
}

# The programs whose help is one text; flashsale-orders where a database's library is.
whole="flashsale loadtest"
[ ! -x "$build/flashsale-orders" ] || whole+=" flashsale-orders"

# Every option of --help stands in the page, and none besides.
step_options() {
    need man
    for program in $whole; do
        same "$program --help and $program(1)" "$("$build/$program" --help | options_in)" \
            "$(shown "$build/man/$program.1" | sed '/systemctl/d' | options_in)"
    done
    for command in run semaphore elect leader status release latch wait bench; do
        same "dlock $command --help and its section of dlock(1)" \
            "$("$build/dlock" $command --help | sed '/^Example/,$d; /^usage/d' | options_in)" \
            "$(section "$build/man/dlock.1" "DLOCK ${command^^}" | options_in)"
    done
}

# The same of exit codes and of whatever stands at the left margin of a list.
step_codes() {
    need man
    for command in run semaphore elect leader status release latch wait bench; do
        whole+=" dlock:$command"
    done
    for program in $whole; do
        program=${program/:/ }
        # shellcheck disable=SC2086 # a program and its subcommand
        codes=$("$build"/$program --help | sed -n '/^Exit codes/,/^$/s/^  \([0-9]\+\)  .*/\1/p')
        text=$(section "$build/man/${program%% *}.1" "EXIT STATUS")
        [ -n "$codes" ] || fail "$program --help tells no exit codes"
        for code in $codes; do
            grep -qE "^ +$code( |$)" <<<"$text" || fail "the page of $program does not tell $code"
        done
    done
}

# Every public function stands in its page, and none besides; every member of every struct too.
step_functions() {
    need man
    documented=$(for page in dlock dlock_redis; do
        shown "$build/man/$page.3" | sed -n '/^TYPES AND/,/^SEE ALSO/p' | grep -E '^ {7}[a-z]' |
            grep -oE 'dlock_[a-z_]+\([a-z]' | sed 's/(.*//'
    done | sort -u)
    same "libdlock.so exports, dlock(3) and dlock_redis(3) tell" \
        "$(nm -D --defined-only "$build/libdlock.so" | awk '$2 == "T" && $3 ~ /^dlock/ { print $3 }' |
            sort -u)" "$documented"
    for header in dlock dlock_redis; do
        text=$(shown "$build/man/$header.3")
        sed -n '/^typedef .*{$/,/^}/s/^    .*[ *]\([a-z_]*\)\(\[[^]]*\]\)\?; .*/\1/p' "lock/$header.h" |
            while read -r member; do
                grep -qE "^ {11}.*\b$member\b" <<<"$text" || fail "$header(3) lacks $member"
            done
    done
}

# No warning from either of the two that show pages, and a name and a sentence for apropos.
step_clean() {
    need man
    need mandoc
    for page in "$build"/man/*.[13]; do
        said=$(man --warnings -P cat -l "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || fail "$said"
        mandoc -T lint -W style "$page" | grep -v 'longer than 80 bytes' && fail "$page: mandoc"
        lexgrog "$page" >/dev/null || fail "$page: no name for apropos"
    done
}

# What completion offers for the words: complete WORDS... ; the last one is being typed.
offered() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
    _flashsale_complete "$1"
    echo "${COMPREPLY[*]}"
}

expect() {
    wanted=$1
    shift
    found=$(offered "$@")
    [ "$found" = "$wanted" ] || fail "completion of \"$*\": \"$found\" instead of \"$wanted\""
}

step_completion() {
    # shellcheck source=scripts/manual/completion.bash
    . scripts/manual/completion.bash
    expect "run semaphore elect leader status release latch wait bench" "$build/dlock" ""
    expect "release" "$build/dlock" re
    expect "--wait --wait-ms" "$build/dlock" run --wait
    expect "" "$build/dlock" run --force
    expect "--force" "$build/dlock" release --f
    expect "fair,cohort" "$build/dlock" bench --kinds fair,c
    expect "rw,string rw,semaphore" "$build/dlock" bench --kinds rw,s
    expect "set down left" "$build/dlock" latch ""
    expect "down" "$build/dlock" latch d
    expect "" "$build/dlock" latch down d
    expect "" "$build/dlock" semaphore ""
    expect "holder queued" "$build/dlock" bench --kill ""
    expect "setnx" "$build/flashsale" --strategy se
    expect "setnx" "$build/flashsale" --strategy = se
    expect "memory replicated disk" "$build/flashsale" --durability ""
    expect "run compare chart verify" "$build/loadtest" ""
    expect "none,combined" "$build/loadtest" compare --strategies none,co
    expect "constant poisson" "$build/loadtest" run --arrivals ""
    expect "CHANGELOG.md" "$build/loadtest" run --json CHANGE
    expect "CHANGELOG.md" "$build/loadtest" compare CHANGE
    if [ -x "$build/flashsale-orders" ]; then
        expect "follow check export" "$build/flashsale-orders" ""
        expect "--to --token-file" "$build/flashsale-orders" follow --to
        expect "CHANGELOG.md" "$build/flashsale-orders" check --token-file CHANGE
    fi
    [[ " $(offered "$build/dlock" run a -- mkdi) " == *" mkdir "* ]] || fail "no command behind --"
    same "flashsale --help and what is offered behind --" \
        "$("$build/flashsale" --help | sed -n 's/^  \(-h, \)\?\(--[a-z-]*\).*/\2/p' | sort -u)" \
        "$(offered "$build/flashsale" -- | tr ' ' '\n')"
    same "--strategy" "$("$build/flashsale" --list-strategies | sed -n 's/^\([a-z]\+\) .*/\1/p')" \
        "$(offered "$build/flashsale" --strategy "" | tr ' ' '\n')"
}

# As the shell does it, by bash-completion and by the name of the program.
step_interactive() {
    library=/usr/share/bash-completion/bash_completion
    [ -f $library ] || {
        echo "there is no bash-completion here"
        exit 77
    }
    PATH=$PWD/$build:$PATH bash -c '
        . '$library'
        . scripts/manual/completion.bash
        complete -p dlock flashsale flashsale-orders loadtest >/dev/null || exit 1
        COMP_WORDS=(dlock run job -- ls --al) COMP_CWORD=5 COMP_LINE="dlock run job -- ls --al"
        COMP_POINT=${#COMP_LINE}
        _flashsale_complete dlock
        [[ " ${COMPREPLY[*]} " == *" --all "* ]]' || fail "behind -- the command is not completed"
}

"step_$1"
