# shellcheck shell=bash
# Programs in the background: started, written down, waited for, stopped. Sourced.
#
# The caller sets run to a directory of its own. Each program that is started is noted in
# $run/pids as "PID START NAME", START being the kernel's start time of that process: stop ends
# exactly these, even when a pid belongs to somebody else by now.

run=
start_limit_s=60 # of a busy machine
stop_limit_s=15
# Put before each command, to run it by.
launcher=()

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# No $(...) below: a bash that parses one while a signal comes in reads on into the trap's command,
# calls it a syntax error and exits with 2 (seen in bash 5.2, once in some 200 interrupts).

# Sets ticks to the start time of a process, in clock ticks since boot (field 22 of its stat);
# empty when there is no such process, or only what nobody has reaped of it.
start_time() {
    local stat=
    ticks=
    { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
    # shellcheck disable=SC2086 # split it; the name in field 2 may hold spaces, so cut it off
    set -- ${stat##*) }
    [ "$1" = Z ] || ticks=${20}
}

# start NAME COMMAND...: in the background, in a session of its own (a Ctrl-C reaches only the
# script, which then stops all of them in order); output in $run/NAME.out and $run/NAME.log.
own_session=(setsid)
start() {
    local name=$1
    shift
    "${own_session[@]}" "${launcher[@]}" "$@" </dev/null >"$run/$name.out" 2>"$run/$name.log" &
    disown $! # or bash tells of its end
    start_time $!
    echo "$! $ticks $name" >>"$run/pids"
}

# Sets running to the pids of those started programs that still run, by the pattern of their names.
running=()
find_running() {
    local pid started name
    running=()
    [ -f "$run/pids" ] || return 0
    while read -r pid started name; do
        start_time "$pid"
        # shellcheck disable=SC2053 # a pattern it is
        [[ $name != $1 || -z $ticks || $ticks != "$started" ]] || running+=("$pid")
    done <"$run/pids"
}

# stop PATTERN [SIGNAL]: ends those of that name: TERM, and KILL for what is left after stop_limit_s.
stop() {
    local end=$((SECONDS + stop_limit_s)) signal=${2:-TERM}
    find_running "$1"
    while [ ${#running[@]} -gt 0 ]; do
        # One of them may have ended by itself just now.
        [ -z "$signal" ] || kill -s "$signal" "${running[@]}" 2>/dev/null || true
        # What stands still takes no signal but KILL.
        [ -z "$signal" ] || kill -s CONT "${running[@]}" 2>/dev/null || true
        signal=
        [ $SECONDS -lt $end ] || signal=KILL
        sleep 0.05
        find_running "$1"
    done
}

# await NAME COMMAND...: until the command succeeds, while NAME runs and the limit lasts; else 1.
# Soon again at first, then five times a second: each question costs some processes.
await() {
    local name=$1 end=$((SECONDS + start_limit_s)) pause=0.01
    shift
    until "$@" 2>/dev/null; do
        find_running "$name"
        [ $SECONDS -lt $end ] && [ ${#running[@]} -gt 0 ] || return 1
        sleep $pause
        case $pause in
        0.01) pause=0.05 ;;
        0.05) pause=0.1 ;;
        *) pause=0.2 ;;
        esac
    done
}

# Ends the script with what NAME had to say.
give_up() {
    tail -n 20 "$run/$1.out" "$run/$1.log" >&2
    die "$1 did not start"
}

wait_for() {
    await "$@" || give_up "$1"
}

# Whether somebody listens on the port of 127.0.0.1 or of all addresses. From the kernel's list,
# since to connect may take minutes where a backlog is full.
in_use() {
    local hex
    printf -v hex %04X "$1"
    awk -v port=":$hex" '
        $4 == "0A" && $2 ~ "^(0100007F|0+)" port "$" { found = 1 }
        END { exit !found }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}
