"""`python3 confinement.py PLAN` becomes a program that is restricted as systemd restricts the process of a unit (systemd.exec(5)). PLAN is
a file with JSON; `lib.unit` makes it of a unit. It needs root, and imports nothing of the tests: another machine's Python can run it.

With `tries` in PLAN no program is started. These expressions are evaluated under the restrictions instead, and what each gives, or the
error by which it fails, is printed as JSON.
"""
import ctypes
import errno
import grp
import json
import mmap
import os
import pwd
import resource
import signal
import socket
import sys

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 32, 4096, 8192, 16384, 1 << 18
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWUTS = 0x20000, 0x4000000
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000  # mount_setattr(2); one number on all machines
PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 8, 24, 38, 47
PR_CAP_AMBIENT_RAISE, LINUX_CAPABILITY_VERSION_3 = 2, 0x20080522
SCMP_ACT_ALLOW, SCMP_ACT_ERRNO, SCMP_FLTATR_ACT_BADARCH, SCMP_FLTATR_CTL_NNP = 0x7FFF0000, 0x50000, 2, 3
COMPARISONS = {"!=": 1, "<": 2, "<=": 3, "==": 4, ">=": 5, ">": 6, "&": 7}
# The names of <linux/capability.h>, in the order of their numbers.
CAPABILITIES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN "
    "NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME "
    "SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON "
    "BPF CHECKPOINT_RESTORE").split()
# The nodes, folders and links that PrivateDevices= leaves in /dev.
NODES = ["null", "zero", "full", "random", "urandom", "tty"]
FOLDERS = ["pts", "shm", "mqueue", "hugepages"]
LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    """Calls a function of the C library, which fails by -1 and errno."""
    found = getattr(libc, name)(*arguments)
    if found == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return found


def prctl(option, *arguments):
    call("prctl", option, *(ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]))


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp of libseccomp."""
    _fields_ = [("index", ctypes.c_uint), ("operation", ctypes.c_int), ("one", ctypes.c_uint64), ("other", ctypes.c_uint64)]


class Filters:
    """libseccomp, by which systemd filters as well. It is loaded while its file can still be reached."""

    def __init__(self):
        self.seccomp = ctypes.CDLL("libseccomp.so.2")
        self.seccomp.seccomp_init.restype = ctypes.c_void_p
        for name in ("seccomp_load", "seccomp_release"):
            getattr(self.seccomp, name).argtypes = [ctypes.c_void_p]
        self.seccomp.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
        self.seccomp.seccomp_rule_add_array.argtypes = [
            ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)]

    @staticmethod
    def check(found):
        if found < 0:
            raise OSError(-found, f"libseccomp: {os.strerror(-found)}")

    @staticmethod
    def action(code):
        return SCMP_ACT_ALLOW if code is None else SCMP_ACT_ERRNO | code

    def load(self, default, rules, native):
        """`default` and each rule's code are errors, or nil for calls that are allowed. `native`: calls of another architecture are killed."""
        context = self.seccomp.seccomp_init(self.action(default))
        self.check(self.seccomp.seccomp_attr_set(context, SCMP_FLTATR_CTL_NNP, 0))
        if not native:
            self.check(self.seccomp.seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW))
        for name, code, comparisons in rules:
            number = self.seccomp.seccomp_syscall_resolve_name(name.encode())
            if number < 0:
                continue  # this architecture has no such call
            array = (Comparison * len(comparisons))(*(
                Comparison(index, COMPARISONS[operation], one, other) for index, operation, one, other in comparisons))
            self.check(self.seccomp.seccomp_rule_add_array(context, self.action(code), number, len(comparisons), array))
        self.check(self.seccomp.seccomp_load(context))
        self.seccomp.seccomp_release(context)


def mount(source, target, kind=None, flags=0, options=None):
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    call("mount", *encoded[:3], ctypes.c_ulong(flags), encoded[3])


def change(path, add=0, remove=0, recursive=True):
    """Changes attributes of a mount and of those below it. Their values are those of the flags above (mount_setattr(2))."""
    attributes = (ctypes.c_uint64 * 4)(add, remove, 0, 0)
    call("syscall", ctypes.c_long(SYS_MOUNT_SETATTR), AT_FDCWD, os.fsencode(path), AT_RECURSIVE if recursive else 0,
         ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)))


def directories(plan, user, group):
    """Makes StateDirectory= and ConfigurationDirectory= with their modes and owners. A configuration that is there is left as it is."""
    for path, mode, owned in plan["directories"]:
        there = os.path.isdir(path)
        os.makedirs(path, mode, exist_ok=True)
        if owned and (os.stat(path).st_uid, os.stat(path).st_gid) != (user.pw_uid, group.gr_gid):
            for place, _, names in os.walk(path):
                for each in (place, *(os.path.join(place, name) for name in names)):
                    os.chown(each, user.pw_uid, group.gr_gid, follow_symlinks=False)
        if owned or not there:
            os.chmod(path, mode)


def private_devices(scratch):
    """Mounts a /dev without physical devices."""
    made = f"{scratch}/dev"
    os.mkdir(made)
    mount("tmpfs", made, "tmpfs", MS_NOSUID, "mode=755,size=4m")
    for name in NODES:
        open(f"{made}/{name}", "w").close()
        mount(f"/dev/{name}", f"{made}/{name}", flags=MS_BIND)
    for name in FOLDERS:
        if os.path.isdir(f"/dev/{name}"):
            os.mkdir(f"{made}/{name}")
            mount(f"/dev/{name}", f"{made}/{name}", flags=MS_BIND | MS_REC)
    for name, target in LINKS.items():
        os.symlink(target, f"{made}/{name}")
    mount(made, "/dev", flags=MS_MOVE)


def file_systems(plan):
    call("unshare", CLONE_NEWNS | (CLONE_NEWUTS if plan["own_hostname"] else 0))
    mount(None, "/", flags=MS_REC | MS_PRIVATE)
    scratch = "/tmp"
    mount("tmpfs", scratch, "tmpfs", 0, "mode=700")
    # All that follows, such as the nodes that are made inaccessible, is about this /dev.
    if plan["private_devices"]:
        private_devices(scratch)
    if plan["proc"]:
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, f"hidepid={plan['proc']}")
    os.mkdir(f"{scratch}/folder", 0)
    open(f"{scratch}/file", "w").close()
    os.chmod(f"{scratch}/file", 0)
    for path in plan["inaccessible"]:
        if os.path.exists(path):
            mount(f"{scratch}/folder" if os.path.isdir(path) else f"{scratch}/file", path, flags=MS_BIND)
    for path, optional in plan["writable"] + [[path, True] for path in plan["read_only"]]:
        if os.path.exists(path) or not optional:
            mount(path, path, flags=MS_BIND | MS_REC)
    if plan["strict"]:
        change("/", add=MS_RDONLY)
        for path in ["/dev", "/proc", "/sys"]:
            if os.path.ismount(path):
                change(path, remove=MS_RDONLY)
    if plan["private_devices"]:
        change("/dev", add=MS_RDONLY | MS_NOEXEC, recursive=False)
    for path in plan["read_only"]:
        if os.path.exists(path):
            change(path, add=MS_RDONLY)
    for path, _ in plan["writable"]:
        if os.path.exists(path):
            change(path, remove=MS_RDONLY)
    call("umount2", os.fsencode(scratch), MNT_DETACH)
    if plan["private_tmp"]:
        for path in ("/tmp", "/var/tmp"):
            mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def become(plan, user, group, groups):
    """Changes to the user of the unit, with these capabilities and no others."""
    bounding = {CAPABILITIES.index(name) for name in plan["bounding"]}
    ambient = [CAPABILITIES.index(name) for name in plan["ambient"]]
    for number in range(len(CAPABILITIES)):
        if number not in bounding:
            prctl(PR_CAPBSET_DROP, number)
    os.setgroups(groups)
    os.setresgid(group.gr_gid, group.gr_gid, group.gr_gid)
    prctl(PR_SET_KEEPCAPS, 1)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    words = [sum(1 << number % 32 for number in ambient if number // 32 == word) for word in range(2)]
    header = (ctypes.c_uint32 * 2)(LINUX_CAPABILITY_VERSION_3, 0)
    # Effective, permitted, inheritable.
    call("capset", ctypes.byref(header), (ctypes.c_uint32 * 6)(*(word for word in words for _ in range(3))))
    for number in ambient:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)
    # The signal that setpriv has asked for is lost with a change of the user (prctl(2)).
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def environment(plan, user):
    found = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "USER": user.pw_name,
        "LOGNAME": user.pw_name, "HOME": user.pw_dir, "SHELL": user.pw_shell, **plan["environment"]}
    for path, optional in plan["environment_files"]:
        if os.path.exists(path) or not optional:
            with open(path) as file:
                found |= dict(line.strip().split("=", 1) for line in file if line.strip() and line.lstrip()[0] not in "#;")
    return found


def result(code):
    """Returns what an expression gives, or the name of its error."""
    names = {"os": os, "mmap": mmap, "socket": socket, "resource": resource, "ctypes": ctypes, "libc": libc, "call": call}
    try:
        return eval(code, names)
    except OSError as error:
        return errno.errorcode[error.errno]


def main(plan):
    user, group = pwd.getpwnam(plan["user"]), grp.getgrnam(plan["group"])
    groups = os.getgrouplist(user.pw_name, group.gr_gid)
    filters, variables = Filters(), environment(plan, user)
    directories(plan, user, group)
    file_systems(plan)
    for name, bound in plan["limits"].items():
        try:
            resource.setrlimit(getattr(resource, name), (bound, bound))
        except ValueError:
            # In a container root may lack CAP_SYS_RESOURCE.
            highest = resource.getrlimit(getattr(resource, name))[1]
            resource.setrlimit(getattr(resource, name), (highest, highest))
    os.umask(plan["umask"])
    become(plan, user, group, groups)
    os.chdir(plan["working_directory"])
    if plan["no_new_privileges"]:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    for each in plan["filters"]:
        filters.load(**each)
    if "tries" in plan:
        return print(json.dumps({name: result(code) for name, code in plan["tries"].items()}, default=repr))
    os.execve(plan["command"][0], plan["command"], variables)


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    main(plan)
