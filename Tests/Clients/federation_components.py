"""A component (XEP-0114) of Parley and a user of Prosody, on a small internet (`lib.internet`): messages and requests both ways, and the end of
it where the operator wants none.
"""
import asyncio

from slixmpp.exceptions import IqError

from lib.gateway import SECRET, Gateway
from lib.harness import PATIENCE, expect
from lib.internet import SERVICES, Internet
from lib.partners import Parley, Prosody
from lib.peers import text
from lib.talks import Person


class Distant(Gateway):
    """A component whose server is on another machine."""

    def __init__(self, server, domain):
        super().__init__(5347, domain=domain)
        self.place = server.host

    async def arrive(self):
        self.connect(self.place, self.server_port)
        await self.saw("session_start")
        return self


async def converse(checks, parley, prosody, domain):
    gateway, juliet = await Distant(parley, domain).arrive(), await Person(prosody, "juliet").arrive()
    ariel = f"ariel@{domain}"
    with checks.check("components elsewhere: a user of Prosody writes to a component's, and is answered"):
        juliet.chat(ariel, "All hail")
        heard = await gateway.saw("message", text("All hail"))
        expect(heard["from"] == juliet.boundjid and heard["to"] == ariel, f"{heard}")
        gateway.say(juliet.jid, "I come", sender=f"{ariel}/isle")
        heard = await juliet.saw("message", text("I come"))
        expect(heard["from"] == f"{ariel}/isle", f"{heard}")
    with checks.check("components elsewhere: requests both ways"):
        found = await juliet["xep_0030"].get_info(jid=domain, timeout=PATIENCE)
        expect("http://jabber.org/protocol/disco#info" in found["disco_info"]["features"], f"{found}")
        await gateway["xep_0199"].ping(juliet.boundjid, ifrom=ariel, timeout=PATIENCE)
    with checks.check("components elsewhere: one that is away is told as such"):
        await gateway.leave()
        name = juliet.chat(ariel, "Spirit?")
        error = await juliet.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
        expect(error["error"]["condition"] == "service-unavailable", f"{error}")
    await juliet.leave()


async def alone(parley, prosody, domain):
    juliet = await Person(prosody, "juliet").arrive()
    gateway = await Distant(parley, domain).arrive()
    try:
        await juliet["xep_0030"].get_info(jid=domain, timeout=PATIENCE)
        raise AssertionError("it was answered")
    except IqError as error:
        expect(error.condition in ("remote-server-not-found", "remote-server-timeout"), f"{error.iq}")
    await gateway.leave()
    await juliet.leave()


def run(checks):
    with Internet("parley", "prosody") as internet:
        machine, domain = internet.machines["parley"], "gateway.parley.test"
        domains = [machine.domain, *(f"{service}.{machine.domain}" for service in SERVICES), domain]
        internet.authority.issue("good", domains, machine.chain, machine.key)
        internet.dns.replace(machine, "\n".join(
            [f"host.parley A {machine.address}", *(f"_xmpp-server._tcp.{name}. SRV 0 0 5269 host.parley" for name in domains)]))
        parley = Parley(machine, components=f"{domain}={SECRET}", component__host=machine.address).start()
        prosody = Prosody(internet.machines["prosody"]).start()
        prosody.add_user("juliet")
        asyncio.run(converse(checks, parley, prosody, domain))
        with checks.check("components elsewhere: none is reached with federation.components: false"):
            parley.settings["federation__components"] = "false"
            parley.restart()
            prosody.restart()
            asyncio.run(alone(parley, prosody, domain))
