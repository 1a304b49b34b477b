"""`conf/parley.service`, read line by line, and the process that systemd would make of it where systemd is not the first process: the same
user, folders, environment, limits, capabilities, file systems and filters of system calls, by `lib/confinement.py`. What of a line is not
reproduced is in NOT_REPRODUCED. A line that is neither reproduced nor there is a failure, so that somebody decides on it.
"""
import errno
import functools
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from lib.confinement import CAPABILITIES
from lib.harness import PATIENCE, ROOT, expect

FILE = ROOT / "conf" / "parley.service"
CONFINEMENT = pathlib.Path(__file__).with_name("confinement.py")
MANAGER = "a matter of the service manager: the test starts and ends the server"
NOT_REPRODUCED = {
    "Description": "a text", "Documentation": "a text", "WantedBy": MANAGER, "After": MANAGER, "Wants": MANAGER,
    "StartLimitIntervalSec": MANAGER, "StartLimitBurst": MANAGER, "Type": MANAGER, "Restart": MANAGER, "RestartSec": MANAGER,
    "RestartPreventExitStatus": MANAGER, "KillMode": MANAGER, "OOMPolicy": MANAGER,
    "LimitNOFILE": "at most the limit that root has, where root may not raise it",
    "RemoveIPC": "what the user has left of System V IPC stays",
    "PrivateDevices": "without the rules of cgroups for devices; the nodes are not there, and none can be made",
    "ProtectClock": "without the rules of cgroups for devices",
    "ProtectKernelTunables": "without masks over files that few machines have",
}
# The numbers of <bits/socket.h>, for socket(2).
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17}
FAMILIES_END = 46
NAMESPACES = [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]  # clone(2), CLONE_NEW*
SET_IDS = [0o4000, 0o2000]
O_CREAT, PROT_EXEC, PROT_WRITE, SHM_EXEC = 0o100, 4, 2, 0o100000
SCHEDULES, SCHEDULES_END = [0, 3, 5], 6  # SCHED_OTHER, SCHED_BATCH, SCHED_IDLE
# The position of the mode among the arguments of each call; for calls that also open what is there, that of their flags, too.
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2, "creat": 1}
OPENING = {"open": (2, 1), "openat": (3, 2)}


@functools.cache
def calls(word):
    """The system calls of a word of SystemCallFilter=. The groups are those of this machine's systemd."""
    if not word.startswith("@"):
        return frozenset([word])
    done = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter", word], capture_output=True, text=True, timeout=PATIENCE)
    expect(done.returncode == 0, f"systemd-analyze knows no {word}: {done.stderr}")
    words = [line.strip() for line in done.stdout.splitlines()[1:]]
    return frozenset().union(*(calls(each) for each in words if each and not each.startswith("#")))


def libraries(binary):
    """The folders of libraries that are not the system's: a debug binary is linked to the toolchain's."""
    done = subprocess.run(["ldd", binary], capture_output=True, text=True, timeout=PATIENCE)
    paths = [pathlib.Path(path) for path in re.findall(r"=> (/\S+)", done.stdout)]
    return sorted({path.parent for path in paths if path.parts[1] not in ("lib", "lib64") and path.parts[1:3] != ("usr", "lib")})


class Unit:
    """A unit, read from its text, and the plan for `lib/confinement.py` that comes of it."""

    def __init__(self, text):
        self.lines = [line.split("=", 1) for line in text.splitlines() if line and line[0] not in "#;["]
        self.command, self.reload, self.stops = None, None, None
        self.allowed, self.error, self.native = None, errno.EPERM, False
        self.removed = set()  # capabilities
        self.plan = {
            "environment": {}, "environment_files": [], "directories": [], "limits": {}, "umask": 0o022, "working_directory": "/",
            "bounding": CAPABILITIES, "ambient": [], "no_new_privileges": False, "own_hostname": False, "strict": False,
            "private_devices": False, "private_tmp": False, "proc": None, "inaccessible": [], "writable": [], "read_only": [], "filters": []}
        for name, value in self.lines:
            reproduce = getattr(self, name, None)
            expect(reproduce or name in NOT_REPRODUCED, f"nobody has decided what the tests do with {name}=")
            expect("%" not in value and not value.endswith("\\"), f"{name}={value}: specifiers and continued lines are not read")
            if reproduce:
                reproduce(value)
        expect(self.command and "user" in self.plan, "there is no command, or no user")
        self.plan["bounding"] = [name for name in self.plan["bounding"] if name not in self.removed]
        if self.native:
            self._filter(None, [], native=True)
        # The last one, as in systemd: the others are not loaded behind it.
        if self.allowed is not None:
            self._filter(self.error, [[name, None, []] for name in sorted(self.allowed)])

    @property
    def left_out(self):
        """A line for each reason, with the directives that are not reproduced for it."""
        names = {}
        for name in dict.fromkeys(name for name, _ in self.lines if name in NOT_REPRODUCED):
            names.setdefault(NOT_REPRODUCED[name], []).append(f"{name}=")
        return [f"{', '.join(those)}: {reason}" for reason, those in names.items()]

    def _filter(self, default, rules, native=False):
        self.plan["filters"].append({"default": default, "rules": rules, "native": native})

    def _refuse(self, names):
        self._filter(None, [[name, errno.EPERM, []] for name in sorted(names)])

    # Each method has the name of the directive that it reproduces, and refuses values that it does not reproduce.

    def ExecStart(self, value):
        expect(not self.command and "$" not in value, "one command without variables is read")
        self.command = shlex.split(value)

    def ExecReload(self, value):
        self.reload = shlex.split(value)

    def TimeoutStopSec(self, value):
        self.stops = int(value)

    def Environment(self, value):
        self.plan["environment"] |= dict(word.split("=", 1) for word in shlex.split(value))

    def EnvironmentFile(self, value):
        self.plan["environment_files"].append([value.removeprefix("-"), value.startswith("-")])

    def User(self, value):
        self.plan["user"] = value

    def Group(self, value):
        self.plan["group"] = value

    def StateDirectory(self, value):
        self.state = f"/var/lib/{value}"
        self.plan["directories"].append([self.state, 0o755, True])
        self.plan["environment"]["STATE_DIRECTORY"] = self.state
        self.plan["writable"].append([self.state, False])

    def StateDirectoryMode(self, value):
        self._mode(self.state, value)

    def ConfigurationDirectory(self, value):
        self.configuration = f"/etc/{value}"
        self.plan["directories"].append([self.configuration, 0o755, False])
        self.plan["environment"]["CONFIGURATION_DIRECTORY"] = self.configuration

    def ConfigurationDirectoryMode(self, value):
        self._mode(self.configuration, value)

    def _mode(self, path, value):
        (directory,) = [each for each in self.plan["directories"] if each[0] == path]
        directory[1] = int(value, 8)

    def WorkingDirectory(self, value):
        self.plan["working_directory"] = value

    def UMask(self, value):
        self.plan["umask"] = int(value, 8)

    def LimitNOFILE(self, value):
        self.plan["limits"]["RLIMIT_NOFILE"] = int(value)

    def _capabilities(self, value):
        names = [name.removeprefix("CAP_") for name in value.split()]
        expect(set(names) <= set(CAPABILITIES), f"there is no capability in {value}")
        return names

    def AmbientCapabilities(self, value):
        self.plan["ambient"] = self._capabilities(value)

    def CapabilityBoundingSet(self, value):
        self.plan["bounding"] = self._capabilities(value)

    def NoNewPrivileges(self, value):
        self._is(value, "yes")
        self.plan["no_new_privileges"] = True

    def _is(self, value, expected):
        expect(value == expected, f"{value} is not reproduced, {expected} is")

    def ProtectSystem(self, value):
        self._is(value, "strict")
        self.plan["strict"] = True

    def ReadWritePaths(self, value):
        self.plan["writable"] += [[path.removeprefix("-"), path.startswith("-")] for path in value.split()]

    def ProtectHome(self, value):
        self._is(value, "yes")
        self.plan["inaccessible"] += ["/home", "/root", "/run/user"]

    def PrivateTmp(self, value):
        self._is(value, "yes")
        self.plan["private_tmp"] = True

    def PrivateDevices(self, value):
        self._is(value, "yes")
        self.plan["private_devices"] = True
        self.removed |= {"MKNOD", "SYS_RAWIO"}
        self._refuse(calls("@raw-io"))

    def ProtectClock(self, value):
        self._is(value, "yes")
        self.removed |= {"SYS_TIME", "WAKE_ALARM"}
        self._refuse(calls("@clock"))

    def ProtectHostname(self, value):
        self._is(value, "yes")
        self.plan["own_hostname"] = True
        self._refuse(["sethostname", "setdomainname"])

    def ProtectKernelLogs(self, value):
        self._is(value, "yes")
        self.plan["inaccessible"] += ["/proc/kmsg", "/dev/kmsg"]
        self.removed.add("SYSLOG")
        self._refuse(["syslog"])

    def ProtectKernelModules(self, value):
        self._is(value, "yes")
        self.plan["inaccessible"].append("/usr/lib/modules")
        self.removed.add("SYS_MODULE")
        self._refuse(calls("@module"))

    def ProtectKernelTunables(self, value):
        self._is(value, "yes")
        self.plan["inaccessible"] += ["/proc/kallsyms", "/proc/kcore"]
        self.plan["read_only"] += ["/proc/sys", "/proc/sysrq-trigger", "/proc/fs", "/proc/irq", "/proc/bus", "/sys"]

    def ProtectControlGroups(self, value):
        self._is(value, "yes")
        self.plan["read_only"].append("/sys/fs/cgroup")

    def ProtectProc(self, value):
        self._is(value, "invisible")
        self.plan["proc"] = value

    def RestrictAddressFamilies(self, value):
        expect(set(value.split()) <= set(FAMILIES), f"{value}: only {', '.join(FAMILIES)} are known")
        allowed = {FAMILIES[name] for name in value.split()}
        refused = [["==", family] for family in range(FAMILIES_END) if family not in allowed] + [[">=", FAMILIES_END]]
        self._filter(None, [["socket", errno.EAFNOSUPPORT, [[0, operation, family, 0]]] for operation, family in refused])

    def RestrictNamespaces(self, value):
        self._is(value, "yes")
        self._filter(None, [
            *([name, errno.EPERM, [[index, "&", flag, flag]]]
              for flag in NAMESPACES for name, index in [("unshare", 0), ("clone", 0), ("setns", 1)]),
            ["setns", errno.EPERM, [[1, "==", 0, 0]]],
            ["clone3", errno.ENOSYS, []]])  # its flags are behind a pointer; the C library then uses clone

    def RestrictRealtime(self, value):
        self._is(value, "yes")
        refused = [["==", policy] for policy in range(SCHEDULES_END) if policy not in SCHEDULES] + [[">=", SCHEDULES_END]]
        self._filter(None, [["sched_setscheduler", errno.EPERM, [[1, operation, policy, 0]]] for operation, policy in refused])

    def RestrictSUIDSGID(self, value):
        self._is(value, "yes")
        self._filter(None, [
            *([name, errno.EPERM, [[index, "&", bit, bit]]] for bit in SET_IDS for name, index in MODES.items()),
            *([name, errno.EPERM, [[flags, "&", O_CREAT, O_CREAT], [index, "&", bit, bit]]]
              for bit in SET_IDS for name, (index, flags) in OPENING.items()),
            ["openat2", errno.ENOSYS, []]])

    def LockPersonality(self, value):
        self._is(value, "yes")
        self._filter(None, [["personality", errno.EPERM, [[0, "!=", 0, 0]]]])

    def MemoryDenyWriteExecute(self, value):
        self._is(value, "yes")
        both = PROT_EXEC | PROT_WRITE
        self._filter(None, [
            ["mmap", errno.EPERM, [[2, "&", both, both]]],
            *([name, errno.EPERM, [[2, "&", PROT_EXEC, PROT_EXEC]]] for name in ("mprotect", "pkey_mprotect")),
            ["shmat", errno.EPERM, [[2, "&", SHM_EXEC, SHM_EXEC]]]])

    def SystemCallArchitectures(self, value):
        self._is(value, "native")
        self.native = True

    def SystemCallFilter(self, value):
        """The first line begins the list of what is allowed; each further one adds to it, or with ~ removes from it."""
        words = value.removeprefix("~").split()
        named = frozenset().union(*map(calls, words))
        if value.startswith("~"):
            expect(self.allowed is not None, "a list of what is refused is not reproduced")
            self.allowed -= named
        else:
            self.allowed = (calls("@default") if self.allowed is None else self.allowed) | named

    def SystemCallErrorNumber(self, value):
        self.error = getattr(errno, value)

    # The processes.

    def write(self, folder, command, **more):
        """Writes the plan of this command to a new file in this folder. Returns its path."""
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix="plan-", delete=False) as file:
            json.dump({**self.plan, "command": command, **more}, file)
        return file.name

    def confined(self, folder, command, **more):
        """The command with which root starts this one as the unit's user with its restrictions."""
        return [sys.executable, "-I", str(CONFINEMENT), self.write(folder, command, **more)]
