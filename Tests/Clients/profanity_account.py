"""profanity with what an account has beside contacts and talk: files over TLS (XEP-0363), corrections (XEP-0308), an avatar
(XEP-0084), bookmarks (XEP-0048, XEP-0049), blocks and reports (XEP-0191, XEP-0377), another password (XEP-0077), and the archive
in a fresh client (XEP-0313). Driven by keys and read from its screen, with an app client on the other side.
"""
import hashlib
import os
import shutil
import ssl
import urllib.request

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, free_port
from lib.peers import ROSE
from lib.profanity import at_home, discover, log_in

LINES = 20  # profanity 0.13 asks for one page of 50, twice


def converse(checks, server, romeo):
    juliet = App(server, "juliet", "phone").connect()
    dialog = juliet.dialog("romeo")
    for number in range(LINES):
        juliet.say(dialog, f"line {number}.")
    log_in(romeo, server, "romeo")
    discover(romeo)
    romeo.type("/msg juliet@localhost")
    romeo.shows(f"line {LINES - 1}.")
    romeo.type("/clear")
    rose = os.path.join(server.folder, "rose.png")
    with open(rose, "wb") as file:
        file.write(ROSE)
    with checks.check("profanity: uploads a file over TLS, which the app sees as one and downloads"):
        romeo.type(f"/sendfile {rose}")
        content = juliet.event(
            "message.created", lambda d: d["message"]["senderId"] == "romeo")["data"]["message"]["content"]
        file = content["attachments"][0]
        expect((content["type"], file["name"], file["size"]) == ("image", "rose.png", len(ROSE)), f"{content}")
        romeo.shows(f"me: {file['url'][:60]}")
        trust = ssl.create_default_context(cafile=server.certificate)
        with urllib.request.urlopen(file["url"], timeout=PATIENCE, context=trust) as answer:
            expect(answer.read() == ROSE, "other bytes came back")
    with checks.check("profanity: corrects what it said"):
        romeo.type("/correction on")
        romeo.type("But sofd")
        message = juliet.message("But sofd")
        romeo.type("/correct But soft")
        juliet.event("message.updated", lambda d: d["message"]["id"] == message["id"]
                     and d["message"]["content"]["text"] == "But soft")
        romeo.shows("me: But soft")
    romeo.type("/win 1")
    with checks.check("profanity: its avatar is the app's"):
        romeo.type(f"/avatar set {rose}")
        romeo.shows("Avatar updated successfully")
        user = juliet.event("user.updated", lambda d: d["user"]["id"] == "romeo")["data"]["user"]
        request = urllib.request.Request(
            f"{server.base}/v1/users/romeo/avatar", headers={"Authorization": f"Bearer {juliet.token}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            picture = answer.read()
        # It is made anew by profanity, so its bytes are not those of the file.
        expect(picture.startswith(b"\x89PNG") and hashlib.sha1(picture).hexdigest() == user["avatarHash"], f"{user}")
    with checks.check("profanity: a bookmark is kept"):
        romeo.type("/bookmark add garden@conference.localhost nick Romeo autojoin off name Garden")
        romeo.shows("Bookmark added for garden@conference.localhost")
    with checks.check("profanity: blocks, and blocks with a report that the operator reads"):
        romeo.type("/blocked add nurse@localhost")
        romeo.shows("User nurse@localhost successfully blocked")
        romeo.type("/blocked report-abuse paris@localhost daggers")
        romeo.shows("User paris@localhost successfully blocked")
        romeo.type("/clear")
        romeo.type("/blocked")
        romeo.shows("Blocked users:", "nurse@localhost", "paris@localhost")
        listed = server.command("report", "list")
        expect("paris@localhost" in listed and "nurse@localhost" not in listed, listed)
    with checks.check("profanity: another password, and in a fresh client that logs in with it the archive and the bookmark"):
        romeo.type("/changepassword")
        for prompt in ("Enter password:", "Confirm password:"):
            romeo.shows(prompt)
            romeo.type(PASSWORD + "?")
        romeo.shows("Password successfully changed")
        romeo.quit()
        fresh = at_home(server, "fresh")
        try:
            fresh.type("/mam on")
            log_in(fresh, server, "romeo", PASSWORD + "?")
            discover(fresh)
            fresh.type("/bookmark list")
            fresh.shows("Garden - garden@conference.localhost/Romeo")
            fresh.type("/msg juliet@localhost")
            fresh.shows("line 0.", f"line {LINES - 1}.", "But soft")
            fresh.quit()
        finally:
            fresh.close()
    juliet.close()


def run(checks):
    if not shutil.which("profanity") or not shutil.which("tmux"):
        raise Failure("profanity and tmux are needed: `make test` installs them")
    with Server(https__host="127.0.0.1", https__port=free_port()) as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse", "paris")
        server.befriend("romeo", "juliet")
        romeo = at_home(server, "romeo")
        try:
            converse(checks, server, romeo)
        except Exception:
            print(server.tail())
            raise
        finally:
            romeo.close()
