# shellcheck shell=bash
# A private Redis and its flashsale instances: started, written down, stopped. Sourced.
#
# Redis listens on a Unix socket in $run, so no other Redis of this machine is touched or
# disturbed. What is started is in $run/pids: see processes.sh.

# shellcheck source=scripts/processes.sh
. scripts/processes.sh

read -ra ports <<<"${FLASHSALE_PORTS:-7000 7001 7002}"
build=${FLASHSALE_BUILD:-build}
# valkey-server has valkey-cli beside it.
redis_server=${REDIS_SERVER:-redis-server}
redis_cli=${redis_server%server}cli
command -v "$redis_server" >/dev/null || PATH=$PATH:/usr/sbin

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

# Stops the instances, then their Redis, and removes $run.
stop_all() {
    stop '!(redis*)'
    stop 'redis*'
    rm -rf "$run"
}

require_free_ports() {
    local port seen=' '
    for port in "${ports[@]}"; do
        [[ $port =~ ^[1-9][0-9]{0,4}$ && $port -le 65535 && $seen != *" $port "* ]] ||
            die "FLASHSALE_PORTS=\"${ports[*]}\" is no list of different ports"
        seen+="$port "
        ! in_use "$port" ||
            die "port $port on 127.0.0.1 is in use (make down stops what make up started)"
    done
}

# read_topology: what scripts/redis-topology has said, into $redis_url, $quorum and the caller's $members.
redis_url=
quorum=
read_topology() {
    local name value
    while IFS='=' read -r name value; do
        case $name in
        REDIS_URL) redis_url=$value ;;
        QUORUM) quorum=$value ;;
        PIDS) IFS=, read -ra members <<<"$value" ;;
        esac
    done <"$run/redis.out"
}

# Redis as $REDIS says, and one instance a port. The arguments are further options of its script.
start_all() {
    local port member members=() locks=()
    start redis scripts/redis-topology "${REDIS:-single}" --dir "$run/redis" "$@"
    wait_for redis grep -qx READY "$run/redis.out"
    read_topology
    # They are the topology's to end; here they are noted to tell when one is down.
    for member in "${!members[@]}"; do
        start_time "${members[$member]}"
        echo "${members[$member]} $ticks redis-$member" >>"$run/pids"
    done
    [ -z "$quorum" ] || locks=(--redlock "$quorum")
    for port in "${ports[@]}"; do
        start "flashsale-$port" "$build/flashsale" --listen "127.0.0.1:$port" \
            --redis "$redis_url" "${locks[@]}" --item P0001 --stock 1000 --strategy combined
    done
    for port in "${ports[@]}"; do
        wait_for "flashsale-$port" grep -q '^flashsale listening on' "$run/flashsale-$port.out"
    done
}
