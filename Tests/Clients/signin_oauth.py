"""Signing in by authorization codes of a provider that gives no ID tokens, as Twitter (X) does: a real OAuth 2.0 server stands here
(aiohttp), written from RFC 6749 and RFC 7636, with confidential clients, proof keys, codes that are good once, and a user-info
endpoint. slixmpp comes in by an app password of somebody who came by it.
"""
import asyncio
import concurrent.futures
import json
import pathlib
import secrets

from aiohttp import web

from lib.harness import Server, expect
from lib.peers import Client
from lib.signins import CLIENT, OTHER_REDIRECT, REDIRECT, SECRET, App, OAuth, Provider, Signer, sign_in


def run(checks):
    oauth, openid = OAuth(), Provider()
    openid.signers = [Signer("RS256", "first")]
    twitter = {"name": "twitter", "client_id": CLIENT, "client_secret": SECRET, "token_url": oauth.base + "/token",
               "user_url": oauth.base + "/me", "subject": "data.id", "display_name": "data.name", "redirects": [REDIRECT, OTHER_REDIRECT]}
    try:
        with Server() as server:
            # JSON is YAML.
            pathlib.Path(server.configuration).write_text(json.dumps({
                "domains": [{"name": "verona.example"}], "guests": {"domains": "localhost"}, "identity": {
                    "providers": [{"name": "openid", "issuers": [openid.issuer], "audiences": ["my-app-id"]}],
                    "codes": [twitter, {**twitter, "name": "closed", "signup": False},
                              {**twitter, "name": "misconfigured", "client_secret": "another"},
                              {**twitter, "name": "nobody", "subject": "data.nothing"},
                              {**twitter, "name": "verona", "domain": "verona.example"}]}}))
            server.start()
            walk(checks, server, oauth, openid)
    finally:
        oauth.close()
        openid.close()


def good_codes(checks, server, oauth, log_in):
    """Codes that are good, once."""
    with checks.check("codes: whoever comes by a code is one user, each time"):
        info = App(server).right(200, "GET", "/v1/info")
        expect(info["providers"] == ["openid", "twitter", "closed", "misconfigured", "nobody"] and "provider" in info["grants"], f"{info}")
        app = App(server)
        given = sign_in(oauth, "2244994945")
        user = app.log_in(grant="provider", provider="twitter", **given)
        expect(user["name"] == "Name 2244994945", f"{user}")
        expect(oauth.asked[-1] == {"grant_type": "authorization_code", "code": given["code"], "redirect_uri": REDIRECT,
                                   "code_verifier": given["codeVerifier"]}, f"{oauth.asked[-1]}")
        again = App(server).log_in(grant="provider", provider="twitter", **sign_in(oauth, "2244994945", OTHER_REDIRECT))
        other = App(server).log_in(grant="provider", provider="twitter", **sign_in(oauth, "17"))
        expect(again["id"] == user["id"] != other["id"], f"{again} {other}")
        (identity,) = app.right(200, "GET", "/v1/users/me/identities")["items"]
        expect((identity["type"], identity["provider"], identity["subject"]) == ("provider", "twitter", "2244994945"), f"{identity}")
    with checks.check("codes: one is good once, also for many at once"):
        given = sign_in(oauth, "18")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: log_in(App(server), given), range(8)))
        expect(sorted(status for status, _ in answers) == [201] + [401] * 7, f"{answers}")
        expect(all(value["code"] == "identity-token-invalid" for status, value in answers if status == 401), f"{answers}")
    with checks.check("codes: one that was stolen, sent elsewhere or made up is worth nothing"):
        for change in [{"codeVerifier": secrets.token_urlsafe(48)}, {"redirectUri": OTHER_REDIRECT}, {"code": "made-up"}]:
            status, value = log_in(App(server), {**sign_in(oauth, "19"), **change})
            expect((status, value["code"]) == (401, "identity-token-invalid"), f"{change}: {status} {value}")
        asked = len(oauth.asked)
        for change, code, field in [
                ({"redirectUri": "https://evil.example/"}, "redirect-unknown", "redirectUri"), ({"codeVerifier": "short"}, "input-malformed", "codeVerifier"),
                ({"codeVerifier": "x" * 129}, "input-malformed", "codeVerifier"), ({"code": ""}, "input-malformed", "code"),
                ({"code": "a\nb"}, "input-malformed", "code"), ({"code": "x" * 2_049}, "input-malformed", "code")]:
            status, value = log_in(App(server), {**sign_in(oauth, "19"), **change})
            expect((status, value["code"], value["field"]) == (400, code, field), f"{change}: {status} {value}")
        given = sign_in(oauth, "19")
        for part in given:
            status, value = log_in(App(server), {name: value for name, value in given.items() if name != part})
            expect((status, value["code"]) == (400, "input-malformed"), f"without {part}: {status} {value}")
        expect(len(oauth.asked) == asked, "the provider was asked of what is no code of ours")


def other_tokens(checks, server, oauth, openid, log_in):
    """Access tokens, ID tokens and newcomers."""
    with checks.check("codes: an access token of somebody's is none, wherever it stands"):
        log_in(App(server), sign_in(oauth, "20"))
        token = next(token for token, person in oauth.tokens.items() if person == "20")
        for given in [{"accessToken": token}, {"idToken": token}, {"identityToken": token}, {"code": token, "codeVerifier": "x" * 43, "redirectUri": REDIRECT}]:
            status, value = log_in(App(server), given)
            expect(status in (400, 401), f"{list(given)}: {status} {value}")
    with checks.check("codes: a provider with ID tokens takes those, and one without takes codes"):
        for provider, given in [("openid", sign_in(oauth, "21")), ("twitter", {"idToken": openid.token("21")})]:
            status, value = log_in(App(server), given, provider)
            expect((status, value["code"], value["field"]) == (400, "input-malformed", "provider"), f"{provider}: {status} {value}")
        expect(log_in(App(server), {**sign_in(oauth, "21"), "idToken": openid.token("21")})[0] == 400, "both at once")
    with checks.check("codes: who may not bring newcomers brings none, and what is good in one app is nothing in another"):
        status, value = log_in(App(server), sign_in(oauth, "22"), "closed")
        expect((status, value["code"]) == (404, "identity-unknown"), f"{status} {value}")
        for host, provider in (("verona.example", "twitter"), ("localhost", "verona")):
            status, value = log_in(App(server, host), sign_in(oauth, "22"), provider)
            expect((status, value["code"]) == (400, "provider-unknown"), f"{status} {value}")
        one = App(server, "verona.example").log_in(grant="provider", provider="verona", **sign_in(oauth, "2244994945"))
        expect(one["jid"].endswith("@verona.example"), f"{one}")


def odd_providers(checks, server, oauth, log_in):
    """Providers that are away, guests and the configuration."""
    with checks.check("codes: a provider that is away, or does not know this server, or says nobody: 503 or 401, and the log says so"):
        large = json.dumps({"access_token": "x", "token_type": "bearer", "padding": "x" * 70_000})
        for place, answer in [
                ("token", lambda: web.Response(status=503)), ("token", lambda: web.Response(text="<html>")),
                ("token", lambda: web.json_response({"access_token": "x", "token_type": "mac"})),
                ("token", lambda: web.json_response({"token_type": "bearer"})), ("token", lambda: web.Response(text=large)),
                ("token", lambda: web.Response(status=302, headers={"Location": oauth.base + "/me"})),
                ("me", lambda: web.Response(status=500)), ("me", lambda: web.Response(text="[]{"))]:
            oauth.broken[place] = answer
            status, value = log_in(App(server), sign_in(oauth, "23"))
            oauth.broken.clear()
            expect((status, value["code"]) == (503, "issuer-unreachable") and value["retryAfter"] >= 1, f"{status} {value}")
        status, value = log_in(App(server), sign_in(oauth, "23"), "misconfigured")
        expect((status, value["code"]) == (503, "issuer-unreachable"), f"{status} {value}")
        server.log.until("a line about it", lambda text: "a provider did not answer as it should" in text and "status 401" in text)
        expect(SECRET not in server.log.text and "another" not in server.log.text, "the secret is in the log")
        for answer in [lambda: web.json_response({"data": {"id": True}}), lambda: web.json_response({"data": {"id": "x" * 256}}),
                       lambda: web.json_response({"data": {"id": 1.5}}), lambda: web.json_response({"data": ["id"]}), lambda: web.json_response([])]:
            oauth.broken["me"] = answer
            status, value = log_in(App(server), sign_in(oauth, "23"))
            oauth.broken.clear()
            expect((status, value["code"]) in ((401, "identity-token-invalid"), (429, "logins-too-fast")), f"{status} {value}")
        oauth.broken["me"] = lambda: web.json_response({"data": {"id": 23, "name": "A number"}})
        numbered = App(server).log_in(grant="provider", provider="twitter", **sign_in(oauth, "23"))
        oauth.broken.clear()
        expect(App(server).log_in(grant="provider", provider="twitter", **sign_in(oauth, "23"))["id"] == numbered["id"], "another 23")
    with checks.check("codes: a guest stays as the same user, and slixmpp comes in as them by an app password"):
        app = App(server)
        visit = app.log_in(grant="guest")
        app.wrong(409, "identity-taken", "POST", "/v1/users/me/identities", {"provider": "twitter", **sign_in(oauth, "17")})
        app.right(201, "POST", "/v1/users/me/identities", {"provider": "twitter", **sign_in(oauth, "24")})
        app.right(200, "POST", "/v1/users/me/identities", {"provider": "twitter", **sign_in(oauth, "24")})
        app.wrong(403, "identity-token-invalid", "POST", "/v1/users/me/identities", {"provider": "twitter", **sign_in(oauth, "24"), "code": "x"})
        app.wrong(400, "input-malformed", "POST", "/v1/users/me/identities", {"identityToken": "x", **sign_in(oauth, "24")})
        again = App(server).log_in(grant="provider", provider="twitter", **sign_in(oauth, "24"))
        expect(again["id"] == visit["id"] and "guest" not in again, f"{again}")
        password = app.right(201, "POST", "/v1/app-passwords", {"name": "slixmpp"})["password"]

        async def arrive():
            client = Client(server, visit["jid"] + "/old")
            client.credentials["password"] = password
            await client.arrive()
            found = client.boundjid.bare
            await client.leave()
            return found

        expect(asyncio.run(arrive()) == visit["jid"], "slixmpp is somebody else")
    with checks.check("codes: the configuration says what is wrong with it, and keeps the secret to itself"):
        server.command("check")
        printed = server.command("check", "--print")
        expect("twitter" in printed and SECRET not in printed, printed)


def walk(checks, server, oauth, openid):
    def log_in(app, given, provider="twitter"):
        return app.call("POST", "/v1/sessions", {"grant": "provider", "provider": provider, **given})

    good_codes(checks, server, oauth, log_in)
    other_tokens(checks, server, oauth, openid, log_in)
    odd_providers(checks, server, oauth, log_in)
