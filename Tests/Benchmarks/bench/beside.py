"""What goes on beside a workload's load: backups of the database, visits of the web client; and bounds that only some workloads leave in place."""
import contextlib
import glob
import gzip
import http.client
import os
import re
import statistics
import subprocess
import threading
import time

from .servers import SENDING

VISIT_EVERY = 0.2  # seconds from the begin of one visit to that of the next


@contextlib.contextmanager
def repeating(what, once, figures):
    """Does `once` again and again, from before the body to behind it. It is given two events: one that it sets when it goes on beside
    others, and one that tells that it is the last. Gives a row's figures, which are complete at the end: `figures()`, or why it failed."""
    ending, begun, failures = threading.Event(), threading.Event(), []

    def repeat():
        try:
            while not ending.is_set():
                once(begun, ending)
        except Exception as error:
            failures.append(str(error))
        begun.set()

    thread = threading.Thread(target=repeat)
    thread.start()
    begun.wait()
    row = {}
    try:
        yield row
    finally:
        ending.set()
        thread.join()
    row.update({"failures": 1, "error": "%s: %s" % (what, failures[0])} if failures else figures())


def backups(server):
    """Backups of Parley's database one after the other, of which the last stays: the median of the seconds, and the size."""
    target, took, size = os.path.join(server.dir, "backups"), [], [0]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}

    def once(begun, _):
        begin = time.monotonic()
        process = subprocess.Popen([server.binary, "backup", "--files", target, "--keep", "1", "--data",
                                    os.path.join(server.dir, "data")], cwd=server.dir,
                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        begun.set()
        error = process.communicate()[1]
        if process.returncode:
            raise RuntimeError(error.strip())
        took.append(time.monotonic() - begin)
        size[0] = max(os.path.getsize(path) for path in glob.glob(os.path.join(target, "*.db")))

    return repeating("backup", once, lambda: {
        "backup_s": round(statistics.median(took), 2), "backup_gb": round(size[0] / 1e9, 3)})


def load(address):
    """One visitor's first load of the web client: the page and what it links to, compressed, by one connection. Gives its bytes."""
    connection = http.client.HTTPConnection(address, timeout=30)
    size = 0

    def get(path):
        nonlocal size
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError("%s has status %d" % (path, answer.status))
        size += len(body)
        return gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body
    with contextlib.closing(connection):
        for path in re.findall(r'(?:href|src)="(/client/[^"]+)"', get("/").decode()):
            get(path)
    return size


def visits(server):
    """First loads of the web client: their number, the median of the milliseconds of one, and its bytes."""
    took, sizes = [], []

    def once(begun, ending):
        begin = time.monotonic()
        sizes.append(load(server.http_address))
        took.append(time.monotonic() - begin)
        begun.set()
        ending.wait(max(0, begin + VISIT_EVERY - time.monotonic()))

    return repeating("visit", once, lambda: {
        "visits": len(took), "visit_p50_ms": round(1000 * statistics.median(took), 1), "visit_kib": round(sizes[0] / 1024, 1)})


@contextlib.contextmanager
def bounds(server):
    """The server has its default bounds of what one user may send."""
    raised = {key: server.partner.settings.pop(key) for key in SENDING}
    server.restart()
    try:
        yield {}
    finally:
        server.partner.settings.update(raised)


BESIDE = {None: lambda server: contextlib.nullcontext({}), "backups": backups, "visits": visits, "bounds": bounds}
