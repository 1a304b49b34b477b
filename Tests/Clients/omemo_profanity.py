"""OMEMO in profanity, by its keys and screen: setting up, trust by fingerprint, talk with slixmpp-omemo and with another
profanity, and what came while it was away. The app is told that it is encrypted.
"""
import logging
import re
import shutil
import time

from lib.apps import App
from lib.harness import PATIENCE, Failure, Server, expect
from lib.omemo import Device, Memory
from lib.profanity import at_home, log_in
from lib.rooms import Others

FINGERPRINT = re.compile(r"(?:[0-9a-f]{8}-){7}[0-9a-f]{8}")
SETTINGS = ("/omemo policy manual", "/omemo trustmode manual")


def set_up(profanity, server, name):
    """Asked for before it knows what the server can do, profanity 0.13 publishes keys that contacts alone may read, and then
    tries without end to publish them anew; so it is let ask first."""
    for line in SETTINGS:
        profanity.type(line)
    log_in(profanity, server, name)
    profanity.shows("cannot publish crypto materials before they are generated")
    profanity.type("/omemo gen")
    profanity.shows("materials generated", "Going to publish own device ID")


def talk_with(profanity, name):
    profanity.type(f"/msg {name}@localhost")
    profanity.shows(f" {name}@localhost [online]")
    profanity.type("/omemo start")
    profanity.shows("[OMEMO]")


def again(profanity, typed, good, bad):
    """What `good` finds on the screen, typed again as long as it shows `bad`: profanity fetches lists and keys when a conversation
    begins and when somebody is trusted, and says nothing when they have come."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        profanity.type(typed)
        profanity.until(f"an answer to {typed}", lambda screen: good(screen) or bad in screen)
        if found := good(profanity.screen()):
            return found
        profanity.type("/clear")
        profanity.until("a clear screen", lambda screen: bad not in screen)
    raise Failure(f"within {PATIENCE} s {typed} led to nothing but {bad}")


def fingerprint_shown(profanity, name):
    def good(screen):
        found = [line for line in screen.splitlines() if f"{name}@localhost's OMEMO fingerprint:" in line]
        return FINGERPRINT.search(found[-1])[0] if found else None

    return again(profanity, f"/omemo fingerprint {name}@localhost", good, "There is no known fingerprints")


def say(profanity, line):
    again(profanity, line, lambda screen: f"me: {line}" in screen, "cannot be decrypted for any recipient")


def own(profanity):
    profanity.type("/win 1")
    profanity.type("/omemo fingerprint")
    profanity.shows("Your OMEMO fingerprint: ")
    line = next(line for line in profanity.screen().splitlines() if "Your OMEMO fingerprint: " in line)
    return FINGERPRINT.search(line)[0]


async def fingerprint_of(device):
    information, _ = await device.keys.get_own_device_information()
    return "-".join(device.keys.format_identity_key(information.identity_key))


async def heard(device, body):
    """A message that says this, once read. Others that carry keys alone are passed over."""
    while True:
        message = await device.saw("any message", lambda m: device.omemo.is_encrypted(m))
        if await device.read(message) == body:
            return message


def converse(checks, server, others, romeo):
    async def arrive():
        return await Device(server, "juliet", "balcony", Memory()).arrive()

    phone = App(server, "juliet", "phone").connect()
    dialog = phone.dialog("romeo")
    with checks.check("OMEMO in profanity: keys are made and published"):
        set_up(romeo, server, "romeo")
    juliet = others(arrive())
    with checks.check("OMEMO in profanity: a contact's fingerprint is the one that it has, and is trusted"):
        talk_with(romeo, "juliet")
        found, wanted = fingerprint_shown(romeo, "juliet"), others(fingerprint_of(juliet))
        expect(found == wanted, f"{found} is shown, {wanted} it is")
        romeo.type(f"/omemo trust juliet@localhost {found}")
    with checks.check("OMEMO in profanity: talks and listens, and the app is told that it is encrypted"):
        say(romeo, "My love as deep")
        others(heard(juliet, "My love as deep"))
        others(juliet.whisper("romeo@localhost", "Anon, good Nurse"))
        romeo.shows("Anon, good Nurse")
        for _ in range(2):
            content = phone.event("message.created")["data"]["message"]["content"]
            expect(content["type"] == "encrypted" and "love" not in content["text"], f"{content}")
        expect([m["content"]["type"] for m in phone.history(dialog)] == ["encrypted"] * 2, f"{phone.history(dialog)}")
    nurse = at_home(server, "nurse")
    try:
        with checks.check("OMEMO in profanity: two of them"):
            set_up(nurse, server, "nurse")
            talk_with(nurse, "romeo")
            talk_with(romeo, "nurse")
            hers, his = fingerprint_shown(romeo, "nurse"), fingerprint_shown(nurse, "romeo")
            expect((hers, his) == (own(nurse), own(romeo)), f"{hers} and {his} are shown")
            romeo.type(f"/omemo trust nurse@localhost {hers}")
            romeo.type("/msg nurse@localhost")
            say(romeo, "Commend me to thy lady")
            nurse.type("/msg romeo@localhost")
            nurse.shows("Commend me to thy lady")
            nurse.type(f"/omemo trust romeo@localhost {his}")
            say(nurse, "There stays a husband")
            romeo.shows("There stays a husband")
            nurse.quit()
    finally:
        nurse.close()
    with checks.check("OMEMO in profanity: what came while it was away, after kill -9"):
        romeo.quit()
        phone.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and not d["presence"]["online"])
        others(juliet.whisper("romeo@localhost", "Parting is such sweet sorrow"))
        phone.event("message.created", lambda d: d["message"]["content"]["type"] == "encrypted")
        others(juliet.leave())
        server.kill()
        server.start()
        later = at_home(server, "romeo")
        try:
            log_in(later, server, "romeo")
            later.type("/msg juliet@localhost")
            later.shows("Parting is such sweet sorrow")
            later.quit()
        finally:
            later.close()
    phone.close()


def run(checks):
    if not shutil.which("profanity") or not shutil.which("tmux"):
        raise Failure("profanity and tmux are needed: `make test` installs them")
    for name in ("slixmpp", "omemo.core"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse")
        server.befriend("romeo", "juliet")
        server.befriend("romeo", "nurse")
        romeo, others = at_home(server, "romeo"), Others()
        try:
            converse(checks, server, others, romeo)
        except Exception:
            print(server.tail())
            raise
        finally:
            romeo.close()
            others.close()
