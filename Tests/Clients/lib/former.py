"""Other servers to move in from: each runs on loopback with a folder of its own, has `localhost` for a domain, and is filled by
slixmpp as its users would.
"""
import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from lib.harness import PASSWORD, PATIENCE, Failure, Log, expect, free_port
from lib.internet import listens

DOMAIN, ROOMS, UPLOADS = "localhost", "conference.localhost", "upload.localhost"
SCHEMAS = pathlib.Path("/usr/share/ejabberd/sql")


class Former:
    host, domain = "127.0.0.1", DOMAIN

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-former-"))
        self.data = self.folder / "data"
        self.data.mkdir()
        self.xmpp, self.http = free_port(), free_port()
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
http_ports = {{ {self.http} }}
http_interfaces = {{ "127.0.0.1" }}
http_default_host = "{UPLOADS}"
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
Component "{UPLOADS}" "http_file_share"
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
    """Of the Debian package, with its data in Mnesia, SQLite, PostgreSQL or MariaDB."""

    def __init__(self, storage="mnesia"):
        super().__init__()
        self.configuration, self.uploads = self.folder / "ejabberd.yml", self.folder / "upload"
        both = self.folder / "both.pem"
        both.write_bytes(self.key.read_bytes() + self.chain.read_bytes())
        self.sql, sql = None, {}
        if storage == "sqlite":
            self.database = self.data / "ejabberd.sqlite"
            sql = {"sql_type": "sqlite", "sql_database": str(self.database)}
            subprocess.run(["sqlite3", self.database], input=SCHEMAS.joinpath("lite.sql").read_bytes(), check=True)
        elif storage != "mnesia":
            self.sql = {"pgsql": Postgres, "mysql": MariaDB}[storage](self.folder)
            sql = {"sql_type": storage, "sql_server": self.host, "sql_port": self.sql.port, "sql_database": self.sql.database,
                   "sql_username": "ejabberd", "sql_password": PASSWORD, "sql_pool_size": 2}
        if sql:
            sql |= {"default_db": "sql"}
        self.configuration.write_text(json.dumps({  # JSON is YAML
            "loglevel": "info", "hosts": [DOMAIN], "certfiles": [str(both)], "auth_method": "sql" if sql else "internal", **sql,
            "auth_password_format": "scram", "registration_timeout": "infinity",
            "listen": [
                {"port": self.xmpp, "ip": self.host, "module": "ejabberd_c2s", "access": "all", "starttls": True, "shaper": "none"},
                {"port": self.http, "ip": self.host, "module": "ejabberd_http", "request_handlers": {"/api": "mod_http_api", "/files": "mod_http_upload"}}],
            "api_permissions": {"here": {"from": ["mod_http_api"], "who": {"ip": "127.0.0.0/8"}, "what": ["*"]}},
            "acl": {"local": {"user_regexp": ""}}, "access_rules": {"local": {"allow": "local"}},
            "modules": {
                **{f"mod_{name}": {} for name in (
                    "admin_extra", "blocking", "caps", "carboncopy", "disco", "last", "offline", "ping", "privacy", "private", "roster",
                    "shared_roster", "stream_mgmt", "vcard")},
                "mod_http_upload": {
                    "host": UPLOADS, "docroot": str(self.uploads), "put_url": f"http://{self.host}:{self.http}/files", "access": "all"},
                "mod_mam": {"default": "always", "assume_mam_usage": False, "request_activates_archiving": False},
                "mod_muc": {"host": ROOMS, "default_room_options": {"mam": True, "persistent": True}},
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

    def stop(self):
        super().stop()
        if self.sql:
            self.sql.stop()
            self.sql = None


class Postgres:
    """A database of the Debian package, which lets no root run it."""

    database = "postgres"

    def __init__(self, folder):
        self.folder, self.port = folder / "postgres", free_port()
        self.bin = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres", "postgres")
        folder.chmod(0o755)
        words = self.folder.with_name("words")
        words.write_text(PASSWORD)
        words.chmod(0o644)
        self.run("initdb", "-U", "ejabberd", f"--pwfile={words}", "-A", "scram-sha-256")
        self.run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o",
                 f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off", "start")
        self.run("psql", "-q", "-f", str(SCHEMAS / "pg.sql"), "postgres")

    def run(self, name, *arguments):
        become = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"] if os.getuid() == 0 else []
        environment = {**os.environ, "PGDATA": str(self.folder), "PGHOST": "127.0.0.1", "PGPORT": str(self.port),
                       "PGUSER": "ejabberd", "PGPASSWORD": PASSWORD}
        done = subprocess.run([*become, str(self.bin / name), *arguments], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE if name == "pg_dump" else subprocess.DEVNULL,
                              stderr=None if name == "pg_ctl" else subprocess.PIPE, text=True)
        expect(done.returncode == 0, f"{name}: {done.stderr}")
        return done.stdout

    def dump(self):
        return self.run("pg_dump", "postgres")

    def stop(self):
        self.run("pg_ctl", "-m", "immediate", "stop")


class MariaDB:
    """A database of the Debian packages that start no service."""

    database = "ejabberd"

    def __init__(self, folder):
        self.data, self.socket, self.port = folder / "mariadb", folder / "mariadb.socket", free_port()
        user = [f"--user={pwd.getpwuid(os.getuid()).pw_name}"]
        self.run("mariadb-install-db", f"--datadir={self.data}", "--auth-root-authentication-method=normal", "--skip-test-db", *user)
        self.process = subprocess.Popen(
            ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}", f"--port={self.port}",
             "--bind-address=127.0.0.1", "--innodb-flush-log-at-trx-commit=0", "--innodb-fast-shutdown=2", *user],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        Log(self.process.stdout).until("MariaDB is ready", lambda said: "ready for connections" in said)
        self.run("mariadb", f"--socket={self.socket}", "-u", "root", text=f"""
            CREATE DATABASE ejabberd; CREATE USER ejabberd@127.0.0.1 IDENTIFIED BY '{PASSWORD}';
            GRANT ALL ON ejabberd.* TO ejabberd@127.0.0.1; USE ejabberd;
            {SCHEMAS.joinpath("mysql.sql").read_text()}""")

    def run(self, name, *arguments, text=None):
        done = subprocess.run([name, "--no-defaults", *arguments], input=text, capture_output=True, text=True)
        expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
        return done.stdout

    def dump(self):
        return self.run("mariadb-dump", f"--socket={self.socket}", "-u", "root", self.database)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
