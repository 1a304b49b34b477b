"""`parley check --network` on a small internet (`lib.internet`): with right settings nothing fails; each wrong one fails where it is wrong,
says what to do, and ends with a status for monitoring. The relay for calls is coturn.
"""
import json
import pathlib
import re
import resource
import subprocess

from lib.harness import BINARY, PATIENCE, expect
from lib.internet import Internet, clock, waits_until
from lib.partners import Parley


class Operator:
    def __init__(self, parley):
        self.parley, self.machine, self.dns = parley, parley.machine, parley.internet.dns

    def check(self, *arguments, within=(), **settings):
        """Status, and the rows."""
        before = dict(self.parley.settings)
        # What other servers need is the matter of `federation_check`.
        self.parley.settings.update({"federation__enabled": "false"} | settings)
        done = subprocess.run(
            self.machine.space.enter(
                *within, BINARY, "check", "--network", "--json", "--config", self.parley.configuration, *arguments),
            env=self.parley.environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.parley.settings = before
        expect(done.stdout, done.stderr)
        return done.returncode, json.loads(done.stdout)

    def finds(self, subject, step, result, *words, **settings):
        """Waits for a row, since name servers keep answers for two seconds. The status is that of the worst row."""
        seen = []

        def found():
            seen[:] = self.check(**settings)
            return any(
                row["subject"] == subject and row["step"].startswith(step) and row["result"] == result
                and all(word in row["text"] for word in words) for row in seen[1])

        try:
            waits_until(f"{subject}, {step}: {result} {words}", found, 15)
        except Exception as error:
            raise type(error)(f"{error}: {seen}") from None
        results = {row["result"] for row in seen[1]}
        expect(seen[0] == (2 if "fail" in results else 1 if "warn" in results else 0), f"status {seen[0]}: {seen[1]}")

    def publish(self, *records):
        self.dns.zones[self.machine.name] = "\n".join([f"{self.parley.domain}. A {self.machine.address}", *records])
        self.dns.reload()


def run(checks):
    with Internet("parley") as internet:
        machine = internet.machines["parley"]
        parley = Parley(machine).start()
        operator = Operator(parley)
        domain = parley.domain
        direct, upgraded = f"_xmpps-client._tcp.{domain}. SRV 5 1 5223 host", f"_xmpp-client._tcp.{domain}. SRV 5 1 5222 host"
        host = f"host A {machine.address}"

        with checks.check("check --network: right settings pass: records, ports, certificates, the web, the disk"):
            operator.publish(host, direct, upgraded)
            for port in (5222, 5223):
                operator.finds(domain, f"connect host.test:{port}", "pass", machine.address)
                operator.finds(domain, f"tls host.test:{port}", "pass", f"valid for {domain}")
            operator.finds(f"https://{domain}:8443", f"tls {domain}:8443", "pass")
            status, rows = operator.check()
            steps = [row["step"] for row in rows if row["subject"] == "machine"]
            expect(steps == ["clock", "disk space", "disk sync", "descriptors"], f"{steps}")
            expect("fail" not in {row["result"] for row in rows}, f"{rows}")
            # The limit of the server, not that of the command, which has another here.
            limits = pathlib.Path(f"/proc/{parley.process.pid}/limits").read_text()
            most = re.search(r"Max open files +(\d+)", limits)[1]
            told = next(row["text"] for row in rows if row["step"] == "descriptors")
            expect(re.match(rf"the server has \d+ files open, of {most} that it may have", told), f"{told}, not {most}")
        with checks.check("check --network: what is missing on the web is a warning"):
            operator.finds(domain, "host-meta", "warn", "web clients find no WebSocket")
        with checks.check("check --network: a domain without records, and one whose records lead nowhere"):
            operator.publish(host)
            operator.finds(domain, "dns", "warn", "no records of servers", f"_xmpps-client._tcp.{domain}. SRV 10 10 5223 HOST.")
            operator.publish(host, f"_xmpp-client._tcp.{domain}. SRV 5 1 5229 host")
            operator.finds(domain, "connect host.test:5229", "fail", "firewall")
            operator.publish(f"_xmpp-client._tcp.{domain}. SRV 5 1 5222 nobody")
            operator.finds(domain, "dns nobody.test", "fail", "no address", "A or AAAA")
            operator.publish(f"_xmpp-client._tcp.{domain}. SRV 0 0 0 .")
            operator.finds(domain, "dns", "fail", "no server for clients")
        for kind, *words in (("expired", "expired", "renew it"), ("wrong", "somebody-else.test", "tls.acme")):
            with checks.check(f"check --network: a certificate that is {kind}"):
                operator.publish(host, direct, upgraded)
                machine.give_certificate(kind)
                parley.renew()
                for port in (5222, 5223):
                    operator.finds(domain, f"tls host.test:{port}", "fail", *words)
        machine.give_certificate("good")
        parley.renew()
        whole(checks, machine, parley, operator, host, direct, upgraded)
        with checks.check("check --network: relays for calls"):
            operator.publish(host, direct, upgraded)
            relay = dict(
                turn__secret="s",
                turn__servers="turn:host.test:5222?transport=tcp,turn:host.test:3999?transport=tcp,turn:no.test,turn:host.test:3998")
            operator.finds("turn:host.test:3998?transport=udp", "stun host.test:3998", "fail", "nobody listens", "turn.servers", **relay)
            operator.finds("turn:host.test:5222?transport=tcp", "connect host.test:5222", "pass", **relay)
            operator.finds("turn:host.test:3999?transport=tcp", "connect host.test:3999", "fail", "turn.servers", **relay)
            operator.finds("turn:no.test:3478?transport=udp", "dns no.test", "fail", "no address", **relay)
        relays(checks, internet, machine, operator)
        with checks.check("check --network: with federation on, what other servers need as well"):
            operator.finds(
                parley.rooms, "federation: dns", "fail", f"_xmpp-server._tcp.{parley.rooms}. SRV", federation__enabled="true")
        with checks.check("check --network: a server that does not run"):
            parley.stop()
            operator.finds(domain, "connect host.test:5223", "fail", "does the server run")
            operator.finds("machine", "descriptors", "pass", "no server answers")
            operator.finds(
                "machine", "descriptors", "warn", "1000 files may be open here", "no server answers", "LimitNOFILE",
                within=["prlimit", "--nofile=1000"])


def whole(checks, machine, parley, operator, *records):
    """A machine on which all is well, and one thing after the other that is not: its row alone changes, and with it the status."""
    domain, good = parley.domain, clock(0)
    web = {"https__port": "443", "http__url": f"https://{domain}"}
    with parley.configured(**web), machine.disk(8_192) as roomy:
        place = {"data": roomy, "admin__socket": parley.data / "admin.sock"}

        def differs(what, status, result, subjects, *words, within=good, besides=(), **settings):
            got, rows = operator.check(within=within, **place | settings)
            worse = [row for row in rows if row["result"] != "pass" and row["step"] not in besides]
            expect(
                got == status and {row["subject"] for row in worse} == subjects
                and all(row["result"] == result and row["step"].startswith(what) and all(word in row["text"] for word in words)
                        for row in worse), f"status {got}: {rows}")

        with checks.check("check --network: where all is well, the status is 0; host-meta names the WebSocket"):
            operator.publish(*records)
            waits_until("all is well", lambda: operator.check(within=good, **place)[0] == 0, 15)
            status, rows = operator.check(within=good, **place)
            expect(status == 0 and {row["result"] for row in rows} == {"pass"}, f"status {status}: {rows}")
            (found,) = [row for row in rows if row["step"] == "host-meta"]
            expect(found["text"] == f"https://{domain}/.well-known/host-meta.json names the WebSocket", f"{found}")
            steps = {row["step"] for row in rows}
            expect({"clock", "disk space", f"tls {domain}:443", "tls host.test:5222", "tls host.test:5223"} <= steps, f"{steps}")
        with checks.check("check --network: a clock that nothing keeps right is a warning: status 1"):
            # TIME_ERROR of adjtimex(2).
            differs("clock", 1, "warn", {"machine"}, "nothing says that the clock is synchronised", "chrony", within=clock(5))
        for megabytes, status, result in ((1_024, 1, "warn"), (64, 2, "fail")):
            with checks.check(f"check --network: {megabytes} MiB on the disk: {result}"), machine.disk(megabytes) as folder:
                differs("disk space", status, result, {"machine"}, f"{megabytes} MiB are free", str(folder), "free some", data=folder)
        everywhere = {domain, f"https://{domain}"}
        for kind, status, result, subjects, words in (
                ("selfsigned", 2, "fail", everywhere, ["it is self-signed", f"get one that names {domain}"]),
                ("unchained", 2, "fail", everywhere, [
                    "an authority that is not known here, and whose certificate was not presented", "Issuing CA", "update-ca-certificates",
                    "the certificates between"]),
                ("expired", 2, "fail", everywhere, ["it expired on 20", "renew it"]),
                ("soon", 1, "warn", everywhere, [f"valid for {domain} until", "renew it"]),
                ("below", 0, "pass", set(), [])):
            with checks.check(f"check --network: a certificate that is {kind}: status {status}"):
                machine.give_certificate(kind)
                parley.renew()
                if status == 2:
                    # Web clients find no host-meta where they do not believe the server, for the same fault.
                    (found,) = [row for row in operator.check(within=good, **place)[1] if row["step"] == "host-meta"]
                    expect(all(word in found["text"] for word in words) and "let the web server" not in found["text"], f"{found}")
                differs("tls", status, result, subjects, *words, besides=["host-meta"] if status == 2 else [])
        machine.give_certificate("good")
        parley.renew()
        with checks.check("check --network: a server that may have few descriptors"):
            # The next start has another limit: raising this one would need a privilege.
            resource.prlimit(parley.process.pid, resource.RLIMIT_NOFILE, (1_000, 1_000))
            # A socket of another data folder would be that of another server.
            socket = roomy / "admin.sock"
            machine.space.run("ln", "-s", parley.data / "admin.sock", socket)
            differs("descriptors", 1, "warn", {"machine"}, "files open, of 1000 that it may have", "LimitNOFILE", admin__socket=socket)



def relays(checks, internet, machine, operator):
    def coturn(port, *options):
        log = internet.folder / f"coturn-{port}.log"
        internet.start(
            machine.space, log, "turnserver", "-n", "--no-cli", "--no-tls", "--no-dtls", "--listening-ip", machine.address, "--relay-ip",
            machine.address, "--listening-port", str(port), "--realm", "relay.test", "--log-file", "stdout", "--pidfile",
            str(internet.folder / f"coturn-{port}.pid"), "--userdb", str(internet.folder / f"coturn-{port}.db"), *options)
        return log

    log = coturn(3478, "--use-auth-secret", "--static-auth-secret", "the relay's", "--verbose")
    coturn(3479, "--no-auth")
    relay = dict(turn__secret="the relay's", turn__servers="stun:host.test,turn:host.test,turn:host.test:3479")
    turn = "turn:host.test:3478?transport=udp"
    with checks.check("check --network: a relay over UDP is asked for a binding, and for an allocation with clients' credentials, which ends"):
        operator.finds("stun:host.test:3478", "stun host.test:3478", "pass", machine.address, **relay)
        operator.finds(turn, "stun host.test:3478", "pass", f"sees this machine as {machine.address}", **relay)
        # The addresses of this internet are private ones.
        operator.finds(turn, "allocation host.test:3478", "warn", "takes the credentials", machine.address, "not public", **relay)
        waits_until("the end of the allocation", lambda: "refreshed, realm=<relay.test>" in log.read_text() and "lifetime=0" in log.read_text())
    with checks.check("check --network: a relay with another secret, and one that serves everybody"):
        operator.finds(turn, "allocation host.test:3478", "fail", "error 401", "turn.secret", **relay | {"turn__secret": "another"})
        operator.finds("turn:host.test:3479?transport=udp", "allocation host.test:3479", "warn", "serves everybody", **relay)
