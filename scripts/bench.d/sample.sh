# shellcheck shell=bash
# One run, as a line of JSON in $samples: by wrk, or by loadtest where users think, keep to a rate,
# or are counted one by one. Sourced by scripts/bench.
#
# Both take words NAME=VALUE: those of a row in bench.json, and seconds.

# What a row says of its run, from the caller's variables.
terms() {
    jq -nc --arg case "$case" --arg strategy "$strategy" --argjson users "$users" \
        --argjson items "$items" --argjson hold "$hold_ms" --argjson think "$think_ms" \
        --argjson rtt "$rtt_ms" --arg durability "$durability" --argjson offered "$offered_rps" \
        --argjson viewers "$viewers" '
        {case: $case, strategy: $strategy, users: $users, items: $items, hold_ms: $hold,
         think_ms: $think, rtt_ms: $rtt, durability: $durability, offered_rps: $offered,
         viewers: $viewers}'
}

# load USERS PATH PORT...: a wrk for each instance, or for the first alone when there is one user.
# Their CPU is left in $run/generator, in seconds; what they say in $run/wrk.0 and so on. False: one
# of them has failed.
load() {
    local total=$1 path=$2 i mine pid pids=() failed=0
    shift 2
    rm -f "$run"/wrk.*
    {
        time {
            for ((i = 0; i < $#; i++)); do
                mine=$(((total + $# - 1 - i) / $#))
                [ $mine -gt 0 ] || continue
                FLASHSALE_PORTS=${*:i+1:1} BENCH_PATH=$path BENCH_FIRST=$first_item \
                    BENCH_ITEMS=$items wrk -t1 "-c$mine" "-d${seconds}s" --timeout 10s \
                    -s scripts/bench.d/wrk.lua "http://127.0.0.1:${*:i+1:1}" >"$run/wrk.$i" &
                pids+=($!)
            done
            for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
        } 2>"$run/wrk.err"
    } 2>"$run/generator"
    return $failed
}

# Those who look at the first item of the run, all of them there before it begins.
start_viewers() {
    local item
    printf -v item P%04d "$first_item"
    start viewers "$build/tests/viewers" --viewers "$viewers" --item "$item" --seconds 60 "${ports[@]}"
    sleep 1
}

stop_viewers() {
    stop viewers
    jq -e '.failed == 0 and .documents > 0' "$run/viewers.out" >/dev/null ||
        die "viewers were not answered: $(cat "$run/viewers.out")"
}

sample() {
    local case=users strategy=combined users=100 items=1 hold_ms=0 think_ms=0 rtt_ms=0 \
        durability=memory offered_rps=null viewers=0 seconds=1 "$@"
    local path='/buy?item={item}&user={user}' service='flashsale-*' to=("${ports[@]}")
    local first_item=1 cpu redis_cpu cmds trips proxy TIMEFORMAT='%U %S'
    case $strategy in
    livez) path=/livez ;;
    go:/livez) path=/livez service='peers-*' to=("${peer_ports[@]}") ;;
    go:*)
        path="${strategy#go:}?user={user}" service='peers-*' to=("${peer_ports[@]}")
        new_peer_sale
        ;;
    *) new_sales "$strategy" "$items" "$hold_ms" "$durability" ;;
    esac
    [ "$viewers" = 0 ] || start_viewers
    cpu=$(cpu_us "$service") redis_cpu=$(cpu_us redis) proxy=$(cpu_us proxy)
    cmds=$(counted total_commands_processed) trips=$(counted total_reads_processed)
    load "$users" "$path" "${to[@]}" || { cat "$run/wrk.err" >&2 && die "wrk failed at $strategy"; }
    cpu=$(($(cpu_us "$service") - cpu)) redis_cpu=$(($(cpu_us redis) - redis_cpu))
    proxy=$(($(cpu_us proxy) - proxy))
    cmds=$(($(counted total_commands_processed) - cmds))
    trips=$(($(counted total_reads_processed) - trips))
    [ "$viewers" = 0 ] || stop_viewers
    cat "$run"/wrk.[0-9] | jq -Rsc --argjson terms "$(terms)" --argjson cmds $cmds \
        --argjson trips $trips --argjson service $cpu --argjson redis $redis_cpu \
        --argjson proxy $proxy --argjson seconds "$seconds" \
        --arg generator "$(tail -n 1 "$run/generator")" -f scripts/bench.d/wrk.jq | keep
    settle "$strategy"
}

# As sample, by loadtest, which asks afterwards whether all was sold rightly. What it says is left
# in $run/loadtest.json.
sample_loadtest() {
    local case=think strategy=combined users=100 items=1 hold_ms=0 think_ms=0 rtt_ms=0 \
        durability=memory offered_rps=null viewers=0 seconds=1 item how=() "$@"
    printf -v item P%04d "$next_item"
    next_item=$((next_item + 1))
    [ "$offered_rps" = null ] || how+=(--rate "$offered_rps")
    [ "$case" != fairness ] || how+=(--same-names)
    rm -f "$run/loadtest.json" # of the run before
    "$build/loadtest" run --strategy "$strategy" --users "$users" --think-ms "$think_ms" \
        --item "$item" --stock $((stock / 10)) --wait-ms $sale_wait_ms --duration "${seconds}s" \
        "${how[@]}" "${ports[@]/#/--target=http://127.0.0.1:}" --quiet \
        --redis-info "unix://$run/redis.sock" --json "$run/loadtest.json" \
        >"$run/loadtest.txt" || true # its verdict is in the sample
    jq -c --argjson terms "$(terms)" '
        .runs[0] | ((.sales_per_user // []) | sort) as $sales
        | $terms + {
            throughput_rps: .goodput_sps, p50_ms: .latency_ms.p50, p99_ms: .latency_ms.p99,
            p999_ms: .latency_ms.p999, fairness,
            slowest_of_median: (if ($sales | length) > 1 and $sales[length / 2 | floor] > 0
                then $sales[0] / $sales[length / 2 | floor] else null end),
            redis_cmds_per_order: .redis_cmds_per_sale, redis_round_trips_per_order: null,
            cpu_us_per_order: null,
            cpu_us: {service: null, redis: null, generator: .generator.cpu_us_per_request},
            verdict, errors, refused: .busy}' "$run/loadtest.json" | keep
    settle "$strategy"
}

# Adds a line of JSON to the samples, with the round that it is of, and shows it.
keep() {
    jq -c --argjson round "$round" '. + {round: $round}' | tee -a "$samples" | jq -r '
        if .strategy == null
        then "  " + ([to_entries[] | select(.value | scalars) | "\(.key) \(.value)"] | join(", "))
        else "  \(.case)\t\(.strategy)\t\(.users) users\t\(
        [(select(.think_ms > 0) | "think \(.think_ms) ms"),
         (select(.hold_ms > 0) | "hold \(.hold_ms) ms"),
         (select(.rtt_ms > 0) | "\(.rtt_ms) ms away"), (select(.items > 1) | "\(.items) items"),
         (select(.offered_rps) | "\(.offered_rps)/s offered"),
         (select(.viewers > 0) | "\(.viewers) viewers")] | join(", "))\t\(
        .throughput_rps | round)/s\tp99 \(.p99_ms) ms" end' | expand -t 12,30,42,60,72
}
