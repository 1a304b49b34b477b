"""docs/guides/production.md, its way from nothing, on a machine of a small internet: the guide's configuration at the standard ports, the
records of docs/operations.md, a certificate from a real ACME server (Pebble), whose challenge comes over that internet, and the commands as they stand there. What is
not there: Let's Encrypt itself, systemd, and the package, which is the matter of `installation`.
"""
import asyncio
import json
import os
import re
import ssl
import subprocess
import urllib.request

from lib.harness import BINARY, DOCS, PATIENCE, environment, expect
from lib.internet import LAB, NETWORK, NETWORKS, SERVICES, Internet, clock, listens, waits_until
from lib.partners import SERVERS, Parley
from lib.peers import Client

PEBBLE, MANAGEMENT = 14000, 15000


class Guided(Parley):
    """A machine with the guide's configuration, and nothing else but what this internet needs."""

    def __init__(self, machine, disk):
        super().__init__(machine)
        self.backups = self.folder / "backups"
        (self.backups / "own").mkdir(parents=True)  # as the package makes it
        self.words = {
            "chat.example.org": f"chat.{machine.domain}", "example.org": machine.domain, "/var/backups/parley": str(self.backups / "own"),
            "/var/backups/": f"{self.backups}/"}
        self.data = disk / "data"
        self.settings = {"data": self.data, "outgoing__networks": NETWORKS}
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        (self.programs / "parley").symlink_to(BINARY.resolve())

    def here(self, said):
        return re.sub("|".join(map(re.escape, self.words)), lambda found: self.words[found.group()], said)

    certificate = None  # what clients believe

    def _has(self, port):
        # Federation comes later in the guide.
        return port == SERVERS or super()._has(port)

    def type(self, block, within=()):
        """Runs a block as bash would, on this machine. Returns what it prints."""
        variables = {
            **self.environment(), "PATH": f"{self.programs}:{os.environ['PATH']}", "PARLEY_CONFIG": str(self.configuration)}
        # In the folder of this machine: a namespace is entered at its root.
        typed = f"cd '{self.folder}'\n{self.here(block)}"
        done = subprocess.run(
            self.machine.space.enter(*within, "bash", "-euo", "pipefail", "-c", typed), env=variables, capture_output=True, text=True,
            timeout=PATIENCE)
        expect(done.returncode == 0, f"status {done.returncode}:\n{block}\n{done.stderr}{done.stdout}")
        return done.stdout


def authority(internet):
    """Pebble at `acme.test`, which asks the resolver of this internet for names, and comes to ports 80 and 443 as others do. Its root."""
    chain, key = internet.folder / "acme.crt", internet.folder / "acme.key"
    internet.authority.issue("good", ["acme.test"], chain, key)
    configuration = internet.folder / "pebble.json"
    configuration.write_text(json.dumps({"pebble": {
        "listenAddress": f"{NETWORK}{LAB}:{PEBBLE}", "managementListenAddress": f"{NETWORK}{LAB}:{MANAGEMENT}", "certificate": str(chain),
        "privateKey": str(key), "httpPort": 80, "tlsPort": 443}}))
    internet.start(
        internet.space, internet.folder / "pebble.log", "pebble", "-config", configuration, "-dnsserver", f"{NETWORK}{LAB}:53", "-strict",
        env=environment() | {"PEBBLE_VA_NOSLEEP": "1"})
    for port in (PEBBLE, MANAGEMENT):
        waits_until(f"Pebble listens at {port}", lambda: listens(f"{NETWORK}{LAB}", port))
    trust = ssl.create_default_context(cafile=internet.authority.path)
    trust.check_hostname = False  # this process asks another resolver
    with urllib.request.urlopen(f"https://{NETWORK}{LAB}:{MANAGEMENT}/roots/0", context=trust) as answer:
        return answer.read()


async def logs_in(parley, name, password):
    client = Client(parley, f"{name}@{parley.domain}/phone")
    client.credentials["password"] = password
    await client.arrive()
    await client.leave()


def run(checks):
    guide = (DOCS / "guides" / "production.md").read_text().split("## From nothing")[1].split("\n## ")[0]
    dns = (DOCS / "operations.md").read_text().split("\n## DNS\n")[1]
    (records,) = re.findall(r"^```\n(.*?)^```$", dns.split("\n## ")[0], re.S | re.M)
    ((_, yaml), (_, user), (_, backup)) = re.findall(r"^```(yaml|sh)\n(.*?)^```$", guide, re.S | re.M)
    looks = re.findall(r"`(parley check[^`]*)`", guide)
    with Internet("parley") as internet, internet.machines["parley"].disk(8_192) as disk:
        machine = internet.machines["parley"]
        parley = Guided(machine, disk)
        domain = machine.domain
        with checks.check("guide: the configuration and the records are enough for a certificate, which comes by itself"):
            addresses = [domain, f"chat.{domain}", *(f"{service}.{domain}" for service in SERVICES)]
            internet.dns.replace(machine, "\n".join([
                *(f"{name}. A {machine.address}" for name in addresses), parley.here(records), f"acme A {NETWORK}{LAB}"]))
            root = authority(internet)
            trusted = internet.folder / "trusted.pem"
            trusted.write_bytes(internet.authority.path.read_bytes() + root)
            # In place of Let's Encrypt, and of the authorities that every machine knows.
            parley.settings |= {
                "tls__acme__directory": f"https://acme.test:{PEBBLE}/dir", "tls__acme__authorities": internet.authority.path,
                "outgoing__authorities": trusted}
            parley.configuration.write_text(parley.here(yaml))
            parley.start()
            waits_until("a certificate", lambda: "the certificate is in service" in parley.said())
            shown = json.loads(parley.run("certificate", "show", "--json"))
            expect(any(set(addresses) <= set(each["names"]) for each in shown["certificates"]), f"{shown}")
        with checks.check("guide: parley check and parley check --network find nothing that is wrong"):
            expect(looks == ["parley check", "parley check --network"], f"{looks}")
            expect(f"The configuration is good ({parley.configuration})." in parley.type(looks[0]), "it is not")
            # With a synchronised clock and space on the disk, as a server has them.
            printed = parley.type(looks[1], within=clock(0))
            rows = [line.split()[1:] for line in printed.splitlines()[1:]]
            expect(not re.search("FAIL|WARN", printed) and printed.count("PASS") == len(rows) >= 10, printed)
            for part in (f"tls chat.{domain}:5222", f"tls chat.{domain}:5223", f"tls chat.{domain}:443", "host-meta"):
                expect(part in printed, f"{part} is not in\n{printed}")
        with checks.check("guide: the first user logs in from any XMPP client, which believes the certificate"):
            printed = parley.type(user)
            expect(f"Added alice@{domain}." in printed and "healthy" in printed, printed)
            password = re.search(r"[Pp]assword:? (\S+)", printed)[1]
            parley.certificate = trusted
            asyncio.run(logs_in(parley, "alice", password))
        with checks.check("guide: a backup can be restored, and the server makes its own"):
            printed = parley.type(backup + "\nparley user list --data ./tried")
            expect("Restored" in printed and f"alice@{domain}" in printed, printed)
            waits_until("a backup", lambda: "parley: backup " in parley.said())
            expect(list((parley.backups / "own").glob("parley-*.db")), "there is none")
        with checks.check("guide: the server ends well"):
            parley.stop()
            expect(parley.process.returncode == 0, f"status {parley.process.returncode}")
