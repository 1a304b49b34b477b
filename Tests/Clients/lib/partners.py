"""Servers on the machines of a small internet: Prosody, ejabberd, and Parley itself. Each has `start`, `stop`, `kill`, `add_user`,
and what `lib.peers.Client` asks of a server.
"""
import contextlib
import json
import os
import re
import subprocess
import urllib.request

from lib.harness import BINARY, PASSWORD, PATIENCE, Failure, environment, expect, report_crash
from lib.internet import NETWORKS, WRITES, halt, listens, waits_until

XMPP, DIRECT, SERVERS, SERVERS_DIRECT, HTTP = 5222, 5223, 5269, 5270, 5280


class Partner:
    """A server at the standard ports of its machine. Its data stays when it is stopped or killed."""

    programs = []
    xmpp, tls = XMPP, DIRECT
    ports = XMPP, SERVERS  # where it listens when it has started

    def __init__(self, machine):
        self.machine, self.internet = machine, machine.internet
        self.name, self.domain, self.host = machine.name, machine.domain, machine.address
        self.folder = self.internet.folder / machine.name
        self.folder.mkdir()
        WRITES.watch(self.folder)
        self.log = self.folder / "log"
        self.process = None
        self.verified = True  # whether clients want a certificate that is good
        self.level = "debug"  # of its log

    @property
    def certificate(self):
        return self.internet.authority.path if self.verified else None

    @property
    def rooms(self):
        return f"conference.{self.domain}"

    def address(self, name):
        return f"{name}@{self.domain}"

    def start(self):
        self.began = self.log.stat().st_size if self.log.exists() else 0
        self.process = self.internet.start(self.machine.space, self.log, *self.command(), cwd=self.folder, env=self.environment())
        try:
            for port in self.ports:
                waits_until(f"{self.name} listens at {port}", lambda: self._has(port))
            self.is_ready()
        except Failure as failure:
            raise Failure(f"{failure}\n{self.tail()}") from None
        return self

    def _has(self, port):
        expect(self.process.poll() is None, f"{self.name} has ended with {self.process.poll()}")
        return listens(self.host, port)

    def is_ready(self):
        pass

    def stop(self):
        halt(self.process, PATIENCE)

    def kill(self):
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.stop()
        return self.start()

    def give_certificate(self, kind):
        """The server comes up again with a certificate of this kind, and the DNS has its key."""
        self.verified = kind in ("good", "server")
        self.machine.give_certificate(kind)
        self.internet.dns.reload()
        self.renew()

    def renew(self):
        self.restart()

    def environment(self):
        return {**os.environ, "HOME": str(self.folder)}

    def said(self):
        """Its log since it was started."""
        with open(self.log, errors="replace") as file:
            file.seek(self.began)
            return file.read()

    def sockets(self, *partners):
        """Streams between this server and these, in either direction."""
        here = self.machine.space.run("ss", "--tcp", "--numeric", "--no-header", "state", "established")
        others = {address for partner in partners for address in (partner.machine.address, partner.machine.address6)}
        ports = {str(SERVERS), str(SERVERS_DIRECT)}
        count = 0
        for line in here.splitlines():
            (local, local_port), (peer, peer_port) = (end.replace("[", "").replace("]", "").rsplit(":", 1) for end in line.split()[2:4])
            count += peer.removeprefix("::ffff:") in others and bool({local_port, peer_port} & ports)
        return count

    def tail(self, lines=60):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]) if self.log.exists() else ""


class Prosody(Partner):
    def __init__(self, machine, secure=True):
        super().__init__(machine)
        self.secure = secure  # whether certificates decide (`s2s_secure_auth`); otherwise dialback does
        self.configuration = self.folder / "prosody.cfg.lua"
        self.storage = 'storage = "internal"'
        (self.folder / "data").mkdir()
        self.log = self.folder / "prosody.log"

    def write(self):
        anchor = (self.internet.folder / "names" / "anchor").read_text().splitlines()[0]
        tls = f"""{{ key = "{self.machine.key}"; certificate = "{self.machine.chain}";
            cafile = "{self.internet.authority.path}"; capath = false }}"""
        self.configuration.write_text(f"""
run_as_root = true
daemonize = false
pidfile = "{self.folder}/prosody.pid"
data_path = "{self.folder}/data"
certificates = "{self.internet.folder}"
ssl = {tls}
log = {{ {{ levels = {{ min = "{self.level}" }}; to = "file"; filename = "{self.log}" }} }}
plugin_paths = {{ "/usr/lib/prosody/modules" }}
-- The anchor as a string: of a list lua-unbound 1.0.0 makes no resolver. libunbound answers for test. itself unless it
-- is told not to (RFC 6761).
unbound = {{ resolvconf = true; hoststxt = false; trusted = [[{anchor}]]; options = {{ ["local-zone:"] = "test. transparent" }} }}
interfaces = {{ "{self.machine.address}", "{self.machine.address6}" }}
c2s_ports = {{ {XMPP} }}
c2s_direct_tls_ports = {{ {DIRECT} }}
s2s_ports = {{ {SERVERS} }}
s2s_direct_tls_ports = {{ {SERVERS_DIRECT} }}
component_ports = {{}}
http_ports = {{ {HTTP} }}
http_interfaces = {{ "{self.machine.address}" }}
https_ports = {{}}
modules_enabled = {{
  "roster"; "saslauth"; "tls"; "disco"; "dialback"; "s2s"; "s2s_auth_certs"; "s2s_bidi"; "smacks"; "carbons"; "pep";
  "private"; "blocklist"; "vcard4"; "vcard_legacy"; "bookmarks"; "version"; "time"; "ping"; "register"; "mam";
  "csi_simple"; "lastactivity"; "offline"; "server_contact_info";
}}
contact_info = {{ abuse = {{ "xmpp:abuse@{self.domain}" }} }}
limits = {{}}
c2s_require_encryption = true
s2s_require_encryption = true
s2s_secure_auth = {"true" if self.secure else "false"}
s2s_timeout = 30
authentication = "internal_hashed"
{self.storage}
default_archive_policy = true
VirtualHost "{self.domain}"
  ssl = {tls}
Component "{self.rooms}" "muc"
  modules_enabled = {{ "muc_mam" }}
  restrict_room_creation = false
  muc_room_default_public = true
  muc_log_by_default = true
Component "pubsub.{self.domain}" "pubsub"
  admins = {{ "juliet@{self.domain}" }}
Component "upload.{self.domain}" "http_file_share"
  http_external_url = "http://upload.{self.domain}:{HTTP}/"
  http_host = "upload.{self.domain}"
""")

    def command(self):
        self.write()
        return ["prosody", "--config", self.configuration]

    def add_user(self, name):
        self.machine.space.run("prosodyctl", "--config", self.configuration, "register", name, self.domain, PASSWORD, env=self.environment())


class Ejabberd(Partner):
    def __init__(self, machine, dialback=True):
        super().__init__(machine)
        self.dialback = dialback  # whether it believes dialback where a certificate is not valid
        self.options, self.flags = {}, ["+S", "2:2"]  # more of its configuration, and of Erlang's flags
        self.configuration = self.folder / "ejabberd.yml"
        self.log = self.folder / "ejabberd.log"

    def write(self):
        both = self.folder / "both.pem"
        both.write_bytes(self.machine.key.read_bytes() + self.machine.chain.read_bytes())
        local = {"access": "all", "starttls": True, "starttls_required": True, "shaper": "none", "max_stanza_size": 262144}
        servers = {"module": "ejabberd_s2s_in", "shaper": "none", "max_stanza_size": 524288}
        here, here6, domain = self.machine.address, self.machine.address6, self.domain
        open_nodes = {"access_model": "open"}
        configuration = {
            "loglevel": self.level, "hosts": [domain], "certfiles": [str(both)], "ca_file": str(self.internet.authority.path),
            "s2s_cafile": str(self.internet.authority.path), "s2s_use_starttls": "required", "outgoing_s2s_timeout": 10,
            "s2s_max_retry_delay": 1, "auth_method": "internal", "auth_password_format": "scram", "registration_timeout": "infinity",
            "listen": [
                {"port": XMPP, "ip": here, "module": "ejabberd_c2s", **local},
                {"port": 5280, "ip": here, "module": "ejabberd_http", "request_handlers": {"/upload": "mod_http_upload"}},
                {"port": 5281, "ip": here, "module": "ejabberd_http", "request_handlers": {"/api": "mod_http_api"}},
            ] + [{"port": port, "ip": ip, "tls": port == SERVERS_DIRECT, **servers}
                 for ip in (here, here6) for port in (SERVERS, SERVERS_DIRECT)],
            "acl": {"local": {"user_regexp": ""}}, "access_rules": {"local": {"allow": "local"}},
            "api_permissions": {"lab": {"from": ["mod_http_api"], "who": {"ip": "10.77.0.0/24"}, "what": ["*"]}},
            "modules": {
                **{f"mod_{name}": {} for name in (
                    "adhoc", "avatar", "blocking", "caps", "carboncopy", "client_state", "last", "offline", "ping", "privacy",
                    "private", "stream_mgmt", "time", "vcard", "vcard_xupdate")},
                "mod_disco": {"server_info": [{"modules": "all", "name": "abuse-addresses", "urls": [f"xmpp:abuse@{domain}"]}]},
                "mod_http_upload": {
                    "host": f"upload.{domain}", "put_url": f"http://upload.{domain}:5280/upload",
                    "docroot": str(self.folder / "upload"), "max_size": 10_000_000},
                "mod_mam": {"default": "always", "assume_mam_usage": False, "request_activates_archiving": False},
                "mod_muc": {
                    "host": self.rooms, **{access: ["allow"] for access in ("access", "access_create", "access_persistent", "access_mam")},
                    "default_room_options": {"mam": True, "persistent": False, "public": True}},
                "mod_pubsub": {
                    "host": f"pubsub.{domain}", "access_createnode": "local", "plugins": ["flat", "pep"],
                    "force_node_config": {"eu.siacs.conversations.axolotl.*": open_nodes}},
                "mod_roster": {"versioning": True}, "mod_version": {"show_os": False},
                **({"mod_s2s_dialback": {}} if self.dialback else {}),
            },
            **self.options,
        }
        self.configuration.write_text(json.dumps(configuration, indent=1))  # JSON is YAML

    def command(self):
        self.write()
        files = subprocess.run(["dpkg", "-L", "ejabberd"], capture_output=True, text=True).stdout
        self.libraries = re.search(r"^(.*)/ejabberd-[0-9.-]*/ebin$", files, re.M)
        expect(self.libraries, "the package ejabberd is not installed")
        # Without epmd and a name: nobody talks to this node.
        return ["erl", "-noinput", "+K", "true", *self.flags, "-mnesia", "dir", f'"{self.folder}/spool"', "-s", "ejabberd"]

    def environment(self):
        return {**super().environment(), "ERL_LIBS": self.libraries.group(1), "EJABBERD_CONFIG_PATH": str(self.configuration),
                "EJABBERD_LOG_PATH": str(self.log), "ERL_CRASH_DUMP": str(self.folder / "crash.dump")}

    def add_user(self, name):
        body = json.dumps({"user": name, "host": self.domain, "password": PASSWORD}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://{self.host}:5281/api/register", data=body), timeout=PATIENCE) as answer:
            expect(answer.status == 200, f"{answer.status}")


class Parley(Partner):
    """`parley serve` as an operator would configure it: a domain, a certificate, the CA and the networks of this internet."""

    metrics = 9522

    def __init__(self, machine, **settings):
        super().__init__(machine)
        self.data = self.folder / "data"
        self.users = []
        self.configuration = self.folder / "parley.yaml"
        self.configuration.write_text("# Nothing: the environment says it all.\n")
        self.settings = {
            "data": self.data, "domain": self.domain, "http__host": self.host, "metrics__host": self.host,
            "http__url": f"https://{self.domain}:8443",
            "tls__certificate": machine.chain, "tls__key": machine.key, "outgoing__authorities": self.internet.authority.path,
            "outgoing__networks": NETWORKS, "federation__enabled": "true", "log__level": "debug", **settings}

    @property
    def base(self):
        return f"http://{self.host}:8080"

    def command(self):
        return [BINARY, "serve", "--config", self.configuration, "--no-demo"]

    def environment(self):
        return environment(**self.settings)

    def start(self):
        report_crash(self)
        # After the process has been stopped at the end.
        self.internet.closing.callback(report_crash, self)
        return super().start()

    def is_ready(self):
        waits_until("Parley is ready", lambda: " parley: ready" in self.said())

    def stop(self):
        if self.process:
            super().stop()
        report_crash(self)

    def kill(self):
        report_crash(self)
        super().kill()
        report_crash(self)

    def renew(self):
        """Certificates are read again without a restart."""
        before = self.said().count("reloaded")
        self.process.send_signal(1)
        waits_until("the certificate is read", lambda: self.said().count("reloaded") > before)

    @contextlib.contextmanager
    def configured(self, **settings):
        """With these keys, too. With other `data` it has the same users, and has never met another server."""
        before, users = self.settings, self.users
        self.settings = {**before, **settings}
        self.restart()
        if "data" in settings:
            self.users = []
            for name in users:
                self.add_user(name)
        try:
            yield
        finally:
            self.settings, self.users = before, users
            self.restart()

    def run(self, *arguments, **options):
        """A command of the operator."""
        return self.machine.space.run(
            BINARY, *arguments, "--config", self.configuration, env=self.environment(), **options)

    def add_user(self, name):
        self.run("user", "add", self.address(name), "--password-stdin", "--name", name.capitalize(), input=PASSWORD + "\n")
        self.users.append(name)
