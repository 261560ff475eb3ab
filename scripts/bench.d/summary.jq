# From the samples of all rounds to bench.json: the median and the range of every figure, and the
# ratios that matter, each with how sure it is. Input: the samples, an array. $about: what this run
# is.

def median: map(select(. != null)) | sort
    | if . == [] then null else .[(length - 1) / 2 | floor] end;
def range_of: map(select(. != null)) | if . == [] then null else [min, max] end;

# ---- figures -------------------------------------------------------------------------------------

def terms:
    [.case, .strategy, .users, .items, .hold_ms, .think_ms, .rtt_ms, .durability, .offered_rps,
     .viewers];

# Of objects with the same members: that of the medians.
def medians: . as $all
    | .[0] | with_entries(.key as $name | .value = ($all | map(.[$name]) | median))
    | del(.case, .round);

def row: . as $samples
    | reduce ("throughput_rps", "p50_ms", "p99_ms", "p999_ms", "fairness", "slowest_of_median",
              "redis_cmds_per_order", "redis_round_trips_per_order", "cpu_us_per_order", "proxy_cpu",
              "errors", "refused") as $name
        ($samples[0]; .[$name] = ($samples | map(.[$name]) | median))
    | .cpu_us = ($samples | map(.cpu_us) | medians)
    | .range_rps = ($samples | map(.throughput_rps) | range_of)
    | .range_p99_ms = ($samples | map(.p99_ms) | range_of)
    | .runs = ($samples | length)
    | del(.round);

# Some cases differ in one thing from 100 users in memory, here and now: that row is theirs as well,
# unless they have measured it themselves.
def with_bases: . as $rows
    | . + [("disk", "items", "hold", "away") as $case
        | ([$rows[] | select(.case == $case) | .strategy] | unique[]) as $strategy
        | $rows[] | select(.case == "users" and .users == 100 and .strategy == $strategy)
        | .case = $case | select(terms as $own | any($rows[]; terms == $own) | not)
        | .same_as = "users"];

def lock_row: . as $rounds
    | .[0] | .ops_per_s = ($rounds | map(.ops_per_s) | median)
    | .range_ops_per_s = ($rounds | map(.ops_per_s) | range_of)
    | .handoff_us = ($rounds | sort_by(.ops_per_s)[(length - 1) / 2 | floor].handoff_us)
    | .canary_lost = ($rounds | map(.canary_lost) | add)
    | del(.case, .round);

# ---- ratios --------------------------------------------------------------------------------------

# A ratio is `times` the `figure` of the samples `over`, divided by that of the samples `under`; each
# is a list of members that the sample has, and what is left out is 1. Larger is better: an upper
# limit is written as limit / measured.
def users($strategy; $count): {case: "users", $strategy, users: $count};
def away($strategy): {case: "away", $strategy, rtt_ms: 1};
# Of the libraries' locks: the fastest, or the one with the shortest tail.
def go_locks: users("go:/redsync", "go:/redislock", "go:/rueidislock"; 100);

def speed($bar; $strategy; $other):
    {name: "throughput, 100 users: \($strategy) / \($other)", $bar, figure: "throughput_rps",
     over: [users($strategy; 100)], under: [users($other; 100)]};
def lock_speed($bar; $strategy):
    speed($bar; $strategy; "the best Go lock") | .under = [go_locks];
def lock_tail($strategy):
    {name: "p99, 100 users: a third of the best Go lock's / \($strategy)", bar: 1, times: (1 / 3),
     figure: "p99_ms", over: [go_locks], under: [users($strategy; 100)]};
def crowd($strategy):
    {name: "throughput of \($strategy), none refused: 1,000 users / 100", bar: 0.8,
     figure: "throughput_rps", over: [users($strategy; 1000)], under: [users($strategy; 100)],
     none_refused: true};
def far($bar; $strategy):
    {name: "throughput, Redis 1 ms away: combined / \($strategy)", $bar,
     figure: "throughput_rps", over: [away("combined")], under: [away($strategy)]};
def of_combined($name; $bar; $over; $under):
    {name: "throughput of combined: \($name)", $bar, figure: "throughput_rps", over: [$over],
     under: [$under]};
def disk($which): {case: "disk", strategy: "combined", durability: $which};
def viewers($count): {case: "viewers", strategy: "combined", viewers: $count};

def ratios:
    speed(1.3; "combined"; "go:/fairlua"),
    {name: "p99, 100 users: half of go:/fairlua's / combined", bar: 1, times: 0.5, figure: "p99_ms",
     over: [users("go:/fairlua"; 100)], under: [users("combined"; 100)]},
    speed(2.5; "combined"; "none"),
    speed(1.7; "combined"; "atomic"),
    speed(0.9; "combined"; "batched"),
    speed(0.55; "combined"; "livez"),
    lock_speed(1; "fair"), lock_speed(2; "fenced"), lock_tail("fair"), lock_tail("fenced"),
    {name: "p50, 1 user: 1.25 x atomic / combined", bar: 1, times: 1.25, figure: "p50_ms",
     over: [users("atomic"; 1)], under: [users("combined"; 1)]},
    of_combined("1,000 users / 100"; 0.8; users("combined"; 1000); users("combined"; 100)),
    crowd("fair"), crowd("pubsub"),
    {name: "sales of combined's 1,000 users: slowest / median", bar: 0.5,
     figure: "slowest_of_median", over: [{case: "fairness", strategy: "combined"}]},
    of_combined("durability disk / memory"; 0.5; disk("disk"); disk("memory")),
    far(0.95; "atomic"), far(1.8; "none"), far(100; "reentrant"), far(100; "pubsub"),
    {name: "resident memory, 1,000 connections: 64 MB / measured", bar: 1, times: 64,
     figure: "rss_mb_1000", under: [{case: "memory"}]},
    of_combined("200 viewers of live pages / none"; 0.98; viewers(200); viewers(0)),
    {name: "p99 beside idle and slow connections, none refused: 100 ms / what they add", bar: 1,
     times: 100, figure: "added_ms", under: [{case: "storm"}], none_refused: true},
    {name: "throughput of one sale: last 100,000 orders / first", bar: 0.9,
     figure: "last_of_first", over: [{case: "growth"}]};

def is($sample): to_entries | all(.value == $sample[.key]);
def measured($samples; $figure): select(. as $wanted
    | any($samples[]; . as $sample | ($sample[$figure] != null) and ($wanted | is($sample))));

# With only what was measured at all; nothing, when a side is missing then.
def of_measured($samples): . as $ratio
    | .over |= [(. // [])[] | measured($samples; $ratio.figure)]
    | .under |= [(. // [])[] | measured($samples; $ratio.figure)]
    | select((.over == []) == ($ratio.over == null) and (.under == []) == ($ratio.under == null));

# Of a round's samples: of several the best; null, when not all of them are there.
def side($round; $figure):
    [.[] | [. as $wanted | $round[] | . as $sample | select($wanted | is($sample)) | .[$figure]][0]]
    | if . == [] then 1 elif any(. == null) then null
      elif $figure == "throughput_rps" then max else min end;

# In which somebody was refused, where none is to be, is 0.
def pair($round): . as $ratio
    | (.over | side($round; $ratio.figure)) as $over
    | (.under | side($round; $ratio.figure)) as $under
    | if $over == null or $under == null or $under == 0 then empty
      elif .none_refused and any($round[]; . as $sample
          | any($ratio.over[], $ratio.under[]; is($sample)) and (.refused > 0 or .errors > 0))
      then 0
      else (.times // 1) * $over / $under end;

# Down, for what is below a bar is not to look as if it reached it. Bars have two decimals.
def down2: if . == null then null else . * 100 + 1e-6 | floor / 100 end;

# Student's t of 95 %, by degrees of freedom from 2 on.
def student: [null, null, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306][.]
    // (1.95996 + 2.3722 / . + 2.8225 / (. * .) + 2.5558 / (. * . * .));

# Of the pairs of all rounds: the geometric mean, and between which two values it is with 95 %
# confidence, by Student's t over the logarithms; unknown of less than three. A 0 makes all 0.
def estimate: length as $n
    | if any(. <= 0) then [0, 0, 0, 0]
      else map(log) | (add / $n) as $mean
        | if $n < 3 then [($mean | exp), null, null, null]
          else (map(. - $mean | . * .) | add / ($n - 1) / $n | sqrt * ($n - 1 | student)) as $half
            | [([$mean, $mean - $half, $mean + $half][] | exp), (($half | exp) - 1) * 100] end end
    | {value: (.[0] | down2), low: (.[1] | down2), high: (.[2] | down2), rounds: $n,
       within_percent: (.[3] | down2)};

def judged:
    .state = if .low == null then "inconclusive" elif .low >= .bar then "reached"
             elif .high < .bar then "missed" else "inconclusive" end;

# Which job a sample is of: see cases.sh.
def job: {case, strategy,
    value: (if .case == "users" then .users elif .case == "away" then .rtt_ms else "-" end)};

. as $samples
| [group_by(.round)[]] as $rounds
| (map(select(.strategy != null and .case != "probe")) | group_by(terms) | map(row) | with_bases) as $rows
| def of_case($case): [$samples[] | select(.case == $case)];
  def one_of($case): of_case($case) | if . == [] then null else medians end;
  $about + {
    schema: 1,
    rows: $rows,
    ratios: [ratios | of_measured($samples) | . as $ratio
        | [$rounds[] as $round | pair($round)] | select(. != [])
        | {name: $ratio.name, bar: $ratio.bar} + estimate | judged
        | .of = ($ratio.over + $ratio.under | map(job) | unique)],
    locks: [of_case("locks") | group_by(.kind)[] | lock_row],
    memory: one_of("memory"),
    storm: one_of("storm"),
    growth: [of_case("growth") | map(.steps[]) | group_by(.orders)[] | medians]
  }
