"""The scenarios. Each starts a run, does its faults, has it counted, and judges it."""
import threading
import time

from place import HTTP_PORT, MASTER, SENTINEL_PORT, Trouble, redis_ask, wait_until
from run import LIMIT_S, POLL_S, WARM_S, ms, spread

AFTER_SETTLED_S = 10    # of buying once Redis has come to rest
PAUSE_S = 1.0           # without a new order: nothing is sold
BACK_S = 10             # after the member is back everything sells
RULE_DOWN_AFTERS = 11   # a replica is written off when it was called down for 10 of them, after one
RULE_MORE_S = 5


# ---- split -----------------------------------------------------------------------------------

def split_stock(o):
    """So much that both sides sell out about when 3/4 of the cut have passed."""
    side_rate = o.users * 1000 / o.pace_ms * 1.2
    return int(side_rate * (2 * WARM_S + 0.75 * o.seconds))


def split(run):
    place, o = run.place, run.o
    run.begin([[0], [1, 2]])
    cut_at = time.monotonic()
    place.cut([place.redis[0], place.sentinels[0], place.services[0]])
    promoted = wait_until(lambda: "master" in (place.role(1), place.role(2)), o.seconds)
    promoted_at = time.monotonic() if promoted else None
    run.let_buy(max(0, cut_at + o.seconds - time.monotonic()))
    healed = time.monotonic()
    place.mend()
    place.await_settled()
    settled = time.monotonic()
    run.let_buy(AFTER_SETTLED_S)
    run.finish(healed)
    cut_off = [a for a in run.told.fresh_after(promoted_at or healed, healed) if a.instance == 0]
    others = [a for a in run.told.fresh_after(cut_at, healed) if a.instance != 0 and
              promoted_at and a.sent > promoted_at]
    halts = [halt.got for halt in run.told.halts]
    late = run.told.fresh_after(healed)
    run.report.update({
        "orders_asked_after_heal": [sum(a.instance == i for a in late) for i in range(3)],
        "last_order_asked_after_heal_ms": ms(max(a.sent for a in late) - healed) if late else None,
        "seconds": o.seconds, "promoted_after_ms": ms(promoted_at and promoted_at - cut_at),
        "settled_after_heal_ms": ms(settled - healed),
        "sold_by_cut_off_side_after_promotion": len(cut_off),
        "sold_by_other_side_during_cut": len(others),
        "halted_after_heal_ms": ms(min(halts) - healed) if halts else None,
        "halted_on_all_after_heal_ms": halted_on_all(run.told.halts, healed, len(place.services)),
    })
    if not promoted_at:
        run.doubts.append("no replica was promoted during the cut")
    elif o.durability == "memory" and not others: # replicated, it waits for the old primary
        run.doubts.append("the other side did not sell during the cut")
    if o.durability == "memory":
        judge_split_memory(run, cut_off)
    elif run.lost:
        run.reasons.append(f"{run.lost} acknowledged orders are missing")


def halted_on_all(halts, healed, instances):
    first = {}
    for halt in halts:
        first.setdefault(halt.instance, halt.got)
    return ms(max(first.values()) - healed) if len(first) == instances else None


def judge_split_memory(run, cut_off):
    nobody = run.report["requests_nobody_answered"]
    if not cut_off:
        run.doubts.append("the side that was cut off sold nothing after the promotion")
    if run.lost and not run.halted:
        run.reasons.append(f"{run.lost} acknowledged orders are missing, and the sale goes on")
    elif run.lost and not run.lost <= run.said_lost <= run.lost + nobody:
        run.reasons.append(f"lost_orders is {run.said_lost}, but {run.lost} acknowledged orders "
                           f"are missing ({nobody} requests were never answered)")
    if run.report["units_beyond_stock_after_heal"]:
        run.reasons.append(f"{run.report['units_beyond_stock_after_heal']} units beyond the stock "
                           "were acknowledged after the heal")


# ---- planned failovers -----------------------------------------------------------------------

def ask_failover(run):
    """By the first sentinel that can."""
    place = run.place

    def accepted():
        for address in place.sentinels:
            # A sentinel that has heard nothing of the others lately says -NOGOODSLAVE, -INPROG.
            if redis_ask(address, SENTINEL_PORT, "SENTINEL", "FAILOVER", MASTER) == "OK":
                return True
        return False
    if not wait_until(accepted, LIMIT_S, 0.2):
        raise Trouble("no sentinel does a failover")


def run_command(run):
    place = run.place
    values = {"sentinel": place.sentinel_addresses()[0],
              "sentinels": ",".join(place.sentinel_addresses()), "host": place.sentinels[0],
              "port": SENTINEL_PORT, "master": MASTER, "url": place.url(),
              "instances": ",".join(f"{address}:{HTTP_PORT}" for address in place.services),
              "instance": f"{place.services[0]}:{HTTP_PORT}"}
    text = run.o.command
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    status, output = place.run_command(text, LIMIT_S)
    if status != 0:
        run.reasons.append(f"the command ends with {status}")
    run.say(f"command: {status}\n{output}".rstrip())
    return status == 0


class Order:
    """A failover that is being ordered, by `act`, while this thread looks on."""

    def __init__(self, run, act):
        self.did, self.trouble, self.ended = None, None, None
        self.thread = threading.Thread(target=self.order, args=(run, act), daemon=True)
        self.thread.start()

    def order(self, run, act):
        try:
            self.did = act(run)
        except (OSError, Trouble) as trouble:
            self.did, self.trouble = False, trouble
        self.ended = time.monotonic()

    def await_end(self):
        self.thread.join()
        if self.trouble:
            raise Trouble(f"the failover is not ordered: {self.trouble}")


def await_promotion(place, order, old):
    """The new primary's number + 1; 0: there is none."""
    others = [i for i in range(len(place.redis)) if i != old]
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        failed = order.did is False  # looked at before the roles: one may be promoted all the same
        for i in others:
            if place.role(i) == "master":
                return i + 1
        if failed:
            return 0
        time.sleep(POLL_S)
    return 0


def fail_over(run, act):
    """One failover; returns the times at which things happened. None: it did not happen."""
    old = run.place.await_settled()
    began = time.monotonic()
    order = Order(run, act)
    new = await_promotion(run.place, order, old)
    promoted = time.monotonic()
    again, back = again_and_back(run, promoted, new - 1) if new else (None, None)
    order.await_end()
    if not new:
        return None
    if not again and not run.told.halts:
        run.reasons.append(f"not every instance sells {LIMIT_S} s after a failover")
    return {"began": began, "ended": order.ended, "promoted": promoted, "back": back,
            "again": again}


def in_ms(times):
    if not times:
        return "did not happen"
    return {name: ms(at and at - times["began"]) for name, at in times.items() if name != "began"}


def failover_figures(run, times):
    """In ms since it was ordered. Of orders only those that were left at the end: the old primary
    may go on selling for some time, what the failover undoes."""
    began, back = times["began"], times["back"]
    kept = run.is_kept
    again = run.told.sells_since(times["promoted"], run.place.services, kept)
    return {"command_ms": ms(times["ended"] - began), "promoted_ms": ms(times["promoted"] - began),
            "members_back_ms": ms(back - began), "all_sell_ms": ms(again and again - began),
            "all_sell_after_members_back_ms": ms(again and max(0, again - back)),
            "longest_without_order_ms": ms(run.told.longest_gap(began, again or back, kept)[0])}


def again_and_back(run, promoted, new):
    """When every instance sold again (None: not in time), and when all members followed."""
    again = back = None
    end = promoted + LIMIT_S
    while time.monotonic() < end and not (again and back):
        again = again or run.told.sells_since(promoted, run.place.services)
        if not back and run.place.replicas_follow(new):
            back = time.monotonic()
        if back and not again and run.halted_since(promoted):
            break
        time.sleep(POLL_S)
    if not back:
        raise Trouble("the members do not come back")
    return again, back


def failovers(run, act):
    run.begin([[0, 1, 2]])
    rounds = []
    for number in range(run.o.count):
        times = fail_over(run, act)
        run.say(f"failover {number + 1}: {in_ms(times)}")
        rounds.append(times)
        run.let_buy(run.rng.uniform(2, 5))
        if run.told.halts:
            break
    run.place.await_settled()
    run.let_buy(AFTER_SETTLED_S)
    run.finish()
    report_rounds(run, rounds)
    run.none_lost()


def report_rounds(run, rounds):
    done = [failover_figures(run, times) for times in rounds if times]
    run.report.update({"failovers_asked": len(rounds), "failovers_done": len(done)})
    for name in done[0] if done else ():
        run.report[name] = spread(times[name] for times in done)
    if len(done) < len(rounds):
        run.doubts.append(f"{len(rounds) - len(done)} failovers did not happen")


def planned(run):
    failovers(run, ask_failover)


def command(run):
    failovers(run, run_command)


# ---- a replica is cut off --------------------------------------------------------------------

def plan_cut(run, number):
    """(seconds, are two sentinels on the replica's side, is it longer than the rule)"""
    if number % 2 == 1:
        return run.rng.uniform(6, 14), True, False
    if number % 4 == 0:
        rule_s = RULE_DOWN_AFTERS * run.o.down_after / 1000
        return rule_s + RULE_MORE_S + 4, False, True
    return run.rng.uniform(2, 8), False, False


def cut_once(run, number):
    place = run.place
    primary = place.await_settled()
    run.until_all_sell(time.monotonic())
    replica, other = run.rng.sample([i for i in range(len(place.redis)) if i != primary], 2)
    seconds, majority, is_long = plan_cut(run, number)
    addresses = [place.redis[replica], place.sentinels[replica]]
    if run.o.with_instance:
        addresses.append(place.services[replica])
    if majority:
        addresses.append(place.sentinels[other])
    began = time.monotonic()
    place.cut(addresses)
    run.let_buy(seconds)
    healed = time.monotonic()
    place.mend()
    if not wait_until(place.settled, LIMIT_S, POLL_S):
        raise Trouble("Redis does not come to rest after a cut")
    back = time.monotonic()
    again = run.until_all_sell(back, 3 * BACK_S)
    gap, end = run.told.longest_gap(began, healed)
    paused = gap > PAUSE_S
    resumed = end < healed - 1e-6
    times = {"seconds": round(seconds, 1), "two_sentinels": majority, "long": is_long,
             "instance_too": run.o.with_instance,
             "primary_changed": place.named_primary() != primary,
             "pause_during_cut_ms": ms(gap) if paused else 0,
             "again_during_cut_ms": (ms(end - began) if resumed else None) if paused else 0,
             "settled_after_heal_ms": ms(back - healed),
             "all_sell_after_back_ms": ms(again and again - back),
             "all_sell_after_heal_ms": ms(again and again - healed)}
    if not run.told.halts and (again is None or again - back > BACK_S):
        run.reasons.append(f"cut {number + 1}: not all sell {BACK_S} s after the replica is back")
    rule_ms = RULE_DOWN_AFTERS * run.o.down_after + 1000 * RULE_MORE_S
    if is_long and (times["again_during_cut_ms"] is None or
                    times["again_during_cut_ms"] > rule_ms):
        run.reasons.append(f"cut {number + 1}: nothing is sold {rule_ms} ms after the cut")
    return times


def cut(run):
    run.begin([[0, 1, 2]])
    rounds = []
    for number in range(run.o.count):
        rounds.append(cut_once(run, number))
        run.say(f"cut {number + 1}: {rounds[-1]}")
        run.let_buy(run.rng.uniform(2, 5))
        if run.told.halts:
            break
    run.finish()
    run.report["cuts"] = rounds
    run.none_lost()


# ---- soak ------------------------------------------------------------------------------------

def sample(run):
    place = run.place
    primary = place.named_primary()
    info = place.info(primary if primary is not None else 0, "memory")
    used = int(info.get("used_memory", 0)) - int(info.get("mem_clients_normal", 0))
    return {"rss_kib": [rss_kib(process.pid) for process in place.instances],
            "redis_bytes": used,
            "orders": sum(1 for ack in run.told.acks if ack.fresh)}


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def second_half(samples):
    """Growth from the middle to the end."""
    first, last = samples[len(samples) // 2], samples[-1]
    orders = last["orders"] - first["orders"]
    return {"orders": orders,
            "rss_kib": [[a, b] for a, b in zip(first["rss_kib"], last["rss_kib"])],
            "redis_bytes_per_order":
                round((last["redis_bytes"] - first["redis_bytes"]) / orders, 1) if orders else None}


def soak(run):
    run.begin([[0, 1, 2]])
    rounds, samples = [], []
    end = time.monotonic() + 60 * run.o.minutes
    while time.monotonic() < end and not run.told.halts:
        began = time.monotonic()
        rounds.append(fail_over(run, ask_failover))
        run.let_buy(max(0, began + run.rng.uniform(55, 65) - time.monotonic()))
        samples.append(sample(run))
        run.say(f"failover {len(rounds)}: {in_ms(rounds[-1])}; {samples[-1]}")
    run.place.await_settled()
    if not run.until_all_sell(time.monotonic()) and not run.told.halts:
        run.reasons.append("not every instance sells at the end")
    run.finish()
    report_rounds(run, rounds)
    run.report.update({"minutes": run.o.minutes, "second_half": second_half(samples),
                       "samples": samples})
    run.none_lost()
