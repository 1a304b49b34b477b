"""profanity in rooms (XEP-0045): creates, configures, talks, invites, moderates and reads history, with slixmpp as the others.
Driven by keys and read from its screen, as in `profanity_client.py`.
"""
import logging
import shutil

from lib.harness import PATIENCE, Failure, Server, expect
from lib.profanity import Profanity, log_in
from lib.rooms import Others, codes, room_of, topic_of

GARDEN = room_of("garden")


def making(checks, server, others, romeo, juliet):
    """A room is made and found."""
    with checks.check("rooms in profanity: creates a room, which waits to be set up"):
        romeo.type("/presence room all")
        log_in(romeo, server, "romeo")
        romeo.type(f"/join {GARDEN} nick Romeo")
        romeo.shows("You have joined the room as Romeo", "affiliation: owner", "Room locked, requires configuration")
    with checks.check("rooms in profanity: the form is read, filled in and sent"):
        romeo.type("/room config")
        romeo.shows("Name", "Only members may enter")
        # The fields are numbered in the order of the form.
        screen = romeo.screen()
        tags = {label: line.split("[")[1].split("]")[0]
                for line in screen.splitlines() if "[field" in line
                for label in ("Name", "Description", "Anybody may find the room", "Only members may enter",
                              "Who sees the addresses of people")
                if f": {label}" in line or f"] {label}" in line or label in line}
        expect({"Name", "Only members may enter"} <= set(tags), f"{tags}; the screen is\n{screen}")
        romeo.type(f'/{tags["Name"]} "The garden"')
        romeo.type(f'/{tags["Only members may enter"]} off')
        romeo.type(f'/{tags["Anybody may find the room"]} on')
        romeo.type("/form submit")
        romeo.type(f"/win {GARDEN}")
        romeo.shows("Room configuration successful")
        info = others(others_info(juliet, GARDEN))
        expect("muc_open" in info["features"] and any(i[3] == "The garden" for i in info["identities"]), f"{info}")
    with checks.check("rooms in profanity: finds the room in the directory"):
        romeo.type("/win 1")
        romeo.type("/rooms service conference.localhost")
        romeo.shows(GARDEN, "The garden")


def talking(checks, others, romeo, juliet):
    """Talk, subjects, nicks and whispers."""
    with checks.check("rooms in profanity: sees who comes, and who they are"):
        others(juliet.enter(GARDEN, "Juliet"))
        romeo.type(f"/win {GARDEN}")
        romeo.shows("Juliet has joined the room")
        romeo.type("/who")
        romeo.shows("Juliet", "Romeo")
    with checks.check("rooms in profanity: talks and listens"):
        romeo.type("It is my lady & <love>")
        back = others(juliet.message(GARDEN, "It is my lady & <love>"))
        expect(back["from"] == f"{GARDEN}/Romeo", f"{back}")
        others.do(juliet.say, GARDEN, "Ay me")
        romeo.shows("Ay me")
        expect(romeo.screen().count("It is my lady & <love>") == 1, f"its own words twice:\n{romeo.screen()}")
    with checks.check("rooms in profanity: sets the subject, and shows one"):
        romeo.type("/subject set Of love")
        got = others(juliet.saw("groupchat_subject", lambda m: topic_of(m) == "Of love"))
        expect(got["from"] == f"{GARDEN}/Romeo", f"{got}")
        romeo.shows("Of love")
    with checks.check("rooms in profanity: another nick"):
        romeo.type("/nick Montague")
        others(juliet.presence(GARDEN, "Montague"))
        # profanity 0.13 says so in the list of occupants only.
        romeo.until("the new nick among the moderators", lambda screen: any(
            line.rstrip().endswith("  Montague") for line in screen.splitlines()))
        romeo.type("/nick Romeo")
        others(juliet.presence(GARDEN, "Romeo"))
    with checks.check("rooms in profanity: whispers, and hears whispers"):
        romeo.type("/msg Juliet Speak again")
        got = others(juliet.saw("message", lambda m: str(m["body"]) == "Speak again"))
        expect((str(got["from"]), got["type"]) == (f"{GARDEN}/Romeo", "chat"), f"{got}")
        romeo.shows(f"{GARDEN}/Juliet")
        others.do(answer, juliet)
        romeo.shows("Who is there")
        romeo.type(f"/win {GARDEN}")


def ranks(checks, others, romeo, juliet, paris):
    """Invitations, voice, ranks, kicks and bans."""
    with checks.check("rooms in profanity: invites, and the invited comes"):
        romeo.type("/invite send paris@localhost")
        got = others(paris.saw("any message", lambda m: m.xml.find("{jabber:x:conference}x") is not None
                               or m.xml.find(".//{http://jabber.org/protocol/muc#user}invite") is not None))
        expect(GARDEN in str(got), f"{got}")
        others(paris.enter(GARDEN, "Paris"))
        romeo.shows("Paris has joined the room")
    with checks.check("rooms in profanity: takes voice and gives it back"):
        romeo.type("/role set visitor Paris")
        others(paris.presence(GARDEN, "Paris", lambda p: p["muc"]["role"] == "visitor"))
        romeo.shows("visitor")
        romeo.type("/role set participant Paris")
        others(paris.presence(GARDEN, "Paris", lambda p: p["muc"]["role"] == "participant"))
    with checks.check("rooms in profanity: makes a moderator and an admin, and lists them"):
        romeo.type("/role set moderator Juliet")
        others(juliet.presence(GARDEN, "Juliet", lambda p: p["muc"]["role"] == "moderator"))
        romeo.type("/affiliation set admin juliet@localhost")
        others(juliet.presence(GARDEN, "Juliet", lambda p: p["muc"]["affiliation"] == "admin"))
        romeo.type("/affiliation list admin")
        romeo.shows("Affiliation: admin", "juliet@localhost")
        romeo.type("/affiliation list owner")
        romeo.shows("Affiliation: owner", "romeo@localhost")
    with checks.check("rooms in profanity: kicks"):
        romeo.type("/kick Paris Avaunt")
        gone = others(paris.presence(GARDEN, "Paris", lambda p: p["type"] == "unavailable" and 307 in codes(p)))
        expect("Avaunt" in str(gone), f"{gone}")
        romeo.shows("Paris has been kicked from the room")
    with checks.check("rooms in profanity: bans, lists who is banned, and lifts it"):
        others(paris.enter(GARDEN, "Paris"))
        romeo.type("/ban paris@localhost Enough")
        others(paris.presence(GARDEN, "Paris", lambda p: p["type"] == "unavailable" and 301 in codes(p)))
        romeo.shows("Paris has been banned from the room")
        romeo.type("/affiliation list outcast")
        romeo.shows("Affiliation: outcast", "paris@localhost")
        romeo.type("/affiliation set none paris@localhost")
        romeo.type("Peace")
        others(juliet.message(GARDEN, "Peace"))
        others(paris.enter(GARDEN, "Paris"))


def leaving(checks, others, romeo, juliet):
    """It is kicked and refused, leaves and comes again."""
    with checks.check("rooms in profanity: is kicked, and told so"):
        hall = room_of("hall")
        others(juliet.found(hall, "Juliet", membersonly=False))
        romeo.type(f"/join {hall} nick Romeo")
        others(juliet.presence(hall, "Romeo"))
        others(juliet.muc.set_role(hall, "Romeo", "none", reason="Begone", timeout=PATIENCE))
        romeo.type("/win 1")
        romeo.shows(f"Kicked from {hall} by Juliet, reason: Begone")
    with checks.check("rooms in profanity: refused where it may not enter, and told why"):
        others(juliet.muc.set_affiliation(hall, "outcast", jid="romeo@localhost", timeout=PATIENCE))
        romeo.type(f"/join {hall} nick Romeo")
        # profanity, too, takes an error for a room's only when <x xmlns='http://jabber.org/protocol/muc'/> stands in it
        # (7.2.7), and else thinks that it is in the room.
        romeo.shows(f"Error joining room {hall}")
    with checks.check("rooms in profanity: leaves, comes again, and reads what was said meanwhile"):
        romeo.type(f"/win {GARDEN}")
        romeo.type("/leave")
        others(juliet.presence(GARDEN, "Romeo", lambda p: p["type"] == "unavailable"))
        others.do(juliet.say, GARDEN, "said while you were out")
        others(juliet.message(GARDEN, "said while you were out"))
        romeo.type(f"/join {GARDEN} nick Romeo")
        romeo.shows("said while you were out", "Peace", "Of love")


def endings(checks, others, romeo, juliet, paris):
    """A private group, and the end of the room."""
    with checks.check("rooms in profanity: a private group shows everybody under the name they chose"):
        tour = room_of("tour")
        others(juliet.found(tour, "Julia", membersonly=True, publicroom=False, persistentroom=True, whois="anyone"))
        for name in ("romeo", "paris"):
            others(juliet.muc.set_affiliation(tour, "member", jid=f"{name}@localhost", timeout=PATIENCE))
        own, *_ = others(paris.enter(tour, "County"))
        expect(str(own["from"]) == f"{tour}/County" and 210 not in codes(own), f"{own}")
        romeo.type(f"/join {tour} nick Romy")
        romeo.shows("You have joined the room as Romy", "Julia", "County")
        others(juliet.presence(tour, "Romy"))
        romeo.type("/nick Romy❤️")
        others(juliet.presence(tour, "Romy❤"))
        romeo.type("my love")
        back = others(paris.message(tour, "my love"))
        expect(back["from"] == f"{tour}/Romy❤", f"{back}")
        romeo.type(f"/win {GARDEN}")
    with checks.check("rooms in profanity: ends the room"):
        romeo.type("/room destroy")
        gone = others(juliet.presence(GARDEN, "Juliet", lambda p: p["type"] == "unavailable"))
        expect(gone.xml.find(".//{http://jabber.org/protocol/muc#user}destroy") is not None, f"{gone}")


def converse(checks, server, others, romeo):
    juliet, paris = others.guest(server, "juliet"), others.guest(server, "paris")
    making(checks, server, others, romeo, juliet)
    talking(checks, others, romeo, juliet)
    ranks(checks, others, romeo, juliet, paris)
    leaving(checks, others, romeo, juliet)
    endings(checks, others, romeo, juliet, paris)
    romeo.quit()
    for guest in (juliet, paris):
        others(guest.leave())


async def others_info(guest, jid):
    return (await guest.plugin["xep_0030"].get_info(jid, timeout=PATIENCE))["disco_info"]


def answer(juliet):
    juliet.make_message(f"{GARDEN}/Romeo", "Who is there", mtype="chat").send()


def run(checks):
    if not shutil.which("profanity") or not shutil.which("tmux"):
        raise Failure("profanity and tmux are needed: `make test` installs them")
    logging.getLogger("slixmpp").addHandler(logging.NullHandler())
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "paris")
        romeo, others = Profanity(server.folder), Others()
        try:
            converse(checks, server, others, romeo)
        finally:
            romeo.close()
            others.close()
