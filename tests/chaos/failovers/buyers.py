"""Buyers, and what they were told.

Each buyer has a home: the instances of its side. It takes a new Idempotency-Key for each buy, tries
again when it was told "unknown" or "not now", and repeats some keys that have an order later, at
another instance, which may be on the other side of a cut.
"""
import http.client
import json
import random
import threading
import time
from collections import Counter, deque, namedtuple

from place import HTTP_PORT, TOKEN

PATIENCE_S = 12     # an instance answers within 10 s
TRIES = 4           # of one buy in a row
REPEATED = 0.10     # share of orders whose key is sent again later
ELSEWHERE = 0.5     # share of tries after the first that go to any instance
LATEST_REPEAT_S = 10
NOT_AFTER_S = 15    # of every second buy; the others have none
HALTED_PAUSE_S = 0.5
GIVE_UP_REPEATING = 6

# sent, got: time.monotonic(). fresh: not a repetition of what was told before.
Ack = namedtuple("Ack", "sent got request order units instance fresh")
Halt = namedtuple("Halt", "got instance known found lost_orders")


class Line:
    """A kept connection to an instance."""

    def __init__(self, address):
        self.address = address
        self.connection = None

    def ask(self, method, path, body=None, headers=None):
        """(status, decoded body, headers); status 0: no answer came."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection(self.address, HTTP_PORT,
                                                             timeout=PATIENCE_S)
            self.connection.request(method, path, body, headers or {})
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, decode(text), answer.headers
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            return 0, {}, {}

    def admin(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return self.ask(method, path, json.dumps(body) if body is not None else None, headers)[:2]


def decode(text):
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class Told:
    """All that buyers were told. Lists only grow; appending is atomic."""

    def __init__(self):
        self.acks = []
        self.halts = []
        self.doubtful = set()  # requests with a try of which nobody knows
        self.codes = Counter()
        self.lock = threading.Lock()

    def count(self, instance, code):
        with self.lock:
            self.codes[f"{instance} {code}"] += 1

    def fresh_after(self, since, until=float("inf")):
        """New orders of tries that were sent in this time, the earliest answer first."""
        found = []
        for ack in reversed(self.acks):
            if ack.got < since:
                break
            if ack.fresh and since <= ack.sent <= until:
                found.append(ack)
        return sorted(found, key=lambda ack: ack.got)

    def sells_since(self, since, instances, counts=lambda ack: True):
        """When all of these instances had sold, or None."""
        first = {}
        for ack in self.fresh_after(since):
            if not counts(ack):
                continue
            first.setdefault(ack.instance, ack.got)
        return max(first.values()) if len(first) >= len(instances) else None

    def longest_gap(self, since, until, counts=lambda ack: True):
        """(length, its end) of the longest time without a new order; an end of `until` is open."""
        times = sorted(ack.got for ack in self.acks
                       if ack.fresh and since <= ack.got <= until and counts(ack))
        points = [since] + times + [until]
        return max((b - a, b) for a, b in zip(points, points[1:]))


class Buyer(threading.Thread):
    def __init__(self, crowd, number, home):
        super().__init__(daemon=True)
        self.crowd = crowd
        self.number = number
        self.home = home
        self.rng = random.Random(f"{crowd.seed}/{number}")
        self.lines = [Line(address) for address in crowd.addresses]
        self.repeats = deque()  # (due, buy, instance)
        self.buys = 0

    def run(self):
        while not self.crowd.over.is_set():
            if self.repeats and self.repeats[0][0] <= time.monotonic():
                self.repeat(*self.repeats.popleft()[1:])
            else:
                self.buy()
            self.crowd.over.wait(self.crowd.pace_s * self.rng.uniform(0.5, 1.5))

    def buy(self):
        self.buys += 1
        buy = {"request": f"b{self.number}-{self.buys}", "units": self.rng.choice((1, 1, 1, 2)),
               "until": time.time() + NOT_AFTER_S if self.rng.random() < 0.5 else None}
        at = self.rng.choice(self.home)
        for _ in range(TRIES):
            status = self.ask(buy, at)
            if status == 201 and self.rng.random() < REPEATED:
                self.remember(buy, at, self.rng.uniform(0.2, LATEST_REPEAT_S))
            if status not in (0, 503, 504) or self.crowd.over.is_set():
                return
            self.crowd.over.wait(self.rng.uniform(0.1, 0.4))
            at = self.elsewhere(at)
        self.remember(buy, at, self.rng.uniform(1, 5))

    def remember(self, buy, at, after_s):
        self.repeats.append((time.monotonic() + after_s, buy, at))

    def elsewhere(self, at):
        if self.rng.random() >= ELSEWHERE:
            return self.rng.choice(self.home)
        return self.rng.choice([i for i in range(len(self.lines)) if i != at])

    def repeat(self, buy, at):
        """Until it is told something, a few times."""
        at = self.rng.choice([i for i in range(len(self.lines)) if i != at])
        status = self.ask(buy, at)
        buy["repeats"] = buy.get("repeats", 0) + 1
        if status in (0, 503, 504) and buy["repeats"] < GIVE_UP_REPEATING:
            self.remember(buy, at, self.rng.uniform(1, 5))

    def ask(self, buy, at):
        crowd, told = self.crowd, self.crowd.told
        path = (f"/buy?item={crowd.item}&sale={crowd.sale}&user=u{self.number}"
                f"&quantity={buy['units']}")
        if buy["until"]:
            path += f"&not_after={int(buy['until'] * 1e6)}"
        sent = time.monotonic()
        status, body, headers = self.lines[at].ask("POST", path, None,
                                                   {"Idempotency-Key": buy["request"]})
        got = time.monotonic()
        code = "201" if status == 201 else body.get("code", str(status))
        told.count(at, code)
        if status == 201:
            fresh = headers.get("Idempotency-Replayed") is None
            told.acks.append(Ack(sent, got, body["request"], body["order"], body["quantity"], at,
                                 fresh))
        elif status in (0, 504):
            told.doubtful.add(buy["request"])
        elif code == "sale_rolled_back":
            told.halts.append(Halt(got, at, body.get("known"), body.get("found"),
                                   body.get("lost_orders")))
            crowd.over.wait(HALTED_PAUSE_S)
        return status


class Crowd:
    def __init__(self, addresses, item, sale, pace_s, seed):
        self.addresses = addresses
        self.item = item
        self.sale = sale
        self.pace_s = pace_s
        self.seed = seed
        self.told = Told()
        self.over = threading.Event()
        self.buyers = []

    def come(self, count, home):
        for _ in range(count):
            buyer = Buyer(self, len(self.buyers), home)
            self.buyers.append(buyer)
            buyer.start()

    def leave(self):
        self.over.set()
        for buyer in self.buyers:
            buyer.join()
