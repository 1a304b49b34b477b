"""docs/guides/federate.md, typed from its first command to its last on two machines of a small internet: the zone of the guide is the zone of
that internet, its configuration that of both servers, and what the one writes the other reads. Parley is installed on both as docs/operations.md
says, and runs as the user of its unit, with the unit's restrictions (`lib/unit.py`).
"""
import pathlib
import re
import ssl
import time

from lib.harness import ROOT, expect
from lib.installed import Installed
from lib.internet import SERVICES, Internet, waits_until
from lib.partners import DIRECT

GUIDE = ROOT / "docs" / "guides" / "federate.md"
# A program that would go to an authority, and what of it is looked at.
STAND_INS = {
    "certbot": '''printf "%s\\n" "$@" | grep -A1 -x -e -d | grep "\\." >"$MACHINE/asked"
        while [ "$1" != --deploy-hook ]; do shift; done
        RENEWED_LINEAGE="$MACHINE/lineage" "$2"'''}


class Guided(Installed):
    """A machine and its Parley, with the configuration of the guide, and nothing else but what this internet needs."""

    def __init__(self, machine, other):
        super().__init__(machine, STAND_INS, **{"example.net": other.domain, "192.0.2.1": machine.address})
        # As certbot leaves it: its folders are for root alone.
        lineage = self.folder / "lineage"
        machine.space.run("install", "-d", "-m", "0700", lineage)
        machine.space.run("mkdir", "-p", "/etc/letsencrypt")
        for name, path in (("fullchain.pem", machine.chain), ("privkey.pem", machine.key)):
            (lineage / name).symlink_to(path)


def run(checks):
    began = time.monotonic()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE.read_text(), re.S | re.M)
    (zone,) = [block for language, block in blocks if language == "dns"]
    (yaml,) = [block for language, block in blocks if language == "yaml"]
    certificate, configuration, check, user, test, write, read, look, rule, repair = [
        block for language, block in blocks if language == "sh"]
    with Internet("one", "other") as internet:
        one, other = (internet.machines[name] for name in ("one", "other"))
        servers = org, net = Guided(one, other), Guided(other, one)
        for server in servers:
            domain = server.domain
            with checks.check(f"guide: {domain}: the certificate names the domain and those of its services"):
                server.type(certificate)
                asked = (server.folder / "asked").read_text().split()
                expect(asked == [domain, *(f"{service}.{domain}" for service in SERVICES)], f"{asked}")
            with checks.check(f"guide: {domain}: its zone, its configuration and a restart are enough for others to find it"):
                internet.dns.replace(server.machine, server.here(zone))
                server.configure(yaml)
                printed = server.type(configuration)
                expect("The configuration is good" in printed and "The certificate" not in printed, printed)
                expect(server.process is not None, "nothing was restarted")
                printed = server.type(check)
                expect("PASS" in printed and "FAIL" not in printed and "WARN" not in printed, printed)
            with checks.check(f"guide: {domain}: the server is a process of the unit's user, who reads a renewed certificate"):
                process, owner = server.process.pid, (server.root / "var/lib/parley").stat().st_uid
                expect(owner != 0 and pathlib.Path(f"/proc/{process}").stat().st_uid == owner, f"it is of {owner}")
                server.machine.give_certificate("good")
                server.type(certificate)
                waits_until("the certificate is read", lambda: "reloaded" in server.said())
                served = ssl.get_server_certificate((server.host, DIRECT))
                expect(server.machine.chain.read_text().startswith(served.strip()), f"not the renewed one:\n{served}")
                expect(server.process.pid == process and server.process.poll() is None, "it was restarted")
            with checks.check(f"guide: {domain}: a user"):
                printed = server.type(user)
                expect(f"alice@{domain}" in printed, "nobody was added")
                server.password = printed.split()[0]  # in the shell of the guide it is a variable
        with checks.check("guide: each finds the other"):
            for server in servers:
                printed = server.type(test)
                expect([line.split()[:2] for line in printed.splitlines()] == [
                    ["PASS", "dns:"], ["PASS", "stream:"], ["PASS", "ping:"]], printed)
        with checks.check("guide: the first message arrives"):
            org.type(write, PASSWORD=org.password)
            said = org.here("Hello from example.org")
            waits_until("the other machine reads it", lambda: said in net.type(read, PASSWORD=net.password), 10)
        with checks.check("guide: looking after it"):
            printed = org.type(look)
            expect(other.domain in printed and "pkix" in printed and "Nothing waits" in printed, printed)
            printed = org.type(rule)
            expect("*.spam.example" in printed and "strangers at night" in printed, printed)
            printed = org.type(repair)
            expect("Closed" in printed and "Trying" in printed, printed)
    print(f"        all of it took {time.monotonic() - began:.0f} s")
