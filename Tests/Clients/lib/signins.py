"""These parties issue tokens: an app's backend (`Signer`), OpenID providers, and a provider of OAuth 2.0 alone."""
import asyncio
import base64
import hashlib
import http.server
import json
import secrets
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from aiohttp import web
from cryptography.hazmat.primitives import hashes, hmac, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from lib.apps import exchange_json
from lib.harness import expect

REDIRECT, OTHER_REDIRECT = "org.example.chat://signed-in", "https://chat.example.org/signed-in"
CLIENT, SECRET = "a client: with/reserved characters", "a secret: of it+100%"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Signer:
    """A key pair, or a secret, and what it calls itself."""

    def __init__(self, alg, kid=None, secret=None):
        self.alg, self.kid, self.secret = alg, kid, secret
        if alg == "RS256":
            self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        elif alg == "ES256":
            self.key = ec.generate_private_key(ec.SECP256R1())

    def sign(self, body):
        if self.alg == "HS256":
            mac = hmac.HMAC(self.secret.encode() if isinstance(self.secret, str) else self.secret, hashes.SHA256())
            mac.update(body)
            return mac.finalize()
        if self.alg == "RS256":
            return self.key.sign(body, padding.PKCS1v15(), hashes.SHA256())
        if self.alg == "ES256":
            r, s = utils.decode_dss_signature(self.key.sign(body, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return b""

    def token(self, claims, **header):
        header = {"alg": self.alg, **({"kid": self.kid} if self.kid else {}), **header}
        body = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"
        return f"{body}.{b64(self.sign(body.encode()))}"

    def jwk(self):
        numbers = self.key.public_key().public_numbers()
        number = lambda value, size: b64(value.to_bytes(size, "big"))
        if self.alg == "RS256":
            members = {"kty": "RSA", "n": number(numbers.n, 256), "e": number(numbers.e, 3)}
        else:
            members = {"kty": "EC", "crv": "P-256", "x": number(numbers.x, 32), "y": number(numbers.y, 32)}
        return {**members, "kid": self.kid, "use": "sig", "alg": self.alg}

    def pem(self):
        return self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class Provider:
    """An OpenID provider's public side: discovery, keys, pictures. Counts who asks."""

    def __init__(self):
        provider = self
        self.signers, self.asked, self.answers = [], [], True

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.asked.append(self.path)
                documents = {
                    "/.well-known/openid-configuration": {"issuer": provider.issuer, "jwks_uri": provider.issuer + "/keys"},
                    "/keys": {"keys": [{"kty": "oct", "kid": "strange", "k": "AAAA"}] + [s.jwk() for s in provider.signers]},
                }
                if not provider.answers or self.path not in documents:
                    self.send_error(503)
                    return
                body = json.dumps(documents[self.path]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Cache-Control", "public, max-age=3600")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, subject, signer=None, **changes):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "my-app-id", "sub": subject, "iat": now, "exp": now + 3600, "name": f"Name {subject}"}
        claims.update(changes)
        return (signer or self.signers[0]).token({k: v for k, v in claims.items() if v is not None})

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class App:
    """Bare REST, with the Host of one of the apps."""

    def __init__(self, server, host="localhost"):
        self.server, self.host, self.token = server, host, None

    def call(self, method, path, body=None):
        status, _, value = exchange_json(method, self.server.base + path, body, self.token, Host=self.host)
        return status, value

    def right(self, status, method, path, body=None):
        got, value = self.call(method, path, body)
        expect(got == status, f"{method} {path} answered {got} {value}, not {status}")
        return value

    def wrong(self, status, code, method, path, body=None):
        got, value = self.call(method, path, body)
        expect((got, value.get("code")) == (status, code), f"{method} {path} answered {got} {value}, not {status} {code}")

    def nonce(self):
        return self.right(201, "POST", "/v1/nonces")["nonce"]

    def log_in(self, **body):
        session = self.right(201, "POST", "/v1/sessions", body)
        self.token = session["accessToken"]
        return session["user"]


def vouch(nonce, prn, signer, iss="my-app", header=None, **changes):
    now = int(time.time())
    claims = {"iss": iss, "iat": now, "nbf": now, "exp": now + 60, "nce": nonce, "prn": prn, "name": str(prn).title(), **changes}
    return signer.token({k: v for k, v in claims.items() if v is not None}, **{"typ": "JWT", "ver": "v2", **(header or {})})


class OAuth:
    """The provider. `people` are those who have a session in its browser; `broken` is what it answers instead."""

    def __init__(self):
        self.codes, self.tokens, self.asked, self.broken = {}, {}, [], {}
        self.started = threading.Event()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()
        self.started.wait(20)

    def _run(self):
        asyncio.set_event_loop(self.loop)
        application = web.Application()
        application.add_routes([web.get("/authorize", self.authorize), web.post("/token", self.token), web.get("/me", self.me)])
        runner = web.AppRunner(application)
        self.loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0)
        self.loop.run_until_complete(site.start())
        self.base = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
        self.started.set()
        self.loop.run_forever()

    async def authorize(self, request):
        """RFC 6749 4.1.1 and RFC 7636 4.3; who is asking is in the query, where a browser has a cookie."""
        query = request.query
        if query["client_id"] != CLIENT or query["redirect_uri"] not in (REDIRECT, OTHER_REDIRECT) or query["code_challenge_method"] != "S256":
            return web.Response(status=400)
        code = secrets.token_urlsafe(60)
        self.codes[code] = (query["person"], query["redirect_uri"], query["code_challenge"])
        back = urllib.parse.urlencode({"code": code, "state": query["state"]})
        return web.Response(status=302, headers={"Location": f"{query['redirect_uri']}?{back}"})

    async def token(self, request):
        """4.1.3; RFC 7636 4.6."""
        form = await request.post()
        self.asked.append(dict(form))
        if "token" in self.broken:
            return self.broken["token"]()
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        name, _, secret = base64.b64decode(text).decode().partition(":")
        if scheme != "Basic" or (urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(secret)) != (CLIENT, SECRET):
            return web.json_response({"error": "invalid_client"}, status=401, headers={"WWW-Authenticate": "Basic"})
        if form.get("grant_type") != "authorization_code":
            return web.json_response({"error": "unsupported_grant_type"}, status=400)
        person, redirect, challenge = self.codes.pop(form.get("code"), (None, None, None))
        proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if person is None or redirect != form.get("redirect_uri") or challenge != proof:
            return web.json_response({"error": "invalid_grant"}, status=400)
        token = secrets.token_urlsafe(40)
        self.tokens[token] = person
        return web.json_response({"token_type": "bearer", "expires_in": 7200, "access_token": token, "scope": "users.read"})

    async def me(self, request):
        if "me" in self.broken:
            return self.broken["me"]()
        person = self.tokens.get(request.headers.get("Authorization", "").removeprefix("Bearer "))
        if person is None:
            return web.json_response({"title": "Unauthorized"}, status=401)
        return web.json_response({"data": {"id": person, "name": f"Name {person}", "username": f"user{person}"}})

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def sign_in(oauth, person, redirect=REDIRECT):
    """What an app does in the browser: what it then brings to the server."""
    verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(8)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = urllib.parse.urlencode({
        "response_type": "code", "client_id": CLIENT, "redirect_uri": redirect, "state": state, "code_challenge": challenge,
        "code_challenge_method": "S256", "person": person})
    try:
        urllib.request.build_opener(NoRedirect).open(f"{oauth.base}/authorize?{query}", timeout=20)
    except urllib.error.HTTPError as error:
        with error:
            expect(error.code == 302, f"the provider answered {error.code}")
            came = urllib.parse.parse_qs(error.headers["Location"].partition("?")[2])
    expect(came["state"] == [state], "another state")
    return {"code": came["code"][0], "codeVerifier": verifier, "redirectUri": redirect}
