"""Chat beside a run of retention: the same load before it, and while messages go."""
import contextlib
import json
import os
import sqlite3
import subprocess
import time

from .measure import measure
from .servers import log

DAYS = 30
USERS = 100


def command(server, *words):
    """What one of Parley's commands answers, as JSON."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    environment.update(PARLEY_DATA=os.path.join(server.dir, "data"), PARLEY_DOMAIN="localhost")
    done = subprocess.run([os.path.abspath(server.binary), *words, "--json"], cwd=server.dir, env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def age(server):
    """All that was said so far was said a month and a day earlier. The server is down meanwhile."""
    server._end(server.pid)
    with contextlib.closing(sqlite3.connect(os.path.join(server.dir, "data", "parley.db"))) as database, database:
        database.execute("UPDATE payloads SET time = time - ?", ((DAYS + 1) * 86_400_000,))
    server.start()


def removed(server):
    """The messages that the running server has removed."""
    metrics = {metric["name"]: metric["series"] for metric in command(server, "stats")["metrics"]}
    return sum(series["value"] for series in metrics["parley_retention_removed_total"]
               if series["labels"]["kind"] == "messages")


def beside(name, args, server, round_, *more):
    """One row: the load of `args` while messages go, with what it was before as `quiet_...`, and how many went in a second.

    Each load has users of its own: a server that was restarted sends again what nobody has confirmed."""
    def load(number):
        return measure(name, "%s --first %d" % (args, (2 * round_ + number) * USERS), server.name, server.address,
                       server.http_address, server.pids, *more)
    configuration = os.path.join(server.dir, "parley.yaml")
    server.restart()
    quiet = load(0)
    age(server)
    with open(configuration, "w") as file:
        file.write("retention:\n  private_days: %d\n" % DAYS)
    try:
        command(server, "reload")
        run = subprocess.Popen([os.path.abspath(server.binary), "retention", "run"], cwd=server.dir,
                               env=dict(os.environ, PARLEY_DATA=os.path.join(server.dir, "data")),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before, began = removed(server), time.monotonic()
        row = load(1)
        went, took, lasted = removed(server) - before, time.monotonic() - began, run.poll() is None
    finally:
        os.remove(configuration)
        # The run ends with the server.
        server.restart()
    run.wait()
    if not lasted:
        log("%-14s all messages had gone before the load ended: fill more" % name)
    row.update({"quiet_" + key: quiet[key] for key in ("p50_ms", "p99_ms", "p999_ms") if key in quiet})
    row["failures"] += quiet["failures"]
    if "p99_ms" in row and "p99_ms" in quiet:
        row.update(p99_added_ms=round(row["p99_ms"] - quiet["p99_ms"], 3), removed=went, removed_per_s=round(went / took),
                   outlasted=int(not lasted))
    return row
