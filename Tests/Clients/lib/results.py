"""What came of a script: which checks passed, which failed and why, and whether a failure may be a matter of the moment.

A failure by time, port or connection may come from a busy machine, so its script is repeated twice: alone, and beside those that ran at the
same time. All else is a failure at once: it says that something is wrong, and a repetition would only hide how often.
"""
import asyncio
import dataclasses
import datetime
import errno
import json
import re
import subprocess

TIME, PORT, CONNECTION = "time", "port", "connection"
# The first words of a `Failure` of somebody who waited in vain.
WAITED = re.compile(r"(\S+: )?(not within|still there after) \d+ s\b")
PORT_TAKEN = re.compile(r"address already in use|EADDRINUSE|none of the ports", re.I)
CONNECTION_LOST = re.compile(r"ERR_CONNECTION_(REFUSED|RESET|CLOSED)|ECONNRE(FUSED|SET)|connection (refused|reset)", re.I)
# A failure that says this is none of the moment, however it was noticed. The log that may follow the first line is not asked.
WRONG = re.compile(r"\b(lost|missing|twice|doubled?|duplicates?|out of order|leak\w*|crash\w*|fatal error|signal|status -\d+)\b", re.I)
# Names of exceptions that libraries raise in place of Python's own.
OF_TIME = {"TimeoutError", "TimeoutExpired", "IqTimeout", "Timeout", "ReadTimeout", "ConnectTimeout", "Empty"}
OF_CONNECTION = {"ConnectionClosedError", "ConnectError", "ServerDisconnectedError", "ClientConnectorError", "Gone"}


def kind(error):
    """Returns why a check failed, if that may pass by itself: time, port or connection. Otherwise nothing, which is the default."""
    first = str(error).split("\n", 1)[0]
    if WRONG.search(first):
        return None
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE or PORT_TAKEN.search(first):
        return PORT
    if isinstance(error, (TimeoutError, asyncio.TimeoutError, subprocess.TimeoutExpired)) or type(error).__name__ in OF_TIME or WAITED.match(first):
        return TIME
    if isinstance(error, ConnectionError) or type(error).__name__ in OF_CONNECTION or CONNECTION_LOST.search(first):
        return CONNECTION
    # What urllib.error.URLError wraps; and what an exception has replaced (`raise Failure(...) from None`).
    reason = error.__context__ if error.__suppress_context__ else getattr(error, "reason", None)
    return kind(reason) if isinstance(reason, Exception) else None


@dataclasses.dataclass
class Failed:
    check: str
    reason: str
    kind: str | None


@dataclasses.dataclass
class Outcome:
    """`left`: what the script left behind, processes and files. `died`: how it ended, if not by itself."""
    label: str
    passed: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)
    wall: float = 0
    cpu: float = 0
    left: list = dataclasses.field(default_factory=list)
    died: str = ""
    log: object = None
    beside: dict = dataclasses.field(default_factory=dict)  # seconds beside each other script

    @property
    def line(self):
        failed = f", {len(self.failed)} FAILED" if self.failed else ""
        return f"{self.label} ... {len(self.passed)} passed{failed} ({self.wall:.0f} s, cpu {self.cpu:.0f} s)"

    @property
    def may_pass(self):
        """Whether nothing but time, ports and connections failed."""
        return bool(self.failed) and not self.died and all(failed.kind for failed in self.failed)


def write(path, checks, crashes):
    """Writes what a script found, to be read by the process that started it."""
    failed = [dict(check=name, reason=reason, kind=None if crashes else kind)
              for name, reason, kind in zip(checks.failed, checks.reasons, checks.kinds)]
    path.write_text(json.dumps(dict(passed=checks.names, failed=failed)))


def read(outcome, path):
    """Puts into an outcome what its script has written. Who has written nothing has failed."""
    found = json.loads(path.read_text()) if path.exists() else {"passed": [], "failed": []}
    outcome.passed = found["passed"]
    outcome.failed = [Failed(**failed) for failed in found["failed"]]
    if outcome.died or not path.exists():
        reason = outcome.died or "it ended without a result"
        outcome.failed.append(Failed(f"{outcome.label.partition('.')[0]}: ran to its end", reason, None))
    return outcome


class Unstable:
    """The committed list of checks that failed once and passed when they were repeated, each with its cause: fields between tabs."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {tuple(line.split("\t")[:2]) for line in lines if line and not line.startswith("#")}

    def has(self, script, check):
        return (script, check) in self.known

    def add(self, script, failed):
        self.known.add((script, failed.check))
        with open(self.path, "a") as file:
            file.write(f"{script}\t{failed.check}\t{datetime.date.today()}\t{failed.kind}; its cause is not known yet\n")


def settle(outcomes, may_repeat, again, unstable):
    """Repeats what may be a matter of the moment, and returns the final outcomes and what is to be printed. `may_repeat(outcome)` says
    whether the script allows it, `again(outcome, neighbours)` runs it beside these and returns its outcome."""
    final, lines = [], []
    for first in outcomes:
        if not first.may_pass or not may_repeat(first):
            final.append(first)
            continue
        neighbours = sorted(first.beside, key=first.beside.get, reverse=True)[:3]
        alone, beside = again(first, []), again(first, neighbours)
        worst = next((outcome for outcome in (alone, beside) if outcome.failed), None)
        if worst:
            # The first outcome stays; what the repetition found is in its own log.
            lines.append(f"repeated: {first.label}: failed again, see {worst.log}")
            final.append(first)
            continue
        final.append(alone)
        for failed in first.failed:
            logs = ", ".join(str(outcome.log) for outcome in (first, alone, beside))
            lines.append(f"unstable: {first.label}: {failed.check} ({failed.kind}): passed alone and beside "
                         f"{', '.join(neighbours) or 'nothing'}: {logs}")
            if unstable.has(first.label, failed.check):
                alone.failed.append(Failed(failed.check, f"it is unstable again: {unstable.path} has it already\n{failed.reason}", None))
                if failed.check in alone.passed:
                    alone.passed.remove(failed.check)
            else:
                unstable.add(first.label, failed)
    return final, lines
