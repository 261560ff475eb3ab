#!/bin/bash
# What scripts/bench makes of samples that are given: medians, ranges, ratios, tables. Prints what is
# wrong, and exits with 1 when something is. Called by test_bench.c.
set -u -o pipefail
programs=scripts/bench.d
status=0

# expect WHAT CONDITION: true of the JSON on standard input.
expect() {
    local json
    json=$(cat)
    jq -e "$2" <<<"$json" >/dev/null && return
    printf '%s: not so: %s\n%s\n' "$1" "$2" "$json" >&2
    status=1
}

# A sample: CASE STRATEGY USERS RPS P99_MS [MORE]
sample() {
    jq -nc --arg case "$1" --arg strategy "$2" --argjson users "$3" --argjson rps "$4" --argjson p99 "$5" '
        {case: $case, strategy: $strategy, users: $users, items: 1, hold_ms: 0, think_ms: 0, rtt_ms: 0,
         durability: "memory", offered_rps: null, throughput_rps: $rps, p50_ms: 2, p99_ms: $p99, p999_ms: null,
         fairness: null, redis_cmds_per_order: 3, redis_round_trips_per_order: 1, cpu_us_per_order: 30,
         cpu_us: {service: 20, redis: 10, generator: 5}, errors: 0, refused: 0} + '"${6:-{\}}"
}

samples() {
    sample users combined 100 3000 8 && sample users combined 100 1000 4 && sample users combined 100 2000 6
    sample users none 100 500 9 && sample users none 100 700 9
    sample users livez 100 4000 1
    sample users combined 1000 1800 60 '{errors: 3}'
    sample users combined 1 100 1 '{p50_ms: 5}' && sample users atomic 1 100 1 '{p50_ms: 4}'
    sample users go:/fairlua 100 1000 6
    sample users go:/redsync 100 40 900 && sample users go:/rueidislock 100 50 600 && sample users fair 100 60 100
    sample users fair 1000 54 900 && sample users pubsub 100 50 100 && sample users pubsub 1000 60 900 '{refused: 1}'
    sample disk combined 100 900 9 '{durability: "disk"}' && sample disk combined 100 1800 9
    sample disk none 100 90 9 '{durability: "disk"}'
    sample away combined 100 800 5 '{rtt_ms: 1}' && sample away reentrant 100 4 5 '{rtt_ms: 1}'
    sample away combined 100 300 5 '{rtt_ms: 5}'
    sample fairness combined 1000 900 5 '{slowest_of_median: 0.4}'
    sample viewers combined 100 1000 9 '{viewers: 0}' && sample viewers combined 100 3000 9 '{viewers: 0}'
    sample viewers combined 100 900 9 '{viewers: 200}' && sample viewers combined 100 3060 9 '{viewers: 200}'
    sample probe combined 100 1 1
}

summary=$(samples | jq -s --argjson about '{"quick": true,
    "environment": {"date": "2026-11-22T00:00:00Z", "version": "1", "redis": "7", "peers": true},
    "machine": {"cpus": 2, "cpu": "x"}}' \
    --argjson memory '[{"rss_mb_0": 9, "rss_mb_1000": 40}]' \
    --argjson storm '[{"p99_ms": 60, "calm_p99_ms": 10, "refused": 0}]' \
    --argjson growth '[{"throughput_rps": 100}, {"throughput_rps": 50}, {"throughput_rps": 80}]' \
    --argjson locks '[{"kind": "fair", "ops_per_s": 9, "canary_lost": 1}, {"kind": "fair", "ops_per_s": 7, "canary_lost": 0},
        {"kind": "fair", "ops_per_s": 8, "canary_lost": 0}]' -f $programs/summary.jq) || exit 1

row='[.rows[] | select(.case == "users" and .users == 100 and .strategy == "combined")] | length == 1 and (.[0] | '
expect "median of three" "$row .throughput_rps == 2000 and .p99_ms == 6)" <<<"$summary"
expect "ranges" "$row .range_rps == [1000, 3000] and .range_p99_ms == [4, 8] and .runs == 3)" <<<"$summary"
expect "what nobody measured" "$row .p999_ms == null and .fairness == null)" <<<"$summary"
expect "CPU" "$row .cpu_us == {service: 20, redis: 10, generator: 5})" <<<"$summary"
expect "the lower of two" '.rows[] | select(.strategy == "none") | .throughput_rps == 500' <<<"$summary"
expect "a probe is no row" '[.rows[] | select(.case == "probe")] == []' <<<"$summary"
expect "the row that a case differs from" '[.rows[] | select(.case == "away" and .strategy == "combined") | .rtt_ms] | sort == [0, 1, 5]' <<<"$summary"
expect "but one that it measured itself" '[.rows[] | select(.case == "disk") | [.strategy, .durability, .throughput_rps, .same_as]]
    | sort == [["combined", "disk", 900, null], ["combined", "memory", 1800, null],
               ["none", "disk", 90, null], ["none", "memory", 500, "users"]]' <<<"$summary"
expect "locks" '.locks | length == 1 and .[0].ops_per_s == 8 and .[0].range_ops_per_s == [7, 9] and .[0].canary_lost == 1' <<<"$summary"
expect "contract" '.schema == 1 and .quick == true and .memory.rss_mb_0 == 9 and (.growth | length) == 3' <<<"$summary"

# ratio NAME VALUE BAR
ratio() {
    expect "ratio $1" "[.ratios[] | select(.name == \"$1\")] == [{name: \"$1\", value: $2, bar: $3}]" <<<"$summary"
}
ratio "throughput, 100 users: combined / go:/fairlua" 2 1.3
ratio "p99, 100 users: half of go:/fairlua's / combined" 0.5 1
ratio "throughput, 100 users: combined / none" 4 2.5
ratio "throughput, 100 users: combined / livez" 0.5 0.55
ratio "throughput, 100 users: fair / the best Go lock" 1.2 1
ratio "p99, 100 users: a third of the best Go lock's / fair" 2 1
ratio "p50, 1 user: 1.25 x atomic / combined" 1 1
ratio "throughput of combined: 1,000 users / 100" 0.9 0.8
ratio "throughput of fair, none refused: 1,000 users / 100" 0.9 0.8
ratio "throughput of pubsub, none refused: 1,000 users / 100" 0 0.8
ratio "sales of combined's 1,000 users: slowest / median" 0.4 0.5
ratio "throughput of combined: durability disk / memory" 0.5 0.5
ratio "throughput, Redis 1 ms away: combined / reentrant" 200 100
ratio "resident memory, 1,000 connections: 64 MB / measured" 1.6 1
ratio "throughput of combined: 200 viewers of live pages / none" 0.99 0.98
ratio "p99 beside idle and slow connections, none refused: 100 ms / what they add" 2 1
ratio "throughput of one sale: last 100,000 orders / first" 0.8 0.9
expect "no ratio of what was not measured" '[.ratios[] | select(.name | test("batched|fenced"))] == []' <<<"$summary"

table=$(jq -r -f $programs/table.jq <<<"$summary") || status=1
# shellcheck disable=SC2016 # Markdown quotes by them
for line in '^| `combined` | 100 |  | 2,000 | 1,000-3,000 | 1,800 | 2 | 6 | 1 | 20 | 10 | 800 | 900 |$' \
    '^| throughput, 100 users: combined / livez | 0.5 \*\*below\*\* | 0.55 |$'; do
    grep -q "$line" <<<"$table" || { printf 'no line %s in\n%s\n' "$line" "$table" >&2 && status=1; }
done

# Two generators: one answered 300 times, 100 us each; one 100 times, of which half took 1 ms.
said='bench: 300 1000000 0 0 0 0 0
quantiles: 0.50000=100 0.99000=100 1.00000=100
bench: 100 500000 0 0 0 12 10
quantiles: 0.50000=100 0.99000=1000 1.00000=9000'
jq -Rsc --argjson terms '{}' --argjson cmds 780 --argjson trips 390 --argjson service 3900 \
    --argjson redis 7800 --argjson proxy 0 --argjson seconds 1 --arg generator "0.0039 0.0039" \
    -f $programs/wrk.jq <<<"$said" | expect "wrks together" '
    .throughput_rps == 480 and .p50_ms == 0.1 and .p99_ms == 1 and .p999_ms == 9 and .errors == 2 and
    .refused == 10 and .redis_cmds_per_order == 2 and .redis_round_trips_per_order == 1 and
    .cpu_us == {service: 10, redis: 20, generator: 20}'

printf '%s\n' '0 0 1000' '1000000000 50000 6000' '2000000000 150000 16000' '4000000000 350000 96000' |
    jq -Rsc -f $programs/growth.jq | jq -sc . | expect "growth" '
    [.[] | .orders] == [100000, 200000, 300000] and .[1].throughput_rps == 100000 and
    (.[2] | .throughput_rps == 100000 and .bytes_per_order == 0)'
expect "a ratio is not rounded up to its bar" 'any(.ratios[]; .name == "throughput, 100 users: combined / batched" and .value == 0.89)' \
    <<<"$({ samples && sample users batched 100 2234 1; } | jq -s --argjson about '{}' --argjson memory '[]' \
        --argjson growth '[]' --argjson locks '[]' -f $programs/summary.jq)"

# One of three generators fails, and not the last; then loadtest does, and leaves no file.
run=$(mktemp -d)
# shellcheck disable=SC2034 # for what is sourced
build=$run samples=$run/samples ports=(1 2 3) next_item=1 stock=10 sale_wait_ms=1
# shellcheck source=scripts/bench.d/sample.sh
. $programs/sample.sh
wrk() { [ "${*: -1}" != http://127.0.0.1:1 ]; }
settle() { :; }
first_item=1 items=1 seconds=1 load 3 / 1 2 3 && echo "a wrk failed, and load did not" >&2 && status=1
echo '{"runs": [{"goodput_sps": 1}]}' >"$run/loadtest.json"
printf '#!/bin/sh\nexit 64\n' >"$run/loadtest" && chmod +x "$run/loadtest"
sample_loadtest strategy=none 2>"$run/said"
[ ! -s "$samples" ] || { echo "a failed run has the figures of the one before" >&2 && status=1; }
rm -rf "$run"
exit $status
