"""docs/guides/production.md, its way from nothing, on a machine of a small internet: the installation of docs/operations.md, the guide's
configuration at the standard ports, the records, a certificate from a real ACME server (Pebble), whose challenge comes over that internet, and the
commands as they stand there. The server runs as the user of conf/parley.service, with its restrictions (`lib/unit.py`, which names those that
cannot be reproduced). What is not there: Let's Encrypt itself, systemd, and the package, which is the matter of `installation`.
"""
import asyncio
import contextlib
import http.client
import json
import pathlib
import re
import resource
import socket
import ssl
import urllib.parse
import urllib.request

from lib.files import png
from lib.harness import DOCS, PASSWORD, PATIENCE, Failure, environment, expect
from lib.installed import Installed
from lib.internet import LAB, NETWORK, SERVICES, Internet, clock, listens, waits_until
from lib.partners import SERVERS
from lib.peers import Client
from lib.unit import FILE, Unit

PEBBLE, MANAGEMENT = 14000, 15000
# Expressions, and what each gives in a process of the unit, or the error by which it is refused.
TRIES = {
    "[os.getresuid() == (os.stat('/var/lib/parley').st_uid,) * 3, os.getgroups() == [os.getgid()]]": [True, True],
    "[os.getcwd(), oct(os.stat('/var/lib/parley').st_mode & 0o777)]": ["/var/lib/parley", "0o700"],
    "open('/etc/parley/mine', 'w')": "EROFS", "open('/var/lib/writable/mine', 'w')": "EROFS", "open('/sys/kernel/mine', 'w')": "EROFS",
    "open('/proc/sys/kernel/hostname', 'w')": "EROFS", "os.listdir('/root')": "EACCES", "os.listdir('/home')": "EACCES",
    "open('/var/lib/parley/mine', 'w').write('1')": 1, "open('/var/backups/parley/mine', 'w').write('1')": 1,
    "open('/tmp/mine', 'w').write('1')": 1, "open('/var/tmp/mine', 'w').write('1')": 1, "os.listdir('/tmp')": ["mine"],
    "oct(os.stat('/var/lib/parley/mine').st_mode & 0o777)": "0o600", "os.path.exists('/dev/kmsg')": False,
    "open('/dev/mine', 'w')": "EROFS", "open('/dev/null', 'w').write('1')": 1, "os.stat('/proc/1')": "ENOENT",
    "resource.setrlimit(resource.RLIMIT_CPU, (3_600, 3_600))": None,
    "[s.bind(('127.0.0.1', 443)) for s in [socket.socket()]]": [None],
    "socket.socket(socket.AF_INET6).fileno() > 0": True, "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)": "EAFNOSUPPORT",
    "socket.socket(socket.AF_PACKET)": "EAFNOSUPPORT", "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)": "EPERM",
    "mmap.mmap(-1, 4_096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC)": "EPERM",
    "os.chmod('/var/lib/parley/mine', 0o4700)": "EPERM", "os.chown('/var/lib/parley/mine', -1, os.getgid())": "EPERM",
    "call('unshare', 0x10000000)": "EPERM", "call('personality', 8)": "EPERM", "call('sethostname', b'mine', 4)": "EPERM",
    "call('adjtimex', (ctypes.c_long * 64)())": "EPERM", "call('mount', b'x', b'/tmp', b'tmpfs', 0, None)": "EPERM",
    "call('klogctl', 10, None, 0)": "EPERM", "call('ptrace', 0, 0, 0, 0)": "EPERM", "os.nice(1) > 0": True, "os.nice(-1)": "EPERM",
    "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))": "EPERM", "os.setresuid(0, 0, 0)": "EPERM",
    "os.waitstatus_to_exitcode(os.system('exec 2>/dev/null; su -c true'))": 1,
}


class Guided(Installed):
    """A machine with the guide's configuration, and nothing else but what this internet needs."""

    certificate = None  # what clients believe

    def _has(self, port):
        # Federation comes later in the guide.
        return port == SERVERS or super()._has(port)

    def ask(self, method, url, body=None, token=None, **headers):
        """A request of an app, to the address in the URL and by the name in it."""
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname)
        context = ssl.create_default_context(cafile=self.certificate)
        connection.sock = context.wrap_socket(socket.create_connection((self.host, 443), PATIENCE), server_hostname=parts.hostname)
        with contextlib.closing(connection):
            connection.request(method, urllib.parse.urlunsplit(("", "", parts.path, parts.query, "")), body, {
                "Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {}), **headers})
            answer = connection.getresponse()
            data = answer.read()
        expect(answer.status < 300, f"{method} {url}: {answer.status} {data}")
        return json.loads(data) if data else None


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


def restricted(checks, parley):
    """Checks that the restrictions of the unit hold here; otherwise the checks that follow would prove nothing of them."""
    with checks.check("unit: each of its lines is reproduced, or is known not to be"):
        print("".join(f"        not reproduced: {line}\n" for line in parley.unit.left_out), end="")
        for line in ["DynamicUser=yes", "ProtectHome=tmpfs"]:
            with contextlib.suppress(Failure):
                Unit(FILE.read_text() + f"[Service]\n{line}\n")
                raise AssertionError(f"nobody has decided on {line}")
    with checks.check("unit: its restrictions hold for a process that is started as the server is"):
        parley.machine.space.run("install", "-d", "-m", "1777", "/var/lib/writable")
        # Root may not be allowed more descriptors than it has.
        tries = {**TRIES, "resource.getrlimit(resource.RLIMIT_NOFILE)[0] in (262_144, %d)" % resource.getrlimit(resource.RLIMIT_NOFILE)[1]: True}
        found = parley.tries({code: code for code in tries})
        expect(found == tries, f"{ {code: value for code, value in found.items() if value != tries[code]} }")
        for folder in ("lib", "backups"):
            (parley.root / "var" / folder / "parley" / "mine").unlink()


def of_process(parley):
    """Returns what the kernel says of the server (proc(5))."""
    status = pathlib.Path(f"/proc/{parley.process.pid}/status").read_text()
    return dict(re.findall(r"^(\w+):\s*(.*)$", status, re.M))


def shrinks(parley, password):
    """An app uploads a picture, of which the server makes a small one by a program."""
    base = f"https://chat.{parley.domain}"
    session = parley.ask("POST", f"{base}/v1/sessions", json.dumps(
        {"grant": "password", "username": "alice", "password": password, "deviceId": "phone"}))
    picture, token = png(800, 600), session["accessToken"]
    made = parley.ask("POST", f"{base}/v1/attachments", json.dumps({"name": "a.png", "mediaType": "image/png", "size": len(picture)}), token)
    parley.ask("PUT", made["uploadUrl"], picture, **{"Content-Type": "image/png"})
    waits_until("the picture has a thumbnail", lambda: parley.ask("GET", f"{base}/v1/attachments/{made['id']}", token=token).get("thumbnail"))


def run(checks):
    document = (DOCS / "guides" / "production.md").read_text()
    guide = document.split("## From nothing")[1].split("\n## ")[0]
    ((_, yaml), (_, records), (_, start), (_, user), (_, backup)) = re.findall(r"^```(yaml|dns|sh)\n(.*?)^```$", guide, re.S | re.M)
    (moves,) = re.findall(r"^```sh\n(sudo systemctl stop prosody\n.*?)^```$", document, re.S | re.M)
    looks = re.findall(r"`sudo (parley check[^`]*)`", guide)
    with Internet("parley") as internet:
        machine = internet.machines["parley"]
        parley = Guided(machine, **{"192.0.2.1": machine.address})
        domain = machine.domain
        restricted(checks, parley)
        with checks.check("guide: the configuration and the records are enough for a certificate, which comes by itself"):
            addresses = [domain, f"chat.{domain}", *(f"{service}.{domain}" for service in SERVICES)]
            internet.dns.replace(machine, f"{parley.here(records)}acme A {NETWORK}{LAB}")
            root = authority(internet)
            trusted = internet.folder / "trusted.pem"
            trusted.write_bytes(internet.authority.path.read_bytes() + root)
            # In place of Let's Encrypt, and of the authorities that every machine knows.
            parley.settings["tls"] = {"acme": {
                "directory": f"https://acme.test:{PEBBLE}/dir", "authorities": parley.settings["outgoing"]["authorities"]}}
            parley.settings["outgoing"]["authorities"] = parley.trusted("trusted", trusted.read_bytes())
            parley.configure(yaml)
            printed = parley.type(start)
            expect("The configuration is good" in printed, printed)
            waits_until("a certificate", lambda: "the certificate is in service" in parley.said())
            shown = json.loads(parley.run("certificate", "show", "--json"))
            expect(any(set(addresses) <= set(each["names"]) for each in shown["certificates"]), f"{shown}")
        with checks.check("guide: the server is a process of the unit's user, without privileges but for low ports"):
            found, owner = of_process(parley), (parley.root / "var/lib/parley").stat().st_uid
            expect(found["Uid"].split() == [str(owner)] * 4 and owner != 0, f"{found}")
            expect({found[name] for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {f"{1 << 10:016x}"}, f"{found}")
            expect((found["NoNewPrivs"], found["Seccomp"], found["Umask"]) == ("1", "2", "0077"), f"{found}")
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
        with checks.check("unit: vipsthumbnail makes a small picture of what an app uploads, by the server's restrictions"):
            shrinks(parley, password)
        with checks.check("guide: a backup can be restored, and the server makes its own"):
            printed = parley.type(backup)
            restored = re.search(r"^Restored /var/backups/parley/first\.db to (/\S+): 1 users? ", printed, re.M)
            expect(restored and f"alice@{domain}" in printed.split(restored[0])[1], printed)
            with checks.check("guide: the folder of that restore is deleted, and nothing is left where the commands are typed"):
                left = [*parley.home.iterdir(), *filter(pathlib.Path.exists, [parley.root / restored[1][1:]])]
                expect(not left, f"the guide leaves {left}")
            waits_until("a backup", lambda: "parley: backup " in parley.said())
            expect(list((parley.root / "var/backups/parley").glob("parley-*.db")), "there is none")
        with checks.check("unit: a backup in the server's own /tmp, which the operator does not see, is no success"):
            printed = parley.type("! parley backup /tmp/mine.db 2>&1; ! parley backup --files /var/tmp/mine 2>&1")
            expect(printed.count("PrivateTmp=") == 2 and not (parley.root / "tmp" / "mine.db").exists(), printed)
        with checks.check("unit: a backup to a place that is root's alone names the user who writes it, and what creates a folder for them"):
            printed = parley.type("! parley backup /root/mine.db 2>&1; ! parley backup /var/lib/none/mine.db 2>&1")
            expect("/root/mine.db cannot be made: permission denied. It is written as parley; name a folder" in printed, printed)
            expect("create the folder: sudo install -d -o parley -m 0700 /var/lib/none" in printed, printed)
        with checks.check("guide: the server ends well"):
            parley.stop()
            expect(parley.process.returncode == 0, f"status {parley.process.returncode}")
        with checks.check("guide: what root imports into the empty folder that the package makes is the server's"):
            parley.type("rm -rf /var/lib/parley; install -d -o parley -g parley -m 0700 /var/lib/parley")
            account = parley.root / "var/lib/prosody" / domain.replace(".", "%2e") / "accounts" / "erin.dat"
            account.parent.mkdir(parents=True)
            account.write_text(f'return {{ ["password"] = "{PASSWORD}"; }};\n')
            expect(f"erin@{domain}" in parley.type(moves), "nobody was imported")
            parley.start()
            waits_until("a certificate", lambda: "the certificate is in service" in parley.said())
            asyncio.run(logs_in(parley, "erin", PASSWORD))
            parley.stop()
            expect(parley.process.returncode == 0, f"status {parley.process.returncode}")
