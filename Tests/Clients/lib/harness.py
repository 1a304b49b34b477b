"""What the tests of this folder share: a server to start and kill, what it says, and the count of what passed."""
import asyncio
import contextlib
import functools
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import traceback

from lib.results import kind

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
BINARY = pathlib.Path(os.environ.get("PARLEY_BINARY_UNDER_TEST", ROOT / ".build" / "debug" / "parley"))
PASSWORD = "wherefore-art-thou"
PATIENCE = 60  # seconds until a thing that must happen counts as missing; nothing waits so long when all is well
PORTS_OF_A_BLOCK = 100
CRASHES = {signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV}
crashes = []  # what servers of this process ended by, none of which this process sent


class Failure(Exception):
    """What a client expected did not happen."""


class Checks:
    """Counts. A test is a function that raises; the rest of a group goes on after a failure."""

    def __init__(self):
        self.passed = 0
        self.failed = []
        self.names = []  # of those that passed
        self.reasons, self.kinds = [], []  # of each that failed; see `lib.results.kind`

    @contextlib.contextmanager
    def check(self, name):
        started = time.monotonic()
        try:
            yield
        except (Exception, asyncio.CancelledError) as error:  # whatever it was, it is this check that failed
            reason = str(error) if isinstance(error, Failure) else traceback.format_exc()
            self.failed.append(name)
            self.reasons.append(reason)
            self.kinds.append(kind(error))
            print(f"FAILED  {name}: {reason}", flush=True)
        else:
            self.passed += 1
            self.names.append(name)
            print(f"passed  {name} ({time.monotonic() - started:.1f} s)", flush=True)


def expect(condition, text):
    if not condition:
        raise Failure(text)


def until(what, test):
    """Waits for what another process does in its own time, and tells nobody. What `test` has found."""
    end = time.monotonic() + PATIENCE
    while not (found := test()):
        expect(time.monotonic() < end, f"not within {PATIENCE} s: {what}")
    return found


class Log:
    """What a process says. Who waits for something in it is woken by each line."""

    def __init__(self, pipe):
        self.lines = []
        self.ended = False
        self.changed = threading.Condition()
        threading.Thread(target=self._read, args=(pipe,), daemon=True).start()

    def _read(self, pipe):
        for line in pipe:
            with self.changed:
                self.lines.append(line)
                del self.lines[:-2000]
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def until(self, what, test, patience=PATIENCE):
        """Waits for a text of which this is true."""
        with self.changed:
            self.changed.wait_for(lambda: test(self.text) or self.ended, patience)
            expect(test(self.text), f"the end came before {what}" if self.ended else f"not within {patience} s: {what}")

    @property
    def text(self):
        return "".join(self.lines)


def blocks():
    """Blocks of ports outside the range from which the system takes ports for connections, in random order."""
    low, high = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    most = max(range(10_000, low), range(high + 1, 1 << 16), key=len)
    starts = list(most[:-PORTS_OF_A_BLOCK:PORTS_OF_A_BLOCK])
    random.shuffle(starts)
    return starts


def ports():
    """Ports that no other process of these tests is given: a block is claimed by a Unix socket of the abstract namespace, which ends with
    this process and is, as ports are, one of a network namespace."""
    for start in blocks():
        claim = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            claim.bind(f"\0parley-tests-ports-{start}")
            _claims.append(claim)
            yield from range(start, start + PORTS_OF_A_BLOCK)


_claims, _ports, _giving = [], ports(), threading.Lock()


def free_port(among=None):
    """One of these; otherwise one that this process has claimed and not given before."""
    with _giving:
        for port in among or _ports:
            with contextlib.closing(socket.socket()) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                with contextlib.suppress(OSError):
                    probe.bind(("127.0.0.1", port))
                    return port
    raise Failure(f"none of the ports {list(among) if among else 'that could be claimed'} is free")


def environment(**settings):
    """The variables of this process without PARLEY_*, and these keys of the configuration (dots as two underscores)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
    clean["SWIFT_BACKTRACE"] = "enable=no"  # a crash must not start a symbolicator before it is noticed
    for name, value in settings.items():
        clean["PARLEY_" + name.replace("__", "_").upper()] = str(value)
    return clean


@contextlib.contextmanager
def small_disk(megabytes):
    """A file system of its own; nil where this may not be mounted."""
    folder = tempfile.mkdtemp(prefix="parley-disk-")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0700", "tmpfs", folder], capture_output=True)
    try:
        yield folder if mounted.returncode == 0 else None
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def without_privileges():
    """A prefix for a command: root without its capabilities, as a server should run. Tests that root runs would else
    prove nothing of what everybody else may do."""
    prefix = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if os.geteuid() != 0 or subprocess.run([*prefix, "true"], capture_output=True).returncode != 0:
        return []
    return prefix


def report_crash(server):
    """Fails, once, if the process of a server of ours has crashed. Whoever ends it or starts it again asks: the next process has another
    status."""
    status = server.process and server.process.poll()
    if status is not None and -status in CRASHES:
        server.process = None
        crashes.append(signal.Signals(-status).name)
        raise Failure(f"the server crashed by {crashes[-1]}:\n{server.tail()}")


class Server:
    """`parley serve` in a temporary data folder, with ports of its own."""

    host, domain = "127.0.0.1", "localhost"

    def __init__(self, wrapper=(), **settings):
        self.folder = tempfile.mkdtemp(prefix="parley-clients-")
        self.data = os.path.join(self.folder, "data")
        self.xmpp, self.tls, self.http = free_port(), free_port(), free_port()
        self.metrics = free_port()
        self.settings = dict(
            domain="localhost", data=self.data, xmpp__host="127.0.0.1", xmpp__port=self.xmpp, xmpp__tls_port=self.tls,
            http__port=self.http, https__port=0, metrics__port=self.metrics, log__level="info")
        self.settings.update(settings)
        self.configuration = os.path.join(self.folder, "parley.yaml")
        pathlib.Path(self.configuration).write_text("# Nothing: the environment says it all.\n")
        self.wrapper, self.binary = list(wrapper), BINARY
        self.process = None
        self.log = None

    @property
    def base(self):
        return f"http://127.0.0.1:{self.http}"

    @property
    def certificate(self):
        return os.path.join(self.data, "tls", "self-signed.pem")

    def environment(self):
        return environment(**self.settings)

    def start(self, patience=PATIENCE):
        report_crash(self)
        self.process = subprocess.Popen(
            self.wrapper + without_privileges() + [str(self.binary), "serve", "--config", self.configuration, "--no-demo"], env=self.environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        self.log = Log(self.process.stderr)
        try:
            self.log.until(
                "the server is ready", lambda text: " parley: ready" in text or '"message":"ready"' in text, patience)
        except Failure as error:
            raise Failure(f"{error}:\n{self.tail()}") from None
        return self

    def tail(self):
        return "".join(self.log.lines[-40:])

    def kill(self):
        """kill -9."""
        report_crash(self)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        report_crash(self)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise Failure("the server does not stop:\n" + self.tail()) from None
        report_crash(self)
        return self.process.returncode if self.process else None

    def command(self, *arguments, stdin=None):
        """An admin command, as an operator would type it."""
        done = subprocess.run(
            [str(self.binary), *arguments, "--config", self.configuration], env=self.environment(), input=stdin,
            capture_output=True, text=True, timeout=180)
        if done.returncode != 0:
            raise Failure(f"parley {' '.join(arguments)}: status {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def prepare(self):
        """Makes the data folder before the first start."""
        self.command("init", "--no-demo")
        return self

    def add_users(self, *names):
        """All by one command: each is a process, and scripts add users often."""
        if not os.path.exists(self.settings["data"]):
            self.prepare()
        rows = "".join(f"{name}@localhost,{PASSWORD},{name.capitalize()}\n" for name in names)
        self.command("user", "import", "-", stdin="jid,password,name\n" + rows)

    def befriend(self, one, other):
        self.command("roster", "add", f"{one}@localhost", f"{other}@localhost", "--mutual")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def on_server(body, checks, *users, friends=True, **settings):
    """Runs `body(checks, server)`, a coroutine, on a server with these users; romeo and juliet are contacts if `friends`. Where it
    fails, the end of the server's log is shown."""
    with Server(**settings) as server:
        server.start()
        server.add_users(*users)
        if friends:
            server.befriend("romeo", "juliet")
        try:
            asyncio.run(body(checks, server))
        except Exception:
            print(server.tail())
            raise
