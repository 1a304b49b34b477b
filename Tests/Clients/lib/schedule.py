"""Runs programs beside each other: each in a session, a temporary folder and a log of its own, the longest first, as many as there are
processors for, and those that need the machine alone at the end.

Each program has a process above it that collects whatever the program leaves behind (PR_SET_CHILD_SUBREAPER): it ends those processes and
counts their time too.
"""
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import sys
import tempfile
import time

from lib import results

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIMIT = 20 * 60  # seconds after which a program is taken to hang
GRACE = 3  # seconds in which what a program has started ends by itself
# Files that browsers, SwiftPM and lintian leave wherever they run.
FOREIGN = ["pulse-*", "*.lock", "TemporaryDirectory.*", "mldbm-*"]
MEMORY, ROOM = pathlib.Path("/dev/shm"), 4 << 30  # a file system in memory, and the bytes that must be free for programs' folders to be in it
PAUSES = 1.25  # processors that programs may want for each that there is: they seldom all want it at one moment
SILENCE = 30  # seconds after which a line says what runs


@dataclasses.dataclass(frozen=True)
class Task:
    """`seconds` is what it takes about, and `cores` how many processors it keeps busy meanwhile. Two tasks that hold the same thing do not
    run beside each other, and nothing runs beside one that is `alone`. Unless its status says it all, a task writes a result."""
    label: str
    command: tuple
    seconds: float = 15
    cores: float = 0.5
    alone: bool = False
    holds: frozenset = frozenset()
    by_status: bool = False


class Ended(Exception):
    """A time is over, or this process is to end."""


def _raise(number, _):
    raise Ended(number)


def below(root):
    """Returns the processes that descend from one, by their ids, with their commands; those that have ended are none."""
    parents, names = {}, {}
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            head, _, rest = path.read_text(errors="replace").rpartition(")")
            number, _, name = head.partition(" (")
            state, parent = rest.split()[:2]
            parents[int(number)] = int(parent)
            if state not in "ZX":
                names[int(number)] = name
    found, row = {}, {root}
    while row := {number for number, parent in parents.items() if parent in row}:
        found |= {number: names[number] for number in row if number in names}
    return found


def _watch(task, environment, log, limit):
    """Runs a program to its end, and returns what is known of it then."""
    began, cpu, status = time.monotonic(), 0.0, None
    died, left = "", []
    signal.signal(signal.SIGTERM, _raise)
    signal.signal(signal.SIGALRM, _raise)
    with open(log, "wb") as file, open(os.devnull, "rb") as nothing:
        main = os.posix_spawn(
            task.command[0], task.command, environment, setsigdef=[signal.SIGTERM, signal.SIGALRM, signal.SIGINT], setsigmask=[],
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing.fileno(), 0), *((os.POSIX_SPAWN_DUP2, file.fileno(), number) for number in (1, 2))])

    def collect():
        nonlocal cpu, status
        number, how, usage = os.wait4(-1, 0)
        cpu += usage.ru_utime + usage.ru_stime
        if number == main:
            status = how

    signal.alarm(limit)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        while status is None:
            collect()
    except Ended as end:
        late = end.args[0] == signal.SIGALRM
        died = f"it did not end within {limit} s; where its threads were is in {log}" if late else "it was ended"
        with contextlib.suppress(ProcessLookupError):
            os.kill(main, signal.SIGABRT if late else signal.SIGTERM)  # SIGABRT writes where its threads are (`faulthandler`)
    signal.alarm(GRACE)
    with contextlib.suppress(ChildProcessError):
        with contextlib.suppress(Ended):
            while True:
                collect()
        signal.alarm(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        left = sorted(below(os.getpid()).values())
        while True:
            for number in below(os.getpid()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            collect()
    signal.alarm(0)
    code = os.waitstatus_to_exitcode(status)
    if code and not died:
        died = f"it ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with status {code}"
    return dict(died=died, left=left, cpu=cpu, wall=time.monotonic() - began)


def _start(task, environment, log, limit):
    """Starts a process that watches over a program. Returns its id, and a pipe that has what is known when the program has ended."""
    reading, writing = os.pipe()
    # Who ends this process ends what it has started: not before that is known.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    watcher = os.fork()
    if watcher:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.close(writing)
        return watcher, reading
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        os.setsid()
        os.write(writing, json.dumps(_watch(task, environment, log, limit)).encode())
    except BaseException as error:  # nothing of this process is to go on
        os.write(writing, json.dumps(dict(died=f"it could not be watched: {error!r}", left=[], cpu=0, wall=0)).encode())
    finally:
        os._exit(0)


@dataclasses.dataclass
class Running:
    task: Task
    watcher: int
    pipe: int
    folder: pathlib.Path
    log: pathlib.Path
    began: float
    beside: dict


def place():
    """Returns where programs have their folders: in memory if there is much of it, unless TMPDIR says where. Each program creates many files
    and deletes them, which takes processor time on disks: ext4 without a journal looks at each inode that was deleted lately."""
    usual = pathlib.Path(tempfile.gettempdir())
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return usual
    available = re.search(r"^MemAvailable: *(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)
    free = os.statvfs(MEMORY)
    return MEMORY if free.f_bavail * free.f_frsize > ROOM and available and int(available[1]) * 1024 > 2 * ROOM else usual


class Schedule:
    """`run(tasks)` gives the outcomes, and calls `report(outcome)` at each end. With `until`, all that runs is ended when the task with that
    label has ended, and has no outcome."""

    def __init__(self, logs, processors=None, at_once=None, limit=LIMIT):
        self.logs, self.limit = logs, limit
        self.processors = processors or len(os.sched_getaffinity(0))
        self.at_once = at_once or 3 * self.processors
        self.running = {}  # by their pipes
        self.selector = selectors.DefaultSelector()

    def fits(self, task, waiting):
        busy = [running.task for running in self.running.values()]
        if not busy:
            return not task.alone or all(other.alone for other in waiting)
        if task.alone or any(other.alone or other.holds & task.holds for other in busy) or len(busy) >= self.at_once:
            return False
        return sum(other.cores for other in [*busy, task]) <= PAUSES * self.processors

    def run(self, tasks, report=lambda outcome: None, environment=None, until=None):
        waiting = sorted(tasks, key=lambda task: -task.seconds)
        outcomes, printed = [], time.monotonic()
        try:
            while waiting or self.running:
                while (task := next((task for task in waiting if self.fits(task, waiting)), None)) is not None:
                    waiting.remove(task)
                    self.begin(task, environment or os.environ)
                self.shows(len(waiting))
                for key, _ in self.selector.select(1 if self.on_terminal else max(0, printed + SILENCE - time.monotonic())):
                    outcome = self.end(key.fd)
                    outcomes.append(outcome)
                    self.clear()
                    report(outcome)
                    printed = time.monotonic()
                    if outcome.label == until:
                        self.stop()
                        return outcomes
                if not self.on_terminal and time.monotonic() - printed >= SILENCE:
                    print(f"    runs: {self.now()}; {len(waiting)} wait", flush=True)
                    printed = time.monotonic()
        except BaseException:
            self.clear()
            print(f"was running: {self.now()}", flush=True)
            self.stop()
            raise
        finally:
            self.clear()
            (self.logs / "running").unlink(missing_ok=True)
        return outcomes

    def stop(self):
        for running in self.running.values():
            os.kill(running.watcher, signal.SIGTERM)
        for pipe in list(self.running):
            self.end(pipe)

    def begin(self, task, environment):
        log = self.logs / f"{task.label}.log"
        (self.logs / f"{task.label}.json").unlink(missing_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-", dir=place()))
        folder.chmod(0o1777)  # as /tmp is: some programs run as another user
        watcher, pipe = _start(task, {**environment, "TMPDIR": str(folder)}, log, self.limit)
        began = Running(task, watcher, pipe, folder, log, time.monotonic(), {})
        self.running[pipe] = began
        self.selector.register(pipe, selectors.EVENT_READ)
        self.record()

    def end(self, pipe):
        running = self.running.pop(pipe)
        self.selector.unregister(pipe)
        with open(pipe, "rb") as file:
            known = json.loads(file.read() or '{"died": "its watcher was killed", "left": [], "cpu": 0, "wall": 0}')
        os.waitpid(running.watcher, 0)
        for other in self.running.values():  # how long each was beside it
            together = time.monotonic() - max(running.began, other.began)
            other.beside[running.task.label] = running.beside[other.task.label] = together
        known["left"] += sorted(f"{path.name} in its folder" for path in running.folder.iterdir() if not any(map(path.match, FOREIGN)))
        shutil.rmtree(running.folder, ignore_errors=True)
        self.record()
        outcome = results.Outcome(running.task.label, log=running.log, beside=running.beside, **known)
        if running.task.by_status:
            check = f"{outcome.label}: ran to its end"
            outcome.passed, outcome.failed = ([], [results.Failed(check, outcome.died, None)]) if outcome.died else ([check], [])
            return outcome
        return results.read(outcome, self.logs / f"{running.task.label}.json")

    # MARK: What is shown meanwhile

    @property
    def on_terminal(self):
        return sys.stdout.isatty()

    def now(self):
        return ", ".join(f"{running.task.label} ({time.monotonic() - running.began:.0f} s)" for running in self.running.values()) or "nothing"

    def record(self):
        """For who ends this process from outside: what is running, and where its log is."""
        lines = [f"{running.task.label} since {time.strftime('%H:%M:%S', time.localtime(time.time() - time.monotonic() + running.began))}: {running.log}\n"
                 for running in self.running.values()]
        (self.logs / "running.new").write_text("".join(lines))
        (self.logs / "running.new").replace(self.logs / "running")  # which nobody reads half written

    def shows(self, waiting):
        if self.on_terminal and self.running:
            width = shutil.get_terminal_size().columns - 1
            sys.stdout.write("\r\033[K" + f"runs: {self.now()}; {waiting} wait"[:width])
            sys.stdout.flush()

    def clear(self):
        if self.on_terminal:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()
