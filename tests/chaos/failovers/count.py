"""The outside count: what buyers were told, held to what is left at the end.

It is made from the answers alone. An order's id is opaque text. What is left is asked over HTTP:
the ledger's pages where the sale has them, and GET /orders/{request} for each acknowledged request
that no page has, and for all of a halted sale.
"""
import random
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from buyers import Line
from place import REDIS_PORT, redis_ask

ASKERS = 6
ASK_S = 30        # until a request must have its answer
SAMPLE = 200      # requests that are asked singly although a page has them
KEY_COUNTS = {"hash": "HLEN", "list": "LLEN", "zset": "ZCARD", "stream": "XLEN", "set": "SCARD"}


class Final:
    """What is left of a sale."""

    def __init__(self, addresses, item, sale):
        self.addresses = addresses
        self.item = item
        self.sale = sale
        self.orders = {}      # request -> order; None = it has none, "?" = nobody says
        self.unanswered = 0   # requests of which nobody says anything
        self.disagreeing = 0  # ... whose single answer differs from the page
        self.paged = False

    def read_pages(self):
        """False: the ledger is not shown (the sale is halted, say)."""
        line, cursor, found = Line(self.addresses[0]), None, {}
        end = time.monotonic() + ASK_S
        while True:
            path = f"/orders?item={self.item}" + (f"&cursor={cursor}" if cursor else "")
            status, body = line.admin("GET", path)
            if status != 200 or body.get("sale") != self.sale:
                if status == 200 or body.get("code") == "sale_rolled_back" or \
                        time.monotonic() > end:
                    return False
                time.sleep(0.2)
                continue
            found.update((order["request"], order["order"]) for order in body["orders"])
            cursor = body["cursor"]
            if not cursor:
                self.orders.update(found)
                self.paged = True
                return True

    def ask_one(self, number, request):
        """Its order, None, or "?" """
        lines = [Line(address) for address in self.addresses]
        end = time.monotonic() + ASK_S
        while True:
            line = lines[number % len(lines)]
            status, body, _ = line.ask("GET", f"/orders/{request}?item={self.item}"
                                              f"&sale={self.sale}")
            for each in lines:
                if each.connection:
                    each.connection.close()
                    each.connection = None
            if status == 200:
                return body["order"]
            if status == 404 or body.get("code") == "sale_rolled_back":
                return None
            if time.monotonic() > end:
                return "?"
            time.sleep(0.3)
            number += 1

    def ask_singly(self, requests):
        with ThreadPoolExecutor(ASKERS) as pool:
            return dict(zip(requests, pool.map(self.ask_one, range(len(requests)), requests)))

    def look(self, requests, seed):
        self.read_pages()
        absent = sorted(r for r in requests if r not in self.orders)
        present = sorted(r for r in requests if r in self.orders)
        sample = random.Random(seed).sample(present, min(SAMPLE, len(present)))
        for request, order in self.ask_singly(absent).items():
            self.unanswered += order == "?"
            self.disagreeing += self.paged and order not in ("?", None)
            self.orders[request] = order
        for request, order in self.ask_singly(sample).items():
            self.unanswered += order == "?"
            self.disagreeing += order not in ("?", self.orders[request])


def key_counts(address, sale):
    """How many entries the sale's keys have on a server, by the last word of the key."""
    counts, cursor = defaultdict(int), "0"
    while True:
        cursor, keys = redis_ask(address, REDIS_PORT, "SCAN", cursor, "MATCH", f"fs:*{sale}*",
                                 "COUNT", 1000)
        for key in keys:
            word = key.rsplit(":", 1)[1]
            command = KEY_COUNTS.get(redis_ask(address, REDIS_PORT, "TYPE", key))
            if word in ("orders", "ledger") and command:
                counts[word] += redis_ask(address, REDIS_PORT, command, key)
        if cursor == "0":
            return dict(counts)


def stock_of(addresses, item, sale, limit_s=20):
    """What each instance says of the sale at the end: (halted, lost_orders, numbers)."""
    found = []
    for address in addresses:
        end, line = time.monotonic() + limit_s, Line(address)
        while True:
            status, body, _ = line.ask("GET", f"/stock?item={item}")
            halt = body.get("halted") or (body if body.get("code") == "sale_rolled_back" else None)
            if halt or (status == 200 and body.get("sale") == sale) or time.monotonic() > end:
                break
            time.sleep(0.3)
        found.append((bool(halt), halt.get("lost_orders") if halt else 0, body))
    return found


def told_counts(told, stock, healed=None):
    """What follows from the answers alone; `healed`: what was asked for later is told apart."""
    pairs, first = {}, {}  # (request, order) -> units, and when its first try that got it was sent
    for ack in told.acks:
        pair = (ack.request, ack.order)
        pairs[pair] = ack.units
        first[pair] = min(first.get(pair, ack.sent), ack.sent)
    requests, orders = defaultdict(set), defaultdict(set)
    for request, order in pairs:
        requests[request].add(order)
        orders[order].add(request)
    units = sum(pairs.values())
    before = sum(u for pair, u in pairs.items() if healed is None or first[pair] < healed)
    answered = {request for request, _ in pairs}
    return pairs, {
        "acknowledged_orders": len(pairs),
        "acknowledged_units": units,
        "stock": stock,
        "units_beyond_stock": max(0, units - stock),
        "units_after_heal": units - before,
        "units_beyond_stock_after_heal": max(0, units - max(stock, before)),
        "order_ids_given_twice": sum(len(r) > 1 for r in orders.values()),
        "requests_with_two_orders": sum(len(o) > 1 for o in requests.values()),
        "requests_nobody_answered": len(told.doubtful - answered),
    }


def missing(pairs, final):
    """Acknowledged orders that are not there any more."""
    return [pair for pair in pairs if final.orders.get(pair[0]) not in (pair[1], "?")]
