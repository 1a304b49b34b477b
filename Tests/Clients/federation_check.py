"""`parley check --federation` on a small internet (`lib.internet`): with right settings all of it passes; each wrong one fails where it is
wrong, says what to do, and ends with a status for monitoring.
"""
import json
import subprocess

from lib.harness import BINARY, PATIENCE, expect
from lib.internet import Internet, fingerprint, waits_until
from lib.partners import Parley


class Operator:
    def __init__(self, parley):
        self.parley, self.dns = parley, parley.internet.dns

    def check(self, *arguments, **settings):
        """Status, and what is printed: the rows, or text."""
        before = dict(self.parley.settings)
        self.parley.settings.update(settings)
        done = subprocess.run(
            self.parley.machine.space.enter(
                BINARY, "check", "--federation", "--config", self.parley.configuration, *arguments),
            env=self.parley.environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.parley.settings = before
        return done.returncode, json.loads(done.stdout) if "--json" in arguments and done.stdout else done.stdout + done.stderr

    def finds(self, domain, step, result, *words, good=()):
        """Waits for a row, since name servers keep answers for two seconds; all rows of the domains that are `good` have passed."""
        seen = []

        def found():
            code, rows = self.check("--json")
            seen[:] = [code, rows]
            return any(
                row["domain"] == domain and row["step"].startswith(step) and row["result"] == result
                and all(word in row["text"] for word in words) for row in rows
            ) and all(row["result"] == "pass" for row in rows if row["domain"] in good)

        try:
            waits_until(f"{domain}, {step}: {result} {words}", found, 15)
        except Exception as error:
            raise type(error)(f"{error}: {seen}") from None
        expect(seen[0] == any(row["result"] == "fail" for row in seen[1]), f"status {seen[0]}: {seen[1]}")
        return seen[1]

    def publish(self, records=None):
        """Puts these records in place of the machine's; without any those that belong there."""
        name = self.parley.machine.name
        self.dns.zones.pop(name, None)
        if records is not None:
            self.dns.zones[name] = records
        self.dns.reload()


def run(checks):
    with Internet("parley") as internet:
        machine = internet.machines["parley"]
        parley = Parley(machine).start()
        operator = Operator(parley)
        domain, rooms = parley.domain, parley.rooms

        with checks.check("check --federation: right settings pass, for the domain, its rooms and its services"):
            status, rows = operator.check("--json")
            expect(status == 0 and {row["result"] for row in rows} == {"pass"}, f"status {status}: {rows}")
            for name in (domain, rooms, f"upload.{domain}", f"pubsub.{domain}"):
                steps = [row["step"] for row in rows if row["domain"] == name]
                places = [f"host.{domain}:5270", f"host.{domain}:5269"]
                tried = [f"{what} {place}" for place in places for what in ("connect", "tls")]
                expect(steps == ["dns", *tried, "certificate"], f"{name}: {steps}")
            status, text = operator.check()
            expect(status == 0 and "PASS" in text and "DNSSEC" in text and "valid by pkix" in text, text)
        with checks.check("check --federation: with federation off there is nothing to check"):
            status, text = operator.check(federation__enabled="false")
            expect(status == 2 and "federation.enabled is false" in text, f"status {status}: {text}")
        with checks.check("check --federation: open registration beside it is a warning"):
            status, text = operator.check(registration="true")
            expect(status == 0 and "WARN" in text and "invitations: true" in text, f"status {status}: {text}")

        with checks.check("check --federation: a domain that is not in the DNS"):
            operator.publish("")
            operator.finds(domain, "dns", "fail", "neither servers nor addresses", f"_xmpp-server._tcp.{domain}. SRV")
        with checks.check("check --federation: records that say there is no server"):
            operator.publish(f"_xmpp-server._tcp.{domain}. SRV 0 0 0 .")
            operator.finds(domain, "dns", "fail", "no server", "add a record")
        with checks.check("check --federation: records that lead to a port where nobody listens"):
            operator.publish(f"host A {machine.address}\n_xmpp-server._tcp.{domain}. SRV 0 0 5271 host")
            operator.finds(domain, "connect host.test:5271", "fail", "federation.port", "firewall")
        with checks.check("check --federation: records that lead to an address that is not public"):
            operator.publish(f"host A 127.0.0.1\n_xmpp-server._tcp.{domain}. SRV 0 0 5269 host")
            rows = operator.finds(
                domain, "connect host.test:5269", "fail", "127.0.0.1 is not public", "publish that of this machine", "outgoing.networks")
            expect(not any("firewall" in row["text"] for row in rows if row["domain"] == domain), f"{rows}")
        with checks.check("check --federation: rooms without records are missed too"):
            operator.publish(f"host A {machine.address}\n_xmpp-server._tcp.{domain}. SRV 0 0 5269 host")
            rows = operator.finds(rooms, "dns", "fail", f"_xmpp-server._tcp.{rooms}. SRV", good=[domain])
            expect("fail" not in {row["result"] for row in rows if row["domain"] == f"upload.{domain}"}, f"{rows}")

        with checks.check("check --federation: a certificate without the domain of rooms"):
            operator.publish()
            internet.authority.issue("good", [domain], machine.chain, machine.key)
            operator.finds(rooms, "certificate", "fail", f"names {rooms}", "tls.certificate", good=[domain])
        for kind, word in (("expired", "renew it"), ("wrong", "somebody-else.test"), ("selfsigned", "federation.authorities")):
            with checks.check(f"check --federation: a certificate that is {kind}"):
                machine.give_certificate(kind)
                operator.finds(domain, "certificate", "fail", "the certificate is not valid", word)
        with checks.check("check --federation: a server that presents another certificate than that in the files"):
            parley.renew()
            machine.give_certificate("good")
            for port in (5269, 5270):
                operator.finds(domain, f"tls host.{domain}:{port}", "fail", "SIGHUP")
            parley.renew()
            operator.finds(domain, f"tls host.{domain}:5270", "pass", good=[domain])
        with checks.check("check --federation: records that lead to a web server"):
            operator.publish(f"host A {machine.address}\n_xmpp-server._tcp.{domain}. SRV 0 0 8080 host")
            operator.finds(domain, "tls host.test:8080", "fail", "proxy")
            operator.publish()
        with checks.check("check --federation: a TLSA record for the key, and one for another"):
            operator.dns.pins[machine.name] = fingerprint(machine.chain)
            operator.publish()
            operator.finds(domain, "tlsa _5269._tcp.host", "pass")
            operator.dns.pins[machine.name] = "0" * 64
            operator.publish()
            operator.finds(domain, "tlsa _5269._tcp.host", "fail", "publish a record for the key in use")
            del operator.dns.pins[machine.name]
            operator.publish()
        with checks.check("check --federation: a server that does not run"):
            parley.stop()
            operator.finds(domain, f"connect host.{domain}:5269", "fail", "is the server running")
