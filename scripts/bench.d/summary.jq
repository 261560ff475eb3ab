# From the samples of all rounds to bench.json: the median and the range of every figure, and the
# ratios. Input: the samples, an array. $about: what this run is; $locks, $growth: arrays; $memory,
# $storm: arrays of one.

def median: map(select(. != null)) | sort
    | if . == [] then null else .[(length - 1) / 2 | floor] end;
def range_of: map(select(. != null)) | if . == [] then null else [min, max] end;

def terms:
    [.case, .strategy, .users, .items, .hold_ms, .think_ms, .rtt_ms, .durability, .offered_rps,
     .viewers];

def row: . as $samples
    | reduce ("throughput_rps", "p50_ms", "p99_ms", "p999_ms", "fairness", "slowest_of_median",
              "redis_cmds_per_order", "redis_round_trips_per_order", "cpu_us_per_order", "proxy_cpu",
              "errors", "refused") as $name
        ($samples[0]; .[$name] = ($samples | map(.[$name]) | median))
    | reduce ("service", "redis", "generator") as $name (.;
        .cpu_us[$name] = ($samples | map(.cpu_us[$name]) | median))
    | .range_rps = ($samples | map(.throughput_rps) | range_of)
    | .range_p99_ms = ($samples | map(.p99_ms) | range_of)
    | .runs = ($samples | length);

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
    | .canary_lost = ($rounds | map(.canary_lost) | add);

# Down, for what is below a bar is not to look as if it reached it.
def down2: . * 100 + 1e-6 | floor / 100;

. as $samples
| (map(select(.case != "probe")) | group_by(terms) | map(row) | with_bases) as $rows
| [$locks | group_by(.kind)[] | lock_row] as $lock_rows
| (($ARGS.named.storm // []) | .[0]) as $storm
# figure(case; strategy; what; which): of the row of that case for which "which" is true; nothing,
# and so no ratio, when it was not measured.
| def figure($case; $strategy; $name; which):
      $rows[] | select(.case == $case and .strategy == $strategy and which) | .[$name]
      | select(. != null and . > 0);
  def ratio($name; $bar; value): value | {name: $name, value: down2, bar: $bar};
  def users($strategy; $count; $name): figure("users"; $strategy; $name; .users == $count);
  def speed($bar; $strategy; $other):
      ratio("throughput, 100 users: \($strategy) / \($other)"; $bar;
          users($strategy; 100; "throughput_rps") / users($other; 100; "throughput_rps"));
  def away($bar; $strategy; $other):
      ratio("throughput, Redis 1 ms away: \($strategy) / \($other)"; $bar;
          figure("away"; $strategy; "throughput_rps"; .rtt_ms == 1)
          / figure("away"; $other; "throughput_rps"; .rtt_ms == 1));
  # Nothing, where somebody was refused.
  def crowd($strategy):
      ratio("throughput of \($strategy), none refused: 1,000 users / 100"; 0.8;
          $rows[] | select(.case == "users" and .strategy == $strategy and .users == 1000)
          | if .refused > 0 or .errors > 0 then 0
            else .throughput_rps / users($strategy; 100; "throughput_rps") end);
  # Of the libraries' locks: the fastest, and the one with the shortest tail.
  def go_locks($name):
      [users("go:/redsync", "go:/redislock", "go:/rueidislock"; 100; $name)] | select(. != []);
  def lock_speed($bar; $strategy):
      ratio("throughput, 100 users: \($strategy) / the best Go lock"; $bar;
          users($strategy; 100; "throughput_rps") / (go_locks("throughput_rps") | max));
  # Larger is better: an upper limit is written as limit / measured.
  def lock_tail($strategy):
      ratio("p99, 100 users: a third of the best Go lock's / \($strategy)"; 1;
          (go_locks("p99_ms") | min) / 3 / users($strategy; 100; "p99_ms"));
  def disk($which): figure("disk"; "combined"; "throughput_rps"; .durability == $which);
  # Two percent are less than the runs differ by: all of them count, not the one in the middle.
  def viewed($count):
      [$samples[] | select(.case == "viewers" and .viewers == $count) | .throughput_rps]
      | select(. != []) | add / length;
  $about + {
    schema: 1,
    rows: $rows,
    ratios: [
        speed(1.3; "combined"; "go:/fairlua"),
        ratio("p99, 100 users: half of go:/fairlua's / combined"; 1;
            users("go:/fairlua"; 100; "p99_ms") * 0.5 / users("combined"; 100; "p99_ms")),
        speed(2.5; "combined"; "none"),
        speed(1.7; "combined"; "atomic"),
        speed(0.9; "combined"; "batched"),
        speed(0.55; "combined"; "livez"),
        lock_speed(1; "fair"), lock_speed(2; "fenced"), lock_tail("fair"), lock_tail("fenced"),
        ratio("p50, 1 user: 1.25 x atomic / combined"; 1;
            users("atomic"; 1; "p50_ms") * 1.25 / users("combined"; 1; "p50_ms")),
        ratio("throughput of combined: 1,000 users / 100"; 0.8;
            users("combined"; 1000; "throughput_rps") / users("combined"; 100; "throughput_rps")),
        crowd("fair"), crowd("pubsub"),
        ratio("sales of combined's 1,000 users: slowest / median"; 0.5;
            figure("fairness"; "combined"; "slowest_of_median"; true)),
        ratio("throughput of combined: durability disk / memory"; 0.5;
            disk("disk") / disk("memory")),
        away(0.95; "combined"; "atomic"), away(1.8; "combined"; "none"),
        away(100; "combined"; "reentrant"), away(100; "combined"; "pubsub"),
        ratio("resident memory, 1,000 connections: 64 MB / measured"; 1;
            64 / ($memory[0] // empty).rss_mb_1000),
        ratio("throughput of combined: 200 viewers of live pages / none"; 0.98;
            viewed(200) / viewed(0)),
        ratio("p99 beside idle and slow connections, none refused: 100 ms / what they add"; 1;
            $storm | select(. != null)
            | if .refused > 0 then 0 else 100 / ([.p99_ms - .calm_p99_ms, 1] | max) end),
        ratio("throughput of one sale: last 100,000 orders / first"; 0.9;
            $growth | select(length > 1) | .[-1].throughput_rps / .[0].throughput_rps)
    ],
    locks: $lock_rows,
    memory: $memory[0],
    storm: $storm,
    growth: $growth
  }
