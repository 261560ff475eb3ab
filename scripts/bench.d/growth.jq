# From lines "NANOSECONDS ORDERS BYTES" to a sample with a step for each 100,000 orders: how many a
# second they were, and bytes of Redis for each of them, interpolated between the looks.
100000 as $step
| [splits("\n") | select(. != "") | [splits(" ") | tonumber]] as $looks
| def at($orders):
      ([range(1; $looks | length) | select($looks[.][1] >= $orders)][0]) as $i
      | select($i != null)
      | ($looks[$i - 1]) as $a | ($looks[$i]) as $b
      | (if $b[1] > $a[1] then ($orders - $a[1]) / ($b[1] - $a[1]) else 0 end) as $part
      | {ns: ($a[0] + $part * ($b[0] - $a[0])), bytes: ($a[2] + $part * ($b[2] - $a[2]))};
  ([$looks[0][1], 1000] | max) as $first
  | [$first, range($step; $looks[-1][1] + 1; $step)] as $marks
  | [range(1; $marks | length) as $i
     | (at($marks[$i - 1])) as $a | (at($marks[$i])) as $b
     | ($marks[$i] - $marks[$i - 1]) as $count
     | {orders: $marks[$i], throughput_rps: ($count / ($b.ns - $a.ns) * 1e9 | round),
        bytes_per_order: (($b.bytes - $a.bytes) / $count | round)}]
  | {case: "growth", steps: ., last_of_first:
      (if length > 1 then .[-1].throughput_rps / .[0].throughput_rps else null end)}
