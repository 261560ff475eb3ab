# shellcheck shell=bash
# A private Redis and its flashsale instances: started, written down, stopped. Sourced.
#
# The caller sets run to a directory of its own. Redis listens on a Unix socket in there, so no
# other Redis of this machine is touched or disturbed. Each program that is started is noted in
# $run/pids as "PID START NAME", START being the kernel's start time of that process: stop_all
# ends exactly these, even when a pid belongs to somebody else by now.

run=
read -ra ports <<<"${FLASHSALE_PORTS:-7000 7001 7002}"
build=${FLASHSALE_BUILD:-build}
start_limit_s=15
stop_limit_s=15

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
start() {
    local name=$1
    shift
    setsid "$@" </dev/null >"$run/$name.out" 2>"$run/$name.log" &
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

# Asks an instance's /readyz. What it says otherwise than "ready", in $answer.
is_ready() {
    local line='' fd
    answer="does not answer"
    { exec {fd}<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
    printf 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&"$fd"
    IFS= read -r -t 10 line <&"$fd" 2>/dev/null || true # it may go just now
    [ -z "$line" ] || answer="is not ready: ${line%$'\r'}"
    while IFS= read -r -t 10 line <&"$fd" || [ -n "$line" ]; do
        [[ $line != *'"detail":"'* ]] || line=${line#*'"detail":"'} answer+=", ${line%%'"'*}"
        line=
    done
    exec {fd}>&-
    [[ $answer == *" 200 "* ]]
}

# Sets down to what of the started programs does not serve, a sentence each.
down=()
find_down() {
    local pid started name
    down=()
    while read -r pid started name <&4; do
        start_time "$pid"
        if [ "$ticks" != "$started" ]; then
            down+=("$name has ended; see $run/$name.log")
        elif [[ $name == flashsale-* ]] && ! is_ready "${name#flashsale-}"; then
            down+=("$name $answer")
        fi
    done 4<"$run/pids"
}

# stop PATTERN: ends those of that name: TERM, and KILL for what is left after stop_limit_s.
stop() {
    local end=$((SECONDS + stop_limit_s)) signal=TERM
    find_running "$1"
    while [ ${#running[@]} -gt 0 ]; do
        # One of them may have ended by itself just now.
        [ -z "$signal" ] || kill -s "$signal" "${running[@]}" 2>/dev/null || true
        signal=
        [ $SECONDS -lt $end ] || signal=KILL
        sleep 0.05
        find_running "$1"
    done
}

# Stops the instances, then their Redis, and removes $run.
stop_all() {
    stop '!(redis)'
    stop redis
    rm -rf "$run"
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

require_free_ports() {
    local port
    for port in "${ports[@]}"; do
        ! in_use "$port" ||
            die "port $port on 127.0.0.1 is in use (make down stops what make up started)"
    done
}

# wait_for NAME COMMAND...: until the command succeeds, while NAME runs and the limit lasts.
wait_for() {
    local name=$1 end=$((SECONDS + start_limit_s))
    shift
    until "$@" 2>/dev/null; do
        find_running "$name"
        if [ $SECONDS -ge $end ] || [ ${#running[@]} = 0 ]; then
            tail -n 20 "$run/$name.out" "$run/$name.log" >&2
            die "$name did not start"
        fi
        sleep 0.05
    done
}

# Redis and one instance a port. $launcher, an array, is put before each command, to run it by.
launcher=()
start_all() {
    local port
    start redis "${launcher[@]}" redis-server --port 0 --unixsocket "$run/redis.sock" --dir "$run" \
        --save '' --appendonly no
    wait_for redis [ -S "$run/redis.sock" ]
    for port in "${ports[@]}"; do
        start "flashsale-$port" "${launcher[@]}" "$build/flashsale" --listen "127.0.0.1:$port" \
            --redis "unix://$run/redis.sock" --item P0001 --stock 1000 --strategy combined
    done
    for port in "${ports[@]}"; do
        wait_for "flashsale-$port" grep -q '^flashsale listening on' "$run/flashsale-$port.out"
    done
}
