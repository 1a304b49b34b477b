"""What an administrator installs: `make install`, the completions in real shells, the man pages, and the Debian package in a test
root. (A file named packaging.py would hide a Python package of that name from other tests.)

The package is made of the debug binary by `make deb` itself, which is told that the release build is done; what differs for that
reason is in OF_THE_TEST. The test root is this machine's root file system with a layer above it that goes away with the test;
there systemd's own programs read the unit, and the server runs as its user with its restrictions (`lib/unit.py`).
"""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

from lib.harness import BINARY, PASSWORD, PATIENCE, ROOT, Server, environment, expect, free_port
from lib.unit import CONFINEMENT, Unit, libraries

# Of the test's package alone: the debug binary is linked to the toolchain's libraries, and nothing is compressed.
OF_THE_TEST = "custom-library-search-path,uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball"


def ask(*arguments, status=0, **more):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE * 5, **more)
    expect(done.returncode == status, f"{arguments}: status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def leaves(command, path=()):
    path = (*path, command["commandName"])
    if not command.get("subcommands"):
        yield " ".join(path)
    for child in command.get("subcommands", []):
        yield from leaves(child, path)


def clean():
    """The variables of this process without those of the make that runs the tests."""
    return {name: value for name, value in environment().items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


def installing(checks, root, binary):
    with checks.check("make install puts everything where it is looked for, and leaves a configuration alone"):
        mine = root / "etc/parley/parley.yaml"
        mine.parent.mkdir(parents=True)
        mine.write_text("domain: mine.example\n")
        ask("make", "-s", "-C", str(ROOT), "install", f"BINARY={binary}", f"DESTDIR={root}", "PREFIX=/usr", env=clean())
        expect(mine.read_text() == "domain: mine.example\n", "the configuration was replaced")
        mode = {path: (root / path).stat().st_mode & 0o777 for path in [
            "usr/bin/parley", "usr/share/bash-completion/completions/parley", "usr/share/zsh/site-functions/_parley",
            "usr/share/fish/vendor_completions.d/parley.fish", "usr/share/man/man1/parley.1",
            "usr/lib/systemd/system/parley.service", "usr/share/doc/parley/docs/operations.md", "usr/share/doc/parley/conf/parley.yaml"]}
        expect(mode.pop("usr/bin/parley") == 0o755, f"{mode}")
        expect(set(mode.values()) == {0o644}, f"{mode}")
        unit = (root / "usr/lib/systemd/system/parley.service").read_text()
        expect("ExecStart=/usr/bin/parley serve" in unit and "/usr/local" not in unit, unit)
        described = re.search(r"^Documentation=file:/(.+)$", unit, re.M)[1]
        expect((root / described).is_file(), f"the unit names {described}")
        ask("make", "-s", "-C", str(ROOT), "install", "BINARY=/nowhere", f"DESTDIR={root}", status=2, env=clean())


def heads(text):
    """The anchors of a document, as they are made of its headings."""
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*?) *$", text, re.M)]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in plain}


def follow(documents):
    """Every link of these documents that leads to another file or to a heading must lead to one that is there."""
    dead, number = [], 0
    text = {path: re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.S | re.M) for path in documents.resolve().rglob("*.md")}
    for path in text:
        for pair in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", re.sub(r"`[^`\n]*`", "", text[path])):
            link = "".join(pair)
            if re.match(r"[a-z]+:", link):
                continue
            number += 1
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            inside = target.exists() and target.is_relative_to(documents.resolve())
            if not inside or anchor and target in text and anchor not in heads(text[target]):
                dead.append(f"{path.relative_to(documents.resolve())}: {link}")
    expect(not dead, f"they lead nowhere: {dead}")
    expect(number > 300, f"only {number} links were found")


def describing(checks, root):
    with checks.check("every link of an installed document leads to an installed file"):
        follow(root / "usr/share/doc/parley")


def removing(checks, root):
    with checks.check("make uninstall removes what make install has installed, and nothing else"):
        mine = ["etc/parley/parley.yaml", "var/lib/parley/parley.db", "usr/share/man/man1/other.1", "usr/bin/other"]
        for name in mine[1:]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("mine")
        for _ in range(2):
            shown = ask("make", "-s", "-C", str(ROOT), "uninstall", f"DESTDIR={root}", "PREFIX=/usr", env=clean())
            left = [str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()]
            expect(sorted(left) == sorted(mine), f"{left}")
            expect(all(f"/{name}" in shown for name in ["etc/parley", "var/lib/parley", "var/backups/parley"]), shown)


def typed(keys, shell, *arguments, until):
    """What a shell shows, up to a text, when these keys are typed."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir("/")
        os.execvpe(shell, [shell, *arguments], {**clean(), "TERM": "dumb", "PATH": f"{BINARY.parent}:{os.environ['PATH']}"})
    shown, end = "", time.monotonic() + PATIENCE
    try:
        for wait_for, text in [*keys, (until, None)]:
            seen = len(shown) if text is None else 0
            while not re.search(wait_for, shown[seen:] if text is None else shown):
                ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
                expect(ready, f"no {wait_for} in\n{shown}")
                shown += os.read(terminal, 4096).decode(errors="replace")
            if text is not None:
                shown = ""
                os.write(terminal, text.encode())
        return shown
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def completing(checks, root):
    completions = root / "usr/share"
    with checks.check("bash completes commands, behind the options of a server elsewhere too"):
        script = r'''
            source "$1"
            function=$(complete -p parley | sed 's/.*-F \([^ ]*\).*/\1/')
            try() {
                COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=()
                "$function" parley "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                echo "${COMPREPLY[@]}"
            }
            try parley us; try parley user a; try parley --server x dialog mem; try parley backup --fi'''
        shown = ask("bash", "--norc", "-c", script, "bash", str(completions / "bash-completion/completions/parley"))
        expect(shown.split("\n") == ["user", "add", "members", "--files", ""], shown)
    with checks.check("fish completes commands with what they do"):
        shown = ask("fish", "-N", "-c", 'source $argv[1]; complete -C "parley us"; complete -C "parley user a"; '
                    'complete -C "parley dialog role team --rea"', str(completions / "fish/vendor_completions.d/parley.fish"))
        expect([row.split("\t")[0] for row in shown.splitlines()] == ["user", "add", "--reason"], shown)
    with checks.check("zsh completes commands"):
        start = f"PS1='rea''dy> '; fpath=({completions}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D\n"
        for keys, whole in [("parley us\t", "parley user "), ("parley user ad\t", "parley user add ")]:
            typed([("[%#] ", start), ("ready> ", keys)], "zsh", "-f", "-i", until=re.escape(whole))


def asking(checks):
    with checks.check("--password-stdin on a terminal asks for the password twice, and does not show it"), Server() as server:
        server.prepare()
        shown = typed(
            [("Password for nina", PASSWORD + "\n"), ("Again: ", PASSWORD + "\n")], str(BINARY.resolve()), "user", "add", "nina",
            "--password-stdin", "--config", server.configuration, "--data", server.data, until="Added nina@localhost")
        expect(PASSWORD not in shown, shown)


def manual(checks, root):
    pages = root / "usr/share/man/man1"
    with checks.check("every command has its part of a man page, and mandoc finds nothing wrong"):
        table = json.loads(ask(str(BINARY), "--experimental-dump-help"))["command"]
        ask("mandoc", "-Tlint", "-W", "warning", *sorted(map(str, pages.iterdir())))
        text = {page.stem: ask("man", "-l", str(page), env={**clean(), "MANWIDTH": "200", "LC_ALL": "C.UTF-8"}) for page in pages.iterdir()}
        for command in leaves(table):
            words = command.split()
            if words[1] == "help":
                continue
            page = text["-".join(words[:2])]
            expect(command in " ".join(page.split()), f"{command} is not in its page")
        example = "parley user add alice@localhost --password-stdin < secret.txt"
        expect(example in text["parley-user"], text["parley-user"])


# Run in the test root. The first argument is the folder of the package, the second a port, the third the plan of the unit in that folder.
IN_ROOT = r'''
set -euo pipefail
say() { printf '== %s\n' "$*"; }
dpkg --force-unsafe-io -i "$1"/parley_*.deb >/dev/null
say installed; id -un parley; stat -c '%U:%G %a %n' /etc/parley /etc/parley/parley.yaml /var/lib/parley /var/backups/parley; parley --version
man -w parley-user; test -f /lib/systemd/system/parley.service
say works
cd /
export PARLEY_XMPP_PORT=0 PARLEY_XMPP_TLS_PORT=0 PARLEY_HTTP_PORT=$2 PARLEY_HTTPS_PORT=0 PARLEY_METRICS_PORT=0
say unit
systemd-analyze verify /lib/systemd/system/parley.service 2>&1
# At most 2 of 10, 10 being a service that may do everything.
systemd-analyze security --offline=true --threshold=20 --no-pager /lib/systemd/system/parley.service | tail -n 1
say served
as_parley=(setpriv --reuid parley --regid parley --init-groups --bounding-set=-all --)
"${as_parley[@]}" parley check
say judged
# As docs/guides/production.md has it, by root and by the server's user, who gets the port from the unit.
for user in "${as_parley[*]}" ""; do
    PARLEY_HTTPS_PORT=443 PARLEY_BACKUP_EVERY=1d PARLEY_BACKUP_FOLDER=/var/backups/parley $user parley check
done
say misjudged
PARLEY_BACKUP_EVERY=1d PARLEY_BACKUP_FOLDER=/srv/parley parley check 2>&1 || echo "status $?"
say closed
install -m 0600 /dev/null /var/lib/parley/parley.db
parley check 2>&1 || echo "status $?"
"${as_parley[@]}" parley user list 2>&1 || echo "status $?"
rm /var/lib/parley/parley.db
say serving
mkfifo /tmp/said
printenv | grep ^PARLEY_ >/etc/default/parley
/usr/bin/python3 -I "$1"/confinement.py "$1/$3" >/dev/null 2>/tmp/said & server=$!
trap 'kill -9 $server 2>/dev/null || true' EXIT
exec 3</tmp/said
line=""
until [[ $line == *' parley: ready'* ]]; do read -r line <&3 || { echo "it ended before it was ready"; exit 1; }; echo "$line" >&2; done
cat <&3 >/dev/null &
say confined
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$server/status; id -u parley
say managed
"${as_parley[@]}" parley user add alice --generate >/dev/null
say agreed
# Without the variables of the unit and of its file, and with another folder in the configuration.
(
    unset "${!PARLEY_@}"
    cp /etc/parley/parley.yaml /tmp/kept
    sed 's|^data: .*|data: /srv/other|' /tmp/kept >/etc/parley/parley.yaml
    parley check --print --json
    parley check | grep PARLEY_DATA >&2
    parley user add bob --generate >&2
    (parley init 2>&1 || true) | grep '/var/lib/parley is in use' >&2
    say built
    ln /usr/bin/parley /tmp/parley
    /tmp/parley check --print --json
    cat /tmp/kept >/etc/parley/parley.yaml
    test ! -e /srv/other
)
"${as_parley[@]}" parley health >/dev/null
kill $server; wait $server
unset "${!PARLEY_@}"
say upgraded
sed -i 's/^#domain: .*/domain: mine.example/' /etc/parley/parley.yaml; chmod 0600 /etc/parley/parley.yaml
dpkg --force-unsafe-io -i "$1"/parley_*.deb >/dev/null
grep '^domain' /etc/parley/parley.yaml; stat -c %a /etc/parley/parley.yaml
say removed
dpkg -r parley >/dev/null
ls /etc/parley/parley.yaml /var/lib/parley/parley.db; test ! -e /usr/bin/parley
say purged
dpkg -P parley >/dev/null
ls -d /etc/parley /var/lib/parley /var/backups/parley /lib/systemd/system/parley.service /usr/share/doc/parley 2>/dev/null || true
dpkg -s parley 2>/dev/null || say unknown
'''

ROOT_SCRIPT = r'''
set -euo pipefail
mount -t tmpfs tmpfs "$1"
mkdir "$1"/upper "$1"/work "$1"/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1"/root
mount -t proc proc "$1"/root/proc
mount --rbind /dev "$1"/root/dev
mkdir "$1"/root/mnt/package
mount --bind "$2" "$1"/root/mnt/package
# The unit hides home directories, where a toolchain may be. A release has these libraries in it.
number=0
for library in "${@:6}"; do
    place="$1"/root/usr/local/lib/toolchain/$((number++))
    mkdir -p "$place"; mount --bind "$library" "$place"
    echo "${place#"$1"/root}" >>"$1"/root/etc/ld.so.conf.d/toolchain.conf
done
chroot "$1"/root ldconfig
exec chroot "$1"/root bash -c "$3" bash /mnt/package "$4" "$5"
'''


def package(checks, folder, binary):
    made = folder / "deb"
    with checks.check("make deb makes a Debian package of a release build, which is clean to lintian"):
        steps = ask("make", "-n", "-C", str(ROOT), "deb", env=clean())
        expect(-1 < steps.find("swift build -c release --product parley") < steps.find("packaging/deb --binary .build-static/parley "), steps)
        ask("make", "-C", str(ROOT), "--assume-old=release", "deb", f"BINARY={binary}", f"DEB_FOLDER={made}", "DEB_OPTIONS=--fast",
            f"LINTIAN_OPTIONS=--suppress-tags {OF_THE_TEST}", env=clean())
        (deb,) = made.glob("parley_*.deb")
        depends = ask("dpkg-deb", "--field", str(deb), "Depends")
        expect(all(name in depends for name in ["libsqlite3-0", "libcurl4", "adduser"]), depends)
        (folder / "unpacked").mkdir()
        archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True, timeout=PATIENCE).stdout
        subprocess.run(
            ["tar", "-x", "-C", folder / "unpacked", "./usr/share/doc/parley"], input=archive, capture_output=True, check=True, timeout=PATIENCE)
        follow(folder / "unpacked/usr/share/doc/parley")
    with checks.check("it is installed, serves, is upgraded, removed and purged in a test root"):
        expect(os.geteuid() == 0, "a test root needs root")
        (folder / "root").mkdir()
        (deb,) = made.glob("parley_*.deb")
        archive = subprocess.run(["dpkg-deb", "--fsys-tarfile", deb], capture_output=True, check=True, timeout=PATIENCE).stdout
        text = subprocess.run(
            ["tar", "-xO", "./lib/systemd/system/parley.service"], input=archive, capture_output=True, check=True, timeout=PATIENCE).stdout
        unit = Unit(text.decode())
        shutil.copy(CONFINEMENT, made)
        plan = pathlib.Path(unit.write(made, unit.command)).name
        shown = ask("unshare", "--mount", "--propagation", "private", "bash", "-c", ROOT_SCRIPT, "bash",
                    str(folder / "root"), str(made), IN_ROOT, str(free_port()), plan, *libraries(BINARY), env={**clean(), "LC_ALL": "C.UTF-8"})
        parts = dict(part.split("\n", 1) for part in shown.split("== ")[1:])
        expect(parts["installed"].splitlines()[:6] == [
            "parley", "root:parley 750 /etc/parley", "root:parley 640 /etc/parley/parley.yaml", "parley:parley 700 /var/lib/parley",
            "parley:parley 700 /var/backups/parley",
            ask(str(BINARY), "--version").strip()], shown)
        expect("/usr/share/man/man1/parley-user.1.gz" in parts["installed"], shown)
        # systemd-analyze is silent of a unit in which it finds nothing.
        expect(re.fullmatch(r".* exposure level for parley\.service: [\d.]+ .*\n", parts["unit"]), parts["unit"])
        # Nothing of the guide's configuration is doubtful, and what the server may not write to is.
        expect(parts["judged"].count("The configuration is good") == 2, shown)
        expect("CAP_NET_BIND_SERVICE" not in parts["judged"] and "/var/" not in parts["judged"], parts["judged"])
        refusal = ("parley: backup.folder: there is no folder /srv/parley; sudo install -d -o parley -m 0700 /srv/parley; "
                   "sudo systemctl edit parley and add ReadWritePaths=/srv/parley under [Service].")
        expect(parts["misjudged"].splitlines() == [refusal, "status 2"], parts["misjudged"])
        # A file of root in the folder of the server, judged by root and met by the server's user.
        database, mending = "/var/lib/parley/parley.db", "sudo chown -R parley /var/lib/parley"
        expect(f"{database} cannot be opened by parley, the user of the server: {mending}\nstatus 2\n" in parts["closed"], parts["closed"])
        runs = f"{database} cannot be opened; {database} belongs to root, and this process runs as parley: {mending}\nstatus 1\n"
        expect(runs in parts["closed"], parts["closed"])
        found, parley = dict(re.findall(r"^(\w+):\s*(.*)$", parts["confined"], re.M)), parts["confined"].split()[-1]
        expect(found["Uid"].split() == [parley] * 4 and parley != "0" and (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2"), f"{found}")
        expect({found["CapEff"], found["CapBnd"]} == {f"{1 << 10:016x}"}, f"{found}")
        agreed = {row["key"]: (row["value"], row["origin"]) for row in json.loads(parts["agreed"])}
        expect(agreed["data"] == ("/var/lib/parley", "PARLEY_DATA") and agreed["http.port"][1] == "PARLEY_HTTP_PORT", f"{agreed}")
        # That of a checkout, which is none of the unit.
        built = {row["key"]: row["value"] for row in json.loads(parts["built"])}
        expect(built["data"] == "/srv/other" and built["http.port"] != agreed["http.port"][0], f"{built}")
        expect(parts["upgraded"].split() == ["domain:", "mine.example", "600"], shown)
        expect(parts["removed"].split() == ["/etc/parley/parley.yaml", "/var/lib/parley/parley.db"], shown)
        expect(parts["purged"] == "" and "unknown" in parts, shown)


def run(checks):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-installation-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        root = folder / "installed"
        # The symbols of a debug build are half of it.
        binary = folder / "parley"
        ask("strip", "-o", str(binary), str(BINARY))
        installing(checks, root, binary)
        completing(checks, root)
        asking(checks)
        manual(checks, root)
        describing(checks, root)
        removing(checks, root)
        package(checks, folder, binary)
