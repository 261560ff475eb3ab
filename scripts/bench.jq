# From the samples of all rounds to bench.json: the median of every figure, and the ratios.
# Input: the samples, an array. $environment: an object.

def median: map(select(. != null)) | sort | if . == [] then null else .[(length - 1) / 2 | floor] end;

def row: . as $samples
    | reduce ("throughput_rps", "p50_ms", "p99_ms", "p999_ms", "fairness", "redis_cmds_per_order",
              "cpu_us_per_order") as $name ($samples[0]; .[$name] = ($samples | map(.[$name]) | median))
    | .samples_rps = ($samples | map(.throughput_rps));

def round2: . * 100 | round / 100;

(group_by([.case, .strategy]) | map(row)) as $rows
| def figure($case; $strategy; $name):
      $rows[] | select(.case == $case and .strategy == $strategy) | .[$name];
  def ratio($name; $bar; $value): {name: $name, value: ($value | round2), bar: $bar};
  # Larger is better in throughput; an upper limit on latency is written as limit / measured.
  def speed($bar; $case; $strategy; $other_case; $other):
      ratio("throughput: \($strategy) (\($case)) / \($other) (\($other_case))"; $bar;
          figure($case; $strategy; "throughput_rps") / figure($other_case; $other; "throughput_rps"));
  def tail($bar; $case; $strategy; $other; $limit):
      ratio("p99: \($other) x \($limit) / \($strategy) (\($case))"; $bar;
          figure($case; $other; "p99_ms") * $limit / figure($case; $strategy; "p99_ms"));
  {
    schema: 1,
    environment: $environment,
    rows: $rows,
    ratios: [
        speed(2.2; "memory"; "combined"; "memory"; "none"),
        speed(1.4; "memory"; "combined"; "memory"; "atomic"),
        speed(0.45; "memory"; "combined"; "memory"; "livez"),
        tail(1; "memory"; "combined"; "none"; 1),
        tail(1; "memory"; "combined"; "reentrant"; 0.01),
        speed(1.8; "disk"; "combined"; "disk"; "none"),
        speed(1.0; "disk"; "combined"; "memory"; "none"),
        speed(100; "1 ms away"; "combined"; "1 ms away"; "reentrant"),
        speed(100; "1 ms away"; "combined"; "1 ms away"; "pubsub"),
        speed(1.5; "1 ms away"; "combined"; "1 ms away"; "none"),
        speed(8; "think 2 ms"; "fenced"; "think 2 ms"; "reentrant"),
        speed(2; "think 2 ms"; "fenced"; "think 2 ms"; "pubsub"),
        tail(1; "think 2 ms"; "fenced"; "reentrant"; 0.02)
    ]
  }
