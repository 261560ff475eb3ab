# From bench.json to one of the parts of the documents that `scripts/bench --write` writes, or to the
# sentence that says where they are from, in Markdown. $part: its name.

# Three digits are more than the figures are worth.
def short: if . == null then "" elif . >= 100 then round | tostring
    elif . >= 10 then . * 10 | round / 10 | tostring else . * 100 | round / 100 | tostring end;
def thousands: tostring | if length > 3 then "\(.[:-3] | thousands),\(.[-3:])" else . end;
def rate: if . == null then "" elif . >= 1000 then . / 100 | round | . * 100 | thousands
    else round | tostring end;
def cells: "| " + join(" | ") + " |";
def header: cells, "|---|" + ("---:|" * (length - 1));
def interval: if .low == null then "" else " (\(.low | short)-\(.high | short))" end;
def mark: {missed: " **missed**", inconclusive: " inconclusive"}[.state] // "";

. as $all
| def one(condition): [$all.rows[] | select(condition)][0] // {};
  def users($s; $n): one(.case == "users" and .strategy == $s and .users == $n);
  def source:
      "From `build/bench/bench.json` of \(.environment.date[:10]): commit \(.environment.commit), \(
          .environment.version), Redis \(.environment.redis), \(.machine.cpus) CPUs (\(.machine.cpu)), which servers and load share.\(
          if .quick then " A quick run: a look, no ranking." else "" end)";
  # Orders a second, of which one server has a core full.
  def limit: 1e6 / .cpu_us.redis;

  def strategies:
      (["strategy", "1 user", "100", "range", "1,000", "p50 ms", "p99 ms", "1 ms away", "on disk"]
       | header),
      ([.rows[] | select(.case == "users" and .users == 100)] | sort_by(-.throughput_rps)[]
       | .strategy as $s
       | ["`\($s)`", (users($s; 1).throughput_rps | rate), (.throughput_rps | rate),
          (.range_rps | map(rate) | join("-")), (users($s; 1000).throughput_rps | rate),
          (.p50_ms | short), (.p99_ms | short),
          (one(.case == "away" and .strategy == $s and .rtt_ms == 1).throughput_rps | rate),
          (one(.case == "disk" and .strategy == $s and .durability == "disk").throughput_rps | rate)]
       | cells),
      "",
      "Sales a second, medians of the rounds; range and latency are those of 100 users. `livez` sells nothing.\(
          if .environment.peers then " `go:`: the programs of [tests/peers](../tests/peers/README.md)."
          else "" end)";

  # Six rows for README.md, the rest is in server/BENCHMARKS.md.
  def summary:
      (["strategy", "sales/s", "p50 ms", "p99 ms", "Redis CPU, us/sale"] | header),
      ([users("combined", "atomic", "none", "fenced", "fair", "go:/none"; 100) | select(.strategy)]
       | sort_by(-.throughput_rps)[]
       | ["`\(.strategy)`", (.throughput_rps | rate), (.p50_ms | short), (.p99_ms | short),
          (.cpu_us.redis | short)]
       | cells);

  def ratios:
      (["ratio", "measured (95 % interval)", "bar"] | header),
      (.ratios[] | [.name, (.value | short) + interval + mark, (.bar | tostring)] | cells);

  def costs:
      (["strategy", "round trips", "Redis us", "service us"] | header),
      ([.rows[] | select(.case == "users" and .users == 100 and (.strategy | startswith("go:") | not))]
       | sort_by(-.throughput_rps)[]
       | (.strategy == "livez") as $sells_nothing
       | def of_redis: if $sells_nothing then "" else short end;
         ["`\(.strategy)`", (.redis_round_trips_per_order | of_redis), (.cpu_us.redis | of_redis),
          (.cpu_us.service | short)]
       | cells),
      "",
      (users("combined"; 100).cpu_us as $buy | users("livez"; 100).cpu_us as $http
       | select($buy and $http)
       | "So of the \($buy.service | short) us that the service spends on a buy of `combined`, \(
          $http.service | short) are HTTP with a thread a connection (`livez`), and \(
          $buy.service - $http.service | short) are the sale.");

  def one_item:
      (["strategy", "orders/s", "Redis us", "limit/s (modelled)"] | header),
      (users("atomic", "combined", "sharded"; 100) | select(.strategy)
       | ["`\(.strategy)`", (.throughput_rps | rate), (.cpu_us.redis | short), (limit | rate)]
       | cells);

  def plan:
      (users("sharded"; 100) | select(.strategy)
       | (limit / 2) as $server | (0.5e6 / .cpu_us.service) as $core
       | (["part", "calculation", "needed"] | cells, "|---|---|---|"),
         (["Redis", "150,000/s through `sharded`: \($server | rate) orders/s a server at half its limit",
           "\(150000 / $server | ceil) primaries, two replicas each"] | cells),
         (["instances", "\(.cpu_us.service | short) us of CPU a request, at half load \(
           $core | rate) requests/s a core", "\(150000 / $core | ceil) cores"] | cells));

  {summary: [summary], strategies: [strategies], ratios: [ratios], costs: [costs],
   "one-item": [one_item], plan: [plan], source: [source]}[$part][]
