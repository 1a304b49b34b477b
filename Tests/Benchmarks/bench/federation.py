"""Servers that federate: each on a machine of the small internet of Tests/Clients, with the same partners.

`partner.test` is a Prosody that all servers under test talk with; `remote.test` and its domains are xload's own.
"""
import contextlib
import os
import subprocess
import sys
import tempfile

from .servers import PEERS, ROOT, SENDING, VARIANTS, Server

PARTNER, REMOTE = "partner", "remote"
DOMAINS = 2000  # of the remote server, of each kind
ADDRESSES = range(100, 200)  # more of its machine
SMALL = 1024, 1 << 30  # open files and bytes of memory of a small machine


class FederatedServer(Server):
    """One variant, as its class of `lib.partners` runs it."""

    def __init__(self, name, base, cpu, binary, partner, lab, prefix=()):
        super().__init__(name, base, cpu, binary)
        self.partner, self.lab = partner, lab
        self.dir = str(partner.folder)
        self.cache = os.path.join(base, "scram-federated-" + name)
        command = partner.command
        partner.command = lambda: [*prefix, *(["taskset", "-c", cpu] if cpu is not None else []), *command()]
        if self.script == "prosody":
            partner.level = "warn"
            partner.storage = 'password_hash = "SHA-256"\n' + (
                'storage = "sql"; sql = { driver = "SQLite3", database = "prosody.sqlite" }' if self.archive == "sql" else 'storage = "internal"')
        elif self.script == "ejabberd":
            partner.level, partner.flags = "warning", ["+P", "250000"]
            sql = {"sqlite": {"sql_type": "sqlite", "sql_database": self.dir + "/spool/ejabberd.sqlite"},
                   "pgsql": {"sql_type": "pgsql", "sql_server": "127.0.0.1", "sql_port": 25432, "sql_database": "ejabberd",
                             "sql_username": "ejabberd", "sql_password": "bench", "sql_pool_size": 10}}[self.archive]
            partner.options = {"auth_scram_hash": "sha256", "cache_size": 100000, "default_db": "sql", "auth_method": "sql", **sql}
        else:
            partner.settings.update(log__level="info", registration="true", **SENDING)  # attacks register, too

    @property
    def address(self):
        return "%s:%d" % (self.partner.host, self.partner.xmpp)

    @property
    def http_address(self):
        return "%s:8080" % self.partner.host if self.script == "parley" else ""

    security = ["--tls"]

    def enter(self, command):
        """xload runs on the machine of the remote server."""
        return self.lab.internet.machines[REMOTE].space.enter(*command)

    def options(self, load=None):
        remote, here = self.lab.internet.machines[REMOTE], self.lab.partner
        more = ["--domain", self.partner.domain, "--servers", "%s:5269" % self.partner.host,
                "--helpers", ",".join(map(str, self.lab.helpers))]
        if load and load.partner == PARTNER:
            return more + ["--partner", "%s:%d" % (here.host, here.xmpp), "--partner-domain", here.domain]
        return more + ["--listen", "%s:5269" % remote.address, "--partner-domain", remote.domain,
                       "--chain", str(remote.chain), "--key", str(remote.key)]

    def start(self, fresh=False):
        space = self.partner.machine.space
        if self.archive == "pgsql" and self.database is None:
            script = [os.path.join(PEERS, "postgres"), "--dir", self.dir + "-postgres", "--port", "25432", "--daemon"]
            self.database = int(space.run(*script, *(["--cpu", self.cpu] if self.cpu is not None else [])).split()[-1])
        if self.archive == "sqlite" and fresh:
            os.makedirs(self.dir + "/spool")
            with open("/usr/share/ejabberd/sql/lite.sql") as tables:
                subprocess.run(["sqlite3", self.dir + "/spool/ejabberd.sqlite"], stdin=tables, check=True)
        self.partner.start()
        self.pid = self.partner.process.pid

    def fill(self, command):
        space = self.partner.machine.space if self.archive == "pgsql" else self.lab.internet.space
        return subprocess.run(space.enter(*command, "--domain", self.partner.domain), stdout=subprocess.PIPE, text=True)

    def restart(self):
        self.partner.stop()
        self.start()

    def stop(self):
        self.partner.stop()
        self._end(self.database)
        self.pid = self.database = None


class Lab:
    def __init__(self, internet):
        self.internet, self.partner = internet, None

    @property
    def helpers(self):
        dns = self.internet.dns
        return [process.pid for process in (dns.knot, dns.unbound, self.partner.process)]


@contextlib.contextmanager
def laboratory(names, base, server_cpu, xload_cpu, binary, users, is_small=False):
    """The small internet with these variants, as `{name: FederatedServer}`, started and with accounts; on machines with 1,024 open files, and
    1 GiB of memory to plan with, if they are small."""
    os.environ["PARLEY_BINARY_UNDER_TEST"] = binary
    sys.path.insert(0, os.path.join(ROOT, "Tests", "Clients"))
    from lib.internet import Internet
    from lib.partners import Ejabberd, Parley, Prosody
    kinds = {"parley": Parley, "prosody": Prosody, "ejabberd": Ejabberd}
    tempfile.tempdir = base  # on a disk
    before = os.sched_getaffinity(0)
    if xload_cpu is not None:
        os.sched_setaffinity(0, {xload_cpu})  # the DNS and the partner are there, too
    started = []
    try:
        with Internet(*names, PARTNER, REMOTE) as internet:
            lab = Lab(internet)
            remote(internet)
            lab.partner = Prosody(internet.machines[PARTNER])
            lab.partner.level = "warn"
            lab.partner.storage = 'password_hash = "SHA-256"\nstorage = "internal"'
            subprocess.run([os.path.join(PEERS, "accounts"), "prosody", "--users", str(users), "--groups", "0", "--dir", str(lab.partner.folder),
                            "--domain", lab.partner.domain], check=True, stdout=subprocess.DEVNULL)
            lab.partner.start()
            servers = {}
            for name in names:
                partner = kinds[VARIANTS[name][0]](internet.machines[name])
                server = FederatedServer(name, base, server_cpu, binary, partner, lab, partner.machine.shrink(*SMALL) if is_small else [])
                started.append(server)
                server.prepare(users, 0)
                servers[name] = server
            yield servers
            for server in started:
                server.stop()
    finally:
        for server in started:
            server._end(server.database)
        os.sched_setaffinity(0, before)
        tempfile.tempdir = None


def remote(internet):
    """The remote server's machine: addresses, a certificate for all its domains, and their records."""
    machine = internet.machines[REMOTE]
    for number in ADDRESSES:
        machine.space.run("ip", "address", "add", "10.77.0.%d/24" % number, "dev", "eth0")
    internet.authority.issue("good", [machine.domain, "*." + machine.domain], machine.chain, machine.key)
    lines = ["host.%s A %s" % (REMOTE, machine.address)]
    for domain in [REMOTE, *("%s%d.%s" % (kind, i, REMOTE) for kind in ("d", "first") for i in range(DOMAINS))]:
        lines.append("_xmpp-server._tcp.%s SRV 10 10 5269 host.%s.test." % (domain, REMOTE))
    internet.dns.replace(machine, "\n".join(lines))
