"""What `run` does with scripts, by small programs in their place: what is repeated and what never is, what a script leaves behind, which
run beside each other, and whose ports are whose.
"""
import contextlib
import errno
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
from types import SimpleNamespace

from lib.harness import BINARY, PATIENCE, ROOT, Failure, Server, crashes, expect, free_port
from lib.partners import Parley
from lib.results import CONNECTION, PORT, TIME, Failed, Outcome, Unstable, kind, settle
from lib.schedule import Schedule, Task

HERE = pathlib.Path(__file__).resolve().parent

def replaced(error, by):
    """What a client raises in place of another exception."""
    try:
        raise by from None
    except Failure as failure:
        failure.__context__ = error
        return failure


# How a check failed, and what that is.
KINDS = [
    (Failure(f"not within {PATIENCE} s: the answer to a ping"), TIME),
    (Failure(f"not within {PATIENCE} s: the server is ready:\nFatal error in what it said before"), TIME),
    (subprocess.TimeoutExpired("parley", 60), TIME),
    (TimeoutError("timed out"), TIME),
    (OSError(errno.EADDRINUSE, "Address already in use"), PORT),
    (Failure("none of the ports [5222] is free"), PORT),
    (ConnectionRefusedError(111, "Connection refused"), CONNECTION),
    (ConnectionResetError(104, "Connection reset by peer"), CONNECTION),
    (replaced(TimeoutError(), Failure("romeo did not see presence_available")), TIME),
    (replaced(KeyError("name"), Failure("there is no name")), None),
    (urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")), CONNECTION),
    (Failure("3 is not 4"), None),
    (Failure("the end came before the answer to a ping"), None),
    (Failure(f"not within {PATIENCE} s: a message was lost"), None),
    (Failure("the server crashed by SIGILL:\nnot within 60 s"), None),
    (Failure("2 messages came twice"), None),
    (Failure("the list took 61 s"), None),
    (ValueError("it was not within 60 s"), None),
    (PermissionError(errno.EACCES, "Permission denied"), None),
]


def program(text):
    """A script in place of one: writes its result where `run` looks for it."""
    return (sys.executable, "-c", text)


def result(path, *passed, failed=()):
    found = json.dumps(dict(passed=passed, failed=[dict(check=check, reason="why", kind=kind) for check, kind in failed]))
    return f"import pathlib; pathlib.Path({str(path)!r}).write_text({found!r});"


def played(logs, *tasks, **options):
    """The outcomes by their labels, and what was printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcomes = Schedule(logs, **options).run(tasks)
    return {outcome.label: outcome for outcome in outcomes}, printed.getvalue()


def behind(logs):
    """A script whose daemon and file stay, and one that dies."""
    daemon = "import subprocess; subprocess.Popen(['sh', '-c', 'exec tail -f /dev/null &']).wait();"
    busy = "import time, os\nif os.fork() == 0:\n    while time.process_time() < 0.3: pass\n    os._exit(0)\nos.wait();"
    found, _ = played(
        logs, Task("leaves", program(result(logs / "leaves.json", "one") + daemon + "import os; open(os.environ['TMPDIR'] + '/kept', 'w')")),
        Task("busy", program(busy + result(logs / "busy.json", "one"))),
        Task("dies", program("import os; os.abort()")), Task("silent", program("pass")))
    expect(found["leaves"].left == ["tail", "kept in its folder"] and not found["leaves"].failed, f"{found['leaves']}")
    expect(0.3 <= found["busy"].cpu, f"{found['busy']}")
    expect("SIGABRT" in found["dies"].failed[0].reason and not found["dies"].may_pass, f"{found['dies']}")
    expect(found["silent"].failed and not found["silent"].may_pass, f"{found['silent']}")
    expect(not (logs / "running").exists(), "something runs")


def hangs(logs):
    """A script that does not end is ended, has failed, and has written where its threads were."""
    text = "import faulthandler; faulthandler.enable()\ndef waits_for_ever():\n    import threading; threading.Event().wait()\nwaits_for_ever()"
    found, _ = played(logs, Task("hangs", program(text)), limit=1)
    expect("did not end within 1 s" in found["hangs"].failed[0].reason, f"{found['hangs']}")
    expect("waits_for_ever" in (logs / "hangs.log").read_text(), "the log does not say where")


def company(logs):
    """Each script notes who runs when it begins and when it ends."""
    def task(label, **more):
        text = (f"import pathlib, time; running = pathlib.Path({str(logs / 'running')!r}); seen = running.read_text()\n"
                "end = time.monotonic() + 0.3\nwhile time.monotonic() < end: seen += running.read_text()\nprint(seen)\n")
        return Task(label, program(text + result(logs / f"{label}.json", "one")), **more)

    port = frozenset(["port 1"])
    tasks = [task("long", seconds=100), task("short", seconds=1), task("one", holds=port), task("other", holds=port),
             task("alone", seconds=1_000, alone=True)]
    found, _ = played(logs, *tasks, processors=2, at_once=3)
    seen = {label: {line.split()[0] for line in (logs / f"{label}.log").read_text().splitlines() if line} for label in found}
    expect(seen["alone"] == {"alone"} and list(found)[-1] == "alone", f"{seen}, {list(found)}")
    expect("other" not in seen["one"] and "one" not in seen["other"], f"{seen}")
    # On a busy machine one of the two has ended before the other begins to look.
    expect("long" in seen["one"] | seen["other"] or {"one", "other"} & seen["long"], f"{seen}")
    expect(set(found["long"].beside) >= {"one"}, f"{found['long']}")
    expect(all(len(outcome.beside) <= 4 and "alone" not in outcome.beside for outcome in found.values()), f"{found}")


def ends_company(logs):
    """What runs beside a repeated script ends with it."""
    with contextlib.redirect_stdout(io.StringIO()):
        (outcome,) = Schedule(logs).run(
            [Task("first", program(result(logs / "first.json", "one"))), Task("company", ("/bin/sleep", "1000"), seconds=100)], until="first")
    expect(outcome.label == "first" and not outcome.failed and set(outcome.beside) <= {"company"}, f"{outcome}")


def settled(folder, first, *repetitions, may_repeat=True):
    """What becomes of an outcome whose repetitions, alone and beside others, end so: the outcome, the lines, how often it was repeated."""
    left = list(repetitions)

    def again(outcome, neighbours):
        return left.pop(0)

    with contextlib.redirect_stdout(io.StringIO()):
        (final,), lines = settle([first], lambda _: may_repeat, again, Unstable(folder / "unstable.txt"))
    return final, lines, len(repetitions) - len(left)


def outcome(label="web", *, failed=None, kind=None, died=""):
    return Outcome(label, ["a"] if failed else ["a", "b"], [Failed(failed, "why", kind)] if failed else [], died=died, log=f"{label}.log",
                   beside={"long": 9.0, "short": 1.0})


def crashing(then, server):
    """A server has crashed; then the script, which has not noticed, ends it or starts it again."""
    server.process.wait(PATIENCE)
    before = len(crashes)
    try:
        then(server)
    except Failure as failure:
        expect(str(failure).startswith("the server crashed by SIGILL"), f"{failure}")
    else:
        raise Failure("nobody noticed")
    finally:
        noticed = crashes[before:]
        del crashes[before:]
    expect(noticed == ["SIGILL"], f"{noticed}")


def crashed(folder):
    """A server of a script, and one among others in an internet of its own."""
    binary = folder / "parley"
    binary.write_text("#!/bin/sh\necho ' parley: ready' >&2\nkill -ILL $$\n")
    binary.chmod(0o755)
    for then in Server.kill, Server.start, Server.stop:
        with Server() as server:
            server.binary = binary
            crashing(then, server.start())
    ended = subprocess.Popen(["true"])
    ended.wait()
    for number, then in enumerate([Parley.kill, Parley.start, Parley.stop, lambda server: server.internet.closing.close()]):
        internet = SimpleNamespace(folder=folder, closing=contextlib.ExitStack(), authority=SimpleNamespace(path=""))
        internet.start = lambda *_, **__: ended
        machine = SimpleNamespace(
            internet=internet, name=f"machine{number}", domain="parley.test", address="127.0.0.1", chain="", key="", space=None)
        server = Parley(machine)
        with contextlib.suppress(Failure):
            server.start()
        server.process = subprocess.Popen([binary], stderr=subprocess.DEVNULL)
        crashing(then, server)


def benchmark(folder):
    """What a benchmark does on a machine on which ejabberd has no driver for PostgreSQL, by programs in the place of dpkg-query and xload."""
    place = ROOT / "Tests/Benchmarks"
    for name, script in [
            ("dpkg-query", '[ "${@: -1}" = erlang-p1-pgsql ] || echo "install ok installed"'),
            ("xload", 'echo "xload: u0: not-authorized" >&2; exit 1')]:
        (folder / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "XLOAD": str(folder / "xload"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [place / "peers/setup", "--missing", "prosody", "ejabberd"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    expect(done.stdout.split() == ["erlang-p1-pgsql"], f"{done}")
    done = subprocess.run(
        [sys.executable, "-c", "from bench.servers import Server; Server('e-pgsql', '.', None, '').admit()"], cwd=place, env=environment,
        capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 1 and done.stderr == "e-pgsql cannot be measured: nobody can log in: xload: u0: not-authorized\n", f"{done}")


def benchmark_accounts():
    """A benchmark creates its accounts beside the server that it has started."""
    with Server() as server:
        server.start()
        done = subprocess.run(
            [ROOT / "Tests/Benchmarks/peers/accounts", "parley", "--users", "2", "--groups", "0", "--dir", os.path.dirname(server.data),
             "--binary", BINARY], capture_output=True, text=True, timeout=2 * PATIENCE)
        expect(done.returncode == 0, f"{done}")
        expect("u1@localhost" in server.command("user", "list"), "the accounts are not there")


def run(checks):
    for error, expected in KINDS:
        with checks.check(f"suite: {type(error).__name__}: {str(error).splitlines()[0]} is {expected or 'no matter of the moment'}"):
            expect(kind(error) == expected, f"{kind(error)}")
    with tempfile.TemporaryDirectory() as name:
        folder, passes = pathlib.Path(name), outcome()
        with checks.check("suite: who has passed is not repeated"):
            expect(settled(folder, outcome(), passes)[2] == 0, "it was")
        with checks.check("suite: a failed expectation, a death, and a script that forbids it are not repeated"):
            for first, may in [(outcome(failed="b"), True), (outcome(failed="b", kind=TIME, died="SIGILL"), True), (outcome(failed="b", kind=TIME), False)]:
                final, lines, times = settled(folder, first, passes, may_repeat=may)
                expect(final is first and not lines and times == 0, f"{first} is {final}")
        with checks.check("suite: who fails again, alone or beside others, has failed"):
            for repetitions in [(outcome(failed="b", kind=TIME), passes), (passes, outcome(failed="b"))]:
                final, lines, _ = settled(folder, outcome(failed="b", kind=TIME), *repetitions)
                expect(final.failed and lines[0].startswith("repeated: "), f"{final}, {lines}")
            expect(not (folder / "unstable.txt").exists(), "it is in the list")
        with checks.check("suite: who passes twice is unstable, with its logs, and enters the list"):
            final, lines, times = settled(folder, outcome(failed="b", kind=PORT), outcome("web.alone"), outcome("web.beside"))
            expect(not final.failed and times == 2 and final.passed == ["a", "b"], f"{final}")
            (line,) = lines
            expect(line.startswith("unstable: web: b (port)") and line.endswith("web.log, web.alone.log, web.beside.log"), line)
            expect(Unstable(folder / "unstable.txt").has("web", "b"), "it is not in the list")
        with checks.check("suite: who is in the list and is unstable again has failed"):
            final, lines, _ = settled(folder, outcome(failed="b", kind=TIME), passes, outcome())
            expect([each.check for each in final.failed] == ["b"] and final.passed == ["a"] and lines, f"{final}")
        with checks.check("suite: processes and files that a script leaves behind are ended, counted and reported"):
            behind(folder)
        with checks.check("suite: a crash is a failure where the script itself ends the server or starts it again"):
            crashed(folder)
        with checks.check("suite: a benchmark asks for missing drivers, and a server that lets nobody in ends it with the reason"):
            benchmark(folder)
        with checks.check("suite: a benchmark creates its accounts beside a server"):
            benchmark_accounts()
        with checks.check("suite: a script that hangs is ended, and its log says where"):
            hangs(folder)
        with checks.check("suite: scripts run beside each other, but not those that need the same or the machine"):
            company(folder)
        with checks.check("suite: what runs beside a repeated script ends with it"):
            ends_company(folder)
    with checks.check("suite: two processes have no port in common"):
        ask = "from lib.harness import free_port; print(*(free_port() for _ in range(150)), flush=True); input()"
        both = [subprocess.Popen([sys.executable, "-c", ask], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        mine = {free_port() for _ in range(150)}
        one, other = (set(map(int, process.stdout.readline().split())) for process in both)
        for process in both:
            process.communicate("\n")
        expect(len(one) == len(other) == len(mine) == 150 and not one & other and not mine & (one | other), f"{one & other}")
        low, high = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
        expect(not any(low <= port <= high for port in one | other | mine), "the system may take one")
