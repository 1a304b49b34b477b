"""A server that is attacked on a small internet (`lib.internet`): the attacker is on one machine, which is one network, and the witnesses are on
another. They stay logged in by both doors, and during each attack they log in once more, write and are answered.
"""
import contextlib
import os
import pathlib
import re
import resource
import socket
import ssl

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE
from lib.internet import SERVICES
from lib.partners import DIRECT, XMPP, Parley
from lib.wire import Client

# The open files and the memory of the server's machine, which is small.
FILES, MEMORY = 1_024, 1 << 30
MIB = 1 << 20
HTTP, HTTPS = 8080, 8443
CROWD = [f"lord{number}" for number in range(120)]


class Attacked(Parley):
    """`parley serve` for the domain `localhost` on a small machine. Checks compare what the process takes. What users may send is little, so
    that an attack reaches that bound soon; a bound of memory holds for Othello, too, who may send anything."""

    http, ports = HTTP, (XMPP,)

    def __init__(self, machine, **settings):
        names = ["localhost", *(f"{service}.localhost" for service in SERVICES)]
        machine.internet.authority.issue("good", names, machine.chain, machine.key)
        super().__init__(
            machine, domain="localhost", federation__enabled="false", log__level="info", sending__stanzas_per_second=50,
            sending__unlimited="othello@localhost", **settings)
        self.domain = "localhost"
        self.limits = machine.shrink(FILES, MEMORY)

    def command(self):
        return [*self.limits, *super().command()]

    def add_users(self, *names):
        rows = "".join(f"{name}@localhost,{PASSWORD},{name.capitalize()}\n" for name in names)
        self.run("user", "import", "-", input="jid,password,name\n" + rows)
        self.users += names

    def _bytes(self, field):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB$", status, re.M)[1]) << 10

    @property
    def memory(self):
        """The bytes of the process that are in memory now."""
        return self._bytes("VmRSS")

    @property
    def peak(self):
        """The most that were there at once since its start."""
        return self._bytes("VmHWM")

    @property
    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Scene:
    """The server, the attacker's machine, and Romeo (XMPP) and Juliet (app), who are on the machine of the witnesses."""

    def __init__(self, internet):
        # Each attack opens more connections than the server may have files.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.server = Attacked(internet.machines["parley"]).start()
        self.attacker, self.home = (internet.machines[name].space for name in ("attacker", "witness"))
        self.server.add_users("romeo", "juliet", "iago", "emilia", "othello", "cassio", *CROWD)
        self.proofs = 0
        with self.home.here():
            self.romeo = Client(self.server, "romeo", "wire").present()
            self.juliet = App(self.server, "juliet").connect()
            self.dialog = self.juliet.dialog("romeo")

    def prove(self):
        """The witnesses write to each other, and each logs in once more, however long that takes (`PATIENCE`)."""
        self.proofs += 1
        to_him, to_her = f"to him {self.proofs}", f"to her {self.proofs}"
        with self.home.here():
            self.juliet.say(self.dialog, to_him)
            self.romeo.message(to_him)
            self.romeo.say("juliet", to_her)
            self.juliet.message(to_her)
            late = Client(self.server, "romeo", f"late{self.proofs}")
            late.say("juliet", to_her + ", late")
            late.close()
            app = App(self.server, "juliet", "late").connect()
            app.say(self.dialog, to_him + ", late")
            app.close()

    def dial(self, port):
        """A connection of the attacker."""
        with self.attacker.here():
            return socket.create_connection((self.server.host, port), PATIENCE)

    def secured(self, port=DIRECT):
        context = ssl.create_default_context(cafile=self.server.certificate)
        return context.wrap_socket(self.dial(port), server_hostname="localhost")

    def client(self, name, resource):
        """An XMPP client of the attacker."""
        with self.attacker.here():
            return Client(self.server, name, resource)

    def app(self, name):
        with self.attacker.here():
            return App(self.server, name)

    def crowd(self, count):
        """So many XMPP clients of the attacker, each of another user."""
        return [self.client(name, "crowd") for name in CROWD[:count]]


@contextlib.contextmanager
def held(connections):
    """Closes them at the end."""
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def is_open(connection):
    """Whether the server has not closed this connection, whatever it has sent before."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        pass
    return False
