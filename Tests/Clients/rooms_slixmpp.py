#!/usr/bin/env python3
"""Rooms (XEP-0045) as slixmpp sees them: discovery, creation, entering, history, talk, topic, nicks, whispers, invitations,
moderation, the owner's form, registration, sessions that share a nick, the archive, self-ping, occupant ids, doors that are
kept shut, and the end of a room; then kill -9 of the server while people talk and are promoted and demoted.

Usage: rooms_slixmpp.py [--rounds N] [--seed N]     of the kill test
"""
import argparse
import asyncio
import datetime
import logging
import random
import sys
from xml.etree import ElementTree

from slixmpp import JID
from slixmpp.plugins.xep_0004 import Form
from slixmpp.plugins.xep_0410 import PingStatus

from lib.crowd import crash, create, occupant_id, refused, stanza_id
from lib.harness import PATIENCE, Checks, Server, expect
from lib.peers import text
from lib.rooms import CONFIG, MUC, REGISTER, SERVICE, USER, Guest, codes, room_of, topic_of

PEOPLE = ("romeo", "juliet", "paris", "nurse", "tybalt")


async def activity(client, room):
    """Messages per hour (XEP-0502), as disco tells; None: it tells nothing."""
    info = (await client.plugin["xep_0030"].get_info(room, timeout=PATIENCE))["disco_info"]
    for field in info.xml.iter("{jabber:x:data}field"):
        if field.get("var") == "{urn:xmpp:muc-activity}message-activity":
            return field.findtext("{jabber:x:data}value")
    return None


# MARK: Rooms come to be

async def discover(checks, romeo):
    with checks.check("rooms: the server names the service, the service says what it is (6.1, 6.2)"):
        items = await romeo.plugin["xep_0030"].get_items("localhost", timeout=PATIENCE)
        expect(SERVICE in {item[0] for item in items["disco_items"]["items"]}, f"{items}")
        info = (await romeo.plugin["xep_0030"].get_info(SERVICE, timeout=PATIENCE))["disco_info"]
        expect(("conference", "text") in {identity[:2] for identity in info["identities"]}, f"{info}")
        expect(MUC in info["features"], f"{info}")
    with checks.check("rooms: a name that nobody has, for clients that ask for one (XEP-0307)"):
        names = set()
        for _ in range(2):
            question = romeo.make_iq_get(ito=SERVICE)
            question.append(ElementTree.Element(f"{{{MUC}#unique}}unique"))
            answer = await question.send(timeout=PATIENCE)
            names.add(answer.xml.findtext(f"{{{MUC}#unique}}unique"))
        expect(len(names) == 2 and all(len(name) >= 16 for name in names), f"{names}")


# MARK: Being there

async def talk(checks, romeo, juliet, paris):
    verona = room_of("verona")
    said = []
    with checks.check("rooms: what is said comes back to its author, under its id, the room's and the occupant's (7.4)"):
        for number in range(1, 7):
            name = romeo.say(verona, f"line {number}", f"line-{number}")
            back = await romeo.message(verona, f"line {number}")
            expect(back["id"] == name and back["from"].resource == "Romeo", f"{back}")
            said.append(stanza_id(back, verona))
            if number == 3:
                between = datetime.datetime.now(datetime.timezone.utc)
        expect(len(set(said)) == 6, f"{said}")
        expect(occupant_id(back), f"{back}")
    with checks.check("rooms: how much is said in a public room (XEP-0502)"):
        square = room_of("square")
        await romeo.enter(square, "Romeo")
        form = Form()
        form["type"] = "submit"
        form.add_field("FORM_TYPE", ftype="hidden", value=CONFIG)
        form.add_field("muc#roomconfig_publicroom", ftype="boolean", value=True)
        await romeo.muc.set_room_config(square, form, timeout=PATIENCE)
        before = await activity(romeo, square)
        for number in range(1, 4):
            romeo.say(square, f"word {number}", f"word-{number}")
            await romeo.message(square, f"word {number}")
        # A room of this minute counts as one of an hour.
        expect((before, await activity(romeo, square)) == ("0.00", "3.00"), f"{before}")
        expect(await activity(romeo, verona) is None, "a room that nobody listed tells how much is said")
    with checks.check("rooms: entering: others, oneself, history, topic, in this order (7.2.2, 7.2.14, 7.2.15)"):
        juliet.order.clear()
        own, topic, others, history = await juliet.enter(verona, "Juliet", maxstanzas=3)
        expect([str(m["body"]) for m in history] == ["line 4", "line 5", "line 6"], f"{history}")
        expect([stanza_id(m, verona) for m in history] == said[3:], "history has other ids than what was told live")
        order = [stanza for stanza in juliet.order if stanza["from"].bare == verona]
        kinds = ["other" if s.name == "presence" and 110 not in codes(s) else "own" if s.name == "presence"
                 else "topic" if s.xml.find("{jabber:client}subject") is not None else "history" for s in order]
        expect(kinds == ["other", "own", "history", "history", "history", "topic"], f"{kinds}")
        delay = history[0].xml.find("{urn:xmpp:delay}delay")
        expect(delay is not None and delay.get("from") == verona, f"{history[0]}")
    with checks.check("rooms: history limits: characters, seconds, since, none (7.2.14)"):
        for wish, wanted in [({"maxstanzas": 0}, 0), ({"maxchars": 0}, 0), ({"maxchars": 20}, 0), ({"seconds": 3600}, 6),
                             ({"since": between}, 3), ({"maxstanzas": 100}, 6)]:
            *_, history = await paris.enter(verona, "Paris", **wish)
            expect([str(m["body"]) for m in history] == [f"line {n}" for n in range(7 - wanted, 7)],
                   f"{wish}: {[str(m['body']) for m in history]}")
            await paris.exit(verona, "Paris")
        await paris.enter(verona, "Paris")
    with checks.check("rooms: three talk: everybody hears everything once, under one id, in one order"):
        everybody = {"Romeo": romeo, "Juliet": juliet, "Paris": paris}
        for number in range(5):
            for nick, guest in everybody.items():
                guest.say(verona, f"{nick} {number}")
        wanted = {f"{nick} {number}" for nick in everybody for number in range(5)}
        heard = {}
        for nick, guest in everybody.items():
            heard[nick] = []
            while len(heard[nick]) < len(wanted):
                message = await guest.saw("groupchat_message", lambda m: str(m["body"]) in wanted)
                heard[nick].append((str(message["body"]), stanza_id(message, verona), occupant_id(message)))
        expect({body for body, *_ in heard["Romeo"]} == wanted, f"{heard['Romeo']}")
        expect(heard["Romeo"] == heard["Juliet"] == heard["Paris"], "they heard different things")
    with checks.check("rooms: who is not there cannot speak (7.4)"):
        tybalt_name = "outsider"
        await paris.exit(verona, "Paris")
        paris.say(verona, "still here", tybalt_name)
        expect(await paris.fault(tybalt_name) == "not-acceptable", "not not-acceptable")
        await paris.enter(verona, "Paris")
    with checks.check("rooms: topic: who may sets it, others are told, who comes sees it, it can be taken away (8.1)"):
        romeo.muc.set_subject(verona, "Ancient grudge")
        for guest in (romeo, juliet, paris):
            got = await guest.saw("groupchat_subject", lambda m: topic_of(m) == "Ancient grudge")
            expect(got["from"] == f"{verona}/Romeo", f"{got}")
        message = juliet.make_message(verona, mtype="groupchat")
        message["subject"], message["id"] = "Love", "topic-2"
        message.send()
        expect(await juliet.fault("topic-2") == "forbidden", "not forbidden")
        await paris.exit(verona, "Paris")
        _, topic, *_ = await paris.enter(verona, "Paris")
        expect(topic_of(topic) == "Ancient grudge" and topic["from"] == f"{verona}/Romeo", f"{topic}")
        romeo.muc.set_subject(verona, "")
        got = await juliet.saw("groupchat_subject", lambda m: not topic_of(m) and m["from"].resource == "Romeo")
        await paris.exit(verona, "Paris")
        _, topic, *_ = await paris.enter(verona, "Paris")
        expect(not topic_of(topic), f"{topic}")


async def nicks(checks, romeo, juliet, paris):
    verona = room_of("verona")
    with checks.check("rooms: another nick: 303 to all, under the same occupant id (7.6, XEP-0421)"):
        juliet.say(verona, "before")
        before = occupant_id(await romeo.message(verona, "before"))
        expect(await juliet.muc.set_self_nick(JID(verona), "Giulietta", timeout=PATIENCE) == "Giulietta", "another nick")
        for guest in (romeo, juliet, paris):
            leaving = await guest.presence(verona, "Juliet", lambda p: 303 in codes(p))
            expect(leaving["type"] == "unavailable" and leaving["muc"]["item_nick"] == "Giulietta", f"{leaving}")
            coming = await guest.presence(verona, "Giulietta")
            expect(occupant_id(coming) == before == occupant_id(leaving), f"{coming}")
            expect((110 in codes(coming)) == (guest is juliet), f"{coming}")
    with checks.check("rooms: a nick that is taken: conflict, entering and changing, whatever the case (7.2.8, 7.6)"):
        presence = juliet.make_presence(pto=f"{verona}/romeo")
        presence["id"] = "taken"
        presence.send()
        error = await juliet.saw("any presence", lambda p: p["id"] == "taken")
        expect((error["type"], error["error"]["condition"]) == ("error", "conflict"), f"{error}")
        await paris.exit(verona, "Paris")
        expect(await refused("conflict", paris.enter(verona, "GIULIETTA")) == "cancel", "the type is not cancel")
        await paris.enter(verona, "Paris")
    with checks.check("rooms: availability is told (7.7)"):
        juliet.send_presence(pto=f"{verona}/Giulietta", pshow="away", pstatus="asleep")
        await romeo.presence(verona, "Giulietta", lambda p: p["show"] == "away" and p["status"] == "asleep")
        juliet.send_presence(pto=f"{verona}/Giulietta")
        await romeo.presence(verona, "Giulietta", lambda p: p["type"] == "available")
    with checks.check("rooms: to one occupant alone (7.5)"):
        message = romeo.make_message(f"{verona}/Giulietta", "psst", mtype="chat")
        message["id"] = "whisper"
        message.send()
        got = await juliet.saw("message", text("psst"))
        expect((str(got["from"]), got["type"], got["id"]) == (f"{verona}/Romeo", "chat", "whisper"), f"{got}")
        expect(got.xml.find(f"{{{USER}}}x") is not None, f"nothing says that it is from a room: {got}")
        whispered = got
        message = romeo.make_message(f"{verona}/Mercutio", "psst", mtype="chat")
        message["id"] = "to nobody"
        message.send()
        expect(await romeo.fault("to nobody") == "item-not-found", "not item-not-found")
        romeo.say(verona, "aloud")
        await paris.message(verona, "aloud")
        expect(not any(str(s["body"]) == "psst" for s in paris.order if s.name == "message"), "Paris heard it too")
    with checks.check("rooms: what was whispered is in both users' archives, by room and nick, and nowhere else (XEP-0313)"):
        sent = [(e["mam_result"]["id"], e["mam_result"]["forwarded"]["stanza"]) async for e in romeo.plugin["xep_0313"].iterate(
            with_jid=JID(f"{verona}/Giulietta"), rsm={"max": 10})]
        heard = [(e["mam_result"]["id"], e["mam_result"]["forwarded"]["stanza"]) async for e in juliet.plugin["xep_0313"].iterate(
            with_jid=JID(verona), rsm={"max": 10})]
        expect([str(s["body"]) for _, s in sent] == ["psst"] == [str(s["body"]) for _, s in heard], f"{sent}, {heard}")
        expect(sent[0][0] == heard[0][0] == got["stanza_id"]["id"], f"{sent}, {heard}, {got}")
        expect((sent[0][1]["from"].bare, str(sent[0][1]["to"])) == ("romeo@localhost", f"{verona}/Giulietta"), f"{sent}")
        expect((str(heard[0][1]["from"]), heard[0][1]["to"].bare) == (f"{verona}/Romeo", "juliet@localhost"), f"{heard}")
        others = [e async for e in romeo.plugin["xep_0313"].iterate(with_jid="juliet@localhost", rsm={"max": 10})]
        expect(not any("psst" in str(e) for e in others), "the archive tells who it was")
        expect(not any(body == "psst" for _, _, body in await romeo.archive(verona)), "the room's archive has it")
    with checks.check("rooms: what is whispered has the occupant id too (XEP-0421 4: every message)"):
        expect(occupant_id(whispered) != before, f"{whispered} has the receiver's")
    with checks.check("rooms: self-ping: there, and not there (XEP-0410)"):
        expect(await juliet.ping_room(verona, "Giulietta") == PingStatus.JOINED, "not joined")
        await juliet.exit(verona, "Giulietta")
        expect(await juliet.ping_room(verona, "Giulietta") == PingStatus.DISCONNECTED, "joined, though it left")
        await romeo.presence(verona, "Giulietta", lambda p: p["type"] == "unavailable")
    with checks.check("rooms: an occupant id is the same whenever one comes, under any nick, and differs between rooms (XEP-0421)"):
        own, *_ = await juliet.enter(verona, "Capulet")
        expect(occupant_id(own) == before, f"{own}")
        other = room_of("elsewhere")
        await juliet.found(other, "Juliet")
        juliet.say(other, "and here")
        expect(occupant_id(await juliet.message(other, "and here")) != before, "one id in two rooms tells who is who")
        await juliet.exit(other, "Juliet")
        await juliet.exit(verona, "Capulet")
        await romeo.presence(verona, "Capulet", lambda p: p["type"] == "unavailable")


async def sessions(checks, server, romeo, juliet, paris):
    verona = room_of("verona")
    with checks.check("rooms: two sessions of one user are one occupant under one nick (7.2.8, 7.14)"):
        await juliet.enter(verona, "Juliet")
        await romeo.presence(verona, "Juliet")
        chamber = await Guest(server, "juliet", "chamber").arrive()
        own, _, others, _ = await chamber.enter(verona, "Juliet")
        expect(own["from"].resource == "Juliet", f"{own}")
        chamber.say(verona, "from the chamber")
        for guest in (romeo, juliet, chamber):
            got = await guest.message(verona, "from the chamber")
            expect(got["from"] == f"{verona}/Juliet", f"{got}")
        message = romeo.make_message(f"{verona}/Juliet", "to both of you", mtype="chat")
        message.send()
        await juliet.saw("message", text("to both of you"))
        await chamber.saw("message", text("to both of you"))
        expect(await romeo.nicks(verona, "participant") == ["Juliet", "Paris"], "the occupants are others")
    with checks.check("rooms: a nick changed by one session is the other's too"):
        await chamber.muc.set_self_nick(JID(verona), "Giulietta", timeout=PATIENCE)
        await juliet.presence(verona, "Giulietta", lambda p: 110 in codes(p))
        expect(await juliet.ping_room(verona, "Giulietta") == PingStatus.JOINED, "the other session has lost its place")
    with checks.check("rooms: one session leaves, the occupant stays; the last one takes it along (7.14)"):
        romeo.order.clear()
        await chamber.exit(verona, "Giulietta")
        juliet.say(verona, "still here")
        await romeo.message(verona, "still here")
        gone = [p for p in romeo.order if p.name == "presence" and p["type"] == "unavailable"]
        expect(not gone, f"{gone}")
        await chamber.leave()
    with checks.check("rooms: a connection that is lost keeps its place until it is resumed, and hears what was said (XEP-0198)"):
        juliet.transport.abort()
        await juliet.saw("disconnected")
        again = await Guest(server, "juliet", "balcony").arrive()
        own, *_ = await again.enter(verona, "Giulietta")
        expect(own["from"].resource == "Giulietta", f"{own}")
        romeo.say(verona, "while you were away")
        await again.message(verona, "while you were away")
        juliet.connect("127.0.0.1", server.xmpp)
        await juliet.saw("session_resumed")
        await juliet.message(verona, "while you were away")
        expect(await juliet.ping_room(verona, "Giulietta") == PingStatus.JOINED, "it is no longer there")
        await again.leave()
        juliet.say(verona, "here again")
        await romeo.message(verona, "here again")
        await juliet.exit(verona, "Giulietta")
        await romeo.presence(verona, "Giulietta", lambda p: p["type"] == "unavailable" and 303 not in codes(p))


async def archive(checks, romeo, juliet):
    verona = room_of("verona")
    with checks.check("rooms: the room's archive has what was said, in order, in pages, under its ids (XEP-0313)"):
        await juliet.enter(verona, "Juliet")
        ids = []
        for number in range(25):
            romeo.say(verona, f"verse {number}")
            ids.append(stanza_id(await juliet.message(verona, f"verse {number}"), verona))
        entries = [e for e in await juliet.archive(verona, page=7) if e[2].startswith("verse ")]
        expect([e[2] for e in entries] == [f"verse {n}" for n in range(25)], f"{[e[2] for e in entries]}")
        expect([e[0] for e in entries] == ids, "the ids differ")
        expect({e[1] for e in entries} == {"Romeo"}, f"{entries}")
        back = [e for e in await juliet.archive(verona, page=7, reverse=True) if e[2].startswith("verse ")]
        expect(sorted(e[0] for e in back) == sorted(ids), "from the end there is something else")
    with checks.check("rooms: a page from the middle, and the last page, as clients ask (XEP-0059)"):
        page = await juliet.plugin["xep_0313"].retrieve(
            jid=JID(verona), rsm={"max": "4", "after": ids[4]}, timeout=PATIENCE)
        bodies = [str(m["mam_result"]["forwarded"]["stanza"]["body"]) for m in page["mam"]["results"]]
        expect(bodies == [f"verse {n}" for n in range(5, 9)], f"{bodies}")
        count = 0
        async for entry in juliet.plugin["xep_0313"].iterate(jid=JID(verona), reverse=True, rsm={"max": 3}, total=3):
            count += 1
            expect(str(entry["mam_result"]["id"]) in ids[-3:], f"{entry}")
        expect(count == 3, f"{count} entries")
    with checks.check("rooms: who may not enter may not read (XEP-0313 in rooms)"):
        await romeo.muc.set_affiliation(verona, "outcast", jid="juliet@localhost", timeout=PATIENCE)
        await juliet.presence(verona, "Juliet", lambda p: 301 in codes(p))
        try:
            await refused("forbidden", juliet.plugin["xep_0313"].retrieve(jid=JID(verona), timeout=PATIENCE))
        finally:
            await romeo.muc.set_affiliation(verona, "none", jid="juliet@localhost", timeout=PATIENCE)


# MARK: People

async def invite(checks, server, romeo, juliet):
    closed = room_of("closed")
    with checks.check("rooms: a mediated invitation opens a closed room (7.8.2)"):
        await romeo.found(closed, "Romeo", membersonly=True, roomname="Closed")
        await refused("registration-required", juliet.enter(closed, "Juliet"))
        romeo.muc.invite(closed, "juliet@localhost", "Come hither")
        got = await juliet.saw("groupchat_invite", lambda m: m["from"] == closed)
        expect(got["muc"]["invite"]["from"].bare == "romeo@localhost", f"{got}")
        expect(got["muc"]["invite"]["reason"] == "Come hither", f"{got}")
        own, *_ = await juliet.enter(closed, "Juliet")
        expect(own["muc"]["affiliation"] == "member", f"{own}")
    with checks.check("rooms: an invitation waits for who is not online"):
        romeo.muc.invite(closed, "nurse@localhost", "You too")
        nurse = await Guest(server, "nurse").arrive()
        got = await nurse.saw("groupchat_invite", lambda m: m["from"] == closed)
        expect(got["muc"]["invite"]["reason"] == "You too", f"{got}")
    with checks.check("rooms: declined, and who invited is told (7.8.2)"):
        nurse.muc.decline(closed, "romeo@localhost", "My back aches")
        # slixmpp 1.17 raises no event in clients: it looks for the room in the wrong table.
        got = await romeo.saw("any message", lambda m: m.xml.find(f"{{{USER}}}x/{{{USER}}}decline") is not None)
        expect(got["from"] == closed and got["muc"]["decline"]["from"].bare == "nurse@localhost", f"{got}")
        expect(got["muc"]["decline"]["reason"] == "My back aches", f"{got}")
    with checks.check("rooms: a plain member may not invite where the form says so (7.8.2)"):
        message = juliet.make_message(closed)
        message["muc"]["invite"]["to"] = "tybalt@localhost"
        message["id"] = "no right"
        message.send()
        expect(await juliet.fault("no right") == "forbidden", "not forbidden")
    with checks.check("rooms: a direct invitation goes from one to the other (XEP-0249)"):
        juliet.plugin["xep_0249"].send_invitation(JID("nurse@localhost"), JID(closed), password="sesame", reason="Do come")
        got = await nurse.saw("groupchat_direct_invite")
        expect(got["from"].bare == "juliet@localhost", f"{got}")
        invitation = got["groupchat_invite"]
        expect((invitation["jid"], invitation["reason"], invitation["password"]) == (closed, "Do come", "sesame"), f"{got}")
        await nurse.leave()
    with checks.check("rooms: closed from now on: who is no member goes (10.2, 322); no longer a member (9.4, 321)"):
        verona = room_of("verona")
        await juliet.enter(verona, "Juliet")
        await romeo.configure(verona, membersonly=True)
        gone = await juliet.presence(verona, "Juliet", lambda p: 322 in codes(p))
        expect(110 in codes(gone) and gone["type"] == "unavailable", f"{gone}")
        await romeo.configure(verona, membersonly=False)
        await romeo.muc.set_affiliation(closed, "none", jid="juliet@localhost", timeout=PATIENCE)
        gone = await juliet.presence(closed, "Juliet", lambda p: 321 in codes(p))
        expect(110 in codes(gone) and gone["type"] == "unavailable", f"{gone}")


async def moderate(checks, romeo, juliet, paris):
    street = room_of("street")
    await romeo.found(street, "Romeo", membersonly=False, whois="moderators", moderatedroom=False)
    await juliet.enter(street, "Juliet")
    await paris.enter(street, "Paris")
    with checks.check("rooms: addresses are shown to moderators only where the form says so (7.2.2)"):
        seen = await romeo.presence(street, "Paris")
        expect(str(seen["muc"]["jid"]) == str(paris.boundjid), f"{seen}")
        seen = await juliet.presence(street, "Paris")
        expect(not str(seen["muc"]["jid"]), f"{seen}")
    with checks.check("rooms: kick: 307, a reason, and who it was; back at once (8.2)"):
        await refused("forbidden", juliet.muc.set_role(street, "Paris", "none", timeout=PATIENCE))
        await romeo.muc.set_role(street, "Paris", "none", reason="Avaunt", timeout=PATIENCE)
        for guest in (paris, juliet, romeo):
            gone = await guest.presence(street, "Paris", lambda p: p["type"] == "unavailable")
            expect(307 in codes(gone) and (110 in codes(gone)) == (guest is paris), f"{gone}")
            expect(gone.xml.findtext(f".//{{{USER}}}reason") == "Avaunt", f"{gone}")
            expect(gone.xml.find(f".//{{{USER}}}actor").get("nick") == "Romeo", f"{gone}")
        await paris.enter(street, "Paris")
        await juliet.presence(street, "Paris", lambda p: p["type"] == "available")
    with checks.check("rooms: voice taken, asked for, and given (8.3, 8.4, 7.13, 8.6)"):
        await romeo.muc.set_role(street, "Paris", "visitor", timeout=PATIENCE)
        await paris.presence(street, "Paris", lambda p: p["muc"]["role"] == "visitor")
        paris.say(street, "muted", "muted")
        expect(await paris.fault("muted") == "forbidden", "not forbidden")
        paris.muc.request_voice(street, "participant")
        request = await romeo.saw("any message", lambda m: m.xml.find("{jabber:x:data}x") is not None and m["from"] == street)
        form = Form(xml=request.xml.find("{jabber:x:data}x"))
        values = form.get_values()
        expect(values.get("muc#roomnick") == "Paris" and values.get("muc#jid", "").startswith("paris@localhost"), f"{request}")
        expect("muc#request_allow" in form.get_fields(), f"{request}")
        form["type"] = "submit"
        form["values"] = {"muc#request_allow": True}
        answer = romeo.make_message(street)
        answer.append(form)
        # As a participant Paris has been shown before.
        paris.seen = [item for item in paris.seen if item[0] != "any presence"]
        answer.send()
        await paris.presence(street, "Paris", lambda p: p["muc"]["role"] == "participant")
        paris.say(street, "heard again")
        await juliet.message(street, "heard again")
        expect(not any(s.xml.find("{jabber:x:data}x") is not None for s in juliet.order if s["from"] == street),
               "one who is no moderator was asked too")
    with checks.check("rooms: a moderator may kick, and may no longer when it is taken back (9.6, 9.7)"):
        await romeo.muc.set_role(street, "Juliet", "moderator", timeout=PATIENCE)
        await juliet.presence(street, "Juliet", lambda p: p["muc"]["role"] == "moderator")
        expect(await juliet.nicks(street, "participant") == ["Paris"], "the voice list (8.5)")
        await juliet.muc.set_role(street, "Paris", "none", timeout=PATIENCE)
        await paris.presence(street, "Paris", lambda p: p["type"] == "unavailable" and 307 in codes(p))
        await refused("not-allowed", juliet.muc.set_role(street, "Romeo", "none", timeout=PATIENCE))
        await romeo.muc.set_role(street, "Juliet", "participant", timeout=PATIENCE)
        await paris.enter(street, "Paris")
        await refused("forbidden", juliet.muc.set_role(street, "Paris", "none", timeout=PATIENCE))
    with checks.check("rooms: ban: 301, the list, no way back, lifted (9.1, 9.2)"):
        await romeo.muc.set_affiliation(street, "outcast", jid="paris@localhost", reason="Enough", timeout=PATIENCE)
        gone = await paris.presence(street, "Paris", lambda p: p["type"] == "unavailable" and 301 in codes(p))
        expect(gone["muc"]["affiliation"] == "outcast" and gone.xml.findtext(f".//{{{USER}}}reason") == "Enough", f"{gone}")
        await juliet.presence(street, "Paris", lambda p: 301 in codes(p))
        expect(await romeo.list(street, "outcast") == ["paris@localhost"], "the ban list")
        await refused("forbidden", juliet.list(street, "outcast"))
        expect(await refused("forbidden", paris.enter(street, "Paris")) == "auth", "the type is not auth")
        await romeo.muc.set_affiliation(street, "none", jid="paris@localhost", timeout=PATIENCE)
        expect(await romeo.list(street, "outcast") == [], "the ban list after the pardon")
        await paris.enter(street, "Paris")
    with checks.check("rooms: member, admin, owner: lists and what each may do (9.3 to 9.8, 10.3 to 10.8)"):
        await romeo.muc.send_affiliation_list(
            street, [("juliet@localhost", "admin"), ("nurse@localhost", "member")], timeout=PATIENCE)
        await juliet.presence(street, "Juliet", lambda p: (p["muc"]["affiliation"], p["muc"]["role"]) == ("admin", "moderator"))
        lists = {name: await romeo.list(street, name) for name in ("owner", "admin", "member", "outcast")}
        expect(lists == {"owner": ["romeo@localhost"], "admin": ["juliet@localhost"], "member": ["nurse@localhost"],
                         "outcast": []}, f"{lists}")
        await juliet.muc.set_affiliation(street, "member", jid="paris@localhost", timeout=PATIENCE)
        await paris.presence(street, "Paris", lambda p: p["muc"]["affiliation"] == "member")
        await refused("forbidden", juliet.muc.set_affiliation(street, "none", jid="romeo@localhost", timeout=PATIENCE))
        await refused("forbidden", juliet.muc.set_affiliation(street, "owner", jid="paris@localhost", timeout=PATIENCE))
        await refused("conflict", romeo.muc.set_affiliation(street, "none", jid="romeo@localhost", timeout=PATIENCE))
        await romeo.muc.set_affiliation(street, "owner", jid="juliet@localhost", timeout=PATIENCE)
        await juliet.presence(street, "Juliet", lambda p: p["muc"]["affiliation"] == "owner")
        expect(await juliet.list(street, "owner") == ["juliet@localhost", "romeo@localhost"], "the owners")
    with checks.check("rooms: the owner's form: for owners, and those there are told of the change (10.2)"):
        await refused("forbidden", paris.muc.get_room_config(street, timeout=PATIENCE))
        await juliet.configure(street, roomname="The street", whois="anyone", allowinvites=True)
        for guest in (romeo, juliet, paris):
            told = await guest.saw("groupchat_config_status", lambda m: m["from"] == street and {104, 172} <= codes(m))
            expect(told["type"] == "groupchat", f"{told}")
        form = await romeo.muc.get_room_config(street, timeout=PATIENCE)
        expect(form.get_values()["muc#roomconfig_roomname"] == "The street", f"{form}")
    with checks.check("rooms: the end, with somewhere else to go; the address stays taken (10.9)"):
        await refused("forbidden", paris.muc.destroy(street, timeout=PATIENCE))
        await romeo.muc.destroy(street, "The Prince has spoken", room_of("mantua"), timeout=PATIENCE)
        for guest, nick in ((romeo, "Romeo"), (juliet, "Juliet"), (paris, "Paris")):
            gone = await guest.presence(street, nick, lambda p: p["muc"].xml.find(f"{{{USER}}}destroy") is not None)
            end = gone["muc"].xml.find(f"{{{USER}}}destroy")
            expect(gone["type"] == "unavailable", f"{gone}")
            expect(end.get("jid") == room_of("mantua"), f"{gone}")
            expect(end.findtext(f"{{{USER}}}reason") == "The Prince has spoken", f"{gone}")
            expect((gone["muc"]["affiliation"], gone["muc"]["role"]) == ("none", "none"), f"{gone}")
        await refused("gone", paris.enter(street, "Paris"))


async def register(checks, romeo, juliet, paris):
    hall = room_of("hall")
    await romeo.found(hall, "Romeo", membersonly=False)
    with checks.check("rooms: registration: a form, then a member with a nick of their own, also while away (7.10)"):
        iq = await juliet.plugin["xep_0077"].get_registration(jid=hall, timeout=PATIENCE)
        form = iq["register"].xml.find("{jabber:x:data}x")
        expect(form is not None, f"{iq}")
        expect("muc#register_roomnick" in Form(xml=form).get_fields(), f"{iq}")
        answer = juliet.make_iq_set(ito=hall)
        wish = juliet.plugin["xep_0004"].make_form(ftype="submit")
        wish.add_field(var="FORM_TYPE", ftype="hidden", value=REGISTER)
        wish.add_field(var="muc#register_roomnick", value="Jule")
        answer.enable("register")
        answer["register"].append(wish)
        await answer.send(timeout=PATIENCE)
        iq = await juliet.plugin["xep_0077"].get_registration(jid=hall, timeout=PATIENCE)
        expect(iq["register"]["registered"] and iq["register"]["username"] == "Jule", f"{iq}")
        expect(await romeo.list(hall, "member") == ["juliet@localhost"], "the members")
        await refused("conflict", paris.enter(hall, "jule"))
    with checks.check("rooms: entering under somebody's nick: one's own is given, and told (7.2.1: 210)"):
        own, *_ = await juliet.enter(hall, "Romeo")
        expect(own["from"].resource == "Jule" and 210 in codes(own), f"{own}")
        expect(own["muc"]["affiliation"] == "member", f"{own}")
    with checks.check("rooms: a reserved nick is found (7.12)"):
        info = (await juliet.plugin["xep_0030"].get_info(hall, node="x-roomuser-item", timeout=PATIENCE))["disco_info"]
        expect({i[3] for i in info["identities"]} == {"Jule"}, f"{info}")
    with checks.check("rooms: no longer registered (7.10, XEP-0077 3.2)"):
        await juliet.plugin["xep_0077"].cancel_registration(jid=hall, timeout=PATIENCE)
        await juliet.presence(hall, "Jule", lambda p: p["muc"]["affiliation"] == "none")
        expect(await romeo.list(hall, "member") == [], "the members afterwards")


async def doors(checks, romeo, juliet, paris):
    cell = room_of("cell")
    with checks.check("rooms: password: none, a wrong one, the right one; an invitation carries it (7.2.5, 7.8.2)"):
        await romeo.found(cell, "Romeo", membersonly=False, passwordprotectedroom=True, roomsecret="cauldron")
        expect(await refused("not-authorized", juliet.enter(cell, "Juliet")) == "auth", "the type is not auth")
        await refused("not-authorized", juliet.enter(cell, "Juliet", password="cauldro"))
        info = (await juliet.plugin["xep_0030"].get_info(cell, timeout=PATIENCE))["disco_info"]
        expect("muc_passwordprotected" in info["features"], f"{info}")
        romeo.muc.invite(cell, "juliet@localhost", "The word is inside")
        got = await juliet.saw("groupchat_invite", lambda m: m["from"] == cell)
        expect(got.xml.findtext(f"{{{USER}}}x/{{{USER}}}password") == "cauldron", f"{got}")
        await juliet.enter(cell, "Juliet", password="cauldron")
    with checks.check("rooms: members only: who is none, and a hidden one is not there for strangers (7.2.6, 6.4)"):
        await romeo.configure(cell, membersonly=True, publicroom=False)
        await juliet.presence(cell, "Juliet", lambda p: 322 in codes(p))
        kind = await refused("registration-required", paris.enter(cell, "Paris", password="cauldron"))
        expect(kind == "auth", f"the type is {kind}")
        await refused("item-not-found", paris.plugin["xep_0030"].get_info(cell, timeout=PATIENCE))
        await romeo.muc.set_affiliation(cell, "member", jid="paris@localhost", timeout=PATIENCE)
        await refused("not-authorized", paris.enter(cell, "Paris"))
        own, *_ = await paris.enter(cell, "Paris", password="cauldron")
        expect(own["muc"]["affiliation"] == "member", f"{own}")
    with checks.check("rooms: full: refused, but not admins (7.2.9)"):
        await romeo.configure(cell, membersonly=False, passwordprotectedroom=False, maxusers="2")
        expect(await refused("service-unavailable", juliet.enter(cell, "Juliet")) == "wait", "the type is not wait")
        await romeo.muc.set_affiliation(cell, "admin", jid="juliet@localhost", timeout=PATIENCE)
        await juliet.enter(cell, "Juliet")


# MARK: kill -9


async def temporary(checks, romeo, juliet, paris):
    tavern = room_of("tavern")
    with checks.check("rooms: a temporary room ends with the last who leaves, and its name is anybody's (7.14)"):
        await romeo.found(tavern, "Romeo", persistentroom=False)
        info = (await romeo.plugin["xep_0030"].get_info(tavern, timeout=PATIENCE))["disco_info"]
        expect("muc_temporary" in info["features"] and "muc_persistent" not in info["features"], f"{info}")
        await juliet.enter(tavern, "Juliet")
        romeo.say(tavern, "Adieu")
        await juliet.message(tavern, "Adieu")
        await romeo.exit(tavern, "Romeo")
        juliet.say(tavern, "Alone")
        await juliet.message(tavern, "Alone")
        await juliet.exit(tavern, "Juliet")
        await refused("item-not-found", romeo.plugin["xep_0030"].get_info(tavern, timeout=PATIENCE))
        await paris.found(tavern, "Romeo", persistentroom=False)
        *_, history = await romeo.enter(tavern, "Guest", maxstanzas=50)
        expect(not history, f"{history}")
        expect(await paris.archive(tavern) == [], "the archive of a room that is no more")
    with checks.check("rooms: a probe is answered, and is no join (17.3)"):
        romeo.make_presence(pto=f"{tavern}/Romeo", ptype="probe").send()
        shown = await romeo.presence(tavern, "Romeo", lambda p: p["type"] == "available")
        expect(shown["muc"]["affiliation"] == "owner", f"{shown}")
        juliet.make_presence(pto=f"{tavern}/Romeo", ptype="probe").send()
        error = await juliet.presence(tavern, "Romeo", lambda p: p["type"] == "error")
        expect(error["error"]["condition"] == "not-acceptable", f"{error}")
    with checks.check("rooms: a ban of who has no account, and of a domain (9.1, 9.2)"):
        for address in ("nobody@localhost", "spam.example"):
            await paris.muc.set_affiliation(tavern, "outcast", jid=address, timeout=PATIENCE)
        expect(await paris.list(tavern, "outcast") == ["nobody@localhost", "spam.example"], "the list")
        await paris.muc.set_affiliation(tavern, "outcast", jid="localhost", timeout=PATIENCE)
        await romeo.presence(tavern, "Guest", lambda p: p["type"] == "unavailable" and 301 in codes(p))
        await refused("forbidden", juliet.enter(tavern, "Juliet"))
        for address in ("localhost", "nobody@localhost"):
            await paris.muc.set_affiliation(tavern, "none", jid=address, timeout=PATIENCE)
        expect(await paris.list(tavern, "outcast") == ["spam.example"], "the list")
        await juliet.enter(tavern, "Juliet")
        await juliet.exit(tavern, "Juliet")
        await paris.exit(tavern, "Romeo")
    with checks.check("rooms: a destroyed room is made again by its owner, and by nobody else (10.9)"):
        await romeo.found(tavern, "Romeo")
        await romeo.muc.destroy(tavern, timeout=PATIENCE)
        await refused("gone", juliet.enter(tavern, "Juliet"))
        await romeo.found(tavern, "Romeo", persistentroom=False)
        await juliet.enter(tavern, "Juliet")
        await juliet.exit(tavern, "Juliet")
        await romeo.exit(tavern, "Romeo")


async def converse(checks, server):
    romeo, juliet, paris = [await Guest(server, name).arrive() for name in ("romeo", "juliet", "paris")]
    await discover(checks, romeo)
    for part in (create, talk, nicks):
        with checks.check(f"rooms: {part.__name__} ran to its end"):
            await part(checks, *((romeo, juliet, paris)))
    with checks.check("rooms: sessions ran to its end"):
        await sessions(checks, server, romeo, juliet, paris)
    with checks.check("rooms: archive ran to its end"):
        await archive(checks, romeo, juliet)
    with checks.check("rooms: invite ran to its end"):
        await invite(checks, server, romeo, juliet)
    for part in (moderate, register, doors, temporary):
        with checks.check(f"rooms: {part.__name__} ran to its end"):
            await part(checks, romeo, juliet, paris)
    for guest in (romeo, juliet, paris):
        await guest.leave()


def run(checks, rounds=5, seed=None):
    seed = random.randrange(1 << 32) if seed is None else seed
    # What it says of connections that break under it is meant here.
    logging.getLogger("slixmpp").addHandler(logging.NullHandler())
    with Server() as server:
        server.start()
        server.add_users(*PEOPLE)
        try:
            asyncio.run(converse(checks, server))
            asyncio.run(crash(checks, server, rounds, seed))
        except Exception:
            print(server.tail())
            raise


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    outcome = Checks()
    run(outcome, arguments.rounds, arguments.seed)
    print(f"{outcome.passed} passed, {len(outcome.failed)} failed")
    sys.exit(1 if outcome.failed else 0)
