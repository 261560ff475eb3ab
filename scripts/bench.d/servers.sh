# shellcheck shell=bash
# What is measured: a private Redis, three instances, and where asked for three peers. Sourced by
# scripts/bench, after scripts/instances.sh.

read -ra peer_ports <<<"${FLASHSALE_PEER_PORTS:-7010 7011 7012}"
next_item=1
sale_wait_ms=2000 # a buyer's patience: the same for all, so that they differ in the lock alone
stock=1000000000

# serve RTT_MS [REDIS ARGUMENT...]: the servers anew, with a delaying line between when it is not 0.
serve() {
    local rtt=$1 port url
    shift
    stop_all
    run=$(mktemp -d "${TMPDIR:-/tmp}/flashsale.XXXXXX")
    start redis "$redis_server" --port 0 --unixsocket "$run/redis.sock" --dir "$run" --save '' "$@"
    wait_for redis [ -S "$run/redis.sock" ]
    url=unix://$run/redis.sock
    if [ "$rtt" != 0 ]; then
        echo "delay ${rtt}ms" >"$run/orders"
        start proxy "$build/tests/faultproxy" --listen "unix:$run/proxy.sock" \
            --upstream "unix:$run/redis.sock" --script "$run/orders"
        wait_for proxy [ -S "$run/proxy.sock" ]
        url=unix://$run/proxy.sock
    fi
    for port in "${ports[@]}"; do
        start "flashsale-$port" "$build/flashsale" --listen "127.0.0.1:$port" --redis "$url" \
            --drain-delay 0
    done
    for port in "${ports[@]}"; do wait_for "flashsale-$port" is_ready "$port"; done
}

serve_peers() {
    local port
    for port in "${peer_ports[@]}"; do
        start "peers-$port" "$build/bench/peers" "$port" "$run/redis.sock"
    done
    for port in "${peer_ports[@]}"; do
        wait_for "peers-$port" curl -sf -o /dev/null "http://127.0.0.1:$port/livez"
    done
}

redis() {
    "$redis_cli" -s "$run/redis.sock" "$@"
}

# new_sales STRATEGY ITEMS HOLD_MS DURABILITY: sales of items that had none, the first of which is
# $first_item. An instance that has never heard of an item looks, so all know them at once.
new_sales() {
    local i port item terms
    first_item=$next_item
    next_item=$((next_item + $2))
    for ((i = first_item; i < next_item; i++)); do
        printf -v item P%04d "$i"
        terms='{"item":"'$item'","stock":'$stock',"strategy":"'$1'","wait_ms":'$sale_wait_ms
        terms+=',"hold_ms":'$3',"durability":"'$4'"}'
        printf 'next\nurl = "http://127.0.0.1:%s/sales"\ndata = "%s"\noutput = /dev/null\nfail\n' \
            "${ports[0]}" "${terms//\"/\\\"}"
    done >"$run/sales"
    sed -i 1d "$run/sales" # the first has none before it
    curl -sS -K "$run/sales" || die "no sale of $1 could be started"
    for port in "${ports[@]}"; do
        until curl -sf -o /dev/null "http://127.0.0.1:$port/stock?item=$item"; do sleep 0.02; done
    done
}

# The peers' sale, anew, and their locks, which a peer that was stopped may have left. Our keys
# stay: who takes keys from under a sale halts it.
new_peer_sale() {
    redis unlink orders ledger lock lock2 rueidislock:0:lock3 >"$run/unlinked"
    redis mset stock $stock cur s1 sold 0 >"$run/set"
}

# counted NAME: a figure of Redis's INFO stats.
counted() {
    redis info stats | sed -n "s/^$1:\([0-9]*\).*/\1/p"
}

# settle STRATEGY: until those who still waited when the generator left are gone, and Redis is
# hardly asked any more. Buyers of ours wait for 2 s; those of some peers without a limit, so these start
# anew.
settle() {
    local before now looks=60
    [[ $1 != go:* ]] || looks=6
    now=$(counted total_commands_processed)
    while [ $looks -gt 0 ]; do
        looks=$((looks - 1)) before=$now
        sleep 0.05
        now=$(counted total_commands_processed)
        [ $((now - before)) -gt 30 ] || return 0
    done
    [[ $1 != go:* ]] || { stop 'peers-*' KILL && serve_peers; }
}

# cpu_us PATTERN: microseconds of CPU that the programs of that name have used; a tick is 10 ms.
cpu_us() {
    local pid stat total=0
    find_running "$1"
    for pid in "${running[@]}"; do
        stat=$(<"/proc/$pid/stat")
        # shellcheck disable=SC2086 # split it; the name in field 2 may hold spaces, so cut it off
        set -- ${stat##*) }
        total=$((total + (${12} + ${13}) * 10000))
    done
    echo $total
}
