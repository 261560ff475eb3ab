"""Takes and releases a lock as a Python program does, with redis-py's own Lock, and writes a history.

usage: foreign_lock.py SOCKET NAME SECONDS HISTORY

tests/tools/histcheck/event.h has the format. Prints the number of grants at the end.
"""
import os
import random
import sys
import time

import redis


def main(path, name, seconds, history):
    client = redis.Redis(unix_socket_path=path)
    grants = op = 0
    end = time.monotonic() + float(seconds)
    with open(history, "w") as out:

        def note(event, hold=0, depth=0):
            out.write(f"{time.monotonic_ns()} {os.getpid()} 1 {op} {event} {name} 0 {depth} {hold}\n")

        while time.monotonic() < end:
            op += 1
            lock = client.lock(name, timeout=2, sleep=0.005, blocking_timeout=3)
            note("invoke")
            if not lock.acquire():
                note("fail")
                continue
            note("ok", op, 1)
            grants += 1
            time.sleep(random.random() * 0.004)
            note("release-invoke", op)
            try:
                lock.release()
                note("release-ok", op)
            except redis.exceptions.LockError:
                note("release-fail", op)
            time.sleep(random.random() * 0.01)
    print(grants)


main(*sys.argv[1:])
