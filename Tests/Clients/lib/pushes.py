"""These push providers speak their own protocols: Apple's, Google's, a browser's push service and a gateway."""
import base64
import datetime
import http.server
import ipaddress
import json
import os
import queue
import socket
import ssl
import threading
import time
import urllib.parse

import h2.config
import h2.connection
import h2.events
import http_ece
import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from standardwebhooks import Webhook

from lib.harness import PATIENCE, Failure, expect, free_port

SECRET = "whsec_" + base64.b64encode(os.urandom(32)).decode()
KEY_ID, TEAM, TOPIC = "ABC123DEFG", "DEF123GHIJ", "org.example.chat"


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def certificate(folder):
    """A certificate of 127.0.0.1, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "push.test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
            .add_extension(x509.BasicConstraints(True, None), True).sign(key, hashes.SHA256()))
    chain, secret = os.path.join(folder, "push.pem"), os.path.join(folder, "push.key")
    with open(chain, "wb") as file:
        file.write(made.public_bytes(serialization.Encoding.PEM))
    with open(secret, "w") as file:
        file.write(pem(key))
    return chain, secret


class Provider:
    """What it got waits here; what it answers next is said before. Otherwise it takes everything."""

    def __init__(self):
        self.got, self.answers, self.port = queue.Queue(), queue.Queue(), free_port()

    def answer(self, status, body=b"", headers=()):
        self.answers.put((status, body if isinstance(body, bytes) else json.dumps(body).encode(), list(headers)))

    def next_answer(self, usual):
        try:
            return self.answers.get_nowait()
        except queue.Empty:
            return usual, b"", []

    def take(self, what, patience=PATIENCE):
        try:
            return self.got.get(timeout=patience)
        except queue.Empty:
            raise Failure(f"{type(self).__name__} was not told of {what}") from None

    def took_nothing(self):
        expect(self.got.empty(), f"{type(self).__name__} was told something: {list(self.got.queue)}")


class Apple(Provider):
    """Apple's side of HTTP/2, one thread for each connection."""

    def __init__(self, chain, secret):
        super().__init__()
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.connections = 0
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, secret)
        context.set_alpn_protocols(["h2"])
        listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(listener, context), daemon=True).start()

    def _accept(self, listener, context):
        while True:
            plain, _ = listener.accept()
            try:
                secured = context.wrap_socket(plain, server_side=True)
            except (OSError, ssl.SSLError):
                continue
            self.connections += 1
            threading.Thread(target=self._serve, args=(secured,), daemon=True).start()

    def _serve(self, stream):
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        connection.initiate_connection()
        stream.sendall(connection.data_to_send())
        requests = {}
        try:
            while data := stream.recv(65536):
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.RequestReceived):
                        requests[event.stream_id] = (dict(event.headers), bytearray())
                    elif isinstance(event, h2.events.DataReceived):
                        requests[event.stream_id][1].extend(event.data)
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, h2.events.StreamEnded):
                        headers, body = requests.pop(event.stream_id)
                        status, answer, _ = self.next_answer(200)
                        connection.send_headers(
                            event.stream_id, [(":status", str(status)), ("apns-id", headers.get("apns-id", ""))])
                        connection.send_data(event.stream_id, answer, end_stream=True)
                        self.got.put((headers, json.loads(body), status))
                stream.sendall(connection.data_to_send())
        except OSError:
            pass

    def push(self, what, token, status=200):
        """The next notification, if it is as Apple wants it."""
        headers, body, answered = self.take(what, 3 * PATIENCE)
        expect(answered == status, f"{what}: {answered} was answered")
        expect(headers[":method"] == "POST" and headers[":path"] == f"/3/device/{token}", f"{headers}")
        scheme, proof = headers["authorization"].split(" ")
        expect(scheme == "bearer" and jwt.get_unverified_header(proof) == {"alg": "ES256", "kid": KEY_ID, "typ": "JWT"},
               f"another header: {jwt.get_unverified_header(proof)}")
        claims = jwt.decode(proof, self.key.public_key(), algorithms=["ES256"])
        expect(claims["iss"] == TEAM and abs(claims["iat"] - time.time()) < 3600, f"{claims}")
        self.proof = proof
        expect(len(json.dumps(body)) < 6000 and len(headers.get("apns-collapse-id", "")) <= 64, f"{headers}")
        return headers, body


class Web(Provider):
    """A server of HTTP/1.1: `handle` says what of a request is kept."""

    def __init__(self, tls=None):
        super().__init__()
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, answer, headers = provider.handle(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    usual = 201

    def handle(self, path, headers, body):
        status, answer, more = self.next_answer(self.usual)
        self.got.put((path, headers, body, status))
        return status, answer, more


class Google(Web):
    usual = 200

    def __init__(self):
        self.key = rsa.generate_private_key(65537, 2048)
        self.given, self.faults = [], []
        super().__init__()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def account(self, folder):
        path = os.path.join(folder, "firebase.json")
        with open(path, "w") as file:
            json.dump({"type": "service_account", "project_id": "project-1", "private_key_id": "k1",
                       "private_key": pem(self.key), "client_email": "push@project-1.iam.gserviceaccount.com",
                       "token_uri": self.url + "/token"}, file)
        return path

    def handle(self, path, headers, body):
        if path == "/token":
            form = urllib.parse.parse_qs(body.decode())
            if form.get("grant_type") != ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
                self.faults.append(f"another grant: {form}")
            try:
                claims = jwt.decode(form["assertion"][0], self.key.public_key(), algorithms=["RS256"], audience=self.url + "/token")
                if claims["scope"] != "https://www.googleapis.com/auth/firebase.messaging":
                    self.faults.append(f"another scope: {claims}")
                if claims["iss"] != "push@project-1.iam.gserviceaccount.com":
                    self.faults.append(f"another account: {claims}")
            except (jwt.InvalidTokenError, KeyError) as error:
                self.faults.append(f"no good assertion: {error}")
                return 401, b"{}", []
            self.given.append(f"token-{len(self.given)}")
            return 200, json.dumps({"access_token": self.given[-1], "expires_in": 3599, "token_type": "Bearer"}).encode(), []
        return super().handle(path, headers, body)

    def push(self, what, token, status=200):
        path, headers, body, answered = self.take(what, 3 * PATIENCE)
        expect(not self.faults, f"{self.faults}")
        expect(path == "/v1/projects/project-1/messages:send" and answered == status, f"{path}: {answered}")
        expect(headers["authorization"] == "Bearer " + self.given[-1], f"{headers}")
        message = json.loads(body)["message"]
        expect(message["token"] == token and all(isinstance(v, str) for v in message["data"].values()), f"{message}")
        return message


class Browser(Web):
    """A push service and the browser behind it."""

    def __init__(self, tls):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = os.urandom(16)
        super().__init__(tls)

    def subscription(self, path):
        point = self.key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return {"endpoint": f"https://127.0.0.1:{self.port}{path}",
                "keys": {"p256dh": base64url(point), "auth": base64url(self.secret)}}

    def push(self, what, where, server_key, status=201):
        path, headers, body, answered = self.take(what, 3 * PATIENCE)
        expect(path == where and answered == status, f"{path}: {answered}")
        expect(headers["content-encoding"] == "aes128gcm" and int(headers["ttl"]) > 0, f"{headers}")
        expect(headers["urgency"] in ("low", "normal", "high") and len(headers.get("topic", "")) <= 32, f"{headers}")
        scheme, parameters = headers["authorization"].split(" ", 1)
        fields = dict(part.strip().split("=", 1) for part in parameters.split(","))
        expect(scheme == "vapid" and fields["k"] == server_key, f"another key: {fields}")
        point = base64.urlsafe_b64decode(fields["k"] + "=")
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        claims = jwt.decode(fields["t"], key, algorithms=["ES256"], audience=f"https://127.0.0.1:{self.port}")
        expect(claims["exp"] < time.time() + 86400 and claims["sub"].startswith(("mailto:", "https:")), f"{claims}")
        return headers, json.loads(http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret))


class Gateway(Web):
    usual = 204

    def push(self, what, status=204):
        path, headers, body, answered = self.take(what, 3 * PATIENCE)
        expect(path == "/parley" and answered == status, f"{path}: {answered}")
        self.id = headers["webhook-id"]
        return Webhook(SECRET).verify(body, headers)


class World:
    """The providers, and the settings of a server that knows them."""

    def __init__(self, folder):
        tls = certificate(folder)
        self.apple, self.google, self.browser, self.gateway = Apple(*tls), Google(), Browser(tls), Gateway()
        key = os.path.join(folder, "AuthKey.p8")
        with open(key, "w") as file:
            file.write(pem(self.apple.key))
        apple = f"https://127.0.0.1:{self.apple.port}"
        self.settings = dict(
            push__apns__key=key, push__apns__key_id=KEY_ID, push__apns__team_id=TEAM, push__apns__topics=TOPIC,
            push__apns__url=apple, push__apns__sandbox_url=apple, push__fcm__account=self.google.account(folder),
            push__fcm__url=self.google.url, push__webhook__url=f"http://127.0.0.1:{self.gateway.port}/parley",
            push__webhook__secret=SECRET, outgoing__networks="127.0.0.0/8", outgoing__authorities=tls[0])

    @property
    def all(self):
        return [self.apple, self.google, self.browser, self.gateway]


def register(app, device, push, status=201, **more):
    answered, body = app.call("PUT", f"/v1/devices/{device}", {"push": push, **more})
    expect(answered == status, f"{device}: {answered} {body}")
    return body
