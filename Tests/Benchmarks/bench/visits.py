"""First loads of the web client, one after the other, beside a workload."""
import contextlib
import gzip
import http.client
import re
import statistics
import threading
import time

EVERY = 0.2  # seconds from the begin of one load to that of the next


def load(address):
    """One visitor's first load: the page and what it links to, compressed, by one connection. Gives its bytes."""
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
        return body if answer.headers["Content-Encoding"] != "gzip" else gzip.decompress(body)
    with contextlib.closing(connection):
        for path in re.findall(r'(?:href|src)="(/client/[^"]+)"', get("/").decode()):
            get(path)
    return size


@contextlib.contextmanager
def visits(server):
    """Loads from before the body to behind it; gives a row's figures, which are complete at the end."""
    took, sizes, failures = [], [], []
    ending, begun = threading.Event(), threading.Event()

    def repeat():
        try:
            while not ending.is_set():
                begin = time.monotonic()
                sizes.append(load(server.http_address))
                begun.set()
                took.append(time.monotonic() - begin)
                ending.wait(max(0, begin + EVERY - time.monotonic()))
        except Exception as error:
            failures.append(str(error))
            begun.set()

    thread = threading.Thread(target=repeat)
    thread.start()
    begun.wait()
    figures = {}
    try:
        yield figures
    finally:
        ending.set()
        thread.join()
    if failures:
        figures.update(failures=1, error="visits: " + failures[0])
    else:
        figures.update(visits=len(took), visit_p50_ms=round(1000 * statistics.median(took), 1), visit_kib=round(sizes[0] / 1024, 1))
