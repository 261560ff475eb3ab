"""Real servers in network namespaces of their own, and cuts between them.

        buyers, admin (this process)  10.77.0.1
                     |
    -----------------+--------------- a bridge, in the namespace of this process
      |      |      |      |      |      |
     redis 0, 1, 2     sentinel 0, 1, 2    instance 0, 1, 2 of flashsale
     .10, .11, .12     .20, .21, .22       .30, .31, .32

Redis, sentinel and instance N belong to host N, but each has a namespace, so that it can be cut off
with any of the others. Nobody cuts the buyers' line: buyers reach both sides.

Nothing has a name outside: this process leaves its network, and each other namespace is the one of
a process that only sleeps. The kernel ends all of them with the thread that started them, so only
the main thread may start servers.
"""
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HOSTS = 3
HUB = "10.77.0.1"
REDIS_PORT, SENTINEL_PORT, HTTP_PORT = 6379, 26379, 7000
MASTER = "mymaster"
TOKEN = "token-of-this-run"
CLONE_NEWNET = 0x40000000
START_S = 30  # for a server to answer
REDIS_TIMEOUT_S = 2


class Trouble(Exception):
    """The run can not go on; this is no finding about the product."""


def wait_until(condition, limit_s, step_s=0.05):
    """What `condition` returned when it was true, or its last value after limit_s."""
    end = time.monotonic() + limit_s
    value = condition()
    while not value and time.monotonic() < end:
        time.sleep(step_s)
        value = condition()
    return value


def redis_ask(address, port, *words):
    """One command on a connection of its own. OSError: no answer; str with "-" first: an error."""
    request = b"*%d\r\n" % len(words)
    for word in words:
        data = str(word).encode()
        request += b"$%d\r\n%s\r\n" % (len(data), data)
    with socket.create_connection((address, port), REDIS_TIMEOUT_S) as line:
        line.sendall(request)
        with line.makefile("rb") as replies:
            return read_reply(replies)


def read_reply(replies):
    head = replies.readline()
    if not head.endswith(b"\r\n"):
        raise ConnectionError("the reply ended early")
    kind, rest = head[:1], head[1:-2].decode()
    if kind == b"$":
        return None if rest == "-1" else replies.read(int(rest) + 2)[:-2].decode("utf-8", "replace")
    if kind == b"*":
        return None if rest == "-1" else [read_reply(replies) for _ in range(int(rest))]
    return int(rest) if kind == b":" else rest if kind == b"+" else "-" + rest


def shell(text, pid=None):
    """Runs lines of sh, in the network of a process; they must succeed."""
    enter = ["nsenter", f"--net=/proc/{pid}/ns/net"] if pid else []
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    done = subprocess.run(enter + ["sh", "-ec", text], capture_output=True, text=True,
                          env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise Trouble(f"network: {done.stderr.strip() or text}")


class Place:
    def __init__(self, options):
        self.options = options
        self.dir = tempfile.mkdtemp(prefix="failovers.")
        self.processes = []
        self.redis = [f"10.77.0.{10 + i}" for i in range(HOSTS)]
        self.sentinels = [f"10.77.0.{20 + i}" for i in range(HOSTS)]
        self.services = [f"10.77.0.{30 + i}" for i in range(HOSTS)]
        self.holders = {}  # address -> the process that keeps its network
        self.instances = []
        self.cut_off = []
        self.wanted = None  # (primary, the offset that its replicas are to reach)
        self.command = None
        os.environ["PATH"] += ":/usr/sbin:/sbin"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.command and self.command.poll() is None:
            os.killpg(self.command.pid, signal.SIGKILL)
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.wait()
        if self.options.keep:
            print(f"logs: {self.dir}", file=self.options.progress)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    # ---- processes and networks --------------------------------------------------------------

    def spawn(self, name, words, address=None, env=None):
        enter = ["nsenter", f"--net=/proc/{self.holders[address].pid}/ns/net"] if address else []
        with open(os.path.join(self.dir, name + ".log"), "ab") as log:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--"] + enter + words,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       cwd=self.dir, env=env)
        self.processes.append(process)
        return process

    def lay_network(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise Trouble(f"no network of its own (needs root): {os.strerror(ctypes.get_errno())}")
        shell(f"ip link set lo up; ip link add hub type bridge; ip address add {HUB}/24 dev hub; "
              "ip link set hub up")
        ours = os.readlink("/proc/self/ns/net")
        for number, address in enumerate(self.redis + self.sentinels + self.services):
            holder = self.spawn("network", ["unshare", "--net", "sleep", "infinity"])
            self.holders[address] = holder
            link = f"/proc/{holder.pid}/ns/net"
            if not wait_until(lambda: os.readlink(link) != ours, START_S, 0.01):
                raise Trouble("a namespace does not come")
            shell(f"ip link add p{number} type veth peer name eth0 netns {holder.pid}; "
                  f"ip link set p{number} master hub up")
            shell(f"ip link set lo up; ip address add {address}/24 dev eth0; ip link set eth0 up",
                  holder.pid)

    def cut(self, addresses):
        """From now on these hear only each other and the buyers, and are heard by nobody else."""
        friends = ", ".join([HUB] + addresses)
        rules = f"""nft -f - <<END
table inet cut {{
  chain in {{
    type filter hook input priority 0; policy accept
    iifname eth0 ip saddr != {{ {friends} }} drop
  }}
  chain out {{
    type filter hook output priority 0; policy accept
    oifname eth0 ip daddr != {{ {friends} }} drop
  }}
}}
END
"""
        for address in addresses:
            shell(rules, self.holders[address].pid)
        self.cut_off = addresses

    def mend(self):
        for address in self.cut_off:
            shell("nft delete table inet cut", self.holders[address].pid)
        self.cut_off = []

    def run_command(self, text, limit_s):
        """(exit code, what it printed) of a command of the user; at the end it is killed."""
        self.command = subprocess.Popen(["sh", "-c", text], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True,
                                        env={**os.environ, "FLASHSALE_ADMIN_TOKEN": TOKEN})
        try:
            output = self.command.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            os.killpg(self.command.pid, signal.SIGKILL)
            output = self.command.communicate()[0] + f"killed after {limit_s} s\n"
        return self.command.returncode, output

    # ---- servers -----------------------------------------------------------------------------

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def start_redis(self, i):
        o = self.options
        os.mkdir(os.path.join(self.dir, f"redis{i}"))
        text = (f"bind {self.redis[i]}\nport {REDIS_PORT}\nprotected-mode no\n"
                f"dir {self.dir}/redis{i}\nsave \"\"\nappendonly no\n"
                "repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n"
                f"min-replicas-to-write {o.min_replicas_to_write}\nmin-replicas-max-lag 3\n")
        text += "".join(f"{line}\n" for line in o.redis)
        if i > 0:
            text += f"replicaof {self.redis[0]} {REDIS_PORT}\n"
        self.spawn(f"redis{i}", [o.redis_server, self.write(f"redis{i}.conf", text)], self.redis[i])
        self.await_pong(self.redis[i], REDIS_PORT)

    def start_sentinel(self, i):
        o = self.options
        text = (f"bind {self.sentinels[i]}\nport {SENTINEL_PORT}\nprotected-mode no\n"
                f"dir {self.dir}\n"
                f"sentinel monitor {MASTER} {self.redis[0]} {REDIS_PORT} {o.quorum}\n"
                f"sentinel down-after-milliseconds {MASTER} {o.down_after}\n"
                f"sentinel failover-timeout {MASTER} {o.failover_timeout}\n"
                f"sentinel parallel-syncs {MASTER} {o.parallel_syncs}\n")
        self.spawn(f"sentinel{i}",
                   [o.redis_server, self.write(f"sentinel{i}.conf", text), "--sentinel"],
                   self.sentinels[i])
        self.await_pong(self.sentinels[i], SENTINEL_PORT)

    def start_instance(self, i):
        words = [os.path.abspath(self.options.flashsale),
                 "--listen", f"{self.services[i]}:{HTTP_PORT}", "--redis", self.url(),
                 "--name", f"instance{i}", "--rate-question", "0"]
        env = {**os.environ, "FLASHSALE_ADMIN_TOKEN": TOKEN}
        self.instances.append(self.spawn(f"instance{i}", words, self.services[i], env))

    def start(self):
        self.lay_network()
        for i in range(HOSTS):
            self.start_redis(i)
        if not wait_until(self.replicas_follow, START_S):
            raise Trouble("the replicas do not follow")
        for i in range(HOSTS):
            self.start_sentinel(i)
        if not wait_until(self.sentinels_know_all, START_S):
            raise Trouble("the sentinels do not find each other")
        for i in range(HOSTS):
            self.start_instance(i)

    def url(self):
        return "redis+sentinel://" + ",".join(self.sentinel_addresses()) + "/" + MASTER

    def sentinel_addresses(self):
        return [f"{address}:{SENTINEL_PORT}" for address in self.sentinels]

    # ---- questions ---------------------------------------------------------------------------

    def await_pong(self, address, port):
        def pong():
            try:
                return redis_ask(address, port, "PING") == "PONG"
            except OSError:
                return False
        if not wait_until(pong, START_S):
            raise Trouble(f"{address}:{port} does not answer; see its log in {self.dir} (--keep)")

    def role(self, i):
        """"master", "slave" or None."""
        try:
            reply = redis_ask(self.redis[i], REDIS_PORT, "ROLE")
        except OSError:
            return None
        return reply[0] if isinstance(reply, list) else None

    def named_primary(self):
        """The host that at least two sentinels name, or None."""
        names = []
        for address in self.sentinels:
            try:
                reply = redis_ask(address, SENTINEL_PORT, "SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                  MASTER)
            except OSError:
                continue
            if isinstance(reply, list) and reply[0] in self.redis:
                names.append(self.redis.index(reply[0]))
        for name in names:
            if names.count(name) >= 2:
                return name
        return None

    def info(self, i, section):
        try:
            text = redis_ask(self.redis[i], REDIS_PORT, "INFO", section)
        except OSError:
            return {}
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def replicas_follow(self, primary=0):
        """Both replicas are online and have what the primary had when this was first asked. (One
        that was cut off says soon that it is there, and may wait for its data for 20 s more: TCP
        repeats what was lost less and less often.)"""
        info = self.info(primary, "replication")
        lines = [value for key, value in info.items() if key[:5] == "slave" and key[5:].isdigit()]
        fields = [dict(word.split("=", 1) for word in line.split(",")) for line in lines]
        online = [f for f in fields if f["state"] == "online" and int(f["lag"]) <= 1]
        if info.get("role") != "master" or len(online) != HOSTS - 1:
            self.wanted = None
            return False
        if not self.wanted or self.wanted[0] != primary:
            self.wanted = (primary, int(info["master_repl_offset"]))
        if any(int(f["offset"]) < self.wanted[1] for f in online):
            return False
        self.wanted = None
        return True

    def sentinels_know_all(self):
        for address in self.sentinels:
            reply = redis_ask(address, SENTINEL_PORT, "SENTINEL", "MASTER", MASTER)
            if not isinstance(reply, list):
                return False
            fields = dict(zip(reply[::2], reply[1::2]))
            if (fields["flags"] != "master" or int(fields["num-slaves"]) < HOSTS - 1 or
                    int(fields["num-other-sentinels"]) < HOSTS - 1):
                return False
        return True

    def settled(self):
        """The primary's number + 1 when all members agree and follow it, else 0."""
        try:
            primary = self.named_primary()
            rests = (primary is not None and self.replicas_follow(primary) and
                     self.sentinels_know_all())
        except OSError:
            return 0
        return primary + 1 if rests else 0

    def await_settled(self, limit_s=120):
        found = wait_until(self.settled, limit_s)
        if not found:
            raise Trouble(f"Redis does not come to rest within {limit_s} s")
        return found - 1

    def in_logs(self, word):
        """How many lines of the sentinels' logs have this word."""
        count = 0
        for i in range(HOSTS):
            with open(os.path.join(self.dir, f"sentinel{i}.log"), encoding="utf-8",
                      errors="replace") as log:
                count += sum(f" {word} " in line for line in log)
        return count

    def ended_instances(self):
        return [f"instance {i} has ended with {process.returncode}"
                for i, process in enumerate(self.instances) if process.poll() is not None]


def end_on_signals():
    """SIGTERM, SIGINT and SIGHUP end the run in order, so that all is cleaned up."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, leave)
