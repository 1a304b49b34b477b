"""The small internet itself (`lib.internet`): Prosody and ejabberd, both by other authors, talk with each other in both directions, by the
talks that Parley is measured with. What fails here is the test's own fault.
"""
import asyncio

from lib.internet import Internet
from lib.partners import Ejabberd, Prosody
from lib.talks import PEOPLE, talk


def run(checks):
    with Internet("prosody", "ejabberd") as internet:
        servers = [Prosody(internet.machines["prosody"]), Ejabberd(internet.machines["ejabberd"])]
        for server in servers:
            server.start()
            for name in PEOPLE:
                server.add_user(name)
        for one, other in (servers, servers[::-1]):
            asyncio.run(talk(checks, f"lab: {one.name} to {other.name}", one, other))
