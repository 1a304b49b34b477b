"""`parley check --network` on a small internet (`lib.internet`): with right settings nothing fails; each wrong one fails where it is wrong,
says what to do, and ends with a status for monitoring.
"""
import json
import subprocess

from lib.harness import BINARY, PATIENCE, expect
from lib.internet import Internet, waits_until
from lib.partners import Parley


class Operator:
    def __init__(self, parley):
        self.parley, self.machine, self.dns = parley, parley.machine, parley.internet.dns

    def check(self, *arguments, **settings):
        """Status, and the rows."""
        before = dict(self.parley.settings)
        # What other servers need is the matter of `federation_check`.
        self.parley.settings.update({"federation__enabled": "false"} | settings)
        done = subprocess.run(
            self.machine.space.enter(BINARY, "check", "--network", "--json", "--config", self.parley.configuration, *arguments),
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
        for kind, word in (("expired", "expired"), ("wrong", "somebody-else.test")):
            with checks.check(f"check --network: a certificate that is {kind}"):
                operator.publish(host, direct, upgraded)
                machine.give_certificate(kind)
                parley.renew()
                for port in (5222, 5223):
                    operator.finds(domain, f"tls host.test:{port}", "fail", word, "tls.acme")
        machine.give_certificate("good")
        parley.renew()
        with checks.check("check --network: relays for calls"):
            operator.publish(host, direct, upgraded)
            relay = dict(turn__secret="s", turn__servers="turn:host.test:5222?transport=tcp,turn:host.test:3999?transport=tcp,turn:no.test")
            operator.finds("turn:host.test:5222?transport=tcp", "connect host.test:5222", "pass", **relay)
            operator.finds("turn:host.test:3999?transport=tcp", "connect host.test:3999", "fail", "turn.servers", **relay)
            operator.finds("turn:no.test:3478?transport=udp", "dns no.test", "fail", "no address", **relay)
        with checks.check("check --network: with federation on, what other servers need as well"):
            operator.finds(
                parley.rooms, "federation: connect", "fail", f"_xmpp-server._tcp.{parley.rooms}. SRV", federation__enabled="true")
        with checks.check("check --network: a server that does not run"):
            parley.stop()
            operator.finds(domain, "connect host.test:5223", "fail", "does the server run")
