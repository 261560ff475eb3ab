# shellcheck shell=bash
# What is measured, case by case, and how often. Sourced by scripts/bench.
#
# A job is what has servers of its own: a case, and where it has several sets of servers or of users
# the value. A round runs each job once, or some of its strategies. The first rounds are those of
# the plan, whose time is counted, not hoped for (`scripts/bench --plan`); then there are further
# rounds of what an unsure ratio is made of.

all=$("$build/flashsale" --list-strategies | awk '/^[^ ]/ { print $1 }') # other lines explain
peers=

# CASE VALUE SECONDS ROUNDS: the jobs, how long a run of them lasts, and how many rounds are planned.
# Strategies that poll from afar sell little, so a run at 1 ms lasts 2 s.
plan="users 1 1 2
users 3 1 1
users 10 1 2
users 100 2 3
users 1000 2 2
disk - 1 2
items - 1 1
hold - 1 1
away 0.5 1 1
away 1 2 2
away 5 1 1
think - 1 1
fairness - 2 2
open - 2 1
locks - 1 2
memory - 3 1
growth - 100 1
viewers - 2 3
storm - 3 1"
some_read="none reentrant pubsub"
thinking="none reentrant pubsub fair fenced combined atomic"
thinks="0 2 10" item_counts="10 100" holds="1 5"
on_disk="none fenced combined atomic batched" away="$some_read combined atomic"
held="reentrant pubsub fair fenced combined" many="none fenced combined atomic"
watched="combined reentrant" opened="combined atomic none fenced"
shares="10 25 40 60 80" # of what a closed loop reaches, in percent: the open model's rates
growth_to=1000000 lock_ms=1000 minutes=10
if [ "$quick" = true ]; then
    plan=$(awk '!/^(users (3|10)|away (0.5|5)) / {
        print $1, $2, $1 == "users" ? 1 : $3, 1 }' <<<"$plan")
    thinks=2 item_counts=10 holds=5
    all="none reentrant fair fenced combined atomic batched"
    thinking="reentrant combined" on_disk="none combined" held="fair combined" many=combined
    watched=combined opened="combined" shares="10 25 50"
    growth_to=200000 lock_ms=400 minutes=0
fi
minutes=${BENCH_MINUTES:-$minutes}
further_s=$(awk -v minutes="$minutes" 'BEGIN {
    if (minutes !~ /^[0-9]+(\.[0-9]+)?$/) exit 1
    printf "%d", minutes * 60 }') || die "BENCH_MINUTES is no number: $minutes"
[ "${PEERS:-}" != 1 ] || peers="go:/fairlua go:/rueidislua go:/lua go:/none go:/redsync \
    go:/redislock go:/rueidislock go:/livez"

all_cases=$(awk '!seen[$1]++ { printf "%s%s", sep, $1; sep = " " }' <<<"$plan")

# choose CASE...: plans these alone.
choose() {
    local case chosen=''
    for case; do
        [[ " $all_cases " == *" $case "* ]] || die "no such case: $case (there are $all_cases)"
        chosen+=$(grep "^$case " <<<"$plan")$'\n'
    done
    plan=${chosen%$'\n'}
}

# by STRATEGIES NAME VALUES SECONDS: a line of words for each strategy and value; of $only these
# strategies, when there are such.
only=''
by() {
    local strategy value
    for strategy in $1; do
        [[ -z $only || " $only " == *" $strategy "* ]] || continue
        for value in $3; do echo "strategy=$strategy $2=$value seconds=$4"; done
    done
}

# rows_of CASE VALUE SECONDS: what sample or sample_loadtest is told of each row.
rows_of() {
    case $1 in
    users) by "livez $all $peers" users "$2" "$3" ;;
    disk) by "$on_disk" durability disk "$3" ;;
    items) by "$many" items "$item_counts" "$3" ;;
    hold) by "$held" hold_ms "$holds" "$3" ;;
    away) by "$away" rtt_ms "$2" "$3" ;;
    think) by "$thinking" think_ms "$thinks" "$3" ;;
    fairness) by "$watched" users 1000 "$3" ;;
    viewers) by combined viewers "0 200" "$3" ;;
    esac
}

# run_rows SAMPLER CASE VALUE SECONDS
run_rows() {
    local line
    while read -r line <&5; do
        # shellcheck disable=SC2086 # a list of words
        "$1" case="$2" $line
    done 5< <(rows_of "${@:2}")
}

# run_job CASE VALUE SECONDS: one round of it.
run_job() {
    case $1 in
    users)
        serve 0
        [ -z "$peers" ] || serve_peers
        run_rows sample "$@"
        ;;
    disk) # combined in memory, too, for one is held to a share of the other
        serve 0
        sample case=disk strategy=combined seconds="$3"
        serve 0 --appendonly yes --appendfsync always
        run_rows sample "$@"
        ;;
    items | hold | viewers) serve 0 && run_rows sample "$@" ;;
    away) serve "$2" && run_rows sample "$@" ;;
    think | fairness) serve 0 && run_rows sample_loadtest "$@" ;;
    open) serve 0 && open_model "$3" ;;
    locks) serve 0 && measure_locks ;;
    memory) measure_memory "$3" ;;
    growth) serve 0 && measure_growth "$3" ;;
    storm) serve 0 && measure_storm "$3" ;;
    esac
}

# ---- how long it takes ---------------------------------------------------------------------------

# job_seconds CASE VALUE SECONDS: what a round of the job lasts at most, with what comes between its
# runs. Where a thousand wait, half of the strategies let them wait out their 2 s when the
# generator has left.
job_seconds() {
    local between=0.4 serving=2 more=0
    case $1 in
    think | fairness | viewers) between=0.9 ;;
    disk) more=$(($3 + 1 + serving)) ;;
    open) more=$(($(wc -w <<<"$opened") * ($(wc -w <<<"$shares") * $3 + 1))) ;;
    locks) more=$((6 * (lock_ms + 200) / 1000)) ;;
    memory) more=5 ;;
    storm) more=10 ;;
    growth) more=$((growth_to / 35000)) ;;
    esac
    rows_of "$@" | tr ' =' '\n ' | awk -v between=$between -v sum=$((serving + more)) '
        $1 == "strategy" { sum += between }
        $1 == "users"    { sum += $2 / 1000 }
        $1 == "seconds"  { sum += $2 }
        END              { printf "%.0f\n", sum }'
}

print_plan() {
    local case value seconds rounds
    while read -r case value seconds rounds; do
        echo "$case $(($(job_seconds "$case" "$value" "$seconds") * rounds))"
    done <<<"$plan" | awk -v further="$further_s" '
        !($1 in sum) { names[++n] = $1 }
        { sum[$1] += $2; all += $2 }
        END {
            for (i = 1; i <= n; i++) printf "%s\t%d s\n", names[i], sum[names[i]]
            printf "planned\t%d s\nfurther\t%d s at most\n", all, further
        }' | expand -t 12
}

# ---- rounds --------------------------------------------------------------------------------------

# What is run, counted on from 1 through planned and further rounds: figures of one round are pairs.
round=1

planned_rounds() {
    local case value seconds due
    while due=$(awk -v round=$round '$4 >= round' <<<"$plan") && [ -n "$due" ]; do
        while read -r case value seconds _ <&6; do
            announce "$case" "$value" "$seconds"
            run_job "$case" "$value" "$seconds"
        done 6<<<"$due"
        round=$((round + 1))
    done
}

announce() {
    local value=${2#-}
    echo "round $round: $1${value:+ $value}, about $(job_seconds "$@") s"
}

# Rounds of what unsure ratios are made of, until there are none, or no time for any.
further_rounds() {
    local end=$((SECONDS + further_s)) case value only seconds ran=1
    while [ $ran = 1 ]; do
        ran=0
        summarize
        while read -r case value only <&6; do
            seconds=$(awk -v case="$case" -v value="$value" '$1 == case && $2 == value { print $3 }' \
                <<<"$plan")
            [ $((SECONDS + $(job_seconds "$case" "$value" "$seconds"))) -le $end ] || continue
            announce "$case" "$value" "$seconds"
            run_job "$case" "$value" "$seconds"
            ran=1
        done 6< <(jq -r -f scripts/bench.d/unsure.jq "$out/bench.json")
        round=$((round + 1))
    done
}
