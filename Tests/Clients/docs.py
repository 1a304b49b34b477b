"""Every command of the documents and of the help texts, run as it stands there.

The commands are read from the documents; none is copied here. What a command does to the whole machine (`/etc`, `systemctl`)
it does in a folder that stands for one, by the substitutions and stand-ins below. What is not run at all is in NOT_RUN. The installation of
docs/operations.md has folders of its own in the place of /etc, /usr/local and /var/lib where the tests are run by root, and its server runs as
the user of the unit, with the unit's restrictions (`lib/unit.py`).
"""
import collections
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import sqlite3
import ssl
import subprocess
import tempfile
import termios
import time

from playwright.sync_api import sync_playwright

from lib import browser, installed
from lib.harness import BINARY, PASSWORD, PATIENCE, ROOT, Failure, Log, environment, expect, free_port
from lib.profanity import Profanity
from lib.unit import Unit

DOCUMENTS = ["README.md", "CONTRIBUTING.md", "docs/**/*.md"]
# The seconds within which the commands of a block end. Some install the documents and copy the program several times.
OF_COMMANDS = 3 * PATIENCE
# What makes of words in backquotes a command, where something follows.
COMMANDS = "apt|apt-get|curl|docker|journalctl|kill|make|parley|sqlite3|ss|sudo|swift|systemctl"

# Blocks and commands, by where they are and how they begin. One that fits nothing any more is a failure, so is a block that
# is neither here nor run.
NOT_RUN = {
    ("README.md", "sudo apt install profanity"): "installs a package; `make test` does",
    ("docs/operations.md", "sudo apt-get install"): "installs packages; `make test` installs what needs them",
    ("docs/operations.md", "make deb"): "makes and installs a package; the test `installation` does",
    ("docs/operations.md", "sudo apt install --reinstall"): "the test `installation` upgrades the package",
    ("docs/operations.md", "apt remove"): "the test `installation` does",
    ("docs/operations.md", "apt purge"): "the test `installation` does",
    ("docs/operations.md", "sudo -u parley parley backup --s3"): "wants a bucket; the test `backups_s3` has one",
    ("docs/operations.md", "sudo cp conf/litestream.yml"): "wants systemd; the test `replication` runs it with this configuration",
    ("docs/operations.md", "docker run -d --name litestream"): "wants an engine and an image",
    ("docs/operations.md", "sudo sh -c '. /etc/default/litestream"): "wants a replica; the test `replication` does both",
    ("docs/operations.md", "kubectl"): "wants a cluster; the test `deployments` walks the manifest",
    ("docs/operations.md", "kill -9"): "the test `kill` does that",
    ("docs/operations.md", "sudo journalctl -u parley"): "wants systemd as the first process",
    ("docs/operations.md", "sudo ss -ltnp"): "tells of this machine, nothing of Parley",
    ("docs/operations.md", "_xmpp-client._tcp.example.org."): "lines of a DNS zone",
    ("docs/operations.md", "listen xmpp"): "the configuration of a proxy; the test `proxies` runs HAProxy with it",
    ("docs/operations.md", "stream {"): "the same of nginx",
    ("docs/operations.md", "components:"): "a part of a configuration; the test `components` has one like it",
    ("docs/operations.md", "2026-01-31T12:00:00.000Z info"): "a line of the log",
    ("docs/operations.md", "Account             Kind"): "the output of a command; the test `sending` reads one like it",
    ("docs/operations.md", '{"time":"2026-01-31T12:00:00.000Z"'): "a line of the log as JSON",
    ("docs/app-protocol.md", "POST /v1/users"): "a table of requests; the test `contract` makes all of them",
    ("docs/guides/attach-a-gateway.md", "slidge --legacy-module"): "a gateway to a network of others; the test `gateway_slidge` starts one",
    ("docs/guides/federate.md", ""): "the test `federation_guide` types all of it on two machines of a small internet",
    ("docs/guides/production.md", "sudo parley check\nsudo systemctl enable parley"): "the test `production_guide` does, on a small internet",
    ("docs/guides/production.md", "sudo parley user add alice@example.org"): "the test `production_guide` does that as well",
    ("docs/guides/production.md", "sudo parley backup /var/backups/parley/first.db"): "the test `production_guide` does that as well",
    ("docs/guides/add-a-xep.md", "cast:"): "a play; `swift test --filter PlayTests` runs plays",
    ("docs/guides/add-an-app-operation.md", "cast:"): "a play, of an operation that the reader writes",
}

# What stands in the documents, and what it is here.
SUBSTITUTIONS = {
    "/data/backup": "{root}/volume/backup",
    "/etc/": "{root}/etc/", "/var/": "{root}/var/", "/usr/local/bin/": "{root}/usr/local/bin/",
    " -o parley": "", " -g parley": "",  # the user and the group that `useradd` would have made
    "127.0.0.1:8080": "127.0.0.1:{http}", "port 5222": "port {xmpp}", "XMPP_PORT=15222": "XMPP_PORT={xmpp}",
    "dump.sql --domain example.org": "dump.sql --domain localhost",
    "user import FILE.csv [--dry-run]": "user import users.csv", "roster import FILE.csv [--mutual]": "roster import rosters.csv --mutual",
    "sqlite3 FILE ": "sqlite3 {root}/var/backups/parley/parley.db ",
}

# Instead of programs that would change this machine, or take minutes.
STAND_INS = {
    "sudo": '[ "$1" != -u ] || shift 2; exec "$@"',
    "sudoedit": 'sed -i -e "s|: /|: $MACHINE/|" -e "/^# tls:\\|^#   /s/^# //" "$1"',  # what there is to edit: paths, as in SUBSTITUTIONS, and the certificate
    "useradd": ':',
    "userdel": ':',
    "chgrp": ':',
    "systemctl": '''case "$*" in
        "reload parley" | "try-reload-or-restart parley") kill -HUP "$SERVER" ;;
        "enable --now parley") test -f "${DESTDIR-$MACHINE}/usr/local/lib/systemd/system/parley.service" ;;  # the test starts what it says
        "restart parley") kill -0 "$SERVER" ;;
        stop|"stop parley"|"start parley"|"disable --now parley"|daemon-reload|"stop prosody"|"stop ejabberd"|"edit parley") ;;
        *) exit 1 ;; esac''',
    # Whether there is such a target, and what it needs; the first folder of PATH is that of the stand-ins. It installs, where what
    # follows is on that installation: man pages and completions take the debug binary several seconds.
    "make": '''PATH=${PATH#*:}
        [ "${INSTALLS-}" != yes ] || case $1 in install | uninstall)
            exec make -s -C "$CHECKOUT" "$1" BINARY="$(readlink -f "$MACHINE/bin/parley")" DESTDIR="${DESTDIR-$MACHINE}" ;; esac
        make -n -C "$CHECKOUT" "$@" >/dev/null''',
    "swift": '''case "$1 ${2-}" in
        "build ") ;;
        "test --filter") test -d "$CHECKOUT/Tests/$3" || grep -rqw --include="*.swift" "struct $3" "$CHECKOUT/Tests" ;;
        *) exit 1 ;; esac''',
    # No engine, so no image: the files that are named, and the program with the variables of `run`.
    "docker": '''case "$1" in
        build) test -f "$3" && test -d "${!#}" ;;
        compose) test -f "$3" ;;
        run) printf '%s\\n' "$@" | grep ^PARLEY_ >"$MACHINE/container"
            exec env $(<"$MACHINE/container") PARLEY_DATA="$MACHINE/volume" parley init ;;
        exec) shift 2; exec env $(<"$MACHINE/container") PARLEY_DATA="$MACHINE/volume" "$@" ;;
        *) exit 1 ;; esac''',
    "generate-users": 'cat users.csv',
    "pg_dump": 'cat "$MACHINE/dumps/dump.sql"',
    "mariadb-dump": 'cat "$MACHINE/dumps/mysql.sql"',
    "ejabberdctl": '[ "$1" = dump ] && cp "$MACHINE/dumps/dump.txt" "$2"',  # the test `moving` has a real one
}

# What the programs of other servers write.
DUMPS = {
    "dump.txt": '{tables,[]}.\n{passwd,{<<"erin">>,<<"localhost">>},<<"' + PASSWORD + '">>}.\n',
    "dump.sql": f"--\nCOPY public.users (username, password) FROM stdin;\nfrank\t{PASSWORD}\n\\.\n",
    "mysql.sql": f"-- MariaDB dump\nINSERT INTO `users` (`username`, `password`) VALUES\n('grace','{PASSWORD}');\n",
}

# The accounts of a Prosody.
ACCOUNTS = {"erin.dat": f'return {{ ["password"] = "{PASSWORD}"; }};\n'}

# What the examples of --help, and commands in sentences, read where they are typed. README and the guides write the files that they read.
FILES = {
    **DUMPS,
    "secret.txt": f"{PASSWORD}\n",
    "users.csv": f"jid,password,name\ncarol@localhost,{PASSWORD},Carol\ndave@localhost,{PASSWORD},\n",
    "export.xml": f"<server-data xmlns='urn:xmpp:pie:0'><host jid='localhost'><user name='erin' password='{PASSWORD}'/></host></server-data>\n",
    "rosters.csv": "jid,contact,name,groups\nalice@localhost,bob@localhost,Bob,Friends;Work\n",
}

# A block, or a command within a sentence.
Piece = collections.namedtuple("Piece", "where section text inline")


class Machine:
    """A folder that stands for a machine, with a server's ports, and a folder in it where commands are typed."""

    enter = ()  # before a command of this machine
    stand_ins, files = STAND_INS, {}

    def __init__(self, **settings):
        self.folder = self.root = pathlib.Path(tempfile.mkdtemp(prefix="parley-docs-"))
        self.work, self.log = self.folder / "work", None
        for name in ["bin", "home", "dumps", "work/.build-static", "etc/bash_completion.d", "etc/parley", "usr/local/bin",
                     "var/lib/prosody/localhost/accounts", "var/lib/ejabberd/upload", "var/backups/parley", "var/tmp"]:
            (self.folder / name).mkdir(parents=True)
        for name, text in self.stand_ins.items():
            (self.folder / "bin" / name).write_text(f"#!/bin/bash\nset -eu\n{text}\n")
            (self.folder / "bin" / name).chmod(0o755)
        for folder, files in [("work", self.files), ("dumps", DUMPS), ("var/lib/prosody/localhost/accounts", ACCOUNTS)]:
            for name, text in files.items():
                (self.folder / folder / name).write_text(text)
        with contextlib.closing(sqlite3.connect(self.folder / "var/lib/prosody/prosody.sqlite")) as database, database:
            database.execute("CREATE TABLE prosody (host TEXT, user TEXT, store TEXT, key TEXT, type TEXT, value TEXT)")
            database.execute("INSERT INTO prosody VALUES ('localhost', 'erin', 'accounts', 'password', 'string', ?)", [PASSWORD])
        for name in ["conf", "docker"]:
            (self.work / name).symlink_to(ROOT / name)
        for name in ["bin/parley", "work/.build-static/parley"]:
            (self.folder / name).symlink_to(BINARY.resolve())
        self.xmpp, self.tls, self.http, self.metrics = free_port(), free_port(), free_port(), free_port()
        self.environment = environment(
            xmpp__host="127.0.0.1", xmpp__port=self.xmpp, xmpp__tls_port=self.tls, http__port=self.http,
            metrics__port=self.metrics, **{"https__port": 0, **settings})
        # Of the make that runs the tests, and what the Makefile takes from the environment: another PREFIX would be none of the folders of
        # this machine, and `make uninstall` would delete there.
        for name in ["MAKEFLAGS", "MAKELEVEL", "MFLAGS", *re.findall(r"^(\w+) \?=", (ROOT / "Makefile").read_text(), re.M)]:
            self.environment.pop(name, None)
        self.environment.update(
            HOME=str(self.folder / "home"), PATH=f"{self.folder}/bin:{os.environ['PATH']}", MACHINE=str(self.folder),
            CHECKOUT=str(ROOT), COLUMNS="1000")

    def here(self, text):
        """What a text of the documents is on this machine."""
        # In one go: what was put in may hold what is looked for.
        return re.sub(
            "|".join(map(re.escape, SUBSTITUTIONS)),
            lambda found: SUBSTITUTIONS[found.group()].format(root=self.folder, http=self.http, xmpp=self.xmpp), text)

    def shell(self, text, typed="", status=0, **variables):
        """What these commands print. They are typed at a terminal: `typed` is there to be read, and whatever asks without
        showing what is typed gets the password. They must end with this status."""
        keys, terminal = pty.openpty()
        with tempfile.TemporaryFile("w+") as printed:
            process = subprocess.Popen(
                [*self.enter, "bash", "-euo", "pipefail", "-c", "trap 'echo \"in: $BASH_COMMAND\" >&2' ERR\n" + self.here(text)],
                stdin=terminal, stdout=printed, stderr=subprocess.PIPE, cwd=self.work,
                env={**self.environment, **variables}, start_new_session=True)
            os.write(keys, typed.encode())
            told, end, last = b"", time.monotonic() + OF_COMMANDS, None
            try:
                # To the end of what it tells: whatever it has started, too, then has ended.
                while last != b"":
                    ready, _, _ = select.select([process.stderr], [], [], max(0, end - time.monotonic()))
                    expect(ready, f"not within {OF_COMMANDS} s: the end of {text}\n{told.decode()}")
                    last = os.read(process.stderr.fileno(), 1 << 16)
                    told += last
                    # A question comes when nothing that is typed is shown any more.
                    if last.endswith(b": ") and not termios.tcgetattr(terminal)[3] & termios.ECHO:
                        os.write(keys, f"{PASSWORD}\n".encode())
                process.wait(max(0, end - time.monotonic()))
            except (Failure, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGKILL)
                raise
            finally:
                os.close(keys)
                os.close(terminal)
                process.stderr.close()
            printed.seek(0)
            output = printed.read()
            expect(process.wait() == status, f"status {process.returncode}, not {status}:\n{text}\n{told.decode()}{output}")
            return output

    @contextlib.contextmanager
    def serving(self, text="parley serve", command=None):
        """A server, as long as it takes; what it says is in `log`. It must start, and end well when it is told to."""
        process = subprocess.Popen(
            command or ["bash", "-c", self.here(text)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=self.work, env=self.environment, text=True, errors="replace")
        self.log = Log(process.stdout)
        self.environment["SERVER"] = str(process.pid)
        try:
            self.waits("the server is ready", " parley: ready")
            yield
        finally:
            process.terminate()
            try:
                status = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        expect(status == 0, f"{text}: status {status} after SIGTERM:\n{self.log.text[-2000:]}")

    @contextlib.contextmanager
    def serving_unit(self, unit):
        """The server of the unit, by its command and variables."""
        configured = {name: self.here(unit.plan["environment"][name]) for name in ["PARLEY_DATA"]}
        self.environment |= configured
        with self.serving(shlex.join(unit.command)):
            for name in configured:  # the unit's, and of nobody else
                del self.environment[name]
            yield

    def waits(self, what, pattern):
        """For this in what the server says."""
        try:
            self.log.until(what, lambda text: re.search(pattern, text))
        except Failure as error:
            raise Failure(f"{error}:\n{self.log.text[-2000:]}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


class Prepared(Machine):
    """A machine with files that no document writes."""

    files = FILES


class Installation(Machine):
    """A machine with folders of its own in the place of those that an installation changes: paths, users and modes are as they stand in the
    documents. It needs root."""

    stand_ins = {
        **{name: text for name, text in STAND_INS.items() if name not in ("useradd", "chgrp")}, "sudo": installed.STAND_INS["sudo"],
        "sudoedit": 'sed -i "/^# tls:\\|^#   /s/^# //" "$1"',  # the certificate
        # Beside this test another machine may have a server whose user has the same number: userdel sees the processes of all.
        "userdel": 'exec /usr/sbin/userdel --force "$@"'}

    def __init__(self, **settings):
        super().__init__(**settings)
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "sh", "-ec", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self._separate()
        except BaseException:
            self.__exit__()
            raise

    def _separate(self):
        expect(self.holder.stdout.readline() == "ready\n", "no mount namespace can be made here")
        self.enter = ["nsenter", f"--target={self.holder.pid}", "--mount", f"--wdns={self.work}", "--"]
        self.root = pathlib.Path(f"/proc/{self.holder.pid}/root")
        (self.folder / "layers").mkdir()
        installed.separate(self.run, self.folder / "layers")
        installed.bring_libraries(self.run, self.root)
        self.run("mkdir", "-p", "/etc/parley", "/etc/bash_completion.d")
        self.environment |= {"DESTDIR": "", "PATH": f"{self.environment['PATH']}:/usr/sbin:/sbin"}

    def run(self, *command, **options):
        done = subprocess.run([*self.enter, *map(str, command)], capture_output=True, text=True, timeout=PATIENCE, **options)
        expect(done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr}")

    def here(self, text):
        return text

    def serving_unit(self, unit):
        ports = {name: value for name, value in self.environment.items() if name.startswith("PARLEY_")}
        (self.root / "etc/default/parley").write_text("".join(f"{name}={value}\n" for name, value in ports.items()))
        return self.serving(command=[*self.enter, *unit.confined(self.folder, unit.command)])

    def __exit__(self, *_):
        self.holder.stdin.close()
        self.holder.wait()
        super().__exit__()


def pieces():
    """The blocks without a language or with a shell's, and the commands in sentences."""
    for path in (path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))):
        where, section = str(path.relative_to(ROOT)), ""
        for part in re.split(r"(^```.*?^```$|^#+ [^\n]*$)", path.read_text(), flags=re.S | re.M):
            if part.startswith("#"):
                section = part.lstrip("# ")
            elif part.startswith("```"):
                language, text = part[3:-3].split("\n", 1)
                if language in ("", "sh", "bash", "shell", "console"):
                    yield Piece(where, section, text, False)
            else:
                for text in re.findall(rf"`((?:[A-Z_]+=\S+\s)?(?:{COMMANDS})\s[^`]+)`", part):
                    yield Piece(where, section, " ".join(text.split()), True)


class Book:
    """What is not run yet."""

    def __init__(self):
        self.left = list(pieces())

    def take(self, where, section):
        """The blocks of this section, to be run."""
        found = [p for p in self.left if (p.where, p.section, p.inline) == (where, section, False)]
        expect(found, f"there are no commands under \"{section}\" in {where}")
        self.left = [p for p in self.left if p not in found]
        return [p.text for p in found]

    def commands(self):
        """Those within sentences, each once in a document, to be run."""
        found = [p for p in self.left if p.inline and not any(self.fits(p, key) for key in NOT_RUN)]
        self.left = [p for p in self.left if p not in found]
        return sorted({(p.where, p.text) for p in found})

    @staticmethod
    def fits(piece, key):
        return piece.where == key[0] and piece.text.startswith(key[1])


def variables():
    """What a reader types from the first line of a document to the last names no variable that no line has set, up to its own."""
    known = {}
    for piece in pieces():
        if piece.inline or not re.match(r"README|docs/operations|docs/guides/", piece.where):
            continue
        names = known.setdefault(piece.where, {"HOME", "PWD", "RENEWED_LINEAGE"})  # the last one is set by certbot
        for line in piece.text.splitlines():
            names.update(re.findall(r"(?:^|[\s;(])([A-Za-z_]\w*)=", line) + re.findall(r"^read .* (\w+)$", line))
            unset = set(re.findall(r"\$\{?([A-Za-z_]\w*)", line)) - names
            expect(not unset, f"{piece.where}, \"{piece.section}\": {unset} in {line}")
    expect(len(known) > 5, f"only {sorted(known)} have commands")


def run(checks):
    book = Book()
    with checks.check("docs: README, the guides and operations use no variable that no line before has set"):
        variables()
    with checks.check("docs: README, the make targets"), Machine() as machine:
        for block in book.take("README.md", "Parley"):
            machine.shell(block)
    readme(checks, book)
    if os.geteuid() != 0:
        print("        run by root, the server of docs/operations.md would have a user and restrictions of its own")
    with (Installation if os.geteuid() == 0 else Machine)() as machine:
        operations(checks, book, machine)
    with checks.check("docs: a container's commands"), Machine() as machine:
        for block in book.take("docs/operations.md", "In a container"):
            expect("Added alice@chat.example.org." in machine.shell(block), "no user was added")
    with Prepared(domains="example.org") as prepared:
        helps(checks, book, prepared)
    backend(checks, book)
    elsewhere(checks, book)
    moving_in(checks, book)
    with checks.check("docs: every block was run, or is known not to be"):
        for piece in book.left:
            expect(any(book.fits(piece, key) for key in NOT_RUN), f"{piece.where}, \"{piece.section}\" is not run:\n{piece.text}")
        for key in NOT_RUN:
            expect(any(book.fits(piece, key) for piece in book.left), f"NOT_RUN has what is not there: {key}")


def moving_in(checks, book):
    """The commands by which the users of another server move in, and away; `moving` has real ones."""
    where = "docs/guides/production.md"
    for section, text in [("Move from Prosody", "erin@localhost"), ("Move from ejabberd", "1 account imported"),
                          ("Move from any other server, and away", "")]:
        with checks.check(f"docs: to production, {section}"), Machine() as machine:
            if not text:
                machine.shell("parley init --no-demo; parley user add alice@localhost --generate")
            for block in book.take(where, section):
                printed = machine.shell(block)
                expect(text in printed, printed)


@contextlib.contextmanager
def web_client(machine, name, password):
    """The list of dialogs in a browser that opens the README's address."""
    address = re.search(r"Open <(.+?)>", (ROOT / "README.md").read_text()).group(1)
    with sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=browser.program(), args=["--no-sandbox"]).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(machine.here(address))
        page.fill("[name=username]", name)
        page.fill("[name=password]", password)
        page.click("form button[type=submit]")
        dialogs = page.locator(".side .dialogs")
        dialogs.wait_for()
        yield dialogs


def readme(checks, book):
    """From the first start on, on one server, as a newcomer does it."""
    with checks.check("docs: README, a server's first start and end"), Machine() as machine:
        (yaml,) = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/app-protocol.md").read_text(), re.S | re.M)
        (machine.work / "parley.yaml").write_text(yaml)  # of the guide to the app protocol
        first_start(checks, book, machine)


def first_start(checks, book, machine):
    with machine.serving():
        with checks.check("docs: the first start tells two passwords and a command"):
            machine.waits("a greeting", r"curl .*\n")
            greeting = machine.log.text
            passwords = dict(re.findall(r"^ *(\S+)@localhost +(\S+) *$", greeting, re.M))
            expect(set(passwords) == {"juliet", "romeo"}, greeting)
            curl = re.search(r"curl .*", greeting).group()
            other = curl.replace("juliet", "romeo").replace(passwords["juliet"], passwords["romeo"])
            for name, command in [("juliet", curl), ("romeo", other)]:
                session = json.loads(machine.shell(command))
                expect(session["accessToken"] and session["user"]["id"] == name, f"{session}")
        with checks.check("docs: README, both doors"):
            connect, message = book.take("README.md", "Connect an XMPP client")[0].splitlines()
            block = "".join(book.take("README.md", "Send a message through the app protocol"))
            password = f"{passwords['romeo']}\n"  # asked for by the first line
            profanity = Profanity(machine.folder)
            try:
                with web_client(machine, "romeo", passwords["romeo"]) as dialogs:
                    profanity.type(machine.here(connect))
                    profanity.shows("password")
                    profanity.type(passwords["juliet"])
                    profanity.shows("logged in successfully")
                    profanity.type(message)
                    dialogs.get_by_text(message.split(" ", 2)[2]).wait_for()
                    first = json.loads(machine.shell(block, typed=password))
                    profanity.shows(first["content"]["text"])
                    dialogs.get_by_text(first["content"]["text"]).wait_for()
            finally:
                profanity.close()
            history = "\necho; curl -s $API/dialogs/$DIALOG/messages -H \"Authorization: Bearer $TOKEN\""
            second, page = machine.shell(block + history, typed=password).splitlines()
            expect(json.loads(second) == first, f"sent again: {second}, not {first}")
            texts = sorted(item["content"]["text"] for item in json.loads(page)["items"])
            expect(texts == sorted([first["content"]["text"], message.split(" ", 2)[2]]), f"{texts}")
        app_protocol(checks, book, machine, passwords)
        with checks.check("docs: README, the commands"):
            (block,) = book.take("README.md", "Administration")
            output = machine.shell(block)
            for text in ["Added alice@localhost.", "juliet@localhost", "1 user imported",
                         "alice@localhost and bob@localhost are contacts.", "PARLEY_XMPP_PORT", "resume.seconds"]:
                expect(text in output, f"\"{text}\" is not in\n{output}")
            listed = machine.shell("parley roster list bob@localhost")
            expect("alice@localhost" in listed, listed)


# What the commands of a section of `docs/app-protocol.md` must print, besides ending well.
PRINTED = {
    "With a password": ['"id":"juliet"', '"hasPassword":true'],
    "By your backend": ["Viola", '"type":"external"', "cesario@illyria.example", '"name":"Cesario"'],
    "Second factor": ['"secondFactor":false'],
    "Finding people": ['"privateMetadata":', '"id":"juliet"'],
    "Contacts": ["304"],
    "Groups": ["I am here", '"name":"Orchard"', '"topic":"The moon"', '"role":"admin"', "Market square", "304"],
    "Sending": ["Wherefore art thou?"],
    "Editing, deleting, reacting": ["Good night", '"reactions":', '"replyTo":', '"type":"deleted"'],
    "Forwarding, pins, deleting for oneself": ['"forwardedFrom":'],
    "Markers and unread": ['"read":'],
    "Drafts and scheduled messages": ["Good morning, and", "It was the nightingale"],
    "Finding messages": ["A rose by any other name"],
    "Attachments": ['"name":"soft.txt"', '"type":"file"'],
    "Files in parts": ["Juliet", '"dayBytes":47', '"slots":0', '"type":"file"'],
    "Requests and server-sent events": ['data: {"type":"ready"', "Look up", 'data: {"type":"caught_up"'],
    "Pushes": ["browser"],
}


def app_protocol(checks, book, machine, passwords):
    """The guide to the app protocol, typed from its first line to its last into one shell."""
    with checks.check("docs: the app protocol, from its first command to its last"):
        where = "docs/app-protocol.md"
        sections = list(dict.fromkeys(
            p.section for p in book.left if p.where == where and not p.inline and not any(book.fits(p, key) for key in NOT_RUN)))
        typed = "".join(f"\nprintf '\\n## %s\\n' '{section}'\n" + "\n".join(book.take(where, section)) for section in sections)
        output = machine.shell(
            typed, JULIET_PASSWORD=passwords["juliet"], ROMEO_PASSWORD=passwords["romeo"])
        printed = dict(part.split("\n", 1) for part in ("\n" + output).split("\n## ")[1:])
        expect(set(PRINTED) <= set(printed), f"nothing was typed under {set(PRINTED) - set(printed)}")
        for section, texts in PRINTED.items():
            for text in texts:
                expect(text in printed[section], f"\"{text}\" is not in what \"{section}\" prints:\n{printed[section]}")
        # Who has come to stay is no guest any more.
        expect("guest" not in printed["By your backend"], printed["By your backend"])
        # Answered twice, there once.
        expect(printed["Sending"].count('"text":"Wherefore art thou?"') == 3, printed["Sending"])


def backend(checks, book):
    """The guide for backends, typed on one server from its first line to its last."""
    with checks.check("docs: server to server"), Machine() as machine, machine.serving("parley serve --no-demo"):
        where = "docs/guides/server-to-server.md"
        blocks = [block for section in ["A key", "Users", "Dialogs and messages", "Notifications", "Webhooks", "Before a message is sent"]
                  for block in book.take(where, section)]
        output = machine.shell("\n".join(blocks))
        for text in ['"accessToken"', '"name":"Order 17"', '"text":"It is on its way."', '"devices":0', "whsec_", "There are no failures.",
                     "is disabled", "Removed webhook"]:
            expect(text in output, f"\"{text}\" is not in\n{output}")


def elsewhere(checks, book):
    """The commands of another machine's operator, typed where the server is."""
    port = free_port()
    key, commands = book.take("docs/operations.md", "Several machines from one shell")
    with checks.check("docs: operations, a key that is refused leaves no file"), Machine() as machine:
        machine.shell(key, status=1)
        expect(not (machine.work / "chat.key").exists(), "there is a file without a key")
    with checks.check("docs: operations, several machines from one shell"), \
            Machine(https__port=port) as machine, machine.serving("parley serve --no-demo"):
        machine.shell(key)
        expect((machine.work / "chat.key").stat().st_mode & 0o777 == 0o600, "others may read the key")
        output = machine.shell(
            commands.replace("chat.example.org:8443", f"localhost:{port}"), PARLEY_CA=str(machine.work / "data/tls/self-signed.pem"))
        expect("There are no users." in output and "Added nina@localhost." in output, output)


def make_certificate(folder):
    folder.mkdir(exist_ok=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
         "/CN=example.org", "-addext", "subjectAltName=DNS:example.org", "-days", "60", "-keyout", folder / "privkey.pem",
         "-out", folder / "fullchain.pem"], check=True, capture_output=True)
    return (folder / "fullchain.pem").read_text()


def operations(checks, book, machine):
    """One installation, from `make release` to its backup."""
    where = "docs/operations.md"
    lineage = machine.folder / "lineage"
    make_certificate(machine.root / "etc" / "parley")
    # The group, which the block below sets, may read it.
    (machine.root / "etc" / "parley" / "privkey.pem").chmod(0o640)
    renewed = make_certificate(lineage)
    unit = None
    with checks.check("docs: operations, installing with systemd"):
        (block,) = book.take(where, "With systemd")
        expect("The configuration is good" in machine.shell(block, INSTALLS="yes"), "parley check")
        unit = Unit((machine.root / "usr/local/lib/systemd/system/parley.service").read_text())
    if unit is None:
        return  # All that follows is on that installation.
    with checks.check("docs: operations, the server of the unit"), machine.serving_unit(unit):
        with checks.check("docs: operations, a renewed certificate"):
            (block,) = book.take(where, "Your own")
            machine.shell(block, RENEWED_LINEAGE=str(lineage))
            machine.waits("it has read the certificate", r"reloaded")
            served = ssl.get_server_certificate(("127.0.0.1", machine.tls))
            expect(served.split() == renewed.split(), f"not the renewed one:\n{served}{machine.log.text}")
        with checks.check("docs: operations, a user and the completions"):
            user, completions = book.take(where, "Commands and the admin socket")
            expect("Added alice@example.org." in machine.shell(user), "no user was added")
            machine.shell(completions)
            machine.shell("source /etc/bash_completion.d/parley; complete -p parley")
            for path, text in [
                (".zfunc/_parley", "#compdef parley"), (".config/fish/completions/parley.fish", "complete -c 'parley'"),
            ]:
                expect(text in (machine.folder / "home" / path).read_text(), f"no completions in {path}")
        blocks = book.take(where, "The data folder and backup")
        with checks.check("docs: operations, backup while the server runs"):
            for block in blocks[:3]:
                printed = machine.shell(block)
            expect(re.search(r"^parley-[0-9T]+Z\.db +\d{4}-", printed, re.M), printed)
    with checks.check("docs: operations, restoring"):
        machine.shell(user.replace("alice@", "bob@"))
        one, other = machine.shell(blocks[3]).split("Restored ")[1:]
        expect(all("/var/lib/parley/backups/parley-" in said for said in (one, other)), f"{one}{other}")
        expect("is in" in other and "replaced-" in other, other)
        for folder in ["parley-restored", "parley"]:
            listed = machine.shell(f"sudo -u parley parley user list --config /etc/parley/parley.yaml --data /var/lib/{folder}")
            expect("alice@example.org" in listed and "bob@example.org" not in listed, f"{folder}:\n{listed}")
        machine.shell(blocks[4])
        expect(not (machine.root / "var/lib/parley-restored").exists(), "the folder for trying a backup is left")
    upgrading(checks, book, machine, unit, user)
    removing(checks, book, machine)


def upgrading(checks, book, machine, unit, user):
    """To another build and back; here both are the same one."""
    with checks.check("docs: operations, upgrading and going back"):
        upgrade, back = book.take("docs/operations.md", "Upgrading")
        with machine.serving_unit(unit):
            expect("The configuration is good" in machine.shell(upgrade, INSTALLS="yes"), "parley check")
            machine.shell(user.replace("alice@", "carol@"))
            # As in a shell at a terminal, which goes on after a command that fails.
            machine.shell(f"set +e\n{upgrade}", status=1)  # the backup is there already
        expect("before-upgrade.db to" in machine.shell(back), "nothing was restored")
        listed = machine.shell("sudo -u parley parley user list --config /etc/parley/parley.yaml --data /var/lib/parley")
        expect("alice@example.org" in listed and "carol@example.org" not in listed, listed)


def removing(checks, book, machine):
    with checks.check("docs: operations, removing: first the program, then what it has written"):
        remove, delete = book.take("docs/operations.md", "Removing")
        there = [machine.root / name for name in ["etc/parley/parley.yaml", "var/lib/parley/parley.db", "var/backups/parley"]]
        installed_files = [machine.root / "usr/local" / name for name in ["bin/parley", "lib/systemd/system/parley.service", "share/doc/parley"]]
        expect(all(path.exists() for path in there + installed_files), "something is missing before")
        for path in ["/etc", "/usr/local/bin", "/var/lib"]:
            inside = machine.shell(f"stat -c %d:%i {path}/").strip()
            outside = os.stat(path)
            expect(inside != f"{outside.st_dev}:{outside.st_ino}", f"the commands would delete in {path} of this computer")
        machine.shell(remove, INSTALLS="yes")
        expect(not any(path.exists() for path in installed_files), f"{[path for path in installed_files if path.exists()]}")
        expect(all(path.exists() for path in there), f"{[path for path in there if not path.exists()]}")
        machine.shell(delete)
        expect(not any(path.exists() for path in there), f"{[path for path in there if path.exists()]}")


def helps(checks, book, prepared):
    """The examples of every --help, each on data of its own, and on a running server what stands in sentences."""
    prepared.shell("parley init --no-demo; parley user add bob@localhost --generate; cp -r data without-alice")
    prepared.shell("""parley user add alice@localhost --generate; parley user add alice@example.org --generate
                      parley federation deny rule.example
                      parley hold add alice@localhost
                      parley roster add alice@localhost bob@localhost --mutual
                      parley contact-group create sales
                      parley contact-group create support
                      parley contact-group add sales alice@localhost
                      parley dialog create team --owner alice@localhost --member bob@localhost
                      parley dialog create garden --owner alice@localhost""")
    # Numbers that stand in the documents.
    with contextlib.closing(sqlite3.connect(prepared.work / "data/parley.db")) as database, database:
        database.execute("""INSERT INTO invites (id, realm, kind, token, inviter, name, created, expires, used)
                            VALUES (7, 1, 1, x'00', NULL, NULL, 0, 4102444800000, 0)""")
        database.executemany(
            """INSERT INTO reports (id, realm, reporter, reported, reason, text, consent, created)
               VALUES (?, 1, 1, 'spam@localhost', 'urn:xmpp:reporting:spam', '', 0, 0)""", [(3,), (4,)])
        database.execute("INSERT INTO app_keys VALUES (4711, 1, 'old', 'parley_old', x'00', 'audit', 0, NULL)")
        database.execute("""INSERT INTO hooks (id, realm, url, events, secret, trusted, created, state, position, occurrence)
                            VALUES (4711, 1, 'http://127.0.0.1:9/', '*', x'00', 1, 0, 2, 0, 0)""")
    (prepared.folder / "etc/parley/parley.yaml").write_text("domain: example.org\n")
    with Prepared(domains="example.org") as server:
        shutil.copytree(prepared.work / "data", server.work / "data")
        # Of the backup that a sentence wants tested.
        shutil.copy(prepared.work / "data/parley.db", server.folder / "var/backups/parley/parley.db")
        with server.serving():
            with checks.check("docs: operations, retention and holds"):
                for block in book.take("docs/operations.md", "Retention"):
                    server.shell(block)
            for where, typed in book.commands():
                text = typed.removeprefix("sudo ") if typed.startswith("sudo parley ") else typed
                with checks.check(f"docs: {where}: {typed}"):
                    if wants_federation(text):
                        federating(server, text)
                    elif wants_session(text):
                        without_session(server, text)
                    elif wants_message(text):
                        without_message(server, text)
                    elif wants_network(text):
                        somewhere(server, text)
                    elif wants_authority(text):
                        without_authority(server, text)
                    elif text == "parley top":
                        live(server, text)
                    else:
                        server.shell(text)
            for command, text in pages(prepared, "parley"):
                with checks.check(f"docs: the examples of {command} --help"):
                    examples(prepared, server, text)


def wants_federation(command):
    """Commands that do something on a server that federates; `federation_guide` types them on one."""
    return re.match(r"parley federation (test|close|retry)|parley check --federation", command)


def federating(server, command):
    output = server.shell(f"{command} 2>&1", status=2 if "check" in command else 1)
    expect("federation.enabled is false" in output, output)


def wants_authority(command):
    """A command that orders a certificate; `acme` does with a real authority."""
    return command.startswith("parley certificate renew")


def without_authority(server, command):
    output = server.shell(f"{command} 2>&1", status=1)
    expect("tls.acme.enabled is false" in output, output)


def wants_network(command):
    """A command whose result depends on the network; `network_check` has one of its own."""
    return command.startswith("parley check --network")


def somewhere(server, command):
    output = server.shell(f"{command} || echo status $?")
    worst = 2 if re.search(r"\bfail\b", output, re.I) else 1
    # Nobody knows `localhost` here, so that not all can be well.
    expect("descriptors" in output and "disk sync" in output and output.endswith(f"status {worst}\n"), output)


def wants_message(command):
    """A command that names a message, which is not there; `admin_page` deletes some."""
    return command.startswith("parley dialog delete-message")


def without_message(server, command):
    output = server.shell(f"{command} 2>&1", status=1)
    expect("There is no such message" in output, output)


def wants_session(command):
    """Commands that name a session, which is not online; `backend` shows and closes some."""
    return re.match("parley session (show|close) 0", command)


def without_session(server, command):
    output = server.shell(f"{command} 2>&1", status=1)
    expect("There is no session" in output, output)


def live(server, command):
    """What fills a terminal gets one, and the key that ends it."""
    output = server.shell(f"echo q | script -qec '{command}' /dev/null")
    expect("Sessions" in output and "Latency" in output, output)


def pages(machine, command):
    """The help of a command and of all below it."""
    text = machine.shell(f"{command} --help")
    yield command, text
    for name in re.findall(r"^  (\S+)  ", text.partition("\nSUBCOMMANDS:\n")[2], re.M):
        yield from pages(machine, f"{command} {name}")


def examples(prepared, server, text):
    found = re.search(r"^Examples?:\n((?:  .*\n)+)", text, re.M)
    expect(found, "there are none")
    for example in (line.strip() for line in found.group(1).splitlines()):
        if re.match(r"parley (health|stats)", example):
            output = server.shell(example)
        elif "--server" in example:
            output = server.shell(f"{example} 2>&1", status=2)  # without that key; `elsewhere` has one
            expect(".parley-key cannot be read" in output, output)
        elif "parley top" in example:
            live(server, example)
            continue
        elif wants_federation(example):
            federating(server, example)
            continue
        elif "parley restore" in example:
            with Prepared(domains="example.org") as machine:
                shutil.copytree(prepared.work / "data", machine.work / "data")
                machine.shell("parley backup backup.db; parley backup --files backups")
                expect("Restored" in machine.shell(example), "nothing was restored")
            continue
        elif wants_network(example):
            somewhere(server, example)
            continue
        elif wants_authority(example):
            without_authority(server, example)
            continue
        elif re.match("parley (log|reload|certificate|announce|session (list|close --user)|user disconnect|sending)", example):
            output = server.shell(example)
        elif wants_session(example):
            without_session(server, example)
            continue
        elif wants_message(example):
            without_message(server, example)
            continue
        elif "webhook test" in example:
            output = server.shell(example, status=1)  # nobody is there
            expect("It was not accepted." in output, output)
        elif "--compliance" in example:
            # What it asks for is there: a component, and an address for files.
            whole = dict(components="gateway.localhost=prospero", component__port=free_port(), http__url="https://localhost")
            with Machine(**whole) as machine, machine.serving("parley serve --no-demo"):
                output = machine.shell(example)
        else:
            with Prepared(domains="example.org") as machine:
                shutil.copy(prepared.folder / "etc/parley/parley.yaml", machine.folder / "etc/parley")
                if "parley init" not in example:
                    data = "without-alice" if "user add" in example else "data"
                    for name in ["data", "old"]:
                        shutil.copytree(prepared.work / data, machine.work / name)
                    (machine.work / "backups").mkdir()
                if "parley serve" in example:
                    with machine.serving(example):
                        continue
                output = machine.shell(example, typed="yes\n")
        if "--json" in example:
            json.loads(output)
