"""A chat SDK for apps (docs/guides/five-apps.md, CS), row by row: Viola came by mail address, Olivia by Facebook, Antonio by his
telephone, Feste is a guest; Toby made his account with slixmpp.
"""
import asyncio
import hashlib
import re
import uuid

from slixmpp import JID
from slixmpp.exceptions import IqError, PresenceError

from lib import signins as oauth
from lib.apps import totp
from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import HASH, LARK, ROSE, Client, Registering, metadata_of, nick_of
from lib.signins import Signer, vouch
from lib.stage import Beacon, Described, Moderator, Peer, Services, Story, agree, serve, switch

BACKEND, SECRET = "shop", "a secret of the shop's backend and the server"
VIOLA, STAGING = "viola@illyria.example", "staging.example"
CLIP = b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 8
SONG = b"OggS" + bytes(range(256)) * 4
FILE, GEO = "{urn:xmpp:file:metadata:0}", "{http://jabber.org/protocol/geoloc}"
PHONE = "+390458000000"


async def befriend(app, peer):
    """The app asks, slixmpp agrees and asks back."""
    await app.ask("PUT", f"/v1/contacts/{peer.boundjid.user}")
    await peer.saw("presence_subscribe", lambda p: p["from"].bare == app.jid)
    peer.send_presence_subscription(app.jid, ptype="subscribed")
    peer.send_presence_subscription(app.jid, ptype="subscribe")
    await app.event("contact.updated", lambda d: d["contact"]["userId"] == peer.boundjid.user and d["contact"]["state"] == "mutual")


async def refused(password, stage, name):
    client = Client(stage.server, f"{name}@localhost/refused")
    client.credentials["password"] = password
    # It would come as a guest where its password is not taken.
    client["feature_mechanisms"].use_mechs = {"PLAIN", *(f"SCRAM-SHA-{size}" for size in (1, 256, 512))}
    client.enable_direct_tls, client.enable_starttls, client.enable_plaintext = False, True, False
    client.connect("127.0.0.1", stage.server.xmpp)
    await client.saw("failed_all_auth")
    client.abort()
    Peer.everybody.append(client)


async def condition(answer):
    """What slixmpp's question is refused with."""
    try:
        await answer
    except (IqError, PresenceError) as error:
        return error.condition
    return None


def chain(frames):
    """The messages of these frames with their cursors."""
    return [(f["cursor"], f["data"]["message"]["id"]) for f in frames if f.get("type") == "message.created"]


async def messages_and_rooms(story, viola, olivia, toby):
    """Messages, groups and public chats, both ways."""
    private = group = square = None
    with story.row(1, "private messages, both ways"):
        private = await viola.dialog("toby")
        said = await viola.say(private, "What country, friends, is this?")
        heard = await toby.hears("What country, friends, is this?", viola.jid)
        expect((heard["type"], heard["stanza_id"]["id"]) == ("chat", said["id"]), f"{heard}")
        toby.chat(viola.jid, "This is Illyria, lady")
        got = await viola.message("This is Illyria, lady")
        expect((got["dialogId"], got["senderId"]) == (private, "toby"), f"{got}")

    with story.row(2, "text, picture and place, both ways: slixmpp gets body, link (XEP-0066), geo URI and XEP-0080"):
        await viola.send(private, {"type": "location", "lat": 45.4384, "lng": 10.9916, "name": "The coast"})
        heard = await toby.saw("any message", lambda m: str(m["body"]).startswith("geo:"))
        place = heard.xml.find(GEO + "geoloc")
        expect((str(heard["body"]), place.findtext(GEO + "lat"), place.findtext(GEO + "description")) ==
               ("geo:45.4384,10.9916", "45.4384", "The coast"), f"{heard}")
        picture = await viola.upload(LARK, "coast.png", "image/png")
        await viola.send(private, {"type": "image", "text": "A wreck", "attachments": [picture["id"]]})
        heard = await toby.saw("any message", lambda m: m["oob"]["url"] == picture["url"])
        expect(await viola.fetch(heard["oob"]["url"]) == LARK, "other bytes")
        toby.chat(viola.jid, "geo:48.198634,16.371648")
        place = await viola.event("message.created", lambda d: d["message"]["content"]["type"] == "location" and d["message"]["senderId"] == "toby")
        expect(place["message"]["content"]["lat"] == 48.198634, f"{place}")

    with story.row(3, "groups and public chats: slixmpp finds members-only and open rooms, and lists the open ones"):
        group = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "The captain's", "memberIds": ["toby", olivia.id]}, 201)
        square = await viola.ask("POST", "/v1/dialogs", {"type": "public", "name": "The market", "topic": "Fish"}, 201)
        await toby.enter(group["jid"], "Toby")
        await toby.enter(square["jid"], "Toby")
        for room, wanted in ((group["jid"], "muc_membersonly"), (square["jid"], "muc_open")):
            info = await toby["xep_0030"].get_info(jid=room, timeout=PATIENCE)
            expect(wanted in info["disco_info"]["features"], f"{room}: {info}")
        hidden = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "The ship", "memberIds": [olivia.id]}, 201)
        items = {item[0] for item in (await toby["xep_0030"].get_items(jid="conference.localhost", timeout=PATIENCE))["disco_items"]["items"]}
        expect(square["jid"] in items and hidden["jid"] not in items, f"{items}")
        found = (await olivia.dialogs("?scope=public&query=market"))["items"]
        expect([d["id"] for d in found] == [square["id"]], f"{found}")
        await olivia.ask("PUT", f"/v1/dialogs/{square['id']}/members/me")
        toby.say(square["jid"], "Fresh herring")
        await olivia.message("Fresh herring")
        await olivia.say(group["id"], "I am in the captain's")
        await toby.message(group["jid"], "I am in the captain's")
    return private, group, square


async def profiles(stage, story, viola, olivia, antonio, toby):
    """Profiles, and accounts that the backend vouches for."""
    guest = sebastian = None
    with story.row(4, "a profile with keys of the app's own, each for whom it is for; slixmpp is shown none of them"):
        await viola.ask("PATCH", "/v1/users/me", {"metadata": {"hairColor": "brown"}, "contactsMetadata": {"shoe": 38}, "privateMetadata": {"twin": "Sebastian"}})
        me = await viola.ask("GET", "/v1/users/me")
        expect(me["privateMetadata"] == {"twin": "Sebastian"} and me["contactsMetadata"] == {"shoe": 38}, f"{me}")
        seen = await olivia.ask("GET", f"/v1/users/{viola.id}")
        expect(seen["metadata"] == {"hairColor": "brown"} and "Sebastian" not in str(seen) and "contactsMetadata" not in seen, f"{seen}")
        await viola.refused(413, "metadata-too-long", "PATCH", "/v1/users/me", {"metadata": {"hairColor": "x" * 5_000}})
        card = await toby["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["FN"] == "Viola" and "brown" not in str(card), f"{card}")

    with story.row(5, "an authentication of the app's own: its backend vouches; slixmpp comes by the token of that session"):
        nonce = (await antonio.ask("POST", "/v1/nonces", status=201))["nonce"]
        token = vouch(nonce, "sebastian", Signer("HS256", secret=SECRET), BACKEND, name="Sebastian")
        guest = await stage.app("sebastian-ios")
        session = await guest.sign_in(grant="jwt", identityToken=token)
        sebastian = Moderator(stage, session, "ship")
        stage.people.append(sebastian)
        await sebastian.arrive()
        expect(sebastian.boundjid.bare == guest.jid, f"{sebastian.boundjid}")
        sebastian.chat("toby@localhost", "I am yet so near the manners of my mother")
        await toby.hears("I am yet so near the manners of my mother", guest.jid)
    return guest, sebastian


async def logins(services, twitter, stage, story, viola, olivia, antonio, feste, toby, square):
    """The ways to log in."""
    with story.row(6, "by Facebook, Google, telephone, mail, and as a guest who stays; slixmpp as a guest (SASL ANONYMOUS)"):
        info = await viola.ask("GET", "/v1/info")
        expect({"password", "code", "provider", "jwt", "guest"} <= set(info["grants"]), f"{info}")
        maria = await stage.app("maria-ios")
        given = await asyncio.to_thread(oauth.sign_in, twitter, "17")
        await maria.sign_in(grant="provider", provider="twitter", **given)
        await maria.refused(401, "identity-token-invalid", "POST", "/v1/sessions", {"grant": "provider", "provider": "twitter", **given})
        again = await stage.app("maria-web", grant="provider", provider="twitter", **await asyncio.to_thread(oauth.sign_in, twitter, "17"))
        expect(again.id == maria.id and maria.user["name"] == "Name 17", f"{maria.user} {again.user}")
        await antonio.sign_in(grant="provider", provider="firebase", idToken=services.token(
            "firebase", "antonio", name="Antonio", phone_number=PHONE, firebase={"sign_in_provider": "phone"}))
        expect((await antonio.ask("GET", "/v1/users/me"))["phone"] == PHONE, "his number is not his")
        await olivia.refused(401, "identity-token-invalid", "POST", "/v1/sessions", {
            "grant": "provider", "provider": "google", "idToken": services.token("facebook", "42")})
        # Several ways lead to one user.
        await olivia.ask("POST", "/v1/users/me/identities", {"provider": "google", "idToken": services.token("google", "o@g", name="Olivia")}, 201)
        other = await stage.app("olivia-web", grant="provider", provider="google", idToken=services.token("google", "o@g"))
        expect(other.id == olivia.id, f"{other.user}")
        # A visitor looks round, and stays.
        await feste.sign_in(grant="guest")
        expect(feste.user["guest"] is True, f"{feste.user}")
        await feste.connect()
        await feste.ask("PUT", f"/v1/dialogs/{square['id']}/members/me")
        await feste.refused(403, "guest-limited", "PUT", "/v1/contacts/toby")
        await feste.say(square["id"], "Are you a comedian?")
        await toby.message(square["jid"], "Are you a comedian?")
        await feste.ask("POST", "/v1/users/me/identities", {"provider": "facebook", "idToken": services.token("facebook", "77", name="Feste")}, 201)
        stays = await feste.ask("GET", "/v1/users/me")
        expect(stays["id"] == feste.id and "guest" not in stays, f"{stays}")
        visitor = Client(stage.server, "localhost")
        visitor.register_plugin("xep_0045")
        visitor.register_plugin("xep_0249")
        await visitor.arrive()
        await visitor["xep_0045"].join_muc_wait(JID(square["jid"]), "Curio", maxstanzas=0, timeout=PATIENCE)
        visitor.send_message(square["jid"], "Will you go hunt, my lord?", mtype="groupchat")
        await viola.message("Will you go hunt, my lord?")
        await visitor.leave()


async def accounts_of_a_phone(services, stage, story, viola, olivia, toby, guest, sebastian):
    """Several accounts on one phone."""
    beacon = None
    push = {"provider": "apns", "token": "ab12"}
    with story.row(7, "several accounts on one phone: each push names its account; slixmpp's accounts register each for itself (XEP-0357)"):
        for app in (viola, olivia):
            await app.ask("PUT", "/v1/devices/phone", {"push": push}, 201)
            await app.disconnect()
        toby.chat(viola.jid, "To Viola")
        _, body = await services.push("a message to Viola", "ab12")
        expect(body["userId"] == viola.id, f"{body}")
        toby.chat(olivia.jid, "To Olivia")
        _, body = await services.push("a message to Olivia", "ab12")
        expect(body["userId"] == olivia.id, f"{body}")
        await stage.command("user", "add", "beacon@localhost", "--password-stdin", stdin=PASSWORD + "\n")
        beacon = Beacon(stage, "beacon", "push", PASSWORD)
        stage.people.append(beacon)
        await beacon.arrive()
        for peer in (toby, sebastian):
            await agree(beacon, peer)
            expect((await switch(peer, True, str(beacon.boundjid), peer.boundjid.user))["type"] == "result", "no registration")
        await sebastian.leave()
        await viola.connect(viola.cursor)
        await viola.say(await viola.dialog(guest.id), "Prove true, imagination")
        told = await beacon.saw("push")
        node = told.xml.find(".//{http://jabber.org/protocol/pubsub}publish").get("node")
        expect(node == guest.id, f"the push is for {node}")
        await olivia.connect(olivia.cursor)
    return beacon


async def devices(stage, story, viola, toby, private):
    """Several devices of one user, and the second factor."""
    own = None
    with story.row(8, "one protocol on all systems: two devices of one user are told the same, and so is a second slixmpp (XEP-0280)"):
        android = await stage.app("viola-android", grant="password", email=VIOLA, password=PASSWORD)
        await android.connect(viola.cursor)
        cellar = await stage.peer("toby", "cellar")
        before = len(android.frames), len(viola.frames)
        toby.chat(viola.jid, "To both of you")
        copy = await cellar.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "To both of you")
        expect(copy["from"].bare == "toby@localhost", f"{copy}")
        sent = await android.say(private, "And from both")
        await toby.hears("And from both")
        for app in (viola, android):
            # The last that it causes: slixmpp says that it has it.
            await app.event("marker.updated", lambda d: d["marker"]["userId"] == "toby" and d["marker"].get("delivered") == sent["id"])
        expect(viola.cursor == android.cursor, "the devices are not at the same place")
        expect(chain(android.frames[before[0]:]) == chain(viola.frames[before[1]:]) != [], "the devices were told different things")
        await android.leave()
        await cellar.leave()

    with story.row(9, "a second factor: TOTP, recovery codes; slixmpp is refused the password and let in by an app password"):
        made = await viola.ask("POST", "/v1/users/me/second-factor", {"password": PASSWORD}, 201)
        recovery = (await viola.ask("PUT", "/v1/users/me/second-factor", {"code": totp(made["secret"])}))["recoveryCodes"]
        expect(made["uri"].startswith("otpauth://totp/") and len(recovery) == 10, f"{made} {recovery}")
        web = await stage.app("viola-web")
        asked = await web.refused(401, "second-factor-required", "POST", "/v1/sessions", {"grant": "password", "email": VIOLA, "password": PASSWORD})
        await web.refused(401, "wrong-code", "POST", "/v1/sessions", {
            "grant": "second-factor", "challenge": asked["challenge"], "recoveryCode": "0000-0000-0000"})
        await web.sign_in(grant="second-factor", challenge=asked["challenge"], recoveryCode=recovery[0])
        expect(web.id == viola.id, f"{web.user}")
        await refused(PASSWORD, stage, viola.id)
        lent = (await viola.ask("POST", "/v1/app-passwords", {"name": "slixmpp"}, 201))["password"]
        own = await stage.peer(viola.id, "desk", lent)
        expect(own.boundjid.bare == viola.jid, f"{own.boundjid}")
        await web.ask("DELETE", f"/v1/users/me/second-factor?recoveryCode={recovery[1]}", status=204)
        await web.leave()
    return own


async def media_and_places(stage, story, viola, antonio, toby, private, own):
    """Sounds, receipts, places and people who are near."""
    with story.row(10, "sounds and films with their length, heard from the middle; slixmpp is told it (XEP-0446)"):
        song = await viola.upload(SONG, "song.ogg", "audio/ogg", durationMs=4_200)
        clip = await viola.upload(CLIP, "clip.mp4", "video/mp4", width=640, height=480, durationMs=2_500)
        sent = await viola.send(private, {"type": "audio", "attachments": [song["id"]], "waveform": [0, 128, 255]})
        expect(sent["content"]["waveform"] == [0, 128, 255] and sent["content"]["attachments"][0]["durationMs"] == 4_200, f"{sent}")
        await viola.send(private, {"type": "video", "attachments": [clip["id"]]})
        for slot, length in ((song, "4200"), (clip, "2500")):
            heard = await toby.saw("any message", lambda m, slot=slot: m["oob"]["url"] == slot["url"])
            file = heard.xml.find(f"{{urn:xmpp:sfs:0}}file-sharing/{FILE}file")
            expect(file is not None and file.findtext(FILE + "length") == length, f"{heard}")
        status, headers, part = await viola.answer("GET", song["url"], headers={"Authorization": "", "Range": "bytes=4-7"})
        expect((status, part, headers["Content-Range"]) == (206, SONG[4:8], f"bytes 4-7/{len(SONG)}"), f"{status} {headers}")

    with story.row(11, "read receipts, both ways (XEP-0184, XEP-0333)"):
        await befriend(viola, toby)
        sent = await viola.say(private, "Have you read it?")
        heard = await toby.hears("Have you read it?")
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "toby" and d["marker"].get("delivered") == sent["id"])
        toby["xep_0333"].send_marker(JID(viola.jid), heard["id"], "displayed")
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "toby" and d["marker"].get("read") == sent["id"])
        name = toby.chat(viola.jid, "And you?", receipt=True, markable=True)
        got = await viola.message("And you?")
        await viola.ask("PUT", f"/v1/dialogs/{private}/marker", {"delivered": got["id"]})
        await toby.saw("receipt_received", lambda m: m["receipt"] == name)
        await viola.ask("PUT", f"/v1/dialogs/{private}/marker", {"read": got["id"]})
        await toby.saw("marker_displayed", lambda m: m["displayed"]["id"] == name)

    with story.row(12, "who is near, for who shares it too and coarsely; slixmpp's own place (XEP-0080) goes to its contacts alone"):
        await antonio.refused(403, "location-not-shared", "GET", "/v1/users?near=45.44,10.99")
        await viola.ask("PUT", "/v1/users/me/location", {"latitude": 45.4386, "longitude": 10.9928})
        await antonio.ask("PUT", "/v1/users/me/location", {"latitude": 45.4401, "longitude": 10.9950, "ttl": 600})
        near = (await antonio.ask("GET", "/v1/users?near=45.44,10.99&radius=2"))["items"]
        expect([(u["id"], u["distance"]) for u in near] in ([(viola.id, 1)], [(viola.id, 2)]) and "latitude" not in str(near), f"{near}")
        await antonio.refused(403, "location-elsewhere", "GET", "/v1/users?near=52.5,13.4")
        await viola.ask("DELETE", "/v1/users/me/location", status=204)
        expect((await antonio.ask("GET", "/v1/users?near=45.44,10.99&radius=2"))["items"] == [], "she is still near")
        expect(await condition(toby.pep(viola.jid, GEO[1:-1])) == "item-not-found", "her place is in a node")
        toby.register_plugin("xep_0080")
        await toby["xep_0080"].publish_location(lat=45.4, lon=10.9, timeout=PATIENCE)
        places = await own.pep("toby@localhost", GEO[1:-1])
        expect([p.findtext(GEO + "lat") for p in places.values()] == ["45.4"], f"{places}")
        stranger = await stage.peer("beacon", "other")
        expect(await condition(stranger.pep("toby@localhost", GEO[1:-1])) is not None, "a stranger is told where he is")
        await stranger.leave()


async def contacts_and_discovery(stage, story, viola, olivia, antonio, toby, private, group, square, own):
    """Contacts, and how a client finds the server."""
    with story.row(13, "contacts out of a phonebook; slixmpp finds them in the roster"):
        salt = await viola.ask("GET", "/v1/contact-matches")
        digest = lambda number: hashlib.sha256((salt["salt"] + number).encode()).hexdigest()
        hashes = [digest(PHONE), digest("+390458000001")]
        expect((await viola.ask("POST", "/v1/contact-matches", {"hashes": hashes}))["items"] == [], "he is found without having said so")
        await antonio.ask("PATCH", "/v1/users/me", {"matchable": True})
        (match,) = (await viola.ask("POST", "/v1/contact-matches", {"hashes": hashes}))["items"]
        expect((match["hash"], match["user"]["id"]) == (hashes[0], antonio.id) and PHONE not in str(match), f"{match}")
        await viola.ask("PUT", f"/v1/contacts/{antonio.id}", {"name": "The captain"})
        item = await own.roster_item(antonio.jid, lambda line: line["name"] == "The captain")
        expect(item["pending_out"], f"{item}")

    story.client_only(14, "integration and new skins", "documented operations and events")

    with story.row(15, "any XMPP client, at a name of one's own: how it is found (XEP-0156), by STARTTLS and TLS with the certificate verified"):
        meta = await viola.ask("GET", viola.base + "/.well-known/host-meta.json", headers={"Authorization": ""})
        links = {link["rel"]: link["href"] for link in meta["links"]}
        expect(links["urn:xmpp:alt-connections:websocket"].startswith("wss://localhost:") and "urn:xmpp:alt-connections:xbosh" in links, f"{links}")
        direct = await Client(stage.server, "toby@localhost/direct", direct=True).arrive()
        version = await direct["xep_0092"].get_version("localhost", timeout=PATIENCE)
        expect(version["software_version"]["name"] == "Parley", f"{version}")
        await direct.leave()
        await refused("not this", stage, "toby")

    with story.row(16, "one to one and many to many, in one list, for both"):
        kinds = {d["id"]: d["type"] for d in (await viola.dialogs())["items"]}
        expect((kinds[private], kinds[group["id"]], kinds[square["id"]]) == ("private", "group", "public"), f"{kinds}")
        toby.chat(viola.jid, "One to one")
        toby.say(group["jid"], "One to many")
        expect((await viola.message("One to one"))["dialogId"] == private, "another dialog")
        expect((await viola.message("One to many"))["dialogId"] == group["id"], "another dialog")
        await olivia.message("One to many")


async def people(story, viola, olivia, antonio, toby, private, own):
    """Cards, the search for people, typing and the last activity."""
    with story.row(17, "a whole card (XEP-0054, XEP-0292): kept as slixmpp wrote it, its name and picture are the app's"):
        card = toby["xep_0054"].make_vcard()
        card["FN"], card["NICKNAME"], card["BDAY"], card["TITLE"] = "Sir Toby Belch", "Sir Toby", "1560-01-06", "Uncle"
        card["PHOTO"]["TYPE"], card["PHOTO"]["BINVAL"] = "image/png", ROSE
        await toby["xep_0054"].publish_vcard(card, timeout=PATIENCE)
        await viola.event("user.updated", lambda d: d["user"]["id"] == "toby" and d["user"].get("avatarHash") == HASH[ROSE])
        seen = await viola.ask("GET", "/v1/users/toby")
        expect((seen["name"], seen["avatarHash"]) == ("Sir Toby", HASH[ROSE]), f"{seen}")
        read = (await own["xep_0054"].get_vcard("toby@localhost", timeout=PATIENCE, cached=False))["vcard_temp"]
        expect((read["FN"], read["TITLE"], str(read["BDAY"])[:10]) == ("Sir Toby Belch", "Uncle", "1560-01-06"), f"{read}")
        await viola.ask("PUT", "/v1/users/me/avatar", data=LARK, headers={"Content-Type": "image/png"})
        await toby.saw("avatar_metadata_publish", metadata_of(HASH[LARK]))
        read = (await toby["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False))["vcard_temp"]
        expect((read["FN"], read["PHOTO"]["BINVAL"]) == ("Viola", LARK), f"{read}")
        card4 = await toby["xep_0060"].get_items(viola.jid, "urn:xmpp:vcard4", timeout=PATIENCE)
        name = card4.xml.findtext(".//{urn:ietf:params:xml:ns:vcard-4.0}fn/{urn:ietf:params:xml:ns:vcard-4.0}text")
        expect(name == "Viola", f"{card4}")

    with story.row(18, "users are found by name, id, mail address and number, as far as they wish; slixmpp by XEP-0055"):
        async def found(query):
            return [u["id"] for u in (await viola.ask("GET", "/v1/users?" + query))["items"]]

        expect(await found("query=OLIV&field=name") == [olivia.id] and await found("query=toby&field=id") == ["toby"], "not by name")
        expect(await found("query=%2B390458000000&field=phone") == [antonio.id], "not by number")
        expect([u["id"] for u in (await olivia.ask("GET", f"/v1/users?query={VIOLA}&field=email"))["items"]] == [], "by an address that is hers alone")
        await viola.ask("PATCH", "/v1/users/me", {"matchable": True})
        expect([u["id"] for u in (await olivia.ask("GET", f"/v1/users?query={VIOLA}&field=email"))["items"]] == [viola.id], "not by address")
        iq = toby["xep_0055"].make_search_iq(ito="localhost")
        iq["search"]["form"].add_field(var="nick", value="vio")
        items = (await iq.send(timeout=PATIENCE))["search"]["form"].get_items()
        expect([item["jid"] for item in items] == [viola.jid], f"{items}")
        await olivia.ask("PATCH", "/v1/users/me", {"searchable": False})
        expect(await found("query=OLIV") == [], "who wishes not to be found is")

    with story.row(19, "who is typing, both ways (XEP-0085)"):
        message = toby.make_message(viola.jid, mtype="chat")
        message["chat_state"] = "composing"
        message.send()
        await viola.event("typing.updated", lambda d: d["dialogId"] == private and d["userIds"] == ["toby"])
        await viola.command("typing", {"dialogId": private, "on": True})
        await toby.saw("chatstate_composing", lambda m: m["from"].bare == viola.jid)

    with story.row(20, "last online, as far as one wishes, for both (XEP-0012)"):
        await own.leave()
        await viola.disconnect()
        await toby.saw("presence_unavailable", lambda p: p["from"].bare == viola.jid and p["from"].resource == "app-viola-ios")
        last = (await toby["xep_0012"].get_last_activity(viola.jid, timeout=PATIENCE))["last_activity"]["seconds"]
        expect(0 <= last < 60, f"{last}")
        expect("lastSeenAt" not in await olivia.ask("GET", f"/v1/users/{viola.id}"), "a stranger is told")
        await viola.ask("PATCH", "/v1/users/me", {"lastSeenVisibility": "everybody"})
        expect("lastSeenAt" in await olivia.ask("GET", f"/v1/users/{viola.id}"), "nobody is told")
        await viola.ask("PATCH", "/v1/users/me", {"lastSeenVisibility": "nobody"})
        expect(await condition(toby["xep_0012"].get_last_activity(viola.jid, timeout=PATIENCE)) == "forbidden", "he is told")
        await viola.connect(viola.cursor)


async def presence(story, viola, olivia, antonio, toby, group, square):
    """Presence, contacts and status, both ways."""
    with story.row(21, "presence, both ways"):
        await toby.saw("presence_available", lambda p: str(p["from"]) == f"{viola.jid}/app-viola-ios")
        expect((await viola.ask("GET", "/v1/users/toby/presence"))["online"], "he is not online")
        toby.send_presence(ptype="unavailable")
        await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "toby" and not d["presence"]["online"])
        toby.send_presence()
        await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "toby" and d["presence"]["online"])
        await toby.enter(group["jid"], "Toby")
        await toby.enter(square["jid"], "Toby")

    with story.row(22, "contacts are the roster: what either side changes, the other sees"):
        await toby.update_roster(viola.jid, name="Cesario", groups=["Pages"])
        expect((await toby.roster_item(viola.jid, lambda i: i["name"] == "Cesario"))["subscription"] == "both", "another subscription")
        mine = {c["userId"]: c["state"] for c in (await viola.ask("GET", "/v1/contacts"))["items"]}
        expect(mine == {"toby": "mutual", antonio.id: "pendingOut"}, f"{mine}")
        await viola.ask("DELETE", f"/v1/contacts/{antonio.id}", status=204)
        await viola.event("contact.updated", lambda d: d["contact"]["userId"] == antonio.id and d["removed"])
        toby.send_presence_subscription(olivia.jid)
        await olivia.event("contact.updated", lambda d: d["contact"]["userId"] == "toby" and d["contact"]["state"] == "pendingIn")
        await olivia.ask("PUT", "/v1/contacts/toby")
        await toby.roster_item(olivia.jid, lambda i: i["subscription"] in ("to", "both"))

    with story.row(23, "availability and a status in words, both ways (show and status)"):
        await viola.command("presence", {"availability": "doNotDisturb", "status": "At the Duke's"})
        await toby.saw("any presence", lambda p: p["from"].bare == viola.jid and p["show"] == "dnd" and p["status"] == "At the Duke's")
        toby.send_presence(pshow="xa", pstatus="In the cellar")
        heard = await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "toby" and d["presence"]["availability"] == "extendedAway")
        expect(heard["presence"]["status"] == "In the cellar", f"{heard}")
        await viola.ask("PATCH", "/v1/users/me", {"status": "I am not what I am"})
        expect((await olivia.ask("GET", f"/v1/users/{viola.id}"))["status"] == "I am not what I am", "another status")
        toby.send_presence()
        await viola.command("presence", {"availability": "online"})
        await toby.saw("any presence", lambda p: p["from"].bare == viola.jid and p["show"] == "" and p["type"] == "available")

    story.client_only(24, "screens, input, keyboard")


async def archive_and_pushes(services, stage, story, viola, toby, private, group, square, beacon):
    """What is kept, what is pushed, and older messages."""
    with story.row(25, "messages are kept: a new device has all of them, and so has a new slixmpp (XEP-0313), by the same ids"):
        fresh = await stage.app("viola-new", grant="password", email=VIOLA, password=PASSWORD)
        history = [(m["id"], m["content"]["text"]) for m in (await fresh.history(private))[::-1]]
        late = await stage.peer("toby", "late")
        archive = []
        async for entry in late["xep_0313"].iterate(with_jid=viola.jid, rsm={"max": 50}):
            archive.append(str(entry["mam_result"]["id"]))
        ids = {number for number, _ in history}
        expect(len(ids) >= 13 and [number for number in archive if number in ids] == [number for number, _ in history], f"{history} {archive}")
        await late.leave()
        await fresh.leave()

    with story.row(26, "pushes: devices, and slixmpp's own service (XEP-0357)"):
        (device,) = (await viola.ask("GET", "/v1/devices"))["items"]
        expect((device["id"], device["push"]["provider"]) == ("phone", "apns"), f"{device}")
        await viola.disconnect()
        toby.chat(viola.jid, "Wake up")
        headers, body = await services.push("a message", "ab12")
        expect(headers["apns-push-type"] == "alert" and body["userId"] == viola.id and body["aps"]["badge"] >= 1, f"{headers} {body}")
        await viola.connect(viola.cursor)
        await viola.ask("DELETE", "/v1/devices/phone", status=204)
        await toby.leave()
        await viola.say(private, "You too")
        told = await beacon.saw("push")
        expect(told.xml.find(".//{http://jabber.org/protocol/pubsub}publish").get("node") == "toby", f"{told}")
    toby = await stage.peer("toby")
    await toby.enter(group["jid"], "Toby")
    await toby.enter(square["jid"], "Toby")

    with story.row(27, "older messages are loaded as they are looked at, page by page, as slixmpp does (XEP-0059)"):
        whole = [m["id"] for m in await viola.history(private)]
        pages, cursor = [], ""
        while True:
            page = await viola.ask("GET", f"/v1/dialogs/{private}/messages?limit=4{cursor}")
            expect(len(page["items"]) <= 4, f"{page}")
            pages += [m["id"] for m in page["items"]]
            if "nextCursor" not in page:
                break
            cursor = "&before=" + page["nextCursor"]
        expect(pages == whole and len(whole) > 8, "the pages are not the whole")
        newest = [str(e["mam_result"]["id"]) async for e in toby["xep_0313"].iterate(
            with_jid=viola.jid, reverse=True, rsm={"max": 4})]
        expect([number for number in newest if number in set(whole)] == whole, f"{newest}")
    return toby


async def apps_and_files(stage, story, viola, toby, private, group, square):
    """Apps of one server, and their files."""
    with story.row(28, "test and production apart: another app of the same server is another XMPP domain, and knows nobody of this one"):
        tester = await stage.app("tester")
        there = {"Host": STAGING}
        await tester.ask("POST", "/v1/users", {"username": "toby", "password": PASSWORD, "name": "Another Toby"}, 201, headers=there)
        session = await tester.ask("POST", "/v1/sessions", {"grant": "password", "username": "toby", "password": PASSWORD}, 201, headers=there)
        tester.token, tester.user = session["accessToken"], session["user"]
        expect(tester.jid == "toby@" + STAGING, f"{tester.user}")
        await tester.refused(404, "user-unknown", "GET", f"/v1/users/{viola.id}")
        await tester.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{private}")
        await tester.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{square['id']}")
        expect((await tester.dialogs("?scope=public"))["items"] == [], "it lists the other's")
        expect((await viola.ask("GET", "/v1/users/toby"))["jid"] == "toby@localhost", "another Toby")
        name = toby.chat(tester.jid, "Who are you?")
        error = await toby.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
        expect(error["error"]["condition"] in ("service-unavailable", "remote-server-not-found", "item-not-found"), f"{error}")

    with story.row(29, "uploads of every kind in one store, counted; slixmpp's as well (XEP-0363)"):
        before = await viola.ask("GET", "/v1/users/me/storage")
        kinds = [("note.txt", "text/plain", b"a note", "file"), ("a.png", "image/png", LARK, "image"),
                 ("b.ogg", "audio/ogg", SONG, "audio"), ("c.mp4", "video/mp4", CLIP, "video")]
        for name, media, data, kind in kinds:
            slot = await viola.upload(data, name, media)
            await viola.send(group["id"], {"type": kind, "attachments": [slot["id"]]})
            heard = await toby.message(group["jid"], slot["url"])
            expect(await viola.fetch(heard["oob"]["url"]) == data, f"{name} has other bytes")
        after = await viola.ask("GET", "/v1/users/me/storage")
        expect((after["files"] - before["files"], after["bytes"] - before["bytes"]) == (4, sum(len(k[2]) for k in kinds)), f"{before} {after}")
        url = await toby.upload(CLIP, "mine.mp4", "video/mp4")
        toby.say(group["jid"], url)
        got = await viola.event("message.created", lambda d: d["message"]["content"]["type"] == "video" and d["message"]["senderId"] == "toby")
        expect(await viola.fetch(got["message"]["content"]["attachments"][0]["url"]) == CLIP, "other bytes")

    story.client_only(30, "permissions, frameworks, stores, licences", "TLS everywhere, as this story has it")


async def rules(stage, story, viola, olivia, feste, toby, private):
    """Rules of the server, and what a message is."""
    secret = None
    with story.row(31, "rules that the server keeps: who is not in it neither reads nor writes, in either protocol"):
        secret = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "The box tree", "memberIds": [olivia.id]}, 201)
        told = await viola.say(secret["id"], "Here's an overweening rogue")
        base = f"/v1/dialogs/{secret['id']}"
        for method, path, body in [
            ("GET", base, None), ("GET", base + "/messages", None), ("GET", base + "/members", None), ("PATCH", base, {"name": "Mine"}),
            ("POST", base + "/messages", {"clientId": "1", "content": {"type": "text", "text": "I am here"}}), ("DELETE", base + "?for=everyone", None),
            ("PATCH", f"{base}/messages/{told['id']}", {"text": "Mine"}), ("DELETE", f"{base}/messages/{told['id']}?for=everyone", None),
            ("PUT", base + "/members/me", {}), ("PUT", base + "/marker", {"read": told["id"]}), ("POST", base + "/typing", {"on": True}),
        ]:
            await feste.refused(404, "dialog-unknown", method, path, body)
        await olivia.refused(403, "message-foreign", "PATCH", f"{base}/messages/{told['id']}", {"text": "Mine"})
        await olivia.refused(403, "not-admin", "PATCH", base, {"name": "Mine"})
        expect(await condition(toby.enter(secret["jid"], "Toby")) in ("registration-required", "item-not-found"), "he is let in")
        history = toby.make_iq_set(ito=secret["jid"])
        history["mam"]["queryid"] = "stolen"
        expect(await condition(history.send(timeout=PATIENCE)) in ("forbidden", "item-not-found"), "he reads it")
        name = toby.say(secret["jid"], "I am here")
        expect(await toby.fault(name) in ("not-acceptable", "item-not-found", "forbidden"), "he speaks there")
        expect([m["content"]["text"] for m in await viola.history(secret["id"]) if m["content"]["type"] == "text"] == [told["content"]["text"]], "it was written to")

    with story.row(32, "what a message is: text, kind, time, author, dialog, delivered, read, reported; one's own is not unread"):
        toby.chat(viola.jid, "Buy this")
        spam = await viola.message("Buy this")
        Described().fits("openapi.yaml#/components/schemas/Message", spam)
        unread = (await viola.open(private))["me"]["unreadCount"]
        desk = await stage.peer(viola.id, "desk")
        mine = await viola.say(private, "I do not")
        copy = await desk.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "I do not")
        expect(copy["carbon_sent"]["to"].bare == "toby@localhost", f"{copy}")
        expect((await viola.open(private))["me"]["unreadCount"] == unread, "one's own message is unread")
        await toby.hears("I do not")
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "toby" and d["marker"].get("delivered") == mine["id"])
        (receipt,) = (await viola.ask("GET", f"/v1/dialogs/{private}/messages/{mine['id']}/receipts"))["items"]
        expect((receipt["userId"], receipt["delivered"], receipt["read"]) == ("toby", True, False), f"{receipt}")
        await viola.ask("POST", f"/v1/dialogs/{private}/messages/{spam['id']}/flags", {"reason": "spam", "text": "Every day"}, 204)
        listed = await stage.command("report", "list")
        expect("toby@localhost" in listed and viola.jid in listed, listed)
        await desk.leave()
    return secret


async def sending(story, viola, toby, group):
    """What becomes of a message that is sent."""
    with story.row(33, "sending: the client's id comes back, in answer and event, and makes a retry no second message; slixmpp's as well (XEP-0359)"):
        mine = str(uuid.uuid4())
        body = {"clientId": mine, "content": {"type": "text", "text": "A letter"}}
        first = await viola.ask("POST", f"/v1/dialogs/{group['id']}/messages", body, 201)
        expect(await viola.ask("POST", f"/v1/dialogs/{group['id']}/messages", body, 200) == first, "a retry is another message")
        expect((await viola.message("A letter"))["clientId"] == mine, "the event has another id")
        await viola.refused(409, "client-id-reused", "POST", f"/v1/dialogs/{group['id']}/messages", {**body, "content": {"type": "text", "text": "Another"}})
        await toby.message(group["jid"], "A letter")
        message = toby.make_message(group["jid"], "An answer", mtype="groupchat")
        message["id"] = message["origin_id"]["id"] = str(uuid.uuid4())
        message.send()
        back = await toby.message(group["jid"], "An answer")
        expect((back["id"], back["origin_id"]["id"]) == (message["id"], message["id"]), f"{back}")
        again = toby.make_message(group["jid"], "An answer", mtype="groupchat")
        again["id"] = again["origin_id"]["id"] = message["id"]
        again.send()
        toby.say(group["jid"], "The end")
        await viola.message("The end")
        texts = [m["content"]["text"] for m in await viola.history(group["id"])]
        expect(texts.count("A letter") == 1 and texts.count("An answer") == 1, f"{texts}")


async def looks_and_events(story, viola, olivia, feste, toby, private, group, square, secret):
    """Fonts of messages, the stream of events, threads and fields."""
    with story.row(34, "a message's own colours and fonts, kept beside it; slixmpp gets the text alone"):
        look = {"font": "Cambria", "color": "#ffcc00"}
        sent = await viola.ask("POST", f"/v1/dialogs/{private}/messages", {
            "clientId": "yellow", "content": {"type": "text", "text": "In yellow stockings"}, "metadata": look}, 201)
        expect(sent["metadata"] == look and (await viola.history(private))[0]["metadata"] == look, f"{sent}")
        heard = await toby.hears("In yellow stockings")
        expect("ffcc00" not in str(heard), f"{heard}")

    with story.row(35, "one stream of events tells of everything, without subscribing to anything; slixmpp's stream does"):
        cursor = viola.cursor
        toby.chat(viola.jid, "in private")
        toby.say(group["jid"], "in the group")
        toby.say(square["jid"], "in public")
        await olivia.ask("PATCH", f"/v1/dialogs/{secret['id']}/me", {"pinned": True})
        await viola.ask("PATCH", f"/v1/dialogs/{secret['id']}", {"name": "The box hedge"})
        for text in ("in private", "in the group", "in public"):
            await viola.message(text)
        await viola.event("dialog.updated", lambda d: d["dialog"].get("name") == "The box hedge")
        told = (await viola.ask("GET", f"/v1/sync?cursor={cursor}&limit=100"))["events"]
        expect(told[0]["prevCursor"] == cursor and all(b["prevCursor"] == a["cursor"] for a, b in zip(told, told[1:])), "events are missing")
        expect("settings.updated" not in [e["type"] for e in told], "she is told of another's settings")
        await viola.say(group["id"], "To the group")
        await viola.say(square["id"], "To the market")
        await toby.message(group["jid"], "To the group")
        await toby.message(square["jid"], "To the market")

    with story.row(36, "threads: the one that is there or a new one, by kind, and nobody else's; slixmpp is shown no closed room"):
        expect(await viola.dialog("toby") == private, "a second private dialog")
        first = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "Malvolio", "externalId": "thread-17", "memberIds": ["toby"]}, 201)
        again = await viola.ask("POST", "/v1/dialogs", {"type": "group", "externalId": "thread-17"}, 200)
        expect(again["id"] == first["id"] and again["name"] == "Malvolio", f"{again}")
        for kind, wanted in (("private", private), ("group", first["id"]), ("public", square["id"])):
            listed = (await viola.dialogs(f"?type={kind}"))["items"]
            expect(wanted in [d["id"] for d in listed] and {d["type"] for d in listed} == {kind}, f"{kind}: {listed}")
        expect({d["id"] for d in (await feste.dialogs())["items"]} == {square["id"]}, "Feste sees others' threads")
        expect(await condition(toby["xep_0030"].get_info(jid=secret["jid"], timeout=PATIENCE)) == "item-not-found", "he is told of it")
        await toby.saw("pubsub_publish", lambda m: "Malvolio" in str(m))

    with story.row(37, "new fields without a new server, a user by id, and oneself"):
        changed = await viola.ask("PATCH", "/v1/users/me", {"metadata": {"hairColor": "brown", "team": {"name": "Illyria", "since": 1602}}})
        expect(changed["metadata"]["team"] == {"name": "Illyria", "since": 1602}, f"{changed}")
        seen = await olivia.ask("GET", f"/v1/users/{viola.id}")
        expect(seen["metadata"] == changed["metadata"] and seen["id"] == viola.id, f"{seen}")
        await olivia.refused(404, "user-unknown", "GET", "/v1/users/nobody")
        expect((await viola.ask("GET", "/v1/users/me"))["email"] == VIOLA and "email" not in seen, "whose address is it?")
        await viola.ask("PATCH", "/v1/users/me", {"name": "Viola of Messaline"})
        await toby.saw("user_nick_publish", nick_of("Viola of Messaline"))


async def walk(checks, services, twitter, stage):
    story = Story(checks, "CS", 37)
    viola, olivia, antonio, feste = [await stage.app(name) for name in ("viola-ios", "olivia-ios", "antonio-android", "feste-web")]
    await viola.ask("POST", "/v1/codes", {"email": VIOLA}, 202)
    (code,) = re.findall(r"^ +(\d{6})$", await services.mail(VIOLA), re.M)
    await viola.ask("POST", "/v1/users", {"email": VIOLA, "code": code, "password": PASSWORD, "name": "Viola"}, 201)
    await viola.sign_in(grant="password", email=VIOLA, password=PASSWORD)
    await viola.connect()
    await olivia.sign_in(grant="provider", provider="facebook", idToken=services.token("facebook", "42", name="Olivia"))
    await olivia.connect()
    newcomer = await Registering(stage.server, "toby@localhost/first").arrive()
    await newcomer.disconnect()
    toby = await stage.peer("toby")

    private, group, square = await messages_and_rooms(story, viola, olivia, toby)
    guest, sebastian = await profiles(stage, story, viola, olivia, antonio, toby)
    await logins(services, twitter, stage, story, viola, olivia, antonio, feste, toby, square)
    beacon = await accounts_of_a_phone(services, stage, story, viola, olivia, toby, guest, sebastian)
    own = await devices(stage, story, viola, toby, private)
    await media_and_places(stage, story, viola, antonio, toby, private, own)
    await contacts_and_discovery(stage, story, viola, olivia, antonio, toby, private, group, square, own)
    await people(story, viola, olivia, antonio, toby, private, own)
    await presence(story, viola, olivia, antonio, toby, group, square)
    toby = await archive_and_pushes(services, stage, story, viola, toby, private, group, square, beacon)
    await apps_and_files(stage, story, viola, toby, private, group, square)
    secret = await rules(stage, story, viola, olivia, feste, toby, private)
    await sending(story, viola, toby, group)
    await looks_and_events(story, viola, olivia, feste, toby, private, group, square, secret)

    story.end()


def run(checks):
    twitter = oauth.OAuth()
    identity = {
        "backends": [{"name": BACKEND, "secrets": [SECRET]}],
        "codes": [{
            "name": "twitter", "client_id": oauth.CLIENT, "client_secret": oauth.SECRET, "token_url": twitter.base + "/token",
            "user_url": twitter.base + "/me", "subject": "data.id", "display_name": "data.name", "redirects": [oauth.REDIRECT]}]}
    try:
        with Services("facebook", "google", "firebase") as services:
            serve(lambda stage: walk(checks, services, twitter, stage), checks, services=services, identity=identity,
                  configuration={"domains": [{"name": STAGING}], "guests": {"domains": "localhost", "may": "memberships,messages"}},
                  registration="true", signup__proof="false", signup__email="true")
    finally:
        twitter.close()
