"""docs/guides/federate.md, typed from its first command to its last on two machines of a small internet: the zone of the guide is the zone of
that internet, its configuration that of both servers, and what the one writes the other reads.
"""
import os
import pathlib
import re
import subprocess
import time

from lib.harness import BINARY, PASSWORD, PATIENCE, ROOT, expect
from lib.internet import NETWORKS, SERVICES, Internet, waits_until
from lib.partners import Parley

GUIDE = ROOT / "docs" / "guides" / "federate.md"
# Programs that would change this machine, and what of them is looked at.
STAND_INS = {
    "sudo": '[ "$1" != -u ] || shift 2; exec "$@"',
    "certbot": '''printf "%s\\n" "$@" | grep -A1 -x -e -d | grep "\\." >"$MACHINE/asked"
        while [ "$1" != --deploy-hook ]; do shift; done
        RENEWED_LINEAGE="$MACHINE/lineage" "$2"''',
    "systemctl": '''case "$*" in
        "try-reload-or-restart parley") ;;
        "restart parley") touch "$MACHINE/restarted" ;;
        *) exit 1 ;; esac''',
}


class Guided(Parley):
    """A machine and its Parley, with the configuration of the guide, and nothing else but what this internet needs."""

    def __init__(self, machine, other):
        super().__init__(machine)
        self.words = {
            "chat.example.org": f"chat.{machine.domain}", "example.org": machine.domain, "example.net": other.domain,
            "192.0.2.1": machine.address, "/etc/parley/parley.yaml": str(self.configuration),
            "/etc/": f"{self.folder}/etc/", " -g parley": ""}
        self.settings = {
            "data": self.data, "outgoing__authorities": self.internet.authority.path, "outgoing__networks": NETWORKS}
        for name in ("etc/parley", "etc/letsencrypt/renewal-hooks/deploy", "lineage"):
            (self.folder / name).mkdir(parents=True)
        for name, path in (("fullchain.pem", machine.chain), ("privkey.pem", machine.key)):
            (self.folder / "lineage" / name).symlink_to(path)
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        (self.programs / "parley").symlink_to(BINARY.resolve())
        for name, body in STAND_INS.items():
            (self.programs / name).write_text(f"#!/bin/bash\nset -eu\n{body}\n")
            (self.programs / name).chmod(0o755)

    def here(self, said):
        return re.sub("|".join(map(re.escape, self.words)), lambda found: self.words[found.group()], said)

    def configure(self, yaml):
        self.configuration.write_text(self.here(yaml))

    def type(self, block):
        """Runs a block as bash would, on this machine. Returns what it prints."""
        environment = {
            **self.environment(), "PATH": f"{self.programs}:{os.environ['PATH']}", "MACHINE": str(self.folder),
            "PARLEY_CONFIG": str(self.configuration), "PASSWORD": PASSWORD}
        done = subprocess.run(
            self.machine.space.enter("bash", "-euo", "pipefail", "-c", self.here(block)), env=environment, cwd=self.folder,
            capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, f"status {done.returncode}:\n{block}\n{done.stderr}{done.stdout}")
        return done.stdout

    def wrote(self, name):
        return pathlib.Path(self.folder, name).read_text().split()


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
                expect(server.wrote("asked") == [domain, *(f"{service}.{domain}" for service in SERVICES)], f"{server.wrote('asked')}")
            with checks.check(f"guide: {domain}: its zone, its configuration and a restart are enough for others to find it"):
                internet.dns.replace(server.machine, server.here(zone))
                server.configure(yaml)
                printed = server.type(configuration)
                expect("The configuration is good" in printed and "The certificate" not in printed, printed)
                expect(server.wrote("restarted") == [], "nothing was restarted")
                server.start()
                printed = server.type(check)
                expect("PASS" in printed and "FAIL" not in printed and "WARN" not in printed, printed)
            with checks.check(f"guide: {domain}: a user"):
                expect(f"alice@{domain}" in server.type(user), "nobody was added")
        with checks.check("guide: each finds the other"):
            for server in servers:
                printed = server.type(test)
                expect([line.split()[:2] for line in printed.splitlines()] == [
                    ["PASS", "dns:"], ["PASS", "stream:"], ["PASS", "ping:"]], printed)
        with checks.check("guide: the first message arrives"):
            org.type(write)
            said = org.here("Hello from example.org")
            waits_until("the other machine reads it", lambda: said in net.type(read), 10)
        with checks.check("guide: looking after it"):
            printed = org.type(look)
            expect(other.domain in printed and "pkix" in printed and "Nothing waits" in printed, printed)
            printed = org.type(rule)
            expect("*.spam.example" in printed and "strangers at night" in printed, printed)
            printed = org.type(repair)
            expect("Closed" in printed and "Tries" in printed, printed)
    print(f"        all of it took {time.monotonic() - began:.0f} s")
