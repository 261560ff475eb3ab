# shellcheck shell=bash
# What is not a row of strategies: the open model's ladder, locks by themselves, memory, growth.
# Sourced by scripts/bench.

# open_model SECONDS: rates rise until the service is behind them: shares of what 100 users get in a
# closed loop.
open_model() {
    local s share most
    for s in $opened; do
        sample case=probe strategy="$s"
        most=$(tail -n 1 "$samples" | jq .throughput_rps)
        for share in $shares; do
            [ $((most * share)) -ge 1000 ] || continue
            sample_loadtest case=open strategy="$s" users=300 seconds="$1" \
                offered_rps=$((most * share / 100))
            # Behind by a tenth, or half a second late: that was the knee.
            ! tail -n 1 "$samples" |
                jq -e '.throughput_rps < 0.9 * .offered_rps or (.p99_ms // 1000) > 500' \
                    >/dev/null || break
        done
    done
}

# Every kind of lock by itself; the quorum's on three servers.
measure_locks() {
    local i urls=()
    for i in 1 2 3; do
        start "redis-$i" "$redis_server" --port 0 --unixsocket "$run/quorum-$i.sock" \
            --dir "$run" --save ''
        wait_for "redis-$i" [ -S "$run/quorum-$i.sock" ]
        urls+=("unix://$run/quorum-$i.sock")
    done
    "$build/dlock" bench --redis "unix://$run/redis.sock" --duration-ms $lock_ms \
        --kinds string,hash,poll50,fair,cohort,quorum --json "$run/locks.json" \
        --quorum "$(IFS=, && echo "${urls[*]}")" >"$run/locks.out"
    jq -c '.rows[] | {case: "locks"} + .' "$run/locks.json" | keep
}

# resident PID: in MB of 10^6 bytes.
resident() {
    awk '$1 == "VmRSS:" { print $2 * 1024 / 1e6 }' "/proc/$1/status"
}

# measure_memory SECONDS: one instance with threads for 1,000 connections, before and while all of
# them buy; and what each of them takes beyond its thread.
measure_memory() {
    local before after pid wrk threads=1024 only=${ports[0]}
    serve 0
    stop 'flashsale-*'
    local ports=("$only")
    start "flashsale-$only" "$build/flashsale" --listen "127.0.0.1:$only" \
        --redis "unix://$run/redis.sock" --threads $threads --drain-delay 0
    wait_for "flashsale-$only" is_ready "$only"
    find_running 'flashsale-*'
    pid=${running[0]}
    before=$(resident "$pid")
    new_sales combined 1 0 memory
    FLASHSALE_PORTS=$only BENCH_PATH='/buy?item={item}&user={user}' BENCH_FIRST=$first_item \
        wrk -t1 -c1000 "-d$1s" --timeout 10s -s scripts/bench.d/wrk.lua "http://127.0.0.1:$only" \
        >"$run/wrk.0" &
    wrk=$!
    sleep 2
    after=$(resident "$pid")
    wait $wrk
    jq -nc --argjson before "$before" --argjson after "$after" --argjson threads $threads \
        '{case: "memory", rss_mb_0: $before, rss_mb_1000: $after, threads: $threads,
          bytes_a_connection: (($after - $before) * 1e3 | round)}' | keep
}

# measure_growth SECONDS: one sale that goes on and on, so long at most: when each 100,000 orders
# were there, and what Redis held then.
measure_growth() {
    local orders=0 from port item most_ns=$(($1 * 1000000000))
    new_sales combined 1 0 memory
    printf -v item P%04d "$first_item"
    from=$(date +%s%N)
    for port in "${ports[@]}"; do
        FLASHSALE_PORTS=$port BENCH_PATH='/buy?item={item}&user={user}' BENCH_FIRST=$first_item \
            start "wrk-$port" wrk -t1 -c34 "-d$(($1 + 20))s" --timeout 10s \
            -s scripts/bench.d/wrk.lua "http://127.0.0.1:$port"
    done
    while [ "$orders" -lt $growth_to ] && [ $(($(date +%s%N) - from)) -lt $most_ns ]; do
        orders=$(curl -sf "http://127.0.0.1:${ports[0]}/stock?item=$item" | jq .orders)
        printf '%s %s %s\n' "$(($(date +%s%N) - from))" "$orders" \
            "$(redis info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p')"
        sleep 0.1
    done >"$run/growth"
    stop 'wrk-*' INT
    jq -Rsc -f scripts/bench.d/growth.jq "$run/growth" | keep
}

# buy_calmly WHEN SECONDS: 50 buyers at the first instance alone, who pause between their buys. Sets
# p99 and refused, the requests that were not answered as they should.
p99='' refused=''
buy_calmly() {
    "$build/loadtest" run --strategy combined --users 50 --think-ms 10 --item "Storm-$1" \
        --stock 1000000 --duration "$2s" --target "http://127.0.0.1:${ports[0]}" --quiet \
        --json "$run/loadtest.json" >"$run/loadtest.txt" || true
    read -r p99 refused < <(jq -r '.runs[0] | "\(.latency_ms.p99) \(
        .issued - .sold - .sold_out)"' "$run/loadtest.json")
}

# measure_storm SECONDS: buyers at an instance that more idle connections come to than it has
# threads, and slow ones.
measure_storm() {
    local idle=600 slow=40 calm=''
    buy_calmly calm "$1"
    calm=$p99
    start storm scripts/bench.d/storm.sh "${ports[0]}" $idle $slow
    wait_for storm grep -q ready "$run/storm.out"
    buy_calmly storm "$1"
    stop storm
    jq -nc --argjson idle $idle --argjson slow $slow --argjson calm "$calm" --argjson p99 "$p99" \
        --argjson refused "$refused" '{case: "storm", idle: $idle, slow: $slow, calm_p99_ms: $calm,
        p99_ms: $p99, added_ms: ([$p99 - $calm, 1] | max), refused: $refused}' | keep
}
