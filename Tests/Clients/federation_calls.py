"""Calls between an app here and a client of Prosody, on a small internet (`lib.internet`): sound in both directions, whoever calls. The app's
media are Chromium's; Juliet's are aiortc's, by Jingle (XEP-0166) of her own (`lib.jingle`).
"""
import asyncio

from lib.apps import App
from lib.caller import Phone
from lib.harness import expect
from lib.internet import Internet
from lib.jingle import app, at_desk, offer, reason_of, ring, take_call
from lib.partners import Parley, Prosody


async def app_calls(phone, desk):
    made = await app(phone.call, desk.boundjid.bare)
    rings = await desk.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made)
    return await take_call(phone, desk, rings, made)


async def app_is_called(phone, desk):
    line = await ring(phone, desk, f"romeo@{phone.app.server.domain}", desk.boundjid.bare, "across")
    await offer(phone, line)
    return line


async def converse(checks, phone, prosody):
    desk = await at_desk(prosody, prosody.address("juliet") + "/desk")
    with checks.check("federation, calls: an app calls Juliet of Prosody, both hear each other, and the app hangs up"):
        line = await app_calls(phone, desk)
        await app(lambda: phone.browser.act("heard"))
        await line.perceives()
        await app(lambda: phone.app.call("DELETE", f"/v1/calls/{phone.call_id}"))
        expect(reason_of(await line.told("session-terminate")) == ["success"], "another end")
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("federation, calls: Juliet of Prosody calls an app, both hear each other, and she hangs up"):
        line = await app_is_called(phone, desk)
        await app(lambda: phone.browser.act("heard"))
        await line.perceives()
        await line.hang_up()
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("federation, calls: Prosody dies, and the call has failed"):
        line = await app_calls(phone, desk)
        await line.perceives()
        await app(prosody.kill)
        expect((await app(phone.state, "ended"))["reason"] == "failed", "another end")
        await app(phone.done)
        await line.close()
    desk.abort()


def run(checks):
    with Internet("parley", "prosody") as internet:
        parley, prosody = Parley(internet.machines["parley"]), Prosody(internet.machines["prosody"])
        parley.settings["federation__absent_seconds"] = 10
        parley.start()
        prosody.start()
        parley.add_user("romeo")
        prosody.add_user("juliet")
        romeo = App(parley, "romeo", "booth").connect()
        romeo.call("PATCH", "/v1/users/me", {"callsFrom": "everybody"})
        with Phone(romeo, str(internet.folder)) as phone:
            asyncio.run(converse(checks, phone, prosody))
        romeo.close()
