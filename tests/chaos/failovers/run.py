"""One run: servers, a sale, its buyers, the count at the end, and the report."""
import random
import time

import count
from buyers import Crowd, Line
from place import Trouble, wait_until

ITEM = "P0001"
WARM_S = 5     # of buying before the first fault
REST_S = 3     # without buyers, before the count
LIMIT_S = 120  # for anything that must happen
POLL_S = 0.02


class Run:
    """`reasons` says why it is BROKEN, `doubts` why INCONCLUSIVE."""

    def __init__(self, place, options):
        self.place = place
        self.o = options
        self.rng = random.Random(options.seed)
        self.reasons, self.doubts = [], []
        self.lost_pairs = set()
        self.report = {"scenario": options.scenario, "seed": options.seed,
                       "configuration": configuration(options)}
        self.say(f"configuration: {self.report['configuration']}")

    def say(self, text):
        print(text, file=self.o.progress, flush=True)

    def begin(self, homes):
        """Starts everything, a sale, and o.users buyers a home."""
        self.place.start()
        lines = [Line(address) for address in self.place.services]
        if not wait_until(lambda: all(line.ask("GET", "/readyz")[0] == 200 for line in lines),
                          LIMIT_S):
            raise Trouble("the instances do not become ready")
        terms = {"item": ITEM, "stock": self.o.stock, "strategy": self.o.strategy,
                 "durability": self.o.durability}
        if self.o.durability == "replicated":
            terms["min_replicas"] = self.o.min_replicas
        status, body = lines[0].admin("POST", "/sales", terms)
        if status != 201:
            raise Trouble(f"no sale starts: {status} {body}")
        self.sale = body["sale"]
        self.crowd = Crowd(self.place.services, ITEM, self.sale, self.o.pace_ms / 1000, self.o.seed)
        self.told = self.crowd.told
        for home in homes:
            self.crowd.come(self.o.users, home)
        self.let_buy(WARM_S)
        if not self.told.sells_since(0, self.place.services):
            raise Trouble(f"not every instance sells: {dict(self.told.codes)}")

    def let_buy(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(min(0.2, max(0, end - time.monotonic())))
            ended = self.place.ended_instances()
            if ended:
                self.reasons += ended
                raise Trouble(ended[0])

    def halted_since(self, since):
        return bool(self.told.halts) and self.told.halts[-1].got >= since

    def until_all_sell(self, since, limit_s=LIMIT_S):
        """When every instance had sold something that was asked for after `since`; None: not in
        time, or the sale is halted."""
        def all_sell_or_halted():
            return self.told.sells_since(since, self.place.services) or self.halted_since(since)
        found = wait_until(all_sell_or_halted, limit_s, POLL_S)
        return found if isinstance(found, float) else None

    def finish(self, healed=None):
        """Ends the buying, and counts."""
        self.crowd.leave()
        time.sleep(REST_S)
        primary = self.place.await_settled()
        judged_from = None if healed is None else healed + self.o.grace_ms / 1000
        pairs, counts = count.told_counts(self.told, self.o.stock, judged_from)
        stands = count.stock_of(self.place.services, ITEM, self.sale)
        final = count.Final(self.place.services, ITEM, self.sale)
        final.look({request for request, _ in pairs}, self.o.seed)
        lost = count.missing(pairs, final)
        stands = count.stock_of(self.place.services, ITEM, self.sale) if lost else stands
        self.lost, self.lost_pairs = len(lost), set(lost)
        self.halted = all(halted for halted, _, _ in stands)
        self.said_lost = max(lost_orders or 0 for _, lost_orders, _ in stands)
        self.report.update(counts)
        self.report.update({
            "acknowledged_missing": self.lost,
            "missing_examples": sorted(lost)[:3],
            "halted": [halted for halted, _, _ in stands],
            "lost_orders": [lost_orders for _, lost_orders, _ in stands],
            "left_in_redis": count.key_counts(self.place.redis[primary], self.sale),
            "ledger_pages": final.paged,
            "questions_unanswered": final.unanswered,
            "single_answers_unlike_pages": final.disagreeing,
            "answers": dict(sorted(self.told.codes.items())),
        })
        if self.place.in_logs("+tilt"):
            self.doubts.append("a sentinel was in TILT")
        if final.unanswered:
            self.doubts.append(f"{final.unanswered} requests have no answer at the end")
        if counts["order_ids_given_twice"]:
            self.reasons.append(f"{counts['order_ids_given_twice']} order ids were given twice")

    def is_kept(self, ack):
        return (ack.request, ack.order) not in self.lost_pairs

    def none_lost(self):
        if self.lost:
            self.reasons.append(f"{self.lost} acknowledged orders are missing")
        if self.told.halts or any(self.report["halted"]):
            self.reasons.append(f"the sale was halted; lost_orders {self.said_lost}")
        if self.report["requests_with_two_orders"]:
            self.reasons.append("requests have two orders")

    def decide(self):
        verdict = "BROKEN" if self.reasons else "INCONCLUSIVE" if self.doubts else "OK"
        self.report.update({"tilt": self.place.in_logs("+tilt"), "reasons": self.reasons,
                            "doubts": self.doubts, "verdict": verdict})


def configuration(o):
    names = ("strategy", "durability", "min_replicas", "stock", "users", "pace_ms", "down_after",
             "failover_timeout", "quorum", "parallel_syncs", "min_replicas_to_write", "redis",
             "grace_ms", "with_instance", "command")
    return {name: getattr(o, name) for name in names if hasattr(o, name)}


def ms(seconds):
    return None if seconds is None else round(1000 * seconds)


def spread(values):
    """[least, middle, most] of what is known."""
    known = sorted(v for v in values if v is not None)
    return [known[0], known[len(known) // 2], known[-1]] if known else None
