"""Parley on a machine of a small internet as an operator installs it (docs/operations.md, "With systemd"): the machine has the folders
of OWN for itself, and the user of the unit, and the server runs as that user with the unit's restrictions (`lib/unit.py`).
"""
import json
import os
import pathlib
import re
import subprocess

import yaml

from lib.harness import BINARY, DOCS, PATIENCE, ROOT, environment, expect
from lib.internet import NETWORKS, halt
from lib.partners import Parley
from lib.unit import FILE, Unit, libraries

# The folders that the commands of an installation change. /var/tmp is none of them: it may have the temporary folders of the tests.
OWN = ["/etc", "/usr/local", "/var/backups", "/var/cache", "/var/lib"]
MEGABYTES = 8_192  # of the file system below them, enough for `parley check --network`
# In place of programs that are not here, or would change more than this machine. `sudo` resets the environment as Debian's does.
STAND_INS = {
    "sudo": '''[ "$1" = -u ] || exec "$@"
        user=$2; shift 2
        exec setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env -i LANG=C.UTF-8 USER="$user" LOGNAME="$user" \\
            HOME="$(getent passwd "$user" | cut -d: -f6)" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"''',
    "make": '''case "$*" in release | install) ;; *) exit 1 ;; esac''',  # `_install` does it
    "systemctl": '''case "$*" in
        "stop prosody" | "enable parley") ;;
        "enable --now parley" | "restart parley" | "try-reload-or-restart parley") echo "$*" >>"$MACHINE/systemctl" ;;
        *) exit 1 ;; esac''',
}


def merged(one, other):
    """`one` with what `other` has besides, which decides where both say something."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return other
    return {**one, **{key: merged(one[key], value) if key in one else value for key, value in other.items()}}


def separate(run, layers):
    """Gives a mount namespace folders of its own, as layers above what the machine of the tests has. `run` runs a command in it."""
    run("mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=0755", "tmpfs", layers)
    for path in OWN:
        upper, work = (layers / kind / path[1:].replace("/", "-") for kind in ("upper", "work"))
        run("install", "-d", "-m", "0755", upper, work)
        run("mount", "-t", "overlay", "-o", f"lowerdir={path},upperdir={upper},workdir={work}", "overlay", path)


def bring_libraries(run, root):
    """Puts the toolchain's libraries where the unit hides nothing; a release has them in it."""
    places = []
    for number, folder in enumerate(libraries(BINARY)):
        places.append(f"/usr/local/lib/toolchain/{number}")
        run("install", "-d", places[-1])
        run("mount", "--bind", folder, places[-1])
    (root / "etc/ld.so.conf.d/toolchain.conf").write_text("".join(f"{place}\n" for place in places))
    run("ldconfig", env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"})


class Installed(Parley):
    """`words` are what the documents say, and what it is on this machine; `settings` what this internet needs of a configuration."""

    def __init__(self, machine, stand_ins=(), **words):
        super().__init__(machine)
        self.configuration.unlink()
        self.configuration = "/etc/parley/parley.yaml"
        self.words = {"chat.example.org": f"chat.{machine.domain}", "example.org": machine.domain, **words}
        self.root = pathlib.Path(f"/proc/{machine.space.pid}/root")  # the files as processes of this machine see them
        self.home, self.programs = self.folder / "home", self.folder / "bin"
        for folder in (self.home, self.programs):
            folder.mkdir()
        for name, body in {**STAND_INS, **dict(stand_ins)}.items():
            (self.programs / name).write_text(f"#!/bin/bash\nset -eu\n{body}\n")
            (self.programs / name).chmod(0o755)
        self.asked = self.folder / "systemctl"
        self._separate()
        self._install()
        self.unit = Unit((self.root / "usr/local/lib/systemd/system/parley.service").read_text())
        operations = (DOCS / "operations.md").read_text().split("\n## With systemd\n")[1]
        block = re.search(r"^```\n(.*?)^```$", operations, re.S | re.M)[1]
        self.type(block.split("sudoedit /etc/parley/parley.yaml\n")[0])
        # The CA and the networks of this internet, which the user of the unit can read.
        authority = self.trusted("authority", self.internet.authority.path.read_bytes())
        self.settings = {"outgoing": {"authorities": authority, "networks": NETWORKS.split(",")}}

    def _separate(self):
        layers, run = self.folder / "layers", self.machine.space.run
        layers.mkdir()
        separate(run, layers)
        # It was bound in the /etc below.
        run("sh", "-c", f"mount --bind '{self.internet.resolver}' \"$(realpath -m /etc/resolv.conf)\"")

    def _install(self):
        """Does what `make install` does, except for manuals and completions, which take long. The binary has hundreds of megabytes, and is
        not copied."""
        run = self.machine.space.run
        run("install", "-D", "-m", "0755", "/dev/null", "/usr/local/bin/parley")
        run("mount", "--bind", BINARY.resolve(), "/usr/local/bin/parley")
        bring_libraries(run, self.root)
        run("install", "-D", "-m", "0644", FILE, "/usr/local/lib/systemd/system/parley.service")
        run("install", "-D", "-m", "0640", ROOT / "conf" / "parley.minimal.yaml", self.configuration)
        # A crash must not start a symbolicator before it is noticed.
        (self.root / "etc/default/parley").write_text("SWIFT_BACKTRACE=enable=no\n")

    def trusted(self, name, certificates):
        """Writes a file with these authorities, which everybody may read. Returns its path on this machine."""
        path = f"/etc/ssl/{name}.pem"
        file = self.root / path[1:]
        file.write_bytes(certificates)
        file.chmod(0o644)
        return path

    def here(self, text):
        return re.sub("|".join(map(re.escape, self.words)), lambda found: self.words[found.group()], text)

    def configure(self, text):
        """The configuration of a guide, and what this internet needs. The file keeps its mode and its owners, as with sudoedit."""
        configuration = merged(yaml.safe_load(self.here(text)), self.settings)
        (self.root / self.configuration[1:]).write_text(yaml.safe_dump(configuration, sort_keys=False))

    def environment(self):
        return {**environment(), "MACHINE": str(self.folder), "PATH": f"{self.programs}:{os.environ['PATH']}:/usr/sbin:/sbin"}

    def command(self):
        return self.unit.confined(self.folder, self.unit.command)

    def type(self, block, within=(), **variables):
        """Runs a block as a root shell would, on this machine, and then does what systemctl was asked for. Returns what the block prints."""
        typed = f"cd '{self.home}'\n{self.here(block)}"
        done = subprocess.run(
            self.machine.space.enter(*within, "bash", "-euo", "pipefail", "-c", typed), env={**self.environment(), **variables},
            capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, f"status {done.returncode}:\n{block}\n{done.stderr}{done.stdout}")
        if self.asked.exists():
            asked = self.asked.read_text().split("\n")[:-1]
            self.asked.unlink()
            for command in asked:
                self._manage(command)
        return done.stdout

    def _manage(self, command):
        runs = self.process and self.process.poll() is None
        if command.startswith("try-"):
            if runs:
                self.reload()
            return
        if runs:
            self.stop()
        self.start()

    def reload(self):
        """ExecReload=, by the same user and with the same restrictions."""
        command = [word.replace("$MAINPID", str(self.process.pid)) for word in self.unit.reload]
        self.machine.space.run(*self.unit.confined(self.folder, command))

    def stop(self):
        halt(self.process, self.unit.stops)

    def run(self, *arguments, **options):
        """A command of the operator, as root."""
        return self.machine.space.run("parley", *arguments, env=self.environment(), **options)

    def tries(self, tries):
        """Returns what these expressions give as the unit's user with its restrictions; see `lib/confinement.py`."""
        return json.loads(self.machine.space.run(*self.unit.confined(self.folder, [], tries=tries)))
