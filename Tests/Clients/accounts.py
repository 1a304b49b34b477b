"""Accounts in band and by invitation: slixmpp registers (XEP-0077), changes its password, asks for an invitation (XEP-0050,
XEP-0401) and cancels its account; a browser's part is played by urllib over HTTPS: the landing page and its form.

XEP-0445 and XEP-0379 no library here speaks: the first is a client of this file's own, written from the specification, the second
a child in slixmpp's presence.
"""
import asyncio
import base64
import hashlib
import html
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree


from lib.apps import exchange
from lib.harness import PASSWORD, PATIENCE, Server, expect, free_port
from lib.peers import Client, Registering
from lib.wire import XMPP

PARS = "urn:xmpp:pars:0"
REGISTER, CONDITIONS = "jabber:iq:register", "urn:ietf:params:xml:ns:xmpp-stanzas"


class Invited(XMPP):
    """Written from XEP-0445 and XEP-0077 alone."""

    def __init__(self, server, name):
        super().__init__(name, server.tls, trust=server.certificate)
        self.dial()

    def stanza(self, test, what, patience=PATIENCE):
        found = super().stanza(test, what, patience)
        if found.tag.endswith("}features"):
            self.features = list(found)
        return found

    def ask(self, kind, payload):
        self.send(f"<iq type='{kind}' id='q' to='localhost'>{payload}</iq>")
        return self.stanza(lambda s: s.tag.endswith("}iq"), "an answer").get("type")

    def preauth(self, token):
        return self.ask("set", f"<preauth xmlns='{PARS}' token='{token}'/>")

    def register(self, password):
        return self.ask("set", f"<query xmlns='{REGISTER}'><username>{self.name}</username>"
                               f"<password>{password}</password></query>")


def fetch(server, path, form=None):
    """What a browser gets: the status, the headers, the text."""
    context = ssl.create_default_context(cafile=server.certificate)
    data = urllib.parse.urlencode(form).encode() if form else None
    status, headers, text = exchange("POST" if form else "GET", f"https://localhost:{server.https}{path}", data, context=context)
    return status, headers, text.decode()


def token_of(uri):
    return re.search(r"preauth=([A-Za-z0-9]+)", uri)[1]


async def register(checks, server):
    with checks.check("accounts: slixmpp makes an account on the stream it then logs in on"):
        romeo = await Registering(server, "romeo@localhost/new").arrive()
        expect(romeo.registered, "it did not register")
        found = await romeo.plugin["xep_0077"].get_registration(jid="localhost", timeout=PATIENCE)
        expect(found["register"]["registered"] and found["register"]["username"] == "romeo", str(found))

    with checks.check("accounts: a password is changed, and the session that asked goes on"):
        await romeo.plugin["xep_0077"].change_password("another", jid="localhost", timeout=PATIENCE)
        await romeo.plugin["xep_0030"].get_info(jid="localhost", timeout=PATIENCE)

    with checks.check("accounts: whoever has just registered invites nobody yet"):
        # slixmpp does not know `policy-violation` (RFC 6120 8.3.3.12), and raises no error of an IQ that has it.
        answer = asyncio.get_running_loop().create_future()

        def take(stanza):
            if stanza.xml.get("id") == "early" and not answer.done():
                answer.set_result(stanza.xml)
            return stanza
        romeo.add_filter("in", take)
        romeo.send_raw("<iq type='set' id='early' to='localhost'><command xmlns='http://jabber.org/protocol/commands' action='execute' "
                       "node='urn:xmpp:invite#invite'/></iq>")
        error = (await asyncio.wait_for(answer, PATIENCE)).find("{jabber:client}error")
        romeo.del_filter("in", take)
        expect(error is not None and error.get("type") == "wait" and error.find(f"{{{CONDITIONS}}}policy-violation") is not None, f"{error}")

    await asyncio.to_thread(server.add_users, "benvolio", "paris")
    host = Client(server, "benvolio@localhost/new")
    for plugin in ("xep_0004", "xep_0030", "xep_0050"):
        host.register_plugin(plugin)
    await host.arrive()
    uri = page = None
    with checks.check("accounts: an invitation by an ad-hoc command"):
        items = await host.plugin["xep_0050"].get_commands(jid="localhost", timeout=PATIENCE)
        nodes = [item[1] for item in items["disco_items"]["items"]]
        expect("urn:xmpp:invite#invite" in nodes, f"commands: {nodes}")
        done = await host.plugin["xep_0050"].send_command("localhost", "urn:xmpp:invite#invite", timeout=PATIENCE)
        values = done["command"]["form"].get_values()
        uri, page = values["uri"], values["landing-url"]
        expect(re.fullmatch(r"xmpp:benvolio@localhost\?roster;preauth=[A-Za-z0-9]{24};ibr=y", uri), uri)
        expect(page.endswith("/invite/" + token_of(uri)), page)

    with checks.check("accounts: XEP-0445 by a client of its own; the token opens once"):
        juliet = await asyncio.to_thread(Invited, server, "juliet")
        expect(await asyncio.to_thread(juliet.preauth, "nonsense") == "error", "a token that is none was taken")
        expect(await asyncio.to_thread(juliet.preauth, token_of(uri)) == "result", "the token was refused")
        expect(await asyncio.to_thread(juliet.register, PASSWORD) == "result", "the account was refused")
        late = await asyncio.to_thread(Invited, server, "late")
        expect(await asyncio.to_thread(late.preauth, token_of(uri)) == "error", "a used token was taken")
        juliet.close()
        late.close()
        status, _, text = await asyncio.to_thread(fetch, server, "/invite/" + token_of(uri))
        expect(status == 410 and "Already used" in text, f"{status}: {text}")
    with checks.check("accounts: who invited and who came are contacts"):
        friend = await Client(server, "juliet@localhost/home").arrive()
        roster = await friend.get_roster(timeout=PATIENCE)
        items = roster["roster"]["items"]
        expect(items["benvolio@localhost"]["subscription"] == "both", str(items))
        await friend.leave()

    with checks.check("accounts: who has an account already asks with a token, and is a contact at once (XEP-0379)"):
        done = await host.plugin["xep_0050"].send_command("localhost", "urn:xmpp:invite#invite", timeout=PATIENCE)
        token = token_of(done["command"]["form"].get_values()["uri"])
        paris = await Client(server, "paris@localhost/street").arrive()
        await paris.get_roster(timeout=PATIENCE)
        paris.auto_authorize = host.auto_authorize = None  # it is the server that answers
        asking = paris.make_presence(pto="benvolio@localhost", ptype="subscribe")
        ElementTree.SubElement(asking.xml, f"{{{PARS}}}preauth", token=token)
        asking.send()
        await paris.saw("roster_update", lambda iq: iq["roster"]["items"].get(
            "benvolio@localhost", {}).get("subscription") == "both")
        await paris.leave()
    await host.leave()

    with checks.check("accounts: an account is cancelled; then its stream ends"):
        await romeo.plugin["xep_0077"].cancel_registration(jid="localhost", timeout=PATIENCE)
        await asyncio.wait_for(romeo.ended, PATIENCE)
        users = await asyncio.to_thread(server.command, "user", "list")
        expect("juliet@localhost" in users and "romeo@localhost" not in users, users)


def pages(checks, server):
    with checks.check("pages: an invitation's page, which can be looked at again and again"):
        server.command("user", "add", "nurse@localhost", "--password-stdin", "--name",
                       "<script>alert(1)</script>", stdin=PASSWORD + "\n")
        made = server.command("invite", "create", "--contact", "nurse")
        token = token_of(made)
        for _ in range(2):
            status, headers, text = fetch(server, "/invite/" + token)
            expect(status == 200, f"{status}: {text}")
        expect("<script" not in text and html.escape("<script>alert(1)</script>") in text, "not escaped: " + text)
        expect(headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer", str(headers))
        expect(headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-"), str(headers))
        expect(f"xmpp:localhost?register;preauth={token}" in text, text)
        expect(not re.search(r"(src|url\(|@import|<link)", text), "something is fetched from elsewhere")

    with checks.check("pages: the style is the one that the policy allows"):
        style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
        wanted = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        expect(wanted in headers["Content-Security-Policy"], headers["Content-Security-Policy"])

    with checks.check("pages: a form makes the account; what is wrong with it is said, and uses nothing up"):
        status, _, text = fetch(server, "/invite/" + token, {"username": '"><b>', "password": "x"})
        expect(status == 422 and "<b>" not in text and "&quot;&gt;&lt;b&gt;" in text, f"{status}: {text}")
        status, _, text = fetch(server, "/invite/" + token, {"username": "nurse", "password": "x"})
        expect(status == 409, f"{status}: {text}")
        status, _, text = fetch(server, "/invite/" + token, {"username": "peter", "password": ""})
        expect(status == 422, f"{status}: {text}")
        status, _, text = fetch(server, "/invite/" + token, {"username": "peter", "password": "a b&c"})
        expect(status == 201 and "peter@localhost" in text, f"{status}: {text}")
        status, _, text = fetch(server, "/invite/" + token, {"username": "paul", "password": "x"})
        expect(status == 410, f"{status}: {text}")
        status, _, _ = fetch(server, "/invite/nonsense")
        expect(status == 404, str(status))
        status, _, _ = fetch(server, "/invite/" + token, {"username": "x" * 20000, "password": "x"})
        expect(status == 413, str(status))
        roster = server.command("roster", "list", "peter")
        expect("nurse@localhost" in roster and "both" in roster, roster)

    with checks.check("pages: an invitation is taken back"):
        made = server.command("invite", "create", "gregory")
        listed = server.command("invite", "list")
        expect("gregory" in listed and token_of(made) not in listed, listed)
        number = re.search(r"Invitation (\d+)", made)[1]
        server.command("invite", "revoke", number)
        status, _, _ = fetch(server, "/invite/" + token_of(made))
        expect(status == 404, str(status))


def by_invitation_only(checks, server):
    with checks.check("accounts: where strangers may not register, a token lets one in"):
        guest = Invited(server, "guest")
        names = [(child.tag, child) for child in guest.features]
        expect(not any("iq-register" in tag for tag, _ in names), str(names))
        expect(any(tag == "{urn:xmpp:ibr-token:0}register" for tag, _ in names), str(names))
        expect(guest.ask("get", f"<query xmlns='{REGISTER}'/>") == "error", "strangers get the fields")
        expect(guest.register(PASSWORD) == "error", "a stranger has registered")
        expect(guest.preauth(token_of(server.command("invite", "create"))) == "result", "the token was refused")
        expect(guest.register(PASSWORD) == "result", "the guest was refused")
        expect(guest.register(PASSWORD) == "error", "a second account of one stream")
        guest.close()
        expect("guest@localhost" in server.command("user", "list"), "there is no account")


def run(checks):
    with Server() as server:
        server.start()
        by_invitation_only(checks, server)
    https = free_port()
    # slixmpp gives no proof of work.
    with Server(registration="true", signup__proof="false", invitations="true", https__host="127.0.0.1", https__port=https) as server:
        server.https = https
        server.start()
        asyncio.run(register(checks, server))
        pages(checks, server)
