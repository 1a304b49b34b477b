"""`Profanity` is profanity in a terminal."""
import os

from lib.harness import PASSWORD
from lib.terminal import Terminal


class Profanity(Terminal):
    def __init__(self, folder):
        super().__init__(folder, "profanity", "-l", "DEBUG")
        self.shows("Type '/help' to show")


def log_in(profanity, server, user, password=PASSWORD):
    profanity.type(f"/connect {user}@localhost server 127.0.0.1 port {server.xmpp} tls trust")
    profanity.shows("password")
    profanity.type(password)
    profanity.shows(f"{user}@localhost", "logged in successfully")


def at_home(server, name):
    """One of several, with a home of its own."""
    home = os.path.join(server.folder, name)
    os.makedirs(home, exist_ok=True)
    return Profanity(home)


def discover(profanity):
    """After a login profanity asks what there is and what that can do, and does not say when it has learned it. These are the
    same two questions, asked behind it."""
    profanity.type("/win 1")
    profanity.type("/disco items localhost")
    profanity.shows("upload.localhost")
    profanity.type("/clear")
    profanity.type("/disco info upload.localhost")
    profanity.shows("urn:xmpp:http:upload:0")
    profanity.type("/clear")
