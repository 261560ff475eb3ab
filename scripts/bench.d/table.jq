# From bench.json to the tables of README.md, in Markdown.

# Three digits are more than the figures are worth.
def short: if . == null then "" elif . >= 100 then round | tostring
    elif . >= 10 then . * 10 | round / 10 | tostring else . * 100 | round / 100 | tostring end;
def thousands: tostring | if length > 3 then "\(.[:-3] | thousands),\(.[-3:])" else . end;
def rate: if . == null then "" elif . >= 1000 then . / 100 | round | . * 100 | thousands
    else round | tostring end;

. as $all
| def one(condition): [$all.rows[] | select(condition)][0] // {};
  def users($s; $n): one(.case == "users" and .strategy == $s and .users == $n);
  def cells: "| " + join(" | ") + " |";
  ([$all.rows[] | select(.case == "users" and .users == 100)] | sort_by(-.throughput_rps)) as $order
| "Sales a second, the median of \($order[0].runs // 0) runs with 100 users and their range, on \(
      .machine.cpus) CPUs (\(.machine.cpu)), which servers and load share; \(
      .environment.date[:10]), \(.environment.version), Redis \(.environment.redis)\(
      if .quick then ". A quick run: a look, no ranking" else "" end).",
  "",
  (["strategy", "1 user", "10", "100", "range", "1,000", "p50 ms", "p99 ms", "round trips",
    "CPU us: service", "Redis", "1 ms away", "on disk"] | cells),
  "|---|" + ("---:|" * 12),
  ($order[] | . as $row | .strategy as $s
   | ($s | endswith("livez")) as $sells_nothing
   | ["`\($s)`", (users($s; 1, 10).throughput_rps | rate), (.throughput_rps | rate),
      (.range_rps | map(rate) | join("-")), (users($s; 1000).throughput_rps | rate),
      (.p50_ms | short), (.p99_ms | short),
      (if $sells_nothing then "" else .redis_round_trips_per_order | short end),
      (.cpu_us.service | short), (if $sells_nothing then "" else .cpu_us.redis | short end),
      (one(.case == "away" and .strategy == $s and .rtt_ms == 1).throughput_rps | rate),
      (one(.case == "disk" and .strategy == $s and .durability == "disk").throughput_rps | rate)]
   | cells),
  "",
  "Latency, round trips to Redis and CPU are those of a sale with 100 users. `livez` sells nothing.\(
      if .environment.peers then " `go:`: the programs of [tests/peers](tests/peers/README.md)."
      else "" end)",
  "",
  "| ratio | measured | bar |",
  "|---|---:|---:|",
  (.ratios[]
   | [.name, (.value | short) + (if .value < .bar then " **below**" else "" end), (.bar | tostring)]
   | cells)
