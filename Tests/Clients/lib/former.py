"""Other servers to move in from: each runs on loopback with a folder of its own, has `localhost` for a domain, and is filled by
slixmpp as its users would.
"""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from lib.harness import PASSWORD, PATIENCE, Failure, Log, expect, free_port
from lib.internet import listens

DOMAIN, ROOMS = "localhost", "conference.localhost"


class Former:
    host, domain = "127.0.0.1", DOMAIN

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-former-"))
        self.data = self.folder / "data"
        self.data.mkdir()
        self.xmpp = free_port()
        key, self.chain = self.folder / "key.pem", self.folder / "chain.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={DOMAIN}", "-addext", f"subjectAltName=DNS:{DOMAIN},DNS:{ROOMS}", "-keyout", key, "-out", self.chain],
            check=True, capture_output=True)
        self.key, self.certificate, self.process = key, str(self.chain), None

    def start(self):
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        log = Log(self.process.stdout)
        end = time.monotonic() + PATIENCE
        # It may listen a moment after it has said something.
        while not listens(self.host, self.xmpp):
            expect(self.process.poll() is None and time.monotonic() < end, f"it does not start:\n{log.text[-4000:]}")
            with log.changed:
                log.changed.wait(0.5)
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Prosody(Former):
    """Of the Debian package, with its data in files or in SQLite."""

    def __init__(self, storage="internal"):
        super().__init__()
        self.configuration = self.folder / "prosody.cfg.lua"
        tls = f'{{ key = "{self.key}"; certificate = "{self.chain}" }}'
        sql = 'sql = { driver = "SQLite3", database = "prosody.sqlite" }' if storage == "sql" else ""
        self.configuration.write_text(f"""
run_as_root = true
daemonize = false
pidfile = "{self.folder}/prosody.pid"
data_path = "{self.data}"
certificates = "{self.folder}"
ssl = {tls}
plugin_paths = {{ "/usr/lib/prosody/modules" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {self.xmpp} }}
c2s_direct_tls_ports = {{}}
s2s_ports = {{}}
s2s_direct_tls_ports = {{}}
component_ports = {{}}
http_ports = {{}}
https_ports = {{}}
modules_enabled = {{ "roster"; "saslauth"; "tls"; "disco"; "carbons"; "pep"; "private"; "blocklist"; "vcard4"; "vcard_legacy";
  "bookmarks"; "ping"; "mam"; "offline" }}
modules_disabled = {{ "s2s" }}
authentication = "internal_hashed"
storage = "{storage}"
{sql}
default_archive_policy = true
VirtualHost "{DOMAIN}"
Component "{ROOMS}" "muc"
  modules_enabled = {{ "muc_mam" }}
  muc_log_by_default = true
""")

    def command(self):
        return ["prosody", "--config", str(self.configuration)]

    def add_users(self, *names):
        for name in names:
            done = subprocess.run(
                ["prosodyctl", "--config", str(self.configuration), "register", name, DOMAIN, PASSWORD],
                capture_output=True, text=True)
            if done.returncode != 0:
                raise Failure(f"prosodyctl: {done.stdout}{done.stderr}")


class Ejabberd(Former):
    """Of the Debian package, with its data in Mnesia."""

    def __init__(self):
        super().__init__()
        self.http = free_port()
        self.configuration = self.folder / "ejabberd.yml"
        both = self.folder / "both.pem"
        both.write_bytes(self.key.read_bytes() + self.chain.read_bytes())
        self.configuration.write_text(json.dumps({  # JSON is YAML
            "loglevel": "info", "hosts": [DOMAIN], "certfiles": [str(both)], "auth_method": "internal",
            "auth_password_format": "scram", "registration_timeout": "infinity",
            "listen": [
                {"port": self.xmpp, "ip": self.host, "module": "ejabberd_c2s", "access": "all", "starttls": True, "shaper": "none"},
                {"port": self.http, "ip": self.host, "module": "ejabberd_http", "request_handlers": {"/api": "mod_http_api"}}],
            "api_permissions": {"here": {"from": ["mod_http_api"], "who": {"ip": "127.0.0.0/8"}, "what": ["*"]}},
            "acl": {"local": {"user_regexp": ""}}, "access_rules": {"local": {"allow": "local"}},
            "modules": {
                **{f"mod_{name}": {} for name in (
                    "blocking", "caps", "carboncopy", "disco", "last", "offline", "ping", "privacy", "private", "roster",
                    "stream_mgmt", "vcard")},
                "mod_mam": {"default": "always", "assume_mam_usage": False, "request_activates_archiving": False},
                "mod_pubsub": {"access_createnode": "local", "plugins": ["flat", "pep"]}}}, indent=1))

    def command(self):
        files = subprocess.run(["dpkg", "-L", "ejabberd"], capture_output=True, text=True).stdout
        libraries = re.search(r"^(.*)/ejabberd-[0-9.-]*/ebin$", files, re.M)
        if not libraries:
            raise Failure("the package ejabberd is not installed")
        # Without epmd and a name: nobody talks to this node.
        return ["env", f"ERL_LIBS={libraries.group(1)}", f"EJABBERD_CONFIG_PATH={self.configuration}", f"EJABBERD_LOG_PATH={self.folder / 'server.log'}",
                f"ERL_CRASH_DUMP={self.folder}/crash.dump", "erl", "-noinput", "+K", "true", "+S", "2:2",
                "-mnesia", "dir", f'"{self.data}"', "-s", "ejabberd"]

    def call(self, name, **arguments):
        request = urllib.request.Request(f"http://{self.host}:{self.http}/api/{name}", data=json.dumps(arguments).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def add_users(self, *names):
        for name in names:
            self.call("register", user=name, host=DOMAIN, password=PASSWORD)
