"""Signing in by tokens of others: an app's backend and two OpenID providers, made here with the package `cryptography` after
RFC 7515, RFC 7517 and OpenID Connect Core 1.0, which knows nothing of Parley. The providers are real servers, with discovery,
caching and new keys; slixmpp comes in by what the app got.
"""
import asyncio
import base64
import concurrent.futures
import json
import os
import pathlib
import time

from lib.harness import PASSWORD, Server, expect
from lib.peers import Client
from lib.signins import App, Provider, Signer, b64, vouch
from lib.wire import XMPP

SECRET, OLD, OTHER = "a secret of the backend and the server", "an older secret of the backend; still good", "a secret that nobody here has or knows"


def configuration(server, provider, keys):
    """Two apps, each with a backend and providers of its own."""
    key_file = os.path.join(server.folder, "backend.pem")
    pathlib.Path(key_file).write_bytes(keys["pair"].pem())
    backends = [
        {"name": "my-app", "secrets": [SECRET, OLD], "keys": [key_file], "jwks": provider.issuer + "/keys"},
        {"name": "other-app", "secrets": [SECRET], "domain": "verona.example"},
        {"name": "closed", "secrets": [SECRET], "signup": False},
    ]
    audiences = ["my-app-id", "my-app-ios"]
    providers = [
        {"name": "found", "issuers": [provider.issuer], "audiences": audiences},
        {"name": "named", "issuers": [provider.issuer, "accounts.example"], "audiences": audiences, "jwks": provider.issuer + "/keys", "nonce": True},
        {"name": "closed", "issuers": [provider.issuer], "audiences": audiences, "signup": False},
        {"name": "found", "issuers": [provider.issuer], "audiences": ["other-id"], "domain": "verona.example"},
        {"name": "away", "issuers": ["http://127.0.0.1:9"], "audiences": audiences},
    ]
    # JSON is YAML.
    pathlib.Path(server.configuration).write_text(json.dumps(
        {"domains": [{"name": "verona.example"}], "identity": {"backends": backends, "providers": providers},
         "guests": {"domains": "localhost"}}))


def run(checks):
    provider = Provider()
    keys = {"pair": Signer("ES256"), "hs": Signer("HS256", secret=SECRET)}
    first, second = Signer("RS256", "first"), Signer("ES256", "second")
    provider.signers = [first, second]
    try:
        with Server() as server:
            configuration(server, provider, keys)
            server.start()
            backends(checks, server, provider, keys)
            forgeries(checks, server, keys)
            providers(checks, server, provider)
            realms(checks, server, provider, keys)
            linking(checks, server, provider, keys)
            jabber(checks, server, keys)
            kills(checks, server, keys)
    finally:
        provider.close()


def backends(checks, server, provider, keys):
    with checks.check("tokens: what there is, /v1/info tells"):
        info = App(server).right(200, "GET", "/v1/info")
        expect(set(info["grants"]) >= {"password", "refresh", "jwt", "provider", "guest"}, f"{info}")
        expect("code" not in info["grants"] and "codes.email" not in info["features"], f"codes without a way to send them: {info}")
        expect(info["providers"] == ["found", "named", "closed", "away"], f"{info}")
        other = App(server, "verona.example").right(200, "GET", "/v1/info")
        expect({"jwt", "provider"} <= set(other["grants"]) and "guest" not in other["grants"] and other["providers"] == ["found"], f"{other}")
    with checks.check("tokens: a backend's user comes in, again and again, as one user"):
        app = App(server)
        users = []
        for signer in [keys["hs"], Signer("HS256", secret=OLD), keys["pair"], provider.signers[0], provider.signers[1]]:
            users.append(app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "romeo", signer)))
        expect(all(user["id"] == "romeo" and user["name"] == "Romeo" for user in users), f"{users}")
        changed = app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "romeo", keys["hs"], name="Romeo M."))
        expect(changed["name"] == "Romeo M." and app.right(200, "GET", "/v1/users/me")["name"] == "Romeo M.", f"{changed}")
        identities = app.right(200, "GET", "/v1/users/me/identities")["items"]
        expect([(i["type"], i["subject"]) for i in identities] == [("external", "romeo")], f"{identities}")
        mail = app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "romeo@montague.example", keys["hs"]))
        expect(mail["id"] not in ("romeo", "romeo@montague.example") and mail["jid"] == mail["id"] + "@localhost", f"{mail}")
    with checks.check("tokens: a nonce is good once, and for one of many at once"):
        app = App(server)
        token = vouch(app.nonce(), "once", keys["hs"])
        app.log_in(grant="jwt", identityToken=token)
        App(server).wrong(401, "nonce-invalid", "POST", "/v1/sessions", {"grant": "jwt", "identityToken": token})
        nonce = app.nonce()
        tokens = [vouch(nonce, f"twin{n % 2}", keys["hs"]) for n in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda text: App(server).call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": text}), tokens))
        expect(sorted(status for status, _ in answers) == [201] + [401] * 7, f"{answers}")
        expect(all(value["code"] == "nonce-invalid" for status, value in answers if status == 401), f"{answers}")
        for made in ["", "x", nonce + "x", nonce[:-1], "a.1.b"]:
            App(server).wrong(401, "nonce-invalid", "POST", "/v1/sessions", {"grant": "jwt", "identityToken": vouch(made, "once", keys["hs"])})
    with checks.check("tokens: a user imported with an externalId and no password is the one whom a token with that prn signs in"):
        server.command("user", "import", "-", stdin="jid,externalId,name\nfeste@localhost,4711,Feste\n")
        app = App(server)
        user = app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "4711", keys["hs"], name="Feste"))
        expect(user["id"] == "feste", f"{user}")
        App(server).wrong(401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "username": "feste", "password": "x"})
    with checks.check("tokens: who may not bring newcomers brings those who are here"):
        app = App(server)
        app.wrong(404, "identity-unknown", "POST", "/v1/sessions",
                  {"grant": "jwt", "identityToken": vouch(app.nonce(), "paris", keys["hs"], iss="closed")})
        app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "romeo", keys["hs"], iss="closed"))


def forgeries(checks, server, keys):
    with checks.check("tokens: forged, old, and for somebody else"):
        now = int(time.time())
        pem = keys["pair"].pem()
        signer = keys["hs"]
        cases = {
            "no signature": Signer("none"), "another secret": Signer("HS256", secret=OTHER),
            "a public key as the secret": Signer("HS256", secret=pem),
            "a public key as the secret, without its end": Signer("HS256", secret=pem.strip()),
            "another key pair": Signer("ES256"), "another pair of RSA": Signer("RS256"),
        }
        tokens = {name: vouch(App(server).nonce(), "mercutio", forger) for name, forger in cases.items()}
        changed = {
            "alg in small letters": {"header": {"alg": "hs256"}}, "another alg": {"header": {"alg": "HS512"}},
            "alg of the other key": {"header": {"alg": "ES256"}}, "another typ": {"header": {"typ": "JWS"}}, "another ver": {"header": {"ver": "v1"}},
            "an extension": {"header": {"crit": ["b64"], "b64": False}}, "another issuer": {"iss": "mantua"},
            "a life too long": {"exp": now + 7200}, "not yet": {"nbf": now + 600}, "from the future": {"iat": now + 600, "exp": now + 660},
            "nobody": {"prn": None}, "somebody empty": {"prn": ""}, "somebody long": {"prn": "x" * 257}, "control characters": {"prn": "a\nb"},
            "no begin": {"nbf": None}, "no nonce": {"nce": None}, "a number as a text": {"exp": "soon"},
        }
        for name, change in changed.items():
            tokens[name] = vouch(App(server).nonce(), **{"prn": "mercutio", "signer": signer, **change})
        right = vouch(App(server).nonce(), "mercutio", signer)
        header, claims, signature = right.split(".")
        tokens.update({
            "half of it": right[:len(right) // 2], "no signature part": f"{header}.{claims}", "an empty one": f"{header}.{claims}.",
            "padding": right + "=", "four parts": right + ".x", "claims of another": f"{header}.{b64(b'{}')}.{signature}", "nothing": "",
        })
        for name, token in tokens.items():
            status, value = App(server).call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": token})
            # One address may be wrong so often; then it waits, which is no way in either.
            expect(status == 401 and value["code"].startswith("identity-token") or status == 429, f"{name}: {status} {value}")
            if status == 429:
                expect(value["code"] == "logins-too-fast", f"{name}: {value}")
        status, value = App(server).call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": "x" * 20_000})
        expect((status, value["code"]) == (413, "identity-token-too-long"), f"{status} {value}")
        # What was wrong has kept nobody out whose token is right.
        App(server).log_in(grant="jwt", identityToken=right)


def providers(checks, server, provider):
    with checks.check("tokens: an OpenID provider's user comes in; its keys are asked for once"):
        provider.asked.clear()
        app = App(server)
        one = app.log_in(grant="provider", provider="found", idToken=provider.token("1"))
        same = app.log_in(grant="provider", provider="found", idToken=provider.token("1", provider.signers[1]))
        expect(one["id"] == same["id"] and one["name"] == "Name 1", f"{one} {same}")
        expect(provider.asked.count("/.well-known/openid-configuration") == 1 and provider.asked.count("/keys") <= 1, f"{provider.asked}")
        app.log_in(grant="provider", provider="found", idToken=provider.token("1", aud=["my-app-id", "my-app-ios"], azp="my-app-ios"))
    with checks.check("tokens: who is not meant does not come in"):
        other = Signer("RS256", "first")
        now = int(time.time())
        for name, token in {
            "another audience": provider.token("1", aud="other"), "an audience too many": provider.token("1", aud=["my-app-id", "other"], azp="my-app-id"),
            "no party": provider.token("1", aud=["my-app-id", "my-app-ios"]), "another issuer": provider.token("1", iss="https://evil.example"),
            "another key": provider.token("1", other), "an end": provider.token("1", exp=now - 100), "nobody": provider.token("1", sub=None),
        }.items():
            status, value = App(server).call("POST", "/v1/sessions", {"grant": "provider", "provider": "found", "idToken": token})
            expect(status in (401, 429), f"{name}: {status} {value}")
        App(server).wrong(400, "provider-unknown", "POST", "/v1/sessions", {"grant": "provider", "provider": "none", "idToken": provider.token("1")})
        App(server).wrong(404, "identity-unknown", "POST", "/v1/sessions", {"grant": "provider", "provider": "closed", "idToken": provider.token("1")})
        App(server).wrong(503, "issuer-unreachable", "POST", "/v1/sessions",
                          {"grant": "provider", "provider": "away", "idToken": provider.token("1", iss="http://127.0.0.1:9")})
    with checks.check("tokens: a nonce where the provider's token must have one"):
        app = App(server)
        status, value = app.call("POST", "/v1/sessions", {"grant": "provider", "provider": "named", "idToken": provider.token("1")})
        expect(status in (401, 429), f"{status} {value}")
        token = provider.token("1", nonce=app.nonce(), iss="accounts.example")
        user = app.log_in(grant="provider", provider="named", idToken=token)
        # Another provider's user of the same name is somebody else.
        expect(user["id"] != App(server).log_in(grant="provider", provider="found", idToken=provider.token("1"))["id"], f"{user}")
        status, value = App(server).call("POST", "/v1/sessions", {"grant": "provider", "provider": "named", "idToken": token})
        expect(status in (401, 429), f"{status} {value}")
    with checks.check("tokens: verified contacts are taken where they are free, and lead to nobody else"):
        app = App(server)
        mail = {"email": "Juliet@Capulet.example", "email_verified": True}
        app.log_in(grant="provider", provider="found", idToken=provider.token("juliet", **mail, phone_number="+39045800000", firebase={"sign_in_provider": "phone"}))
        items = app.right(200, "GET", "/v1/users/me/identities")["items"]
        expect({(i["type"], i["subject"]) for i in items} == {
            ("email", "juliet@capulet.example"), ("phone", "+39045800000"), ("provider", "juliet")}, f"{items}")
        thief = App(server)
        thief.log_in(grant="provider", provider="found", idToken=provider.token("tybalt", **mail))
        items = thief.right(200, "GET", "/v1/users/me/identities")["items"]
        expect([i["type"] for i in items] == ["provider"], f"{items}")


def realms(checks, server, provider, keys):
    with checks.check("tokens: what is good in one app is nothing in another"):
        here, there = App(server), App(server, "verona.example")
        for app, iss, nonce in [(there, "my-app", there.nonce()), (here, "other-app", here.nonce()), (there, "other-app", here.nonce())]:
            status, value = app.call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": vouch(nonce, "romeo", keys["hs"], iss=iss)})
            expect(status in (401, 429), f"{status} {value}")
        status, value = there.call("POST", "/v1/sessions", {"grant": "provider", "provider": "found", "idToken": provider.token("1")})
        expect(status in (401, 429), f"{status} {value}")
        user = there.log_in(grant="jwt", identityToken=vouch(there.nonce(), "romeo", keys["hs"], iss="other-app"))
        expect(user["jid"] == "romeo@verona.example", f"{user}")
        # The token names the app, not the Host.
        there.host = "localhost"
        expect(there.right(200, "GET", "/v1/users/me")["jid"] == "romeo@verona.example", "a session of one app is one of another")
        there.wrong(404, "user-unknown", "GET", "/v1/users/once")


def linking(checks, server, provider, keys):
    with checks.check("tokens: a guest stays as the same user, with several ways in, of which the last stays"):
        app = App(server)
        visit = app.right(201, "POST", "/v1/sessions", {"grant": "guest"})
        app.token = visit["accessToken"]
        expect(visit["user"]["guest"] is True, f"{visit}")
        app.wrong(403, "guest-limited", "PATCH", "/v1/users/me", {"name": "Cesario"})
        app.wrong(403, "guest-limited", "POST", "/v1/app-passwords", {"name": "x"})
        # Guests find those with whom they share a dialog.
        for path in ("/v1/users", "/v1/users?query=romeo", "/v1/users?query=romeo@montague.example&field=email"):
            app.wrong(403, "guest-limited", "GET", path)
        app.wrong(404, "user-unknown", "GET", "/v1/users/romeo")
        expect(app.right(200, "GET", "/v1/users?ids=romeo")["items"] == [], "a guest finds anybody")
        expect(app.right(200, "GET", f"/v1/users/{visit['user']['id']}")["id"] == visit["user"]["id"], "nor themselves")
        app.wrong(409, "identity-taken", "POST", "/v1/users/me/identities", {"identityToken": vouch(app.nonce(), "romeo", keys["hs"])})
        expect(app.right(200, "GET", "/v1/users/me").get("guest") is True, "a guest is none any more")
        made = app.right(201, "POST", "/v1/users/me/identities", {"identityToken": vouch(app.nonce(), "cesario", keys["hs"])})
        me = app.right(200, "GET", "/v1/users/me")
        expect("guest" not in me and me["id"] == visit["user"]["id"] and me["name"] == "Cesario", f"{me}")
        app.right(200, "POST", "/v1/users/me/identities", {"identityToken": vouch(app.nonce(), "cesario", keys["hs"])})
        app.wrong(409, "last-sign-in", "DELETE", f"/v1/users/me/identities/{made['id']}")
        app.right(201, "POST", "/v1/users/me/identities", {"provider": "found", "idToken": provider.token("cesario")})
        app.right(204, "DELETE", f"/v1/users/me/identities/{made['id']}")
        again = App(server).log_in(grant="provider", provider="found", idToken=provider.token("cesario"))
        expect(again["id"] == me["id"], f"{again}")
        token = vouch("made up", "cesario", keys["hs"])
        status, value = app.call("POST", "/v1/users/me/identities", {"identityToken": token})
        expect(status in (403, 429), f"{status} {value}")


def jabber(checks, server, keys):
    with checks.check("tokens: slixmpp comes in by an app password of somebody without a password"):
        app = App(server)
        user = app.log_in(grant="jwt", identityToken=vouch(app.nonce(), "viola", keys["hs"]))
        password = app.right(201, "POST", "/v1/app-passwords", {"name": "slixmpp"})["password"]
        app.wrong(409, "last-sign-in", "DELETE", "/v1/users/me/identities/" + app.right(200, "GET", "/v1/users/me/identities")["items"][0]["id"])
        app.wrong(401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "username": "viola", "password": password})
        other = App(server)
        other.log_in(grant="jwt", identityToken=vouch(other.nonce(), "romeo", keys["hs"]))
        dialog = other.right(201, "POST", "/v1/dialogs", {"type": "private", "userId": "viola"})["id"]

        async def talk():
            client = Client(server, user["jid"] + "/old")
            client.credentials["password"] = password
            await client.arrive()
            client.send_presence()
            await asyncio.to_thread(
                other.right, 201, "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": "1", "content": {"type": "text", "text": "Who is there?"}})
            heard = await client.saw("message", lambda message: message["body"])
            cursor = (await asyncio.to_thread(other.right, 200, "GET", "/v1/sync"))["cursor"]
            heard.reply("Here, by an app password").send()
            # Who leaves at once may leave before it has said that.
            await asyncio.to_thread(other.right, 200, "GET", f"/v1/sync?cursor={cursor}&wait=20")
            await client.leave()
            return heard["body"]

        expect(asyncio.run(talk()) == "Who is there?", "slixmpp heard something else")
        texts = [m["content"]["text"] for m in other.right(200, "GET", f"/v1/dialogs/{dialog}/messages")["items"]]
        expect(texts == ["Here, by an app password", "Who is there?"], f"{texts}")
    with checks.check("tokens: OAUTHBEARER by the session's token, PLAIN by no password that is none"):
        for mechanism, text, answer in [
            ("OAUTHBEARER", f"n,,\x01auth=Bearer {app.token}\x01\x01", "success"), ("PLAIN", "\0viola\0" + PASSWORD, "failure"),
            ("PLAIN", "\0viola\0" + "\0" * 8, "failure"), ("PLAIN", "\0viola\0" + password, "success"),
        ]:
            bare = XMPP("viola", server.tls, "bare", server.certificate)
            bare.dial()
            bare.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='{mechanism}'>{base64.b64encode(text.encode()).decode()}</auth>")
            told = bare.stanza(lambda s: s.tag.split("}")[1] in ("success", "failure"), "an answer").tag
            expect(told.endswith(answer), f"{mechanism} was answered {told}")


def kills(checks, server, keys):
    with checks.check("tokens: kill -9 behind a login: the nonce stays used, the user stays, so does a guest"):
        app = App(server)
        token = vouch(app.nonce(), "sebastian", keys["hs"])
        unused = app.nonce()
        user = app.log_in(grant="jwt", identityToken=token)
        guest = App(server)
        visit = guest.log_in(grant="guest")
        server.kill()
        server.start()
        App(server).wrong(401, "nonce-invalid", "POST", "/v1/sessions", {"grant": "jwt", "identityToken": token})
        expect(app.right(200, "GET", "/v1/users/me")["id"] == user["id"], "the login is gone")
        expect(guest.right(200, "GET", "/v1/users/me")["id"] == visit["id"], "the guest is gone")
        again = App(server).log_in(grant="jwt", identityToken=vouch(unused, "sebastian", keys["hs"]))
        expect(again["id"] == user["id"], f"{again}")
