"""The commands of an operator at another machine: `parley --server https://...` with an app key.

Every command that takes `--server` must be in COMMANDS, which the binary's own list decides. What a command says of another
machine must be what it says on the server's own: its output where it only reads, its refusal where there is nothing to act on.
"""
import http.server
import json
import os
import pathlib
import socket
import ssl
import subprocess
import threading

from lib.harness import PATIENCE, Server, environment, expect, free_port

SAME = "the same as on the server's own machine"
PATHLESS = "the same but for the paths of files, which do not leave the server's machine"
DONE = "status 0"
LOCAL = "operation-local"
HERE = "command-local: refused before anything is read or sent"
NUMBER = "the number of what was made last"

# The command, how it must end, and its standard input. The order is that of a day: what is looked at was made before.
COMMANDS = [
    ("user add nina --password-stdin", DONE, "a password\n"),
    ("user add tybalt@localhost --generate", DONE),
    ("user list", SAME), ("user show nina", SAME), ("user list --matching nin", SAME),
    ("user password nina --password-stdin", DONE, "another one\n"), ("user note nina seen", DONE),
    ("user role nina admin", DONE), ("user list --role admin", SAME), ("user role nina user", DONE),
    ("user email nina nina@capulet.example", DONE), ("user phone nina +15550100", DONE), ("user second-factor off nina", DONE),
    ("user disable nina", DONE), ("user enable nina", DONE), ("user disconnect nina", DONE), ("user export nina", DONE),
    ("user import -", DONE, "jid,password,name\nmercutio,secret,\nbenvolio@localhost,secret,Benvolio\n"),
    ("user show nobody", SAME),
    ("session list", SAME), ("session show 00c0ffee00c0ffee", SAME), ("session close 00c0ffee00c0ffee", SAME),
    ("roster add nina tybalt --mutual", DONE), ("roster list nina", SAME),
    ("roster import -", DONE, "jid,contact,name,groups\nmercutio,benvolio,Ben,Friends\n"), ("roster export", SAME),
    ("roster remove nina tybalt --mutual", DONE), ("roster list tybalt", SAME),
    ("contact-group create staff --display-name Staff", DONE), ("contact-group add staff nina tybalt", DONE),
    ("contact-group list", SAME), ("contact-group create cellar", DONE), ("contact-group see staff cellar", DONE),
    ("contact-group show staff", SAME), ("contact-group unsee staff cellar", DONE), ("contact-group delete cellar --yes", DONE),
    ("contact-group remove staff tybalt", DONE), ("contact-group delete staff --yes", DONE),
    ("dialog create balcony --owner nina --name Balcony --member mercutio --external-id order-17", DONE), ("dialog list", SAME),
    ("dialog list --external-id order-17", SAME), ("dialog list --external-id order-17 --creator nina", SAME),
    ("dialog show balcony", SAME), ("dialog add balcony tybalt", DONE), ("dialog role balcony tybalt admin", DONE),
    ("dialog members balcony", SAME), ("dialog delete-message balcony 01j2s9sdqm1xq6", SAME), ("dialog remove balcony tybalt", DONE), ("dialog delete balcony --yes", DONE),
    ("announce Hello", DONE), ("motd set Hello", DONE), ("motd edit Hi", DONE), ("motd show", SAME), ("motd delete", DONE),
    ("invite create", NUMBER), ("invite list", SAME), ("invite revoke #", DONE),
    ("report list", SAME), ("report show 1", SAME), ("report dismiss 1", SAME),
    ("key add second --scope users:read", NUMBER), ("key list", SAME), ("key revoke #", DONE),
    ("webhook add https://backend.example/hook --event user.created", NUMBER), ("webhook list", SAME),
    ("webhook failures #", SAME), ("webhook enable #", DONE), ("webhook rotate #", DONE), ("webhook remove #", DONE),
    ("webhook test #", SAME),
    ("federation list", SAME), ("federation show elsewhere.example", SAME), ("federation test elsewhere.example", SAME),
    ("federation allow elsewhere.example", DONE), ("federation deny *.elsewhere.example", DONE), ("federation rules", SAME),
    ("federation forget elsewhere.example", DONE), ("federation close elsewhere.example", SAME),
    ("federation retry elsewhere.example", SAME), ("federation queue elsewhere.example", SAME),
    ("hold add mercutio@localhost --note Court", DONE), ("hold list", SAME), ("hold remove mercutio@localhost", DONE),
    ("retention status", SAME), ("retention run --dry-run", DONE), ("retention run", DONE), ("certificate show", PATHLESS), ("certificate renew", SAME),
    ("log level", SAME), ("log level debug", DONE), ("reload", DONE), ("health", DONE), ("stats", DONE), ("top", SAME),
    ("sending", SAME),
    ("audit --limit 5", DONE),
    ("backup /nowhere.db", LOCAL), ("export xep0227", HERE), ("import xep0227 PORTABLE", HERE), ("import prosody FOLDER", HERE),
    ("import ejabberd DUMP", HERE),
    ("user delete tybalt --yes", DONE), ("user delete nina --erase --yes", DONE), ("user list", SAME),
]
# Of the server's own machine: they refuse --server before they do anything.
OF_THIS_MACHINE = {
    "serve", "init", "restore", "check", "export xep0227", "import xep0227", "import prosody", "import ejabberd"}


class Shell:
    """A shell at another machine: it has a key and the server's authority, and no data folder."""

    def __init__(self, server, *scopes, domain=None, name="shell"):
        options = [part for scope in scopes for part in ("--scope", scope)] + (["--domain", domain] if domain else [])
        self.key = json.loads(server.command("key", "add", name, "--json", *options))["secret"]
        self.binary, self.url = str(server.binary), f"https://localhost:{server.settings['https__port']}"
        self.authority, self.home = server.certificate, server.folder
        self.file = os.path.join(server.folder, name + ".key")
        with open(os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(self.key + "\n")
        self.turn = 0

    def options(self):
        return ["--server", self.url, "--key-file", self.file, "--ca", self.authority]

    def run(self, *arguments, stdin="", options=None, **variables):
        options = self.options() if options is None else options
        # The options are written before the command and behind it, in turns.
        self.turn += 1
        words = [*options, *arguments] if self.turn % 2 else [*arguments, *options]
        return subprocess.run(
            [self.binary, *words], env={**environment(), **variables}, cwd="/", input=stdin, capture_output=True, text=True,
            timeout=PATIENCE)

    def does(self, *arguments, **more):
        done = self.run(*arguments, **more)
        expect(done.returncode == 0, f"{arguments}: status {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def fails(self, status, text, *arguments, **more):
        done = self.run(*arguments, **more)
        expect(done.returncode == status and text in done.stderr, f"{arguments}: status {done.returncode}: {done.stderr}{done.stdout}")
        expect(self.key not in done.stderr + done.stdout, "the key is told")


class Answers(http.server.BaseHTTPRequestHandler):
    """A web server that answers what it is told to."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        status, kind, body, *headers = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def leaves(command, path=()):
    """The commands without commands below, and whether their help shows `--server`."""
    path = (*path, command["commandName"])
    below = command.get("subcommands", [])
    if not below:
        takes = any(a["preferredName"]["name"] == "server" and a["shouldDisplay"] for a in command["arguments"] if "preferredName" in a)
        yield " ".join(path[1:]), takes
    for next_one in below:
        yield from leaves(next_one, path)


def every_command(checks, server, shell):
    table = json.loads(subprocess.run([shell.binary, "--experimental-dump-help"], capture_output=True, check=True).stdout)
    known = dict(leaves(table["command"]))
    with checks.check("every command that takes --server is tried here, and those of this machine refuse it"):
        takers = {name for name, takes in known.items() if takes}
        tried = {name for name in takers if any(c[0].split()[:len(name.split())] == name.split() for c in COMMANDS)}
        expect(tried == takers, f"not tried: {sorted(takers - tried)}")
        others = {name for name, takes in known.items() if not takes} - {"help"}
        expect(others == OF_THIS_MACHINE, f"{others}")
        for name in sorted(OF_THIS_MACHINE):
            more = [*name.split(), *(["x"] if name.startswith(("restore", "import")) else [])]
            shell.fails(2, "(command-local)", *more)
            shell.fails(2, "without PARLEY_SERVER", *more, options=[], PARLEY_SERVER=shell.url)
    number, printed = "", {}
    for command, end, *stdin in COMMANDS:
        with checks.check(f"elsewhere: parley {command}"):
            words = [w.replace("#", number) for w in command.split()]
            json_too = [] if words[0] in ("top", "backup", "import", "export") else ["--json"]
            done = shell.run(*words, *json_too, stdin="".join(stdin))
            if end not in (LOCAL, HERE):  # the paths of these are the caller's own
                printed[command] = done.stdout + done.stderr
            if end in (SAME, PATHLESS):
                here = subprocess.run(
                    [shell.binary, *words, *json_too, "--config", server.configuration], env=server.environment(), input="",
                    capture_output=True, text=True, timeout=PATIENCE)
                told = here.stdout
                if end == PATHLESS:
                    expect(server.folder in told, f"no path is shown here: {here}")
                    told = "".join(line for line in told.splitlines(True) if '"file" : ' not in line)
                expect((done.returncode, done.stdout, done.stderr) == (here.returncode, told, here.stderr),
                       f"elsewhere: {done}\nhere: {here}")
            elif end == HERE:
                expect(done.returncode == 2 and "(command-local)" in done.stderr, f"{done}")
            elif end == LOCAL:
                expect(done.returncode == 1 and "only on the server's own machine" in done.stderr, f"{done}")
            else:
                expect(done.returncode == 0, f"{done}")
            if end == NUMBER:
                made = json.loads(done.stdout)
                number = str(made.get("id") or made.get("key", made.get("webhook", {})).get("id"))
    with checks.check("elsewhere: no command prints a path of the server's machine"):
        expect({"certificate show", "reload", "health", "log level"} <= set(printed), f"{sorted(printed)}")
        told = {command: text for command, text in printed.items() if server.folder in text}
        expect(not told, f"{told}")


def pages(checks, server, shell):
    with checks.check("an import of more than a batch, and a list of more than a page, are whole"):
        rows = "jid,password,name\n" + "".join(f"someone{n:03},secret,\n" for n in range(510))
        shell.does("user", "import", "-", stdin=rows)
        listed = json.loads(shell.does("user", "list", "--json"))
        expect(sum(user["id"].startswith("someone") for user in listed) == 510, f"{len(listed)} users")
        acts = json.loads(server.command("audit", "--json", "--limit", "4"))
        expect([a["object"] for a in acts[-2:]] == ["10 users", "500 users"], f"{acts}")


def refusals(checks, server, shell):
    with checks.check("a key does what its scopes permit, in its domain, and the refusal names the scope"):
        narrow = Shell(server, "users:read", name="narrow")
        narrow.does("user", "list")
        narrow.fails(1, "lacks the scope users:write", "user", "add", "paris", "--generate")
        narrow.fails(1, "lacks the scope keys", "key", "list")
        narrow.fails(1, "lacks the scope server", "health")
        keys = Shell(server, "users:read", "keys", name="keys")
        keys.fails(1, "scope users:write, which it lacks", "key", "add", "more", "--scope", "users:write")
        server.command("user", "add", "paris@other.example", "--generate")
        other = Shell(server, "*", domain="other.example", name="other")
        listed = json.loads(other.does("user", "list", "--json"))
        expect([user["jid"] for user in listed] == ["paris@other.example"], f"{listed}")
        other.does("user", "note", "paris", "seen")
        other.fails(1, "There is no user mercutio@localhost", "user", "show", "mercutio@localhost")
        other.fails(1, "localhost is not served here", "user", "list", "--domain", "localhost")
        other.fails(1, "use a key of localhost", "health")
    with checks.check("the audit has who, what and from where"):
        acts = json.loads(server.command("audit", "--json", "--limit", "500"))
        found = {(a["actor"], a["surface"], a["origin"], a["operation"], a["object"], a.get("code")) for a in acts}
        for act in [("shell", "http", "127.0.0.1", "users.add", "nina", None),
                    ("narrow", "http", "127.0.0.1", "users.add", "/v1/admin/operations/users.add", "scope-missing"),
                    ("shell", "http", "127.0.0.1", "backup", "/v1/admin/operations/backup", "operation-local"),
                    ("other", "http", "127.0.0.1", "users.note", "paris", None)]:
            expect(act in found, f"{act} is not among {sorted(map(str, found))}")
    with checks.check("what is wrong is said in words"):
        ca = ["--ca", shell.authority]
        where = ["--server", shell.url]
        shell.fails(1, "is not trusted", "user", "list", options=[*where, "--key-file", shell.file])
        shell.fails(1, "is not trusted", "user", "list",
                    options=["--server", shell.url.replace("localhost", "127.0.0.2"), "--key-file", shell.file, *ca])
        shell.fails(1, "cannot be reached", "user", "list",
                    options=["--server", f"https://localhost:{free_port()}", "--key-file", shell.file, *ca])
        shell.fails(1, "does not know the key of PARLEY_KEY", "user", "list", options=[*where, *ca], PARLEY_KEY="parley_wrong")
        wrong = os.path.join(server.folder, "wrong.key")  # no prefix, as an access token
        with open(os.open(wrong, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("wrong\n")
        shell.fails(1, f"does not know the key of {wrong}: it was revoked", "user", "list", options=[*where, *ca, "--key-file", wrong])
        shell.fails(2, "requires an app key", "user", "list", options=[*where, *ca])
        shell.fails(2, "not a key", "user", "list", options=[*where, *ca, "--key-file", "parley_" + "x" * 43])
        shell.fails(2, "https://", "user", "list", options=["--server", "http://localhost", "--key-file", shell.file])
        shell.fails(2, "no such file", "user", "list", options=[*where, "--key-file", "/nowhere"])
        shell.fails(2, "no such file", "user", "list", options=[*where, "--key-file", shell.file, "--ca", "/nowhere"])
        shell.fails(2, "cannot be combined with --server", "user", "list", "--data", server.data)
        shell.fails(2, "require --server", "user", "list", options=["--key-file", shell.file])
        os.chmod(shell.file, 0o644)
        shell.fails(2, "chmod 600", "user", "list")
        os.chmod(shell.file, 0o600)
    with checks.check("health: where no Parley answers, it says what to look at next"):
        for port in (free_port(), server.http, server.xmpp):  # nobody, HTTP without TLS, and XMPP
            shell.fails(1, "is this its HTTPS port (https.port, 8443 by default)", "health",
                        options=["--server", f"https://localhost:{port}", "--key-file", shell.file, "--ca", shell.authority])
        shell.fails(1, "(--ca FILE adds one)", "health", options=["--server", shell.url, "--key-file", shell.file])
    with checks.check("variables say the same, and options of this machine decide before them"):
        variables = {"PARLEY_SERVER": shell.url, "PARLEY_KEY": shell.key, "PARLEY_CA": shell.authority}
        expect(shell.does("user", "list", options=[], **variables) == shell.does("user", "list"), "another list")
        here = shell.does("user", "list", "--data", server.data, options=[], **variables, PARLEY_DOMAINS="localhost,other.example")
        expect(here == shell.does("user", "list"), here)


def no_parley(checks, server, shell):
    """A web server in the place of Parley."""
    web = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.certificate, server.certificate.replace(".pem", ".key"))
    web.socket = context.wrap_socket(web.socket, server_side=True)
    thread = threading.Thread(target=web.serve_forever, daemon=True)
    thread.start()
    options = ["--server", f"https://localhost:{web.server_port}/", "--key-file", shell.file, "--ca", shell.authority]
    problem = "application/problem+json"
    try:
        with checks.check("a web page, an older server, another version and a busy server are told apart"):
            web.answers = [(404, "text/html", "<html>")]
            shell.fails(1, "is not a Parley server", "user", "list", options=options)
            web.answers = [(404, problem, '{"code":"path-unknown","detail":"There is nothing at this path."}')]
            shell.fails(1, "has no operation users.list: it is older", "user", "list", options=options)
            web.answers = [(200, "application/json", '{"people":[]}')]
            shell.fails(1, "is not of this command's version", "user", "list", options=options)
            web.answers = [(429, problem, '{"code":"requests-too-fast","detail":"Wait."}', ("Retry-After", "0")),
                           (200, "application/json", '{"items":[]}')]
            expect("no users" in shell.does("user", "list", options=options).lower(), "no list")
    finally:
        web.shutdown()
        web.server_close()


def secrecy(checks, shell):
    with checks.check("no process list shows the key while a command is under way"), \
            socket.create_server(("127.0.0.1", 0)) as silent:
        for options, more in [(["--key-file", shell.file], {}), ([], {"PARLEY_KEY": shell.key})]:
            process = subprocess.Popen(
                [shell.binary, "--server", f"https://localhost:{silent.getsockname()[1]}", *options, "user", "list"],
                env={**environment(), **more}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                silent.settimeout(PATIENCE)
                silent.accept()[0].close()
                lines = [path.read_bytes() for path in pathlib.Path("/proc").glob(f"{process.pid}/task/*/cmdline")]
                expect(all(shell.key.encode() not in line for line in lines), "the key is an argument")
            finally:
                process.wait(PATIENCE)


def run(checks):
    settings = dict(https__port=free_port(), domains="localhost,other.example")
    server = Server(**settings)
    del server.settings["domain"]
    with server:
        server.start()
        shell = Shell(server, "*", "keys")
        every_command(checks, server, shell)
        pages(checks, server, shell)
        refusals(checks, server, shell)
        no_parley(checks, server, shell)
        secrecy(checks, shell)
        server.stop()
        with checks.check("a stopped server is told as one that cannot be reached"):
            shell.fails(1, "cannot be reached", "user", "list")
