# shellcheck shell=bash
# What is measured, case by case. Each prints its rows, or brings up the servers and runs them.
# Sourced by scripts/bench.
#
# The time that all of it takes is counted, not hoped for: `scripts/bench --plan`.

all=$("$build/flashsale" --list-strategies | awk '/^[^ ]/ { print $1 }') # other lines explain
all_cases="users disk items hold away think fairness open locks memory growth viewers storm"
peers=

# Full: "SECONDS ROUNDS" of the runs with so many users; what no ratio is made of, one round.
declare -A length=([1]="1 2" [3]="1 1" [10]="1 2" [100]="2 3" [1000]="2 2")
some_read="none reentrant pubsub"
thinking="none reentrant pubsub fair fenced combined atomic"
user_counts="1 3 10 100 1000" thinks="0 2 10" item_counts="10 100" holds="1 5"
declare -A turns=([0.5]=1 [1]=2 [5]=1) # by the ms to Redis: 1 is what ratios are made of
on_disk="none fenced combined atomic batched" away="$some_read combined atomic"
held="reentrant pubsub fair fenced combined" many="none fenced combined atomic"
watched="combined reentrant" opened="combined atomic none fenced"
shares="10 25 40 60 80" # of what a closed loop reaches, in percent: the open model's rates
few=2 short=1 pairs=12 growth_to=1000000 lock_ms=1000
if [ "$quick" = true ]; then
    length=([1]="1 1" [100]="1 1" [1000]="1 1")
    turns=([1]=1)
    user_counts="1 100 1000" thinks=2 item_counts=10 holds=5
    all="none reentrant fair fenced combined atomic batched"
    thinking="reentrant combined" on_disk="none combined" held="fair combined" many=combined
    watched=combined opened="combined" shares="10 25 50"
    few=1 pairs=1 growth_to=200000 lock_ms=400
fi
[ "${PEERS:-}" != 1 ] || peers="go:/fairlua go:/rueidislua go:/lua go:/none go:/redsync \
    go:/redislock go:/rueidislock go:/livez"

# by STRATEGIES NAME VALUES [SECONDS]: a line of words for each strategy and value.
by() {
    local strategy value
    for strategy in $1; do
        for value in $3; do echo "strategy=$strategy $2=$value seconds=${4:-$short}"; done
    done
}

# rows_of CASE [VALUE]: what sample or sample_loadtest is told of each row.
rows_of() {
    local value=${2:-} seconds=$short
    case $1 in
    users) by "livez $all $peers" users "$value" "${length[$value]% *}" ;;
    disk) by "$on_disk" durability disk ;;
    items) by "$many" items "$item_counts" ;;
    hold) by "$held" hold_ms "$holds" ;;
    away)
        [ "$value" != 1 ] || seconds=2 # who polls sells so little that a ratio needs more of it
        by "$away" rtt_ms "$value" "$seconds"
        ;;
    think) by "$thinking" think_ms "$thinks" ;;
    fairness) by "$watched" users 1000 2 ;;
    viewers) by combined viewers "0 200" 2 ;;
    esac
}

# in_turns ROUNDS SAMPLER CASE [VALUE]: all rows once, then again.
in_turns() {
    local round line
    for ((round = 0; round < $1; round++)); do
        while read -r line <&5; do
            # shellcheck disable=SC2086 # a list of words
            "$2" case="$3" $line
        done 5< <(rows_of "${@:3}")
    done
}

# in_turns_with_memory ROUNDS: the rows of disk, and combined on a Redis that only has memory, for
# one is held to a share of the other. A Redis can not change in this under a sale.
in_turns_with_memory() {
    local round
    for ((round = 0; round < $1; round++)); do
        serve 0
        sample case=disk strategy=combined seconds=$short
        serve 0 --appendonly yes --appendfsync always
        in_turns 1 sample disk
    done
}

run_case() {
    local value
    case $1 in
    users)
        for value in $user_counts; do
            serve 0
            [ -z "$peers" ] || serve_peers
            in_turns "${length[$value]#* }" sample users "$value"
        done
        ;;
    disk) in_turns_with_memory $few ;;
    items | hold) serve 0 && in_turns 1 sample "$1" ;;
    away)
        for value in "${!turns[@]}"; do
            serve "$value"
            in_turns "${turns[$value]}" sample away "$value"
        done
        ;;
    think) serve 0 && in_turns 1 sample_loadtest think ;;
    fairness) serve 0 && in_turns $few sample_loadtest fairness ;;
    viewers) serve 0 && in_turns $pairs sample viewers ;;
    open) serve 0 && open_model ;; # one round: each rate is a row of its own
    locks) serve 0 && measure_locks ;;
    memory) measure_memory ;;
    growth) serve 0 && measure_growth ;;
    storm) serve 0 && measure_storm ;;
    *) die "no such case: $1 (there are $all_cases)" ;;
    esac
}

# counted_seconds CASE: what the case's runs last, with what comes between them.
counted_seconds() {
    local value run=0.4 serving=2 loaded=0.9
    case $1 in
    users)
        for value in $user_counts; do
            seconds_of "${length[$value]#* }" $run users "$value"
        done
        ;;
    disk) seconds_of $few $run disk && echo $((few * (short + 1) + (few - 1) * 2 * serving)) ;;
    away) for value in "${!turns[@]}"; do seconds_of "${turns[$value]}" $run away "$value"; done ;;
    think) seconds_of 1 $loaded think ;;
    fairness) seconds_of $few $loaded fairness ;;
    viewers) seconds_of $pairs $loaded viewers ;;
    open) echo $(($(wc -w <<<"$opened") * ($(wc -w <<<"$shares") * 2 + 1))) ;; # at most
    locks) echo $((few * 6 * (lock_ms + 200) / 1000)) ;;
    memory) echo 5 ;;
    storm) echo 10 ;;
    growth) echo $((growth_to / 35000)) ;;
    *) seconds_of 1 $run "$1" ;;
    esac | awk -v s=$serving '{ sum += $1 + s } END { print sum }' # a line for each set of servers
}

# seconds_of ROUNDS EXTRA CASE [VALUE]. Where a thousand wait, half of the strategies let them wait
# in vain for 2 s when the generator has left.
seconds_of() {
    rows_of "${@:3}" | tr ' =' '\n ' | awk -v rounds="$1" -v extra="$2" '
        $1 == "strategy" { sum += rounds * extra }
        $1 == "users"    { sum += rounds * $2 / 1000 }
        $1 == "seconds"  { sum += rounds * $2 }
        END              { print sum }'
}

print_plan() {
    local case
    for case in $cases; do printf '%s\t%.0f s\n' "$case" "$(counted_seconds "$case")"; done |
        awk -F'\t' '{ print; sum += $2 } END { printf "all\t%d s\n", sum }' | expand -t 12
}
