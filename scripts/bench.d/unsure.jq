# From bench.json to the jobs that unsure ratios are made of: lines "CASE VALUE STRATEGY...", as
# those of the plan in cases.sh. Sure is what is within 5 % with 95 % confidence.
[.ratios[] | select(.within_percent == null or .within_percent > 5) | .of[]]
| group_by([.case, .value])[]
| "\(.[0].case) \(.[0].value) \(map(.strategy // empty) | unique | join(" "))"
