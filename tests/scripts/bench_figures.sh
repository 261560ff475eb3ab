#!/bin/bash
# What scripts/bench makes of samples that are given: medians, ranges, ratios and how sure they are,
# further rounds, tables. Prints what is wrong, and exits with 1 when something is. Called by
# test_bench.c. With the word "summary": only prints a bench.json, of a whole run.
set -u -o pipefail
shopt -s lastpipe # expect is to set status where it is the last of a pipe, too
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

# A sample: CASE STRATEGY USERS RPS P99_MS [MEMBER], of $round
round=1
sample() {
    printf '{"case": "%s", "strategy": "%s", "users": %s, "throughput_rps": %s, "p99_ms": %s, "round": %s,
        "items": 1, "hold_ms": 0, "think_ms": 0, "rtt_ms": 0, "durability": "memory", "offered_rps": null,
        "p50_ms": 2, "p999_ms": null, "fairness": null, "redis_cmds_per_order": 3, "redis_round_trips_per_order": 1,
        "cpu_us_per_order": 30, "cpu_us": {"service": 20, "redis": 10, "generator": 5}, "errors": 0, "refused": 0%s}\n' \
        "${@:1:5}" "$round" "${6:+, $6}"
}

summarize() {
    jq -s --argjson about '{"quick": false,
        "environment": {"date": "2026-11-22T00:00:00Z", "version": "1", "commit": "abc", "redis": "7", "peers": true,
            "cases": ["users", "disk", "items", "hold", "away", "think", "fairness", "open", "locks", "memory",
                "growth", "viewers", "storm"]},
        "machine": {"cpus": 2, "cpu": "x"}}' -f $programs/summary.jq
}

samples() {
    sample users combined 100 2000 6 && sample users none 100 500 9 && sample users livez 100 4000 1
    sample users combined 1000 1800 60 '"errors": 0'
    sample users combined 1 100 1 '"p50_ms": 5' && sample users atomic 1 100 1 '"p50_ms": 4'
    sample users go:/fairlua 100 1000 6 && sample users sharded 100 1500 6
    sample users go:/redsync 100 40 900 && sample users go:/rueidislock 100 50 600 && sample users fair 100 60 100
    sample users fair 1000 54 900 && sample users pubsub 100 50 100 && sample users pubsub 1000 60 900 '"refused": 1'
    sample disk combined 100 900 9 '"durability": "disk"' && sample disk combined 100 1800 9
    sample disk none 100 90 9 '"durability": "disk"'
    sample away combined 100 800 5 '"rtt_ms": 1' && sample away reentrant 100 4 5 '"rtt_ms": 1'
    sample away combined 100 300 5 '"rtt_ms": 5'
    sample fairness combined 1000 900 5 '"slowest_of_median": 0.4'
    sample viewers combined 100 1000 9 '"viewers": 0' && sample viewers combined 100 990 9 '"viewers": 200'
    sample probe combined 100 1 1
    echo '{"case": "memory", "rss_mb_0": 9, "rss_mb_1000": 40, "round": 1}
        {"case": "storm", "p99_ms": 60, "calm_p99_ms": 10, "added_ms": 50, "refused": 0, "round": 1}
        {"case": "growth", "steps": [{"orders": 100000, "throughput_rps": 100}, {"orders": 200000, "throughput_rps": 80}],
         "last_of_first": 0.8, "round": 1}
        {"case": "locks", "kind": "fair", "ops_per_s": 9, "canary_lost": 1, "round": 1}'
    round=2
    sample users combined 100 3000 8 && sample users none 100 700 9 && sample users combined 1000 900 60
    echo '{"case": "memory", "rss_mb_0": 7, "rss_mb_1000": 50, "round": 2}
        {"case": "growth", "steps": [{"orders": 100000, "throughput_rps": 90}], "last_of_first": null, "round": 2}
        {"case": "locks", "kind": "fair", "ops_per_s": 7, "canary_lost": 0, "round": 2}'
    round=3
    sample users combined 100 1000 4
    echo '{"case": "locks", "kind": "fair", "ops_per_s": 8, "canary_lost": 0, "round": 3}'
}

summary=$(samples | summarize) || exit 1
[ "${1-}" != summary ] || { echo "$summary" && exit; }

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
expect "memory and growth" '.memory == {rss_mb_0: 7, rss_mb_1000: 40} and .storm.p99_ms == 60 and
    .growth == [{orders: 100000, throughput_rps: 90}, {orders: 200000, throughput_rps: 80}]' <<<"$summary"
expect "contract" '.schema == 1 and .quick == false' <<<"$summary"

# ratio NAME VALUE BAR: of one round, so it is inconclusive; or missed, where somebody was refused.
ratio() {
    expect "ratio $1" "[.ratios[] | select(.name == \"$1\") | [.value, .bar, .rounds, .state]]
        == [[$2, $3, ${4:-1}, \"${5:-inconclusive}\"]]" <<<"$summary"
}
ratio "throughput, 100 users: combined / go:/fairlua" 2 1.3
ratio "p99, 100 users: half of go:/fairlua's / combined" 0.5 1
ratio "throughput, 100 users: combined / none" 4.14 2.5 2 # the geometric mean of 4 and 30/7
ratio "throughput, 100 users: combined / livez" 0.5 0.55
ratio "throughput, 100 users: fair / the best Go lock" 1.2 1
ratio "p99, 100 users: a third of the best Go lock's / fair" 2 1
ratio "p50, 1 user: 1.25 x atomic / combined" 1 1
ratio "throughput of combined: 1,000 users / 100" 0.51 0.8 2 # of 0.9 and 0.3
ratio "throughput of fair, none refused: 1,000 users / 100" 0.9 0.8
ratio "throughput of pubsub, none refused: 1,000 users / 100" 0 0.8 1 missed
ratio "sales of combined's 1,000 users: slowest / median" 0.4 0.5
ratio "throughput of combined: durability disk / memory" 0.5 0.5
ratio "throughput, Redis 1 ms away: combined / reentrant" 200 100
ratio "resident memory, 1,000 connections: 64 MB / measured" 1.43 1 2 # of 1.6 and 1.28
ratio "throughput of combined: 200 viewers of live pages / none" 0.99 0.98
ratio "p99 beside idle and slow connections, none refused: 100 ms / what they add" 2 1
ratio "throughput of one sale: last 100,000 orders / first" 0.8 0.9
expect "no ratio of what was not measured" '[.ratios[] | select(.name | test("batched|fenced"))] == []' <<<"$summary"

# ---- how sure a ratio is -------------------------------------------------------------------------

# rounds VALUE...: combined sells 1000 in each round, and batched so much that their ratio is VALUE.
rounds() {
    local value
    round=0
    for value; do
        round=$((round + 1))
        sample users combined 100 1000 9
        sample users batched 100 "$(jq -n "1000 / $value")" 9
    done
}

# judged WHAT CONDITION VALUE...: the ratio of combined and batched, whose bar is 0.9.
judged() {
    rounds "${@:3}" | summarize | jq '.ratios[0]' | expect "$1" "$2"
}
judged "two rounds say nothing" '.state == "inconclusive" and .low == null and .high == null and .rounds == 2' 2 2
judged "reached" '.state == "reached" and .value == 0.95 and .low == 0.92 and .high == 0.98 and .rounds == 3' 0.94 0.95 0.965
judged "missed" '.state == "missed" and .high < 0.9 and .low <= .value and .value <= .high' 0.85 0.86 0.87
judged "the bar is inside" '.state == "inconclusive" and .low < 0.9 and .high >= 0.9' 0.8 0.95 1.1
judged "the bar is inside, above the value" '.state == "inconclusive" and .value < 0.9 and .high >= 0.9' 0.8 0.85 1
judged "the bar itself is reached" '.state == "reached" and .low == 0.9' 0.9 0.9 0.9
judged "not rounded up to its bar" '.state == "missed" and .value == 0.89 and .high == 0.89' 0.895 0.895 0.895
# By hand: logs +-0.1 and 0, s = 0.1; 4.303 x 0.1 / sqrt(3) = 0.2484, so 0.78 and 1.282; of 12 rounds
# s = 0.1045, and 2.201 x 0.1045 / sqrt(12) = 0.0664.
judged "Student's t of three" '.value == 1 and .low == 0.78 and .high == 1.28 and .within_percent == 28.2' \
    1.105170918 0.904837418 1
judged "Student's t of twelve" '.value == 1 and .low == 0.93 and .high == 1.06 and .within_percent == 6.86' \
    1.105170918 0.904837418 1.105170918 0.904837418 1.105170918 0.904837418 1.105170918 0.904837418 \
    1.105170918 0.904837418 1.105170918 0.904837418
# The rounds differ by a factor of three, and the ratio hardly: they are pairs.
round=0
for rps in 1000 3000 2000; do
    round=$((round + 1))
    sample users combined 100 $rps 9 && sample users batched 100 $((rps + round)) 9
done | summarize | jq '.ratios[0]' | expect "figures of one round are a pair" '.state == "reached" and .within_percent < 1'
{ rounds 2 2 && round=4 && sample users combined 100 1 9; } | summarize | jq '.ratios[0]' |
    expect "half a pair is none" '.rounds == 2 and .value == 2'

# Only what is missed fails a run: the samples have one of these.
eval "$(sed -n '/^judge() {/,/^}/p' scripts/bench)"
out=$(mktemp -d)
echo "$summary" >"$out/bench.json"
if said=$(judge) || [ "$said" != "Ratios: 0 reached, 1 missed, 16 inconclusive" ]; then
    echo "a missed ratio, and it is said: $said" >&2 && status=1
fi
jq '.ratios |= map(select(.state != "missed"))' <<<"$summary" >"$out/bench.json"
judge >"$out/said" || { echo "nothing is missed, and it fails" >&2 && status=1; }
rm -rf "$out"

# ---- further rounds ------------------------------------------------------------------------------

# Sure: combined / batched. Unsure: combined / atomic, whose rounds differ; combined / none, of which
# there are two rounds; and 1,000 users.
unsure() {
    rounds 1 1 1.01 && round=1 && sample users none 100 500 9 && round=2 && sample users none 100 500 9
    sample users combined 1000 900 9
    for round in 1 2 3; do sample users atomic 100 $((500 + 50 * round)) 9; done
}
[ "$(unsure | summarize | jq -r -f $programs/unsure.jq)" = $'users 100 atomic combined none\nusers 1000 combined' ] || {
    echo "unsure are: $(unsure | summarize | jq -r -f $programs/unsure.jq)" >&2 && status=1
}

# Rounds without servers: who is asked, and how often? "none" becomes sure with its third round, and
# livez never does.
further() {
    (
        build=$PWD/${FLASHSALE_BUILD:-build} quick=true BENCH_MINUTES=${1} out=$(mktemp -d) samples=$out/samples
        trap 'rm -rf "$out"' EXIT
        die() { echo "$*" && exit 1; }
        # shellcheck source=scripts/bench.d/cases.sh
        . $programs/cases.sh
        serve() { :; }
        eval "of_one_round() $(declare -f sample | sed 1d)"
        sample() {
            local "$@"
            # shellcheck disable=SC2154 # set by the words
            echo "$round $users $strategy" >>"$out/asked"
            local rps=1000
            [ "$strategy" != livez ] || rps=$((1000 * (round % 2 + 1)))
            of_one_round users "$strategy" "$users" $rps 9 >>"$samples"
            [ "$round" -lt 6 ] || SECONDS=100000
        }
        summarize() { jq -s --argjson about '{}' -f $programs/summary.jq "$samples" >"$out/bench.json"; }
        all="none combined" && choose users && plan="users 100 1 1" && : >"$samples"
        planned_rounds >"$out/said" && further_rounds >>"$out/said"
        awk '{ asked = asked " " $1 ":" $3 } END { print asked }' "$out/asked"
    )
}
asked=$(further 10)
[ "$asked" = " 1:livez 1:none 1:combined 2:livez 2:none 2:combined 3:livez 3:none 3:combined \
4:livez 4:combined 5:livez 5:combined 6:livez 6:combined" ] || {
    echo "asked were:$asked" >&2 && status=1
}
asked=$(further 0)
[ "$asked" = " 1:livez 1:none 1:combined" ] || { echo "no time, asked were:$asked" >&2 && status=1; }
! asked=$(further soon) || { echo "BENCH_MINUTES=soon was taken" >&2 && status=1; }

# ---- tables --------------------------------------------------------------------------------------

# has PART LINE...: a table with lines of these forms.
has() {
    local table line
    table=$(jq -r --arg part "$1" -f $programs/table.jq <<<"$summary") || status=1
    for line in "${@:2}"; do
        grep -q "$line" <<<"$table" || { printf 'no line %s in\n%s\n' "$line" "$table" >&2 && status=1; }
    done
}
# shellcheck disable=SC2016 # Markdown quotes by them
has strategies '^| `combined` | 100 | 2,000 | 1,000-3,000 | 900 | 2 | 6 | 800 | 900 |$'
has ratios '^| throughput of pubsub, none refused: 1,000 users / 100 | 0 (0-0) \*\*missed\*\* | 0.8 |$' \
    '^| throughput, 100 users: combined / livez | 0.5 inconclusive | 0.55 |$'
# shellcheck disable=SC2016
has costs '^| `combined` | 1 | 10 | 20 |$' '^| `livez` |  |  | 20 |$' 'and 0 are the sale'
# shellcheck disable=SC2016
has one-item '^| `combined` | 2,000 | 10 | 100,000 |$'
has plan '50,000 orders/s a server at half its limit | 3 primaries' '25,000 requests/s a core | 6 cores'
has source '2026-11-22: commit abc, 1, Redis 7, 2 CPUs (x)'

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
    jq -Rsc -f $programs/growth.jq | expect "growth" '.case == "growth" and
    [.steps[].orders] == [100000, 200000, 300000] and .steps[1].throughput_rps == 100000 and
    (.steps[2] | .throughput_rps == 100000 and .bytes_per_order == 0) and (.last_of_first | . > 1.4 and . < 2.1)'

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
