"""What goes wrong around a server: each fault gets one clear line on standard error and the right exit status, and what was
acknowledged before a disk was full is there after it.
"""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile

from lib.apps import App
from lib.harness import BINARY, PATIENCE, ROOT, Failure, Log, Server, environment, expect, small_disk, until, without_privileges
from lib.scrape import get
from lib.wire import XMPP

FAILURE, USAGE = 1, 2
NOBODY = 65_534
IPV4_ONLY = pathlib.Path(__file__).parent / "lib" / "ipv4only.c"


def refused(server, status, *says, arguments=("serve",), settings=None, wrapper=(), **changes):
    """The server must not start: one line, this status, these words."""
    done = subprocess.run(
        [*wrapper, str(BINARY), *arguments, "--config", server.configuration],
        env=environment(**{**server.settings, "log__level": "critical", **(settings or {}), **changes}),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    expect(done.returncode == status, f"status {done.returncode}, not {status}: {done.stderr}")
    expect(len(lines) == 1, f"{len(lines)} lines on standard error: {done.stderr}")
    for text in says:
        expect(text in lines[0], f"\"{text}\" is not in: {lines[0]}")
    expect("Error(" not in lines[0] and "errno" not in lines[0], f"for programmers: {lines[0]}")


def warned(server, *says, wrapper=(), settings=None):
    """The configuration must be good, and `parley check` must warn."""
    done = subprocess.run(
        [*wrapper, str(BINARY), "check", "--config", server.configuration], env=environment(**{**server.settings, **(settings or {})}),
        capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0 and "The configuration is good, with" in done.stdout, f"{done}")
    warnings = [line for line in done.stdout.splitlines() if line.startswith("warning: ")]
    for text in says:
        expect(any(text in line for line in warnings), f"\"{text}\" is not in: {done.stdout}")


def run(checks):
    ports(checks)
    without_ipv6(checks)
    certificates(checks)
    configuration(checks)
    data(checks)
    full_disk(checks)
    unreadable(checks)
    stopping(checks)


def ports(checks):
    for key, attribute in [("xmpp__port", "xmpp"), ("xmpp__tls_port", "tls"), ("http__port", "http"), ("metrics__port", "metrics")]:
        name = key.replace("__", ".")
        with checks.check(f"fault: {name} is in use"), Server() as server, contextlib.closing(socket.socket()) as holder:
            port = getattr(server, attribute)
            holder.bind(("127.0.0.1", port))
            holder.listen()
            refused(server, FAILURE, str(port), name, "in use")
            warned(server, f"Port {port} of 127.0.0.1 ({name}) cannot be opened: the address is in use")
    with checks.check("fault: the ports of the server that runs on the data folder are its own"), Server() as server:
        server.start()
        expect("cannot be opened" not in server.command("check"), "the check takes the server for another process")
    with checks.check("fault: the ports of a running server whose program has another name are its own"), Server() as server:
        server.binary = os.path.join(server.folder, "parley-next")
        os.symlink(BINARY.resolve(), server.binary)
        server.start()
        expect(pathlib.Path(f"/proc/{server.process.pid}/comm").read_text() == "parley-next\n", "its name is as usual")
        expect("cannot be opened" not in server.command("check"), "the check takes the server for another process")


def without_ipv6(checks):
    """On a kernel with `ipv6.disable=1`, whose answer to socket(2) a preloaded library gives."""
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "ipv4only.so")
        subprocess.run([shutil.which("cc") or "clang", "-O2", "-shared", "-fPIC", "-o", library, IPV4_ONLY, "-ldl"], check=True)
        wrapper = ["env", f"LD_PRELOAD={library}"]
        with checks.check("fault: a machine without IPv6 is served over IPv4, and the log and the check say so"), \
                Server(wrapper=wrapper, xmpp__host="::") as server:
            warned(server, "This machine has no IPv6: the ports of :: are opened at 0.0.0.0 (xmpp.port, xmpp.tls_port)", wrapper=wrapper)
            server.start()
            for port in (server.xmpp, server.tls):
                socket.create_connection(("127.0.0.1", port), PATIENCE).close()
            server.log.until("lines about it", lambda text: "This machine has no IPv6" in text and "host=0.0.0.0" in text)
        with checks.check("fault: a machine without IPv6 has none of its addresses"), Server(wrapper=wrapper, xmpp__host="::1") as server:
            warned(server, "xmpp.port cannot be opened at ::1: this machine has no IPv6", wrapper=wrapper)
            refused(server, FAILURE, "xmpp.port", "no IPv6", "0.0.0.0", wrapper=wrapper)


def certificates(checks):
    with Server() as server:
        folder = pathlib.Path(server.folder)
        key, chain = folder / "key.pem", folder / "chain.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
             "-out", chain, "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
        other = folder / "other.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", other],
                       check=True, capture_output=True)
        garbage = folder / "garbage.pem"
        garbage.write_text("this is no certificate\n")
        for what, files, says in [
            ("is missing", (folder / "none.pem", key), "none.pem"),
            ("is a folder", (folder, key), str(folder)),
            ("is no PEM", (garbage, key), "garbage.pem"),
            ("has a key that is missing", (chain, folder / "none.key"), "none.key"),
            ("has a key that is no PEM", (chain, garbage), "garbage.pem"),
            ("has the key of another", (chain, other), "other.pem"),
        ]:
            with checks.check(f"fault: the certificate {what}"):
                # A configuration that does not get better by trying again.
                refused(server, USAGE, says, settings={"tls__certificate": files[0], "tls__key": files[1]})
        with checks.check("fault: a certificate for another name is a warning"):
            warned(server, f"The certificate {chain} does not name localhost", settings={"tls__certificate": chain, "tls__key": key})
        if os.getuid() != 0:
            with checks.check("fault: the key may not be read"):
                key.chmod(0)
                refused(server, USAGE, "key.pem", "chmod u+r ", settings={"tls__certificate": chain, "tls__key": key})
        with checks.check("fault: a certificate without a key"):
            refused(server, USAGE, "tls.key", settings={"tls__certificate": chain})


def configuration(checks):
    with Server() as server:
        with checks.check("fault: a mistyped variable"):
            refused(server, USAGE, "PARLEY_XMPP_PROT", "PARLEY_XMPP_PORT", settings={"xmpp__prot": "1"})
        with checks.check("fault: a mistyped key in the file"):
            path = pathlib.Path(server.configuration)
            before = path.read_text()
            path.write_text("xmpp:\n  prot: 5222\n")
            refused(server, USAGE, "xmpp.prot", "xmpp.port", "parley.yaml")
            path.write_text(before)
        with checks.check("fault: a mistyped option"):
            done = subprocess.run([str(BINARY), "serve", "--prot", "1"], env=environment(), capture_output=True, text=True)
            expect(done.returncode in (USAGE, 64) and "--prot" in done.stderr, f"{done.returncode}: {done.stderr}")
        with checks.check("fault: a value that is none"):
            refused(server, USAGE, "xmpp.port", "70000", xmpp__port="70000")
        with checks.check("fault: passwords without encryption on a public address"):
            refused(server, USAGE, "xmpp.plaintext", xmpp__plaintext="true", xmpp__host="0.0.0.0")
        with checks.check("fault: a file that is not there"):
            missing = Server()
            os.unlink(missing.configuration)
            refused(missing, USAGE, "parley.yaml")
            shutil.rmtree(missing.folder)


def data(checks):
    with checks.check("fault: the data folder is held by another server"), Server() as server:
        server.start()
        refused(server, FAILURE, server.data, "in use", str(server.process.pid))
        # And the one that holds it goes on.
        server.add_users("romeo")
    with checks.check("fault: the data folder is a file"), Server() as server:
        pathlib.Path(server.data).write_text("")
        refused(server, FAILURE, server.data)
    with checks.check("fault: a folder of backups that cannot be written is a warning"), Server() as server:
        pathlib.Path(server.folder, "file").write_text("")
        place = os.path.join(server.folder, "file", "backups")
        warned(server, f"cannot write to {place}", settings={"backup__every": "1d", "backup__folder": place})
    with checks.check("fault: users of a domain that is not served are named by the check, the log and health"), Server() as server:
        server.start()
        server.add_users("romeo")
        server.stop()
        says = "The data folder has 1 user of localhost, which is not served: it is neither domain (localhots) nor one of domains"
        warned(server, says, settings={"domain": "localhots"})
        server.settings["domain"] = "localhots"
        server.start()
        server.log.until("a line about it", lambda text: f"warning parley: {says}" in text)
        expect(says in server.command("health"), "health says nothing")
        warned(server, says)
    with checks.check("fault: a data folder of an earlier release is a warning only about addresses that the configuration names"), Server() as server:
        server.add_users("romeo")
        with contextlib.closing(sqlite3.connect(os.path.join(server.data, "parley.db"))) as database, database:
            database.execute("DELETE FROM migrations WHERE identifier = (SELECT max(identifier) FROM migrations)")
        expect("earlier release" not in server.command("check"), "a warning of every update")
        warned(server, "The accounts of admins were not checked: the data folder is of an earlier release", settings={"admins": "romeo@localhost"})
    with checks.check("fault: a data folder of the last development version is upgraded, an older one is refused"), Server() as server:
        os.mkdir(server.data)
        path = os.path.join(server.data, "parley.db")
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.executescript((ROOT / "Tests/DataFolders/development.sql").read_text())
            database.execute("DELETE FROM grdb_migrations WHERE identifier = '0062-hook-lanes'")
            database.commit()
            refused(server, FAILURE, "schema 61, made by a development version before 0.1.0", "start the last of those versions on it once")
            database.execute("INSERT INTO grdb_migrations VALUES ('0062-hook-lanes')")
            database.commit()
        server.start()
        expect("benvolio@localhost" in server.command("user", "list"), "the users are not there")
        server.stop()
        with contextlib.closing(sqlite3.connect(path)) as database:
            expect(database.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%migrations'").fetchall() == [("migrations",)], "it is as before")
    with checks.check("fault: the database is no database"), Server() as server:
        os.mkdir(server.data)
        pathlib.Path(server.data, "parley.db").write_bytes(b"no database at all\n" * 500)
        refused(server, FAILURE, "parley.db")
    with checks.check("fault: the database is locked by a stranger"), Server() as server:
        server.start()
        server.stop()
        with contextlib.closing(sqlite3.connect(os.path.join(server.data, "parley.db"), isolation_level=None)) as stranger:
            stranger.execute("PRAGMA locking_mode=EXCLUSIVE")
            stranger.execute("BEGIN EXCLUSIVE")
            refused(server, FAILURE, "database", "in use")
    with checks.check("fault: the admin socket's path is too long"), Server() as server:
        refused(server, USAGE, "admin.socket", "107", admin__socket="/tmp/" + "x" * 120)
    closed(checks)
    with checks.check("fault: a command in another folder than the server's adds nobody"), Server() as server:
        refused(server, FAILURE, f"there is no data folder {server.data}", arguments=("user", "add", "alice", "--generate"))
        expect(not os.path.exists(server.data), "it has made one")
    with checks.check("fault: commands without a server and without data"), Server() as server:
        done = subprocess.run(
            [str(BINARY), "user", "show", "nobody@localhost", "--config", server.configuration], env=server.environment(),
            capture_output=True, text=True)
        expect(done.returncode == FAILURE, f"status {done.returncode}: {done.stderr}")
        expect(len(done.stderr.splitlines()) == 1, f"{done.stderr}")


def closed(checks):
    """The data folder, or a file in it, that the server's user may not open: by its owner for root, who can give files away, else by
    its mode."""
    if os.geteuid() == 0 and not without_privileges():
        print("        root cannot drop its privileges here: it may open every file")
        return

    def told(path, *says):
        found, mode = os.stat(path), os.stat(path).st_mode & 0o777
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            # A folder of another user is left with that user.
            mends = "sudo -u nobody" if path == server.data else f"chown -R root {server.data}"
        else:
            os.chmod(path, 0)
            mends = f"chmod u+rwX {path}"
        try:
            for arguments in [("serve",), ("init",), ("user", "list"), ("user", "add", "paris", "--generate")]:
                done = subprocess.run(
                    [*without_privileges(), str(BINARY), *arguments, "--config", server.configuration],
                    env=environment(**{**server.settings, "log__level": "critical"}), stdin=subprocess.DEVNULL, capture_output=True,
                    text=True, timeout=60)
                expect(done.returncode == FAILURE and not done.stdout, f"{arguments}: {done}")
                for text in [f"{path} belongs to ", mends, *says]:
                    expect(text in done.stderr, f"{arguments}: \"{text}\" is not in: {done.stderr}")
                expect("cannot be created" not in done.stderr, f"{arguments}: {done.stderr}")
        finally:
            if os.geteuid() == 0:
                os.chown(path, found.st_uid, found.st_gid)
            else:
                os.chmod(path, mode)

    with Server() as server:
        server.start()
        server.stop()
        for name in ["parley.db", "accounts.key"]:
            with checks.check(f"fault: a file of the data folder that is closed to the server is named, with what mends it: {name}"):
                told(os.path.join(server.data, name), f"{name} cannot be opened; ")
        with checks.check("fault: a lock that is closed to the server is named, with what mends it"):
            told(os.path.join(server.data, "lock"), "cannot be written to: permission denied; ")
        with checks.check("fault: a data folder that is closed to the server is not one that cannot be created"):
            told(server.data, f"the data folder {server.data} cannot be opened: permission denied; ")
        with checks.check("fault: and when it is mended the server starts"):
            server.start()


def full_disk(checks):
    with small_disk(16) as disk, checks.check("fault: the disk is full, and then is not"):
        if disk is None:
            raise Failure("no file system could be mounted: this test needs root")
        with Server(data=os.path.join(disk, "data"), xmpp__plaintext="true") as server:
            server.data = os.path.join(disk, "data")
            fill_and_empty(server, disk)
    with checks.check("fault: a file may not grow"):
        # The other way in which a write fails half way (setrlimit(2), RLIMIT_FSIZE).
        limited = Server(xmpp__plaintext="true")
        with limited as server:
            server.start()
            server.add_users("romeo", "juliet")
            server.stop()
            size = max(os.path.getsize(os.path.join(server.data, name)) for name in os.listdir(server.data)
                       if name.startswith("parley.db"))
            server.wrapper = ["prlimit", f"--fsize={size + 300_000}", "--"]
            server.start()
            acknowledged = talk_until_refused(server)
            server.stop()
            server.wrapper = []
            server.start()
            all_there(server, acknowledged)


def talk_until_refused(server):
    """What was acknowledged, by text. Ends with refusals in both doors."""
    juliet = App(server, "juliet")
    romeo = XMPP("romeo", server.xmpp)
    romeo.connect()
    romeo.send("<presence/>")
    dialog = juliet.dialog("romeo")
    acknowledged = []
    filler = "x" * 4000
    for number in range(20_000):
        text = f"app {number} {filler}"
        status, answer = juliet.call(
            "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": str(number), "content": {"type": "text", "text": text}})
        if status not in (200, 201):
            expect(status in (500, 503, 507), f"a full disk is answered {status} {answer}")
            break
        acknowledged.append(text)
    else:
        raise Failure("the disk does not get full")
    romeo.send(f"<message to='juliet@localhost' type='chat' id='full'><body>{filler * 10}</body></message>")
    refusal = romeo.stanza(lambda s: s.get("id") == "full" and s.get("type") == "error", "an error")
    expect(refusal.find("{jabber:client}error") is not None, "an error without an error")
    # Reading goes on.
    expect(len(juliet.history(dialog)) == len(acknowledged), "what was acknowledged cannot be read")
    romeo.send("<iq type='get' id='p' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>")
    romeo.stanza(lambda s: s.get("id") == "p" and s.get("type") == "result", "an answer to a ping")
    romeo.close()
    return acknowledged


def all_there(server, acknowledged):
    juliet = App(server, "juliet")
    texts = [message["content"]["text"] for message in juliet.history(juliet.dialog("romeo"))]
    missing = [text[:20] for text in acknowledged if texts.count(text) != 1]
    expect(not missing, f"acknowledged and not there exactly once: {missing[:5]}")
    return juliet


def fill_and_empty(server, disk):
    server.start()
    server.add_users("romeo", "juliet")
    ballast = os.path.join(disk, "ballast")
    with open(ballast, "wb") as file:
        free = os.statvfs(disk)
        file.write(b"\0" * max(0, free.f_bavail * free.f_frsize - 2_500_000))
    acknowledged = talk_until_refused(server)
    expect(server.process.poll() is None, "the server has ended")
    os.unlink(ballast)
    juliet = App(server, "juliet")
    juliet.say(juliet.dialog("romeo"), "after", "after")
    acknowledged.append("after")
    all_there(server, acknowledged)
    # The same over a restart.
    server.stop()
    server.start()
    all_there(server, acknowledged)


def health(port, path):
    """The status of an answer, and the code of its problem."""
    status, kind, body = get(port, path)
    expect(kind == ("application/json" if status == 200 else "application/problem+json"), f"{status} {kind}")
    return status, json.loads(body).get("code")


def unreadable(checks):
    with checks.check("fault: a disk that cannot be read is told at /healthz and /readyz, and when it can be again"), Server() as server:
        server.start()
        database = os.path.join(server.data, "parley.db")
        tracer = subprocess.Popen(
            ["strace", "-f", "-p", str(server.process.pid), "-o", "/dev/null", "-e", "trace=pread64", "-P", database,
             "-P", database + "-wal", "-e", "inject=pread64:error=EIO"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            Log(tracer.stderr).until("strace is there", lambda text: "attached" in text)
            # What another process has written is in no memory of the server's.
            with contextlib.closing(sqlite3.connect(database)) as other, other:
                other.execute("CREATE TABLE ballast (bytes BLOB)")
            for port in (server.metrics, server.http):
                for path in ("/healthz", "/readyz"):
                    expect(health(port, path) == (503, "storage-failed"), f"{path}: {health(port, path)}")
            done = subprocess.run(
                [str(BINARY), "health", "--json", "--config", server.configuration], env=server.environment(), capture_output=True, text=True)
            expect(done.returncode == FAILURE and "could not read from its storage" in done.stderr, f"{done}")
            expect("next step: the log has the reason" in done.stderr, f"{done}")
        finally:
            tracer.terminate()
            tracer.wait(PATIENCE)
        for path in ("/healthz", "/readyz"):
            expect(health(server.metrics, path) == (200, None), f"{path}: {health(server.metrics, path)}")


def stopping(checks):
    with checks.check("fault: a server that stops says so at /readyz, and that it works at /healthz, until its last request is answered"), \
            Server() as server, socket.socket() as client:
        server.start()
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", server.http))
        client.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        expect(client.recv(25).startswith(b"HTTP/1.1 100"), "it is not asked for its body")
        server.process.send_signal(signal.SIGTERM)
        until("that it stops", lambda: health(server.metrics, "/readyz") == (503, "stopping"))
        expect(health(server.metrics, "/healthz") == (200, None), f"{health(server.metrics, '/healthz')}")
        client.sendall(b"{}")
        expect(client.recv(12) == b"HTTP/1.1 400", "the request is not answered")
        expect(server.process.wait(PATIENCE) == 0, server.tail())
