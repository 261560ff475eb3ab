# From what the wrks of one run said to a sample. Input: their words, raw. $terms: the row's terms;
# $cmds, $trips: what Redis was asked; $service, $redis, $proxy: us of CPU; $generator: seconds of
# it, "USER SYSTEM".

# The latency, in us, that a share of all answers had at most; each step of each wrk's quantiles
# stands for as many answers as it spans.
def percentile($share):
    sort_by(.us) | (map(.weight) | add) as $all
    | reduce .[] as $step ({sum: 0, us: null};
        if .us == null or .sum < $share * $all - 1e-9
        then .sum += $step.weight | .us = $step.us else . end)
    | .us;

def steps($answers):
    [splits(" ") | split("=") | map(tonumber)] as $all
    | [range(0; $all | length) as $i
       | (if $i == 0 then 0 else $all[$i - 1][0] end) as $before
       | {us: $all[$i][1], weight: (($all[$i][0] - $before) * $answers)}];

[splits("\n")] as $lines
| [$lines[] | select(startswith("bench: ")) | ltrimstr("bench: ") | [splits(" ") | tonumber]] as $wrks
| [$lines[] | select(startswith("quantiles: ")) | ltrimstr("quantiles: ")] as $quantiles
| ([range(0; $wrks | length) as $i | $quantiles[$i] | steps($wrks[$i][0])] | add) as $steps
| ($wrks | map(.[0] - .[6]) | add) as $orders
| ([$orders, 1] | max) as $each
| ($generator | [splits(" +") | tonumber] | add * 1e6) as $generator_us
| $terms + {
    throughput_rps: ($wrks | map((.[0] - .[6]) / .[1] * 1e6) | add | round),
    p50_ms: (($steps | percentile(0.5)) / 1000), p99_ms: (($steps | percentile(0.99)) / 1000),
    p999_ms: (($steps | percentile(0.999)) / 1000), fairness: null,
    redis_cmds_per_order: ($cmds / $each), redis_round_trips_per_order: ($trips / $each),
    cpu_us_per_order: (($service + $redis) / $each),
    cpu_us: {service: ($service / $each), redis: ($redis / $each),
             generator: ($generator_us / $each)},
    proxy_cpu: ($proxy / ($seconds * 1e6)),
    errors: ($wrks | map(.[5] - .[6]) | add), refused: ($wrks | map(.[6]) | add)}
