"""`Irc` is a bare client of IRC (RFC 2812), for gateways between it and XMPP."""
import socket

from lib.harness import PATIENCE, Log


class Irc:
    """A person on IRC (RFC 2812), in as many lines as that takes. `link` is the connection, or the port to connect to."""

    def __init__(self, link, nick):
        self.nick = nick
        self.link = socket.create_connection(("127.0.0.1", link), PATIENCE) if isinstance(link, int) else link
        self.log = Log(self._lines())
        self.say(f"NICK {nick}", f"USER {nick} 0 * :{nick}")
        self.log.until("the welcome", lambda text: " 001 " in text)

    def _lines(self):
        try:
            for line in self.link.makefile("r", encoding="utf-8", errors="replace"):
                if line.startswith("PING"):
                    self.say("PONG" + line[4:].rstrip())
                yield line
        except OSError:
            pass  # what is missing then is told by who waits for it

    def say(self, *lines):
        self.link.sendall("".join(line + "\r\n" for line in lines).encode())

    def hears(self, what):
        self.log.until(what, lambda text: what in text)
