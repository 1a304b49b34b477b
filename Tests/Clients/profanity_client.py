"""profanity, a console XMPP client in C (its own stanzas over libstrophe), against Parley, with an app client on the other
side. It is driven through a terminal like by a person: keys in, screen out.
"""
import shutil

from lib.apps import App
from lib.harness import Failure, Server, expect
from lib.profanity import Profanity, log_in


def run(checks):
    if not shutil.which("profanity") or not shutil.which("tmux"):
        raise Failure("profanity and tmux are needed: `make test` installs them")
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "paris")
        server.befriend("romeo", "juliet")
        juliet = App(server, "juliet", "phone").connect()
        dialog = juliet.dialog("romeo")
        profanity = Profanity(server.folder)
        try:
            converse(checks, server, profanity, juliet, dialog)
        finally:
            profanity.close()
            juliet.close()


def converse(checks, server, profanity, juliet, dialog):
    with checks.check("profanity: logs in over STARTTLS"):
        profanity.type("/carbons on")
        profanity.type("/receipts send on")
        profanity.type("/receipts request on")
        profanity.type("/history on")
        log_in(profanity, server, "romeo")
        juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and d["presence"]["online"])
    with checks.check("profanity: roster, with who is online"):
        profanity.shows("juliet@localhost")  # in the panel of contacts: it has the roster
        profanity.type("/roster")
        profanity.shows("Roster: jid (nick)", "juliet@localhost - both")
        profanity.type("/who")
        profanity.shows("All contacts:", "juliet@localhost is online")
    with checks.check("profanity: status is seen by the app"):
        profanity.type('/status set away "gone to the orchard"')
        juliet.event("presence.updated", lambda d: d["presence"].get("availability") == "away" and d["presence"].get("status") == "gone to the orchard")
        profanity.type("/status set online")
        juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and d["presence"]["availability"] == "online")
    with checks.check("profanity: a message to the app"):
        profanity.type("/msg juliet@localhost But soft, what light")
        message = juliet.message("But soft, what light")
        expect(message["senderId"] == "romeo" and message["dialogId"] == dialog, f"{message}")
        juliet.command("marker.set", {"dialogId": dialog, "delivered": message["id"]})
    with checks.check("profanity: a message from the app, and its receipt"):
        # By the WebSocket, so from a full JID: profanity 0.13 addresses receipts to nobody where a message came from a bare one.
        said = juliet.command("message.send", {
            "dialogId": dialog, "clientId": "ay", "content": {"type": "text", "text": "Ay me & <all>"}})["data"]
        profanity.shows("But soft, what light", "Ay me & <all>")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("delivered") == said["id"])
    with checks.check("profanity: a new contact asks, the app accepts"):
        paris = App(server, "paris", "phone").connect()
        profanity.type("/sub request paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["userId"] == "romeo" and d["contact"]["state"] == "pendingIn")
        status, _ = paris.call("PUT", "/v1/contacts/romeo", {})
        expect(status == 200, f"accepting was answered {status}")
        profanity.type("/win 1")
        profanity.type("/sub allow paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "mutual")
        paris.close()
    with checks.check("profanity: the archive after a new login has what was said, and what was said elsewhere"):
        profanity.quit()
        juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and not d["presence"]["online"])
        other = App(server, "romeo", "desk")
        other.say(other.dialog("juliet"), "written elsewhere")
        # With the archive on, profanity asks it when a conversation is opened, and shows nothing of its own history.
        again = Profanity(server.folder)
        try:
            again.type("/mam on")
            log_in(again, server, "romeo")
            # Asked before profanity has heard what the account can do, it asks for nothing: then the conversation is opened anew.
            again.type("/msg juliet@localhost")
            if not again.showed_soon("Ay me & <all>"):
                again.type("/close")
                again.type("/msg juliet@localhost")
            # What it said itself profanity 0.13 leaves out, and it asks for the one page twice, for its <after/> stands
            # beside <set/> and not in it.
            again.shows("Ay me & <all>", "written elsewhere")
            again.quit()
        finally:
            again.close()
    with checks.check("profanity: what was said meanwhile comes with the next login"):
        juliet.say(dialog, "said while you were out")
        later = Profanity(server.folder)
        try:
            log_in(later, server, "romeo")
            later.type("/msg juliet@localhost")
            later.shows("said while you were out")
            later.quit()
        finally:
            later.close()
