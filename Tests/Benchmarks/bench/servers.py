"""Starts, fills and stops the servers that are compared."""
import contextlib
import os
import select
import signal
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = os.path.join(HERE, "peers")
XLOAD = os.environ.get("XLOAD", os.path.join(HERE, "xload", "xload"))

# What one user of Parley may send in the workloads, most of which have users who send far more than a person or a bot: other servers have no
# shapers as they are configured here. `peers/parley` has the same.
SENDING = {"sending__stanzas_per_second": 1_000_000, "sending__bytes_per_second": 1 << 30, "sending__day_bytes": 1 << 40}

# name: (script, archive, port, whether stored messages are synced before they are delivered, label)
VARIANTS = {
    "parley":     ("parley", None, 35222, True, "Parley"),
    "p-none":     ("prosody", "none", 15222, False, "Prosody, no archive"),
    "p-internal": ("prosody", "internal", 15322, False, "Prosody, archive in files (never synced)"),
    "p-sqlite":   ("prosody", "sql", 15422, True, "Prosody, SQLite"),
    "e-none":     ("ejabberd", "none", 25222, False, "ejabberd, no archive"),
    "e-mnesia":   ("ejabberd", "mnesia", 25322, False, "ejabberd, Mnesia (not synced)"),
    "e-sqlite":   ("ejabberd", "sqlite", 25522, True, "ejabberd, SQLite"),
    "e-pgsql":    ("ejabberd", "pgsql", 25622, True, "ejabberd, PostgreSQL"),
}


def durable(name):
    return VARIANTS[name][3]


def label(name):
    """The name of a server in tables and charts; one that is no variant is shown as it is."""
    return VARIANTS[name][4] if name in VARIANTS else name


def log(text):
    print(text, file=sys.stderr, flush=True)


class Server:
    """One variant, in its own run directory under `base`."""

    security = []  # options of xload without which it lets nobody in

    def __init__(self, name, base, cpu, binary):
        self.name, self.cpu, self.binary = name, cpu, binary
        self.script, self.archive, self.port, _, self.label = VARIANTS[name]
        self.http = self.port + 58
        self.dir = os.path.join(base, name)
        self.cache = os.path.join(base, "scram-" + name)
        self.pid = None
        self.database = None
        self.groups = 0
        self.warmed = set()
        self.filled = False

    @property
    def address(self):
        return "127.0.0.1:%d" % self.port

    @property
    def http_address(self):
        return "127.0.0.1:%d" % self.http

    @property
    def pids(self):
        return ",".join(str(p) for p in (self.pid, self.database) if p)

    def _launch(self, script, directory, port, *more):
        command = [os.path.join(PEERS, script), "--dir", directory, "--port", str(port), "--daemon", *more]
        if self.cpu is not None:
            command += ["--cpu", str(self.cpu)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit("%s cannot be measured: it did not start; the reason is above, or in %s" % (self.name, directory))
        return int(done.stdout.split()[-1])

    def start(self, fresh=False):
        more = ["--fresh"] if fresh else []
        if self.archive == "pgsql" and self.database is None:
            self.database = self._launch("postgres", self.dir + "-postgres", 25432, *more)
        if self.archive:
            more += ["--archive", self.archive]
        if self.script == "parley":
            more += ["--binary", self.binary]
        self.pid = self._launch(self.script, self.dir, self.port, "--http", str(self.http), *more)

    def prepare(self, users, groups):
        """Starts a new, empty server and creates the benchmark's accounts."""
        self.groups = groups
        log("%-10s starting, %d users and %d groups" % (self.name, users, groups))
        if os.path.exists(self.cache):
            os.remove(self.cache)  # new accounts have new salts
        self.start(fresh=True)
        command = [os.path.join(PEERS, "accounts"), self.script, "--users", str(users), "--groups", str(groups)]
        command += ["--http", str(self.http)] if self.script == "ejabberd" else ["--dir", self.dir]
        if self.archive in ("sqlite", "pgsql"):
            command += ["--sql", self.archive, "--dir", self.dir]
        if self.script == "parley":
            command += ["--binary", self.binary]
        done = self.fill(command)
        if done.returncode:
            raise SystemExit("%s cannot be measured: its accounts could not be created; the reason is above" % self.name)
        log("%-10s %s" % (self.name, done.stdout.strip()))
        if self.name == "p-sqlite":
            self.restart()  # it caches what was not in its tables
        self.admit()

    def admit(self):
        """Ends the run if a user cannot log in, as where the driver of a database is missing: there would be nothing to measure."""
        done = subprocess.run(self.enter([XLOAD, "login", "--addr", self.address, "--users", "1", *self.security, *self.options()]),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit("%s cannot be measured: nobody can log in: %s" % (self.name, (done.stderr.strip() or "no reason").splitlines()[-1]))

    def fill(self, command):
        return subprocess.run(command, stdout=subprocess.PIPE, text=True)

    def enter(self, command):
        """The command as it is run where the server can be reached."""
        return command

    def options(self, load=None):
        """What xload has to know beside the addresses."""
        return ["--metrics", "127.0.0.1:%d" % (self.http + 1)] if self.script == "parley" else []

    def warm(self, wanted):
        """Lets the generator derive the accounts' SCRAM keys, unmeasured."""
        for prefix, first, number in wanted:
            missing = [i for i in range(first, first + number) if (prefix, i) not in self.warmed]
            if not missing:
                continue
            subprocess.run(self.enter([XLOAD, "login", "--addr", self.address, "--prefix", prefix, "--first", str(missing[0]),
                                       "--users", str(missing[-1] - missing[0] + 1), "--scram-cache", self.cache,
                                       *self.security, *self.options()]),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.warmed.update((prefix, i) for i in range(missing[0], missing[-1] + 1))

    def prefill(self, options):
        if self.filled or options is None:
            return
        log("%-10s prefill %s" % (self.name, " ".join(options)))
        environment = dict(os.environ, PEERS_CACHE=os.path.dirname(self.cache), XLOAD=XLOAD)
        done = subprocess.run([os.path.join(PEERS, "prefill"), self.address, self.name, "--groups", str(self.groups),
                               *options],
                              stdout=subprocess.DEVNULL, env=environment)
        if done.returncode:
            raise SystemExit("%s: prefill failed" % self.name)
        self.filled = True

    def enlarge(self, megabytes):
        """Gives Parley's database this size, by rows of the size of a message in a table of their own."""
        path = os.path.join(self.dir, "data", "parley.db")
        rows = (megabytes << 20) - os.path.getsize(path) >> 10
        if rows <= 0:
            return
        log("%-10s database of %d MiB" % (self.name, megabytes))
        self._end(self.pid)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS ballast (id INTEGER PRIMARY KEY, bytes BLOB)")
            while rows > 0:  # in pieces, which bound the log
                count = min(rows, 100000)
                database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                                 "INSERT INTO ballast (bytes) SELECT randomblob(990) FROM n", [count])
                database.commit()
                rows -= count
        self.start()

    def restart(self):
        self._end(self.pid)
        self.start()

    def stop(self):
        self._end(self.pid)
        self._end(self.database)
        self.pid = self.database = None

    @staticmethod
    def _end(pid, patience=30):
        """Ends one process, and waits until it is gone."""
        if not pid:
            return
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        ended = select.poll()
        ended.register(process, select.POLLIN)
        for number in (signal.SIGTERM, signal.SIGKILL):
            signal.pidfd_send_signal(process, number)
            if ended.poll(patience * 1000):
                break
        os.close(process)
