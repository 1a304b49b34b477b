"""Metrics, scraped by a real Prometheus: docs/metrics.md lists what a server exposes and nothing else, the dashboard and the alert
rules name what exists, the counts move when clients log in and write, and a scrape that hangs holds nobody up. Also `parley stats`,
and `parley top` in a terminal.

`metrics.py --write` writes the table of docs/metrics.md from a scrape.
"""
import base64
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

from lib.apps import App
from lib.harness import PATIENCE, ROOT, Log, Server, expect, free_port, until
from lib.scrape import Growth, Scrape, get, shows
from lib.terminal import Terminal
from lib.wire import BODY, XMPP

PAGE, RULES, DASHBOARD = ROOT / "docs/metrics.md", ROOT / "conf/prometheus.rules.yml", ROOT / "conf/grafana.json"
# Names of metrics in expressions of PromQL.
# A write-ahead log that the server copies (StoreLimits.walBytesCheckpoint).
LOG_MAX = 32 << 20
NAME = re.compile(r"\b(?:parley|process)_[a-z0-9_]+\b")


def names(text, scrape):
    """The metrics that expressions name; a histogram is named by its parts."""
    return {name if name in scrape.families else re.sub(r"_(bucket|sum|count)$", "", name) for name in NAME.findall(text)}


def expressions():
    """The dashboard's expressions, as Grafana would ask them."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")


def documents(checks, server):
    scrape = Scrape(server)
    with checks.check("metrics: docs/metrics.md lists what is scraped, and nothing else"):
        expect(scrape.table() in PAGE.read_text(), f"`python3 {__file__} --write` writes the table")
    with checks.check("metrics: promtool has nothing against their names and their format"):
        done = subprocess.run(["promtool", "check", "metrics"], input=scrape.text, capture_output=True, text=True)
        expect(done.returncode == 0 and not done.stdout + done.stderr, f"{done.returncode} {done.stdout}{done.stderr}")
    with checks.check("metrics: promtool has nothing against the alert rules"):
        done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
        expect(done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr)
    with checks.check("metrics: what the dashboard and the alert rules name exists, and the dashboard shows all"):
        shown = names("\n".join(text for _, text in expressions()), scrape)
        expect(not (names(RULES.read_text(), scrape) | shown) - set(scrape.families), f"{shown - set(scrape.families)}")
        expect(set(scrape.families) - shown == set(), f"not on the dashboard: {set(scrape.families) - shown}")


def counts(checks, server):
    with checks.check("metrics: the counts move when clients log in and write"):
        growth = Growth(server)
        romeo, juliet = (XMPP(name, server.tls, trust=server.certificate) for name in ("romeo", "juliet"))
        for client in (romeo, juliet):
            client.connect()
            client.send("<presence/>")
            client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from", "").startswith(client.name), "own presence")
        nurse = App(server, "nurse").connect()
        peter = App(server, "peter").connect()
        romeo.send("<message type='chat' to='juliet@localhost' id='m1'><body>Arise, fair sun</body></message>")
        juliet.stanza(lambda s: s.findtext(BODY) == "Arise, fair sun", "the message")
        nurse.say(nurse.dialog("peter"), "Anon!")
        peter.message("Anon!")
        status, _ = nurse.call("GET", f"/v1/dialogs/{nurse.dialog('peter')}/messages")
        expect(status == 200, f"the history: {status}")
        stranger = XMPP("romeo", server.tls, trust=server.certificate)
        stranger.dial()
        wrong = base64.b64encode(b"\0romeo\0wrong").decode()
        stranger.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{wrong}</auth>")
        stranger.stanza(lambda s: s.tag.endswith("}failure"), "a failure")
        stranger.close()
        growth.until("parley_logins_total", 2, mechanism="PLAIN", result="success")
        growth.until("parley_logins_total", 1, mechanism="PLAIN", result="failure")
        growth.until("parley_logins_total", 2, door="app", mechanism="password", result="success")
        growth.until("parley_messages_total", 1, door="xmpp")
        growth.until("parley_messages_total", 1, door="app")
        growth.until("parley_stanzas_total", 1, direction="in", kind="message")
        growth.until("parley_stanzas_total", 1, direction="out", kind="message")
        growth.until("parley_stanzas_total", 2, direction="in", kind="presence")
        growth.until("parley_stanzas_total", direction="out", kind="presence")
        growth.until("parley_stanzas_total", direction="out", kind="iq")
        growth.until("parley_tls_handshakes_total", 3, port="xmpp", version="1.3")
        growth.until("parley_commit_seconds_count")
        growth.until("parley_commit_posts_sum")
        growth.until("parley_sync_seconds_count")
        growth.until("parley_read_seconds_count", kind="archive")
        growth.until("parley_log_position")
        growth.until("process_cpu_seconds_total")
        after = Scrape(server)
        for number, labels in [
            (2, dict(door="xmpp", transport="tcp")), (2, dict(door="app", transport="websocket")), (0, dict(transport="bosh")),
        ]:
            expect(after("parley_sessions", **labels) == number, f"{labels}: {after('parley_sessions', **labels)}")
        expect(after("parley_users_online") == 4, "users online")
        for name in ("process_resident_memory_bytes", "process_open_fds", "parley_database_bytes", "parley_wal_bytes"):
            expect(after(name) > 0, name)
        # Nobody's name, and no domain.
        expect(not re.search("romeo|juliet|localhost", after.text), "a user or a domain is in the metrics")
        for client in (romeo, juliet, nurse, peter):
            client.close()


def hanging(checks, server):
    with checks.check("metrics: scrapes that hang hold up neither other scrapes nor messages"), contextlib.ExitStack() as held:
        for number in range(20):
            silent = held.enter_context(socket.socket())
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            silent.connect(("127.0.0.1", server.metrics))
            if number % 2:
                silent.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        started = time.monotonic()
        Scrape(server)
        romeo = XMPP("romeo", server.tls, trust=server.certificate)
        romeo.connect()
        romeo.send("<iq type='get' id='p' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>")
        romeo.stanza(lambda s: s.get("id") == "p", "a pong")
        romeo.close()
        expect(time.monotonic() - started < PATIENCE, "they held it up")


def process(checks, server, between):
    with checks.check("metrics: what the process is: when it has started, and the descriptors that it may have"):
        scrape = Scrape(server)
        expect(between[0] <= scrape("process_start_time_seconds") <= between[1], f"{scrape('process_start_time_seconds')} {between}")
        limits = pathlib.Path(f"/proc/{server.process.pid}/limits").read_text()
        expect(scrape("process_max_fds") == int(re.search(r"Max open files +(\d+)", limits)[1]), limits)
    with checks.check("metrics: the event loops' timers are observed"):
        shows(server, "a timer", lambda scrape: scrape("parley_event_loop_lag_seconds_count") > 0)


def held(checks, server):
    with checks.check("metrics: posts that wait for a commit are counted, until they are committed"):
        romeo, juliet = (XMPP(name, server.tls, trust=server.certificate) for name in ("romeo", "juliet"))
        for client in (romeo, juliet):
            client.connect()
            client.send("<presence/>")
            client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from", "").startswith(client.name), "own presence")
        growth = Growth(server)
        database = contextlib.closing(sqlite3.connect(pathlib.Path(server.data) / "parley.db", isolation_level=None))
        with database as other:
            # Nobody else writes meanwhile.
            other.execute("BEGIN IMMEDIATE")
            for number in range(3):
                romeo.send(f"<message type='chat' to='juliet@localhost'><body>held {number}</body></message>")
            shows(server, "posts that wait", lambda scrape: scrape("parley_inbox_posts") > 0)
            other.execute("COMMIT")
        for number in range(3):
            juliet.stanza(lambda s: s.findtext(BODY) == f"held {number}", "a message that was held")
        growth.until("parley_messages_total", 3, door="xmpp")
        shows(server, "nothing waits", lambda scrape: scrape("parley_inbox_posts") == 0)
        for client in (romeo, juliet):
            client.close()


def copied(checks, server):
    with checks.check("metrics: a write-ahead log that is long is copied into the database, which is timed"):
        growth = Growth(server)
        with contextlib.closing(sqlite3.connect(pathlib.Path(server.data) / "parley.db")) as database, database:
            database.execute("PRAGMA wal_autocheckpoint = 0")
            database.execute("CREATE TABLE ballast AS SELECT randomblob(?) AS bytes", [LOG_MAX])
        expect(Scrape(server)("parley_wal_bytes") > LOG_MAX, "it is not long")
        nurse = App(server, "nurse")
        nurse.say(nurse.dialog("peter"), "Peter, my fan")
        growth.until("parley_checkpoint_seconds_count")


def health(checks, server):
    with checks.check("metrics: /healthz and /readyz on both ports, and parley health"):
        for port in (server.metrics, server.http):
            for path in ("/healthz", "/readyz"):
                status, kind, body = get(port, path)
                expect((status, kind, json.loads(body)) == (200, "application/json", {"status": "ok"}), f"{path}: {status} {body}")
        status, _, body = get(server.metrics, "/v1/info")
        expect((status, json.loads(body)["code"]) == (404, "path-unknown"), body)
        found = json.loads(server.command("health", "--json"))
        expect(found["isReady"] and "problem" not in found, f"{found}")


@contextlib.contextmanager
def prometheus(server):
    """A Prometheus that scrapes the server each second, with the rules of conf/; gives the function that asks it."""
    folder, port = pathlib.Path(server.folder), free_port()
    configuration = folder / "prometheus.yml"
    configuration.write_text(
        f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{RULES}]\n"
        f"scrape_configs:\n  - job_name: parley\n    static_configs: [{{targets: ['127.0.0.1:{server.metrics}']}}]\n")
    process = subprocess.Popen(
        ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/tsdb",
         f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        log = Log(process.stderr)
        log.until("Prometheus is ready", lambda text: "Server is ready to receive web requests" in text)

        def ask(path, **query):
            status, _, body = get(port, f"/api/v1/{path}?" + urllib.parse.urlencode(query))
            answer = json.loads(body)
            expect((status, answer["status"]) == (200, "success"), f"{path} {query}: {body}")
            return answer["data"]

        yield ask
    finally:
        process.terminate()
        process.wait()


def scraped(checks, server):
    scrape = Scrape(server)
    with checks.check("metrics: Prometheus scrapes all of them"), prometheus(server) as ask:
        until("a scrape", lambda: ask("query", query='up{job="parley"} == 1')["result"])
        known = set(ask("label/__name__/values"))
        expected = {name for name, _ in scrape.samples}
        expect(expected <= known, f"{expected - known}")
        with checks.check("metrics: Prometheus evaluates each rule, and none fires"):
            def rules():
                return [rule for group in ask("rules")["groups"] for rule in group["rules"]]
            until("an evaluation", lambda: all(rule["health"] != "unknown" for rule in rules()))
            for rule in rules():
                expect((rule["health"], rule["state"]) == ("ok", "inactive"), f"{rule}")
        with checks.check("metrics: Prometheus answers what each panel of the dashboard asks"):
            for title, expression in expressions():
                expect(ask("query", query=expression)["resultType"] == "vector", title)
        with checks.check("metrics: Prometheus sees a message"):
            def messages():
                return float(ask("query", query='parley_messages_total{door="app"}')["result"][0]["value"][1])
            before = messages()
            nurse = App(server, "nurse").connect()
            nurse.say(nurse.dialog("peter"), "Peter, stay at the gate")
            nurse.close()
            until("one message more", lambda: messages() == before + 1)


def commands(checks, server):
    with checks.check("metrics: parley stats prints the same, for people and for programs"):
        scrape = Scrape(server)
        found = {metric["name"]: metric for metric in json.loads(server.command("stats", "--json"))["metrics"]}
        expect(set(found) == set(scrape.families), f"{set(found) ^ set(scrape.families)}")
        messages = sum(series["value"] for series in found["parley_messages_total"]["series"])
        expect(messages == scrape("parley_messages_total"), f"{messages} messages")
        text = server.command("stats")
        expect("parley_commit_seconds" in text and "times, mean" in text, text)
    with checks.check("metrics: parley top without a terminal says what to do"):
        done = subprocess.run(
            [str(server.binary), "top", "--config", server.configuration], env=server.environment(), capture_output=True, text=True,
            stdin=subprocess.DEVNULL)
        expect(done.returncode == 2 and "requires a terminal" in done.stderr, f"{done.returncode} {done.stderr}")


class Shell(Terminal):
    """A shell in a terminal, in which parley top is started and ended."""

    def __init__(self, server):
        super().__init__(server.folder, "env", *(f"{key}={value}" for key, value in server.environment().items()
                                                 if key.startswith("PARLEY_")), "PS1=at home> ", "sh")
        self.server = server
        self.shows("at home>")

    def top(self, *arguments):
        self.type(" ".join([str(self.server.binary), "top", "--every", "1", *arguments]))
        self.shows("Sessions", "Latency", "Queues", "Federation", "ready")

    def child(self):
        """The process that the shell has started."""
        pane = subprocess.run([*self.tmux, "display-message", "-p", "-t", "p", "#{pane_pid}"], capture_output=True, text=True).stdout.strip()
        return int(pathlib.Path(f"/proc/{pane}/task/{pane}/children").read_text())

    def restored(self):
        """The shell's screen is there again, with its cursor and its echo."""
        self.until("the shell's screen", lambda screen: "Latency" not in screen and "at home>" in screen)
        flags = subprocess.run(
            [*self.tmux, "display-message", "-p", "-t", "p", "#{alternate_on} #{cursor_flag}"], capture_output=True, text=True).stdout
        expect(flags.split() == ["0", "1"], f"alternate screen and cursor: {flags}")
        self.type("echo silent lines: $(stty -a | grep -cwe -echo)")
        self.shows("silent lines: 0")
        self.type("clear")
        self.until("an empty screen", lambda screen: "silent" not in screen)


def top(checks, server):
    with checks.check("metrics: parley top in a terminal, to its end by q and by signals"):
        romeo = XMPP("romeo", server.tls, trust=server.certificate)
        romeo.connect()
        shell = Shell(server)
        try:
            shell.top()
            shell.until("romeo's session", lambda screen: re.search(r"XMPP +1 +tcp 1 ", screen))
            # A smaller terminal is drawn anew, and nothing is wrapped.
            subprocess.run([*shell.tmux, "resize-window", "-t", "p", "-x", "40", "-y", "12"], check=True)
            shell.until("a small screen", lambda screen: "Sessions" in screen and "Federation" not in screen)
            expect(all(len(line) <= 40 for line in shell.screen().splitlines()), shell.screen())
            subprocess.run([*shell.tmux, "resize-window", "-t", "p", "-x", "120", "-y", "40"], check=True)
            shell.shows("Federation")
            shell.press("q")
            shell.restored()
            shell.top()
            shell.press("C-c")
            shell.restored()
            shell.top()
            os.kill(shell.child(), signal.SIGTERM)
            shell.restored()
        finally:
            shell.close()
        romeo.close()


def federation(checks):
    """Two domains of one server are elsewhere to each other."""
    with checks.check("metrics: what goes to another domain is counted, and when it is taken"), Server(
            domains="example.org", federation__enabled="true", federation__host="127.0.0.1", federation__port=free_port(),
            federation__tls_port=0) as server:
        server.start()
        server.add_users("romeo")
        server.command("user", "add", "bob@example.org", "--generate")
        romeo = XMPP("romeo", server.tls, trust=server.certificate)
        romeo.connect()
        growth = Growth(server)
        romeo.send("<message type='chat' to='bob@example.org' id='m1'><body>Good morrow</body></message>")
        # Nobody at example.org has heard of romeo.
        growth.until("parley_federation_strangers_total", 1, verdict="heard")
        until("it is taken", lambda: Scrape(server)("parley_federation_taken_seconds_count") == 1)
        scrape = Scrape(server)
        expect(scrape("parley_federation_connects_total", result="opened") >= 1, "no stream was opened")
        expect(scrape("parley_federation_handshake_seconds_count") >= 1, "no handshake")
        for direction in ("in", "out"):
            expect(scrape("parley_federation_stanzas_total", direction=direction, kind="message") == 1, direction)
        until("its row is gone", lambda: Scrape(server)("parley_federation_outbox_rows") == 0)
        expect(scrape("parley_messages_total", door="xmpp") == 1, "the message of romeo")
        expect(scrape("parley_messages_total", door="remote") == 1, "the message for bob")
        romeo.close()


def off(checks):
    with checks.check("metrics: metrics.port 0 turns the port off"), Server(metrics__port=0) as server:
        server.start()
        expect("metrics.port" not in server.log.text, server.log.text)
        expect(json.loads(server.command("stats", "--json"))["metrics"], "parley stats needs no port")


def run(checks):
    with Server(https__port=0) as server:
        earliest = time.time() - 1  # times of the server are in milliseconds
        server.start()
        between = earliest, time.time()
        server.add_users("romeo", "juliet", "nurse", "peter")
        documents(checks, server)
        counts(checks, server)
        held(checks, server)
        health(checks, server)
        hanging(checks, server)
        scraped(checks, server)
        commands(checks, server)
        top(checks, server)
        process(checks, server, between)
        copied(checks, server)
    federation(checks)
    off(checks)


if __name__ == "__main__" and "--write" in sys.argv:
    with Server() as found:
        found.start()
        text = PAGE.read_text()
        PAGE.write_text(re.sub(r"\| metric \|.*?\n(?!\|)", lambda _: Scrape(found).table(), text + "\n", count=1, flags=re.S)
                        .rstrip("\n") + "\n")
