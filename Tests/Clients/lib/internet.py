"""A small internet on this machine: servers on machines of their own, which are network namespaces on one bridge, with
the standard ports, cables that can be cut, certificates of a test CA, and a signed DNS (knot) behind a validating
resolver (unbound). Nothing of it is seen outside, and all of it ends with this process. It needs root.
"""
import contextlib
import ctypes
import datetime
import hashlib
import ipaddress
import os
import pathlib
import select
import shutil
import socket
import subprocess
import tempfile
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lib.harness import PATIENCE, Failure, expect

NETWORK, NETWORK6 = "10.77.0.", "fd77::"
NETWORKS = "10.77.0.0/24,fd77::/64"
LAB = 1  # the last number of the addresses of the DNS and of this process
HOLE = 99  # of the server that takes connections and says nothing
PROGRAMS = ["unshare", "nsenter", "ip", "knotd", "keymgr", "unbound"]
SERVICES = ["conference", "upload", "pubsub"]
CLONE_NEWNET = 0x40000000
IN_MODIFY = 2


class Writes:
    """The moments at which a program of the internet writes to a log (inotify(7)): then it may have become what is waited for."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = self.libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        expect(self.descriptor >= 0, f"inotify: {os.strerror(ctypes.get_errno())}")

    def watch(self, folder):
        added = self.libc.inotify_add_watch(self.descriptor, os.fsencode(folder), IN_MODIFY)
        expect(added >= 0, f"inotify: {folder}: {os.strerror(ctypes.get_errno())}")

    def next(self, seconds):
        """Waits for one, or so long."""
        if select.select([self.descriptor], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):  # another thread was faster
                os.read(self.descriptor, 1 << 16)


WRITES = Writes()


def waits_until(what, test, patience=PATIENCE):
    """Asks when a program has written something, and once a second, since what it does may follow what it says."""
    end = time.monotonic() + patience
    while not test():
        expect(time.monotonic() < end, f"not within {patience} s: {what}")
        WRITES.next(min(1, max(0, end - time.monotonic())))


class Space:
    """A network namespace and a mount namespace, held by a process that ends with this one: its input is our pipe."""

    def __init__(self, resolver):
        commands = f"""ip link set lo up
            mount --bind '{resolver}' "$(realpath -m /etc/resolv.conf)"
            echo ready; exec cat"""
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-ec", commands], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise Failure(f"no namespaces can be made here (root may): {self.holder.stderr.read().strip()}")

    @property
    def pid(self):
        return self.holder.pid

    def enter(self, *command):
        """The command as it is run in here; it is killed when this process ends."""
        return ["setpriv", "--pdeathsig=KILL", "nsenter", f"--target={self.pid}", "--net", "--mount", "--", *map(str, command)]

    def run(self, *command, **options):
        done = subprocess.run(self.enter(*command), capture_output=True, text=True, **{"timeout": PATIENCE, **options})
        expect(done.returncode == 0, f"{' '.join(map(str, command))}: status {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    @contextlib.contextmanager
    def here(self):
        """This thread, and those that it starts meanwhile, are on this network."""
        libc = ctypes.CDLL(None, use_errno=True)

        def enter(namespace):
            expect(libc.setns(namespace.fileno(), CLONE_NEWNET) == 0, f"setns: {os.strerror(ctypes.get_errno())}")

        with open("/proc/thread-self/ns/net") as home, open(f"/proc/{self.pid}/ns/net") as there:
            enter(there)
            try:
                yield
            finally:
                enter(home)

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()


class Machine:
    """A place for one server: `NAME.test` and its services."""

    def __init__(self, internet, name, number):
        self.internet, self.name, self.number = internet, name, number
        self.domain = f"{name}.test"
        self.address, self.address6 = f"{NETWORK}{number}", f"{NETWORK6}{number}"
        self.cable = f"cable{number}"
        self.space = Space(internet.resolver)
        lab = internet.space
        lab.run("ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.space.pid)
        lab.run("ip", "link", "set", self.cable, "master", "bridge", "up")
        self.space.run("ip", "link", "set", "eth0", "up")
        for address in (f"{self.address}/24", f"{self.address6}/64"):
            self.space.run("ip", "address", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        self.give_certificate("good")

    def cut(self):
        """Pulls the cable: packets vanish, and nobody is told."""
        self.internet.space.run("ip", "link", "set", self.cable, "down")

    def mend(self):
        self.internet.space.run("ip", "link", "set", self.cable, "up")

    @contextlib.contextmanager
    def disk(self, megabytes):
        """A file system of this size, as a folder; of what is free nothing is taken from memory."""
        folder = self.internet.folder / f"{self.name}-disk-{megabytes}"
        folder.mkdir()
        self.space.run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder)
        try:
            yield folder
        finally:
            self.space.run("umount", folder)

    def shrink(self, files, memory):
        """Gives the machine so many bytes of memory: a server reads them as the limit of its control group, and plans with them; the kernel does
        not enforce it here. Returns a prefix for commands that may have so many open files."""
        groups = self.internet.folder / f"{self.name}-groups"
        groups.mkdir()
        (groups / "memory.max").write_text(f"{memory}\n")
        self.space.run("mount", "--bind", groups, "/sys/fs/cgroup")
        return ["prlimit", f"--nofile={files}:{files}", "--"]

    @property
    def chain(self):
        return self.internet.authority.folder / f"{self.name}.crt"

    @property
    def key(self):
        return self.internet.authority.folder / f"{self.name}.key"

    def give_certificate(self, kind):
        """Writes the files; see `Authority.issue` for the kinds."""
        names = [self.domain, *(f"{service}.{self.domain}" for service in SERVICES)]
        self.internet.authority.issue(kind, names, self.chain, self.key)


class Authority:
    """The CA that everybody on this internet trusts."""

    def __init__(self, folder):
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Small Internet CA")])
        self.certificate = self._build(self.name, self.key.public_key(), 3650).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(self.key, hashes.SHA256())
        self.path = folder / "authority.pem"
        self.path.write_bytes(self._pem(self.certificate))

    @staticmethod
    def _pem(certificate):
        return certificate.public_bytes(serialization.Encoding.PEM)

    def _build(self, subject, key, days, since=None, issuer=None):
        since = since or datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
        return x509.CertificateBuilder(
            issuer_name=issuer or self.name, subject_name=subject, public_key=key, serial_number=x509.random_serial_number(),
            not_valid_before=since, not_valid_after=since + datetime.timedelta(days=days))

    def issue(self, kind, names, chain, key_file):
        """`good`; `server`: for TLS servers alone, as public CAs issue them; `expired`; `soon`: in three days; `wrong`: of another
        name, also as the common name, which some servers believe; `selfsigned`; `below`: by an authority below, which the chain
        has; `unchained`: the same without it. A machine keeps its key."""
        if key_file.exists():
            key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        else:
            key = ec.generate_private_key(ec.SECP256R1())
            key_file.write_bytes(key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()))
        if kind == "wrong":
            names = ["somebody-else.test"]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] + ([] if kind == "server" else [ExtendedKeyUsageOID.CLIENT_AUTH])
        old = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) if kind == "expired" else None
        issuers = self._below() if kind in ("below", "unchained") else [(self.key, self.certificate)]
        issuer = subject if kind == "selfsigned" else issuers[0][1].subject
        builder = self._build(subject, key.public_key(), 4 if kind == "soon" else 90, old, issuer).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False).add_extension(
            x509.ExtendedKeyUsage(usages), critical=False).add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True)
        if kind == "selfsigned":
            chain.write_bytes(self._pem(builder.sign(key, hashes.SHA256())))
        else:
            expect(kind in ("good", "server", "expired", "soon", "wrong", "below", "unchained"), f"no kind of certificate: {kind}")
            shown = [certificate for _, certificate in issuers if kind != "unchained"]
            chain.write_bytes(b"".join(map(self._pem, [builder.sign(issuers[0][0], hashes.SHA256()), *shown])))

    def _below(self):
        """An authority that this one has issued, and this one: keys and certificates."""
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Issuing CA")])
        certificate = self._build(name, key.public_key(), 3650).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(self.key, hashes.SHA256())
        return [(key, certificate), (self.key, self.certificate)]


class Names:
    """The DNS. `test.` is signed; a resolver with its key as anchor answers with AD. Besides the machines it has domains
    that a server meets: `dot` offers no service, at `dead` nobody listens, `hole` takes connections and says nothing,
    and `nowhere` does not exist. `bogus.example` is not signed with the key that the resolver knows for it."""

    def __init__(self, internet, folder):
        self.internet, self.folder, self.space = internet, folder, internet.space
        self.serial = int(time.time())
        self.zones = {}  # the records of machines that are not those below
        self.pins = {}  # the TLSA records of machines that have any (3 1 1)
        self.write()
        (folder / "knot.conf").write_text(f"""
server:
    rundir: "{folder}"
    listen: 127.0.0.1@5300
    background-workers: 1
    udp-workers: 1
    tcp-workers: 1
log:
  - target: stderr
    any: warning
database:
    storage: "{folder}"
policy:
  - id: lab
    algorithm: ecdsap256sha256
    single-type-signing: on
zone:
  - domain: test.
    file: "{folder}/test.zone"
    dnssec-signing: on
    dnssec-policy: lab
    zonefile-sync: -1
    journal-content: none
  - domain: bogus.example.
    file: "{folder}/bogus.zone"
""")
        (folder / "bogus.zone").write_text(
            "$ORIGIN bogus.example.\n$TTL 2\n@ SOA ns.test. lab.test. 1 60 60 600 2\n@ NS ns.test.\n"
            "_xmpp-server._tcp SRV 0 0 5269 silent.test.\n")
        self.knot = internet.start(self.space, folder / "knot.log", "knotd", "-c", folder / "knot.conf")
        waits_until("the zone is signed", lambda: self._anchor(), 20)
        (folder / "anchor").write_text(self._anchor())
        (folder / "bogus").write_text(f"bogus.example. DS 1 13 2 {'0' * 64}\n")
        (folder / "unbound.conf").write_text(f"""
server:
    directory: "{folder}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    logfile: ""
    interface: {NETWORK}{LAB}
    interface: {NETWORK6}{LAB}
    access-control: 0.0.0.0/0 allow
    access-control: ::/0 allow
    do-not-query-localhost: no
    local-zone: "test." nodefault
    trust-anchor-file: "{folder}/anchor"
    trust-anchor-file: "{folder}/bogus"
    num-threads: 1
    cache-max-ttl: 0
    cache-max-negative-ttl: 0
remote-control:
    control-enable: no
stub-zone:
    name: "test."
    stub-addr: 127.0.0.1@5300
stub-zone:
    name: "bogus.example."
    stub-addr: 127.0.0.1@5300
forward-zone:
    name: "."
    forward-addr: 127.0.0.1@5300
""")
        self.unbound = internet.start(self.space, folder / "unbound.log", "unbound", "-d", "-c", folder / "unbound.conf")

    def _anchor(self):
        done = subprocess.run(
            self.space.enter("keymgr", "-c", self.folder / "knot.conf", "test.", "dnskey"), capture_output=True, text=True)
        return done.stdout

    def write(self):
        self.serial += 1
        lines = ["$ORIGIN test.", "$TTL 2", f"@ SOA ns.test. lab.test. {self.serial} 60 60 600 2", "@ NS ns.test.",
                 f"ns A {NETWORK}{LAB}"]
        for machine in self.internet.machines.values():
            name = machine.name
            if name in self.zones:
                lines += [self.zones[name]]
                continue
            addresses = [("A", machine.address), ("AAAA", machine.address6)]
            lines += [f"host.{name} {kind} {address}" for kind, address in addresses]
            for domain in (name, *(f"{service}.{name}" for service in SERVICES)):
                lines += [f"{domain} {kind} {address}" for kind, address in addresses]
                lines += [f"_xmpp-server._tcp.{domain} SRV 10 10 5269 host.{name}.test.",
                          f"_xmpps-server._tcp.{domain} SRV 5 10 5270 host.{name}.test."]
            if pin := self.pins.get(name):
                lines += [f"_{port}._tcp.host.{name} TLSA 3 1 1 {pin}" for port in (5269, 5270)]
        lines += ["_xmpp-server._tcp.dot SRV 0 0 0 .", "_xmpps-server._tcp.dot SRV 0 0 0 .",
                  "_xmpp-server._tcp.dead SRV 0 0 5999 ns.test.",
                  "_xmpp-server._tcp.hole SRV 0 0 5269 silent.test.", f"silent A {NETWORK}{HOLE}"]
        (self.folder / "test.zone").write_text("\n".join(lines) + "\n")

    def replace(self, machine, zone):
        """Gives a machine these records, in place of those that all have."""
        self.zones[machine.name] = zone
        self.reload()

    def reload(self):
        """Writes the zone anew, after another certificate, and waits until the resolver says so."""
        self.write()
        self.knot.send_signal(1)
        waits_until("the zone is read", lambda: f" {self.serial} " in self._query("test.", 6))

    def _query(self, name, kind):
        """The text of an answer of knot itself, by kdig's short form."""
        done = subprocess.run(
            self.space.enter("kdig", "@127.0.0.1", "-p", "5300", name, f"TYPE{kind}", "+short"), capture_output=True, text=True)
        return done.stdout


def fingerprint(chain):
    """SHA-256 of the public key (TLSA 3 1 1)."""
    certificate = x509.load_pem_x509_certificate(chain.read_bytes())
    return hashlib.sha256(certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).hexdigest()


class Internet:
    """`with Internet("prosody", "ejabberd") as internet:` has machines of these names, and this process among them."""

    def __init__(self, *names):
        missing = [program for program in PROGRAMS if shutil.which(program) is None and not os.path.exists(f"/usr/sbin/{program}")]
        expect(not missing, f"not installed: {', '.join(missing)}")
        expect(os.geteuid() == 0, "a small internet is made of namespaces: this test needs root")
        self.names = names

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-internet-"))
        self.folder.chmod(0o755)
        self.closing = contextlib.ExitStack()
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        self.closing.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.resolver = self.folder / "resolv.conf"
        self.resolver.write_text(f"nameserver {NETWORK}{LAB}\noptions trust-ad edns0\n")
        self.authority = Authority(self.folder)
        self.space = Space(self.resolver)
        self.closing.callback(self.space.close)
        self.space.run("ip", "link", "add", "bridge", "type", "bridge")
        self.space.run("ip", "link", "set", "bridge", "up")
        for address in (f"{NETWORK}{LAB}/24", f"{NETWORK}{HOLE}/24", f"{NETWORK6}{LAB}/64"):
            self.space.run("ip", "address", "add", address, "dev", "bridge", *(["nodad"] if ":" in address else []))
        self.machines = {}
        for number, name in enumerate(self.names, LAB + 1):
            self.machines[name] = Machine(self, name, number)
            self.closing.callback(self.machines[name].space.close)
        folder = self.folder / "names"
        folder.mkdir()
        WRITES.watch(folder)
        self.dns = Names(self, folder)
        self.closing.enter_context(self.space.here())
        self.hole = self.closing.enter_context(contextlib.closing(socket.create_server((f"{NETWORK}{HOLE}", 5269))))
        waits_until("the resolver answers", self._resolves, 20)

    def _resolves(self):
        done = subprocess.run(
            self.space.enter("kdig", f"@{NETWORK}{LAB}", f"host.{self.names[0]}.test", "A", "+dnssec", "+time=1", "+retry=0"),
            capture_output=True, text=True)
        return " ad " in done.stdout.replace(";", " ;") and f"{NETWORK}{LAB + 1}" in done.stdout

    def start(self, space, log, *command, **options):
        """A program there, whose words are in this file; it is stopped at the end, if it still runs."""
        with open(log, "ab") as file:
            process = subprocess.Popen(
                space.enter(*command), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, **options)
        self.closing.callback(halt, process)
        return process

    def __exit__(self, *_):
        self.closing.close()


def halt(process, patience=10):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def clock(answer):
    """A prefix for a command: the kernel answers so to adjtimex(2), by strace, since the clock itself belongs to other programs too."""
    calls = "adjtimex,clock_adjtime"
    return ["strace", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:retval={answer}"]


def listens(address, port):
    """Whether somebody does."""
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    with contextlib.closing(socket.socket(family)) as probe:
        probe.settimeout(2)
        return probe.connect_ex((address, port)) == 0
