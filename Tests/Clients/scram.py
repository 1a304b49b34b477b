"""SCRAM bound to TLS (RFC 5802, RFC 9266, RFC 5929 4, XEP-0440 1.0.0), the hash of the offer (XEP-0474 0.5.0), upgrades (XEP-0480 0.2.0),
and the bound on failed logins, by a client written here from the specifications alone. What TLS exports is asked of OpenSSL,
whose code the server has nothing of; Python has no call for it, so that it is called by its C name.
"""
import _ssl
import base64
import ctypes
import hashlib
import hmac
import os
import secrets
import signal
import socket
import sqlite3
import ssl
import subprocess

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect
from lib.sasl2 import SASL2, STARTTLS, OneStep, coded

SASL = "urn:ietf:params:xml:ns:xmpp-sasl"
UPGRADE = "urn:xmpp:sasl:upgrade:0"
SCRAM_UPGRADE = "urn:xmpp:scram-upgrade:0"
BINDINGS = "urn:xmpp:sasl-cb:0"
AGENT = "9a7a6e7a-5f0e-4d53-9d4e-0c3f6f2b8f11"
HASHES = {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def exported(connection):
    """RFC 9266: 32 bytes of the label, with an empty context. `SSL *` is the second field of Python's own object."""
    library = ctypes.CDLL(_ssl.__file__)
    pointer = ctypes.c_void_p.from_address(id(connection._sslobj) + 16 + 8)
    library.SSL_version.argtypes = [ctypes.c_void_p]
    expect(library.SSL_version(pointer) == 0x0304, "this is no TLS 1.3")
    label = b"EXPORTER-Channel-Binding"
    out = ctypes.create_string_buffer(32)
    library.SSL_export_keying_material.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
        ctypes.c_size_t, ctypes.c_int]
    done = library.SSL_export_keying_material(pointer, out, 32, label, len(label), b"", 0, 1)
    expect(done == 1, "OpenSSL exports nothing")
    return out.raw


def end_point(connection, hash="sha256"):
    """RFC 5929 4.1, of the certificate that was shown, or of which the session is."""
    return hashlib.new(hash, connection.getpeercert(True)).digest()


class Refused(Failure):
    """`<failure/>`, by its condition."""


class Bound(OneStep):
    context = None

    def connect(self, starttls=False, newest=ssl.TLSVersion.TLSv1_3, source="127.0.0.1", session=None):
        port = self.server.xmpp if starttls else self.server.tls
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0))
        if not self.context:
            self.context = ssl.create_default_context(cafile=self.server.certificate)
            self.context.maximum_version = newest
        if starttls:
            self.open()
            expect(not self.types(), "channel binding is offered without TLS")
            self.send(f"<starttls xmlns='{STARTTLS}'/>")
            self.stanza(lambda s: s.tag == f"{{{STARTTLS}}}proceed", "leave to start TLS")
        self.socket = self.context.wrap_socket(self.socket, server_hostname="localhost", session=session)
        self.open()
        return self

    def types(self):
        return [b.get("type") for b in self.features.findall(f"{{{BINDINGS}}}sasl-channel-binding/{{{BINDINGS}}}channel-binding")]

    def mechanisms(self, profile=SASL2):
        path = f"{{{SASL2}}}authentication/{{{SASL2}}}mechanism" if profile == SASL2 else f"{{{SASL}}}mechanisms/{{{SASL}}}mechanism"
        return [m.text for m in self.features.findall(path)]

    def answer(self, *names):
        found = self.stanza(
            lambda s: s.tag.split("}")[1] in (*names, "failure", "error"), f"one of {names}")
        if found.tag.endswith("}failure"):
            raise Refused(found[0].tag.split("}")[1])
        expect(found.tag.split("}")[1] in names, f"{found.tag}: {[c.tag for c in found]}")
        return found

    def prove(self, mechanism, password=PASSWORD, flag=None, data=None, wishes="", profile=SASL2):
        """Up to what comes behind the proof: `success`, or `continue`."""
        plain = mechanism.removesuffix("-PLUS")
        digest = HASHES[plain]
        if flag is None:
            flag, data = ("p=tls-exporter", exported(self.socket)) if mechanism != plain else ("n", b"")
        header = f"{flag},,"
        first = f"n={self.name},r={secrets.token_hex(16)}"
        initial = coded((header + first).encode())
        if profile == SASL2:
            self.send(f"<authenticate xmlns='{SASL2}' mechanism='{mechanism}'><initial-response>{initial}</initial-response>"
                      f"{wishes}</authenticate>")
        else:
            self.send(f"<auth xmlns='{SASL}' mechanism='{mechanism}'>{initial}</auth>")
        challenge = base64.b64decode(self.answer("challenge").text).decode()
        said = dict(part.split("=", 1) for part in challenge.split(","))
        # XEP-0474 4.2, of what stood in the features of the profile in use.
        offer = "\x1e".join(sorted(self.mechanisms(profile)))
        if self.types():
            offer += "\x1f" + "\x1e".join(sorted(self.types()))
        expect(said.get("h") == coded(hashlib.new(digest, offer.encode()).digest()), f"the hash of the offer: {said}")
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(said["s"]), int(said["i"]))

        def keyed(key, text):
            return hmac.new(key, text, digest).digest()

        last = f"c={coded(header.encode() + (data or b''))},r={said['r']}"
        everything = f"{first},{challenge},{last}".encode()
        key = keyed(salted, b"Client Key")
        signature = keyed(hashlib.new(digest, key).digest(), everything)
        proof = coded(bytes(a ^ b for a, b in zip(key, signature)))
        self.send(f"<response xmlns='{profile}'>{coded(f'{last},p={proof}'.encode())}</response>")
        found = self.answer("success", "continue")
        data = found.findtext(f"{{{SASL2}}}additional-data") if profile == SASL2 else found.text
        expect(base64.b64decode(data) == b"v=" + base64.b64encode(keyed(keyed(salted, b"Server Key"), everything)),
               "the server does not prove that it knows the password")
        return found

    def refused(self, *arguments, **named):
        try:
            found = self.prove(*arguments, **named)
        except Refused as error:
            return str(error)
        raise Failure(f"{arguments}, {named}: {found.tag}")

    def upgraded(self, found, password=PASSWORD):
        """Carries out the tasks (XEP-0480 3); what they were."""
        done = []
        while found.tag.endswith("}continue"):
            tasks = [t.text for t in found.findall(f"{{{SASL2}}}tasks/{{{SASL2}}}task")]
            expect(len(tasks) == 1, f"tasks: {tasks}")
            self.send(f"<next xmlns='{SASL2}' task='{tasks[0]}'/>")
            salt = self.answer("task-data").find(f"{{{SCRAM_UPGRADE}}}salt")
            expect(int(salt.get("iterations")) >= 4096 and len(base64.b64decode(salt.text)) >= 16, "salt and iterations")
            salted = hashlib.pbkdf2_hmac(
                HASHES[tasks[0].removeprefix("UPGR-")], password.encode(), base64.b64decode(salt.text),
                int(salt.get("iterations")))
            self.send(f"<task-data xmlns='{SASL2}'><hash xmlns='{SCRAM_UPGRADE}'>{coded(salted)}</hash></task-data>")
            done.append(tasks[0])
            found = self.answer("success", "continue")
        return done


def agent(name):
    return f"<user-agent id='{name}'><software>A test</software></user-agent>"


def log_in(server, mechanism, name="romeo", source="127.0.0.1", **named):
    client = Bound(name, server).connect(source=source)
    try:
        return client.prove(mechanism, **named)
    finally:
        client.close()


def bound(server):
    for starttls in (False, True):
        for mechanism in HASHES:
            client = Bound("romeo", server).connect(starttls)
            expect(client.types() == ["tls-exporter", "tls-server-end-point"], f"types: {client.types()}")
            expect(f"{mechanism}-PLUS" in client.mechanisms(), f"offered: {client.mechanisms()}")
            expect(not [m for m in client.mechanisms(SASL) if "PLUS" in m], "-PLUS in the core's profile")
            client.prove(f"{mechanism}-PLUS")
            client.stanza(lambda s: s.tag.endswith("}features"), "features behind success")
            client.close()
            client = Bound("romeo", server).connect(starttls)
            client.prove(f"{mechanism}-PLUS", flag="p=tls-server-end-point", data=end_point(client.socket))
            client.close()


def resumed(server):
    """A session of TLS that is resumed has a secret of its own."""
    first = Bound("romeo", server).connect()
    first.prove("SCRAM-SHA-256-PLUS")
    first.stanza(lambda s: s.tag.endswith("}features"), "features behind success")
    before = exported(first.socket)
    again = Bound("romeo", server)
    again.context = first.context
    again.connect(session=first.socket.session)
    expect(again.socket.session_reused, "the session of TLS is not resumed")
    expect(exported(again.socket) != before, "two connections export the same")
    again.prove("SCRAM-SHA-256-PLUS")
    first.close()
    again.close()


def elsewhere(server):
    """What somebody in between would have to say, and what an attacker's changes to the features come to."""
    other = Bound("romeo", server).connect()
    client = Bound("romeo", server).connect()
    wrong = dict(flag="p=tls-exporter", data=exported(other.socket))
    expect(client.refused("SCRAM-SHA-256-PLUS", **wrong) == "not-authorized", "another connection's binding is taken")
    expect(client.refused("SCRAM-SHA-256-PLUS", flag="p=tls-exporter", data=b"") == "not-authorized", "no binding is taken")
    swapped = dict(flag="p=tls-exporter", data=end_point(client.socket))
    expect(client.refused("SCRAM-SHA-256-PLUS", **swapped) == "not-authorized", "one type's binding is taken for another's")
    wrong = dict(flag="p=tls-server-end-point", data=hashlib.sha256(b"another certificate").digest())
    expect(client.refused("SCRAM-SHA-256-PLUS", **wrong) == "not-authorized", "another certificate's binding is taken")
    expect(client.refused("SCRAM-SHA-256", flag="y", data=b"") == "not-authorized", "the downgrade is not seen")
    expect(client.refused("SCRAM-SHA-256-PLUS", password="wrong") == "not-authorized", "a wrong password")
    # None of these is the end.
    client.prove("SCRAM-SHA-256-PLUS")
    other.close()
    client.close()


def older(server):
    """TLS 1.2 has its certificate to be bound to; and without channel binding all is as ever, in both profiles."""
    client = Bound("romeo", server).connect(newest=ssl.TLSVersion.TLSv1_2)
    expect(client.socket.version() == "TLSv1.2", client.socket.version())
    expect(client.types() == ["tls-server-end-point"], f"types over TLS 1.2: {client.types()}")
    expect(client.refused("SCRAM-SHA-256", flag="y", data=b"") == "not-authorized", "the downgrade is not seen")
    client.prove("SCRAM-SHA-256-PLUS", flag="p=tls-server-end-point", data=end_point(client.socket))
    client.close()
    for mechanism in HASHES:
        for profile in (SASL, SASL2):
            client = Bound("romeo", server).connect()
            client.prove(mechanism, profile=profile)
            client.close()


def certificate(server, *options):
    """A new one in the place of the one before."""
    paths = [os.path.join(server.folder, name) for name in ("chain.pem", "key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", *options, "-nodes", "-days", "9", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return paths


def shown(server, starttls=False, newest=ssl.TLSVersion.TLSv1_3):
    client = Bound("romeo", server)
    client.context = ssl.create_default_context(cafile=os.path.join(server.folder, "chain.pem"))
    client.context.maximum_version = newest
    return client.connect(starttls)


def renewed(server):
    """Another certificate, another hash; a session of TLS of before is one of the certificate of before."""
    server.stop()
    chain, key = certificate(server, "-newkey", "rsa:2048", "-sha256")
    server.settings.update(tls__certificate=chain, tls__key=key)
    server.start()
    old = shown(server)
    before = end_point(old.socket)
    old.prove("SCRAM-SHA-256-PLUS", flag="p=tls-server-end-point", data=before)
    old.stanza(lambda s: s.tag.endswith("}features"), "features behind success")
    session = old.socket.session
    certificate(server, "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:secp384r1", "-sha384")
    server.process.send_signal(signal.SIGHUP)
    server.log.until("the certificate is read again", lambda text: "reloaded" in text)
    for starttls in (False, True):
        for newest in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            client = shown(server, starttls, newest)
            wrong = dict(flag="p=tls-server-end-point", data=before)
            expect(client.refused("SCRAM-SHA-256-PLUS", **wrong) == "not-authorized", "the former certificate counts")
            client.prove("SCRAM-SHA-256-PLUS", flag="p=tls-server-end-point", data=end_point(client.socket, "sha384"))
            client.close()
    again = Bound("romeo", server)
    again.context = old.context
    again.context.load_verify_locations(os.path.join(server.folder, "chain.pem"))
    again.connect(session=session)
    expect(not again.socket.session_reused, "a session of the former certificate is resumed")
    again.prove("SCRAM-SHA-256-PLUS", flag="p=tls-server-end-point", data=end_point(again.socket, "sha384"))
    for one in (old, again):
        one.close()
    server.stop()
    del server.settings["tls__certificate"], server.settings["tls__key"]
    server.start()


def upgrades(server):
    """An account that came with keys of SHA-1 alone."""
    server.stop()
    with sqlite3.connect(f"{server.data}/parley.db") as store:
        removed = store.execute("DELETE FROM credentials WHERE hash <> 1 AND user = (SELECT id FROM users WHERE name = 'juliet')")
        expect(removed.rowcount == 2, f"{removed.rowcount} keys removed")
    store.close()
    server.start()
    client = Bound("juliet", server).connect()
    offer = [u.text for u in client.features.findall(f"{{{SASL2}}}authentication/{{{UPGRADE}}}upgrade")]
    expect(sorted(offer) == ["UPGR-SCRAM-SHA-256", "UPGR-SCRAM-SHA-512"], f"offered: {offer}")
    # Clients take the strongest mechanism that is offered, and give up: one of which an account has no keys is not.
    expect(client.refused("SCRAM-SHA-512-PLUS") == "invalid-mechanism", "SHA-512 is offered")
    wishes = "".join(f"<upgrade xmlns='{UPGRADE}'>{name}</upgrade>" for name in ("UPGR-SCRAM-SHA-512", "UPGR-OF-OTHERS"))
    done = client.upgraded(client.prove("SCRAM-SHA-1-PLUS", wishes=wishes))
    expect(done == ["UPGR-SCRAM-SHA-512"], f"done: {done}")
    # It is durable before it is told.
    server.kill()
    client.close()
    server.start()
    log_in(server, "SCRAM-SHA-512-PLUS", "juliet")
    log_in(server, "SCRAM-SHA-1", "juliet")
    client = Bound("juliet", server).connect()
    expect(client.refused("SCRAM-SHA-512-PLUS", password="wrong") == "not-authorized", "a wrong password")
    # The one that is missing, by an account that asks for both.
    wishes = "".join(f"<upgrade xmlns='{UPGRADE}'>{name}</upgrade>" for name in offer)
    done = client.upgraded(client.prove("SCRAM-SHA-512-PLUS", wishes=wishes))
    expect(done == ["UPGR-SCRAM-SHA-256"], f"done: {done}")
    client.close()
    # It is offered from the next start on.
    server.stop()
    server.start()
    client = Bound("juliet", server).connect()
    expect(client.prove("SCRAM-SHA-256-PLUS", wishes=wishes).tag.endswith("}success"), "nothing is missing any more")
    client.close()


def guessed(server, name, source, count):
    """Wrong passwords until `count` or the refusal; how many were looked at."""
    looked = 0
    while looked < count:
        client = Bound(name, server).connect(source=source)
        try:
            for _ in range(min(7, count - looked)):
                condition = client.refused("SCRAM-SHA-1", password="wrong")
                if condition == "temporary-auth-failure":
                    return looked
                expect(condition == "not-authorized", condition)
                looked += 1
        finally:
            client.close()
    return looked


def strangers(server):
    """Addresses of this machine stand for those of many."""
    log_in(server, "SCRAM-SHA-256", source="127.0.0.1", wishes=agent(AGENT))
    looked = [guessed(server, "romeo", f"127.0.1.{number}", 30) for number in range(1, 14)]
    # A machine that is slow gains some: one in five minutes for each address.
    expect(all(10 <= count < 13 for count in looked[:9]) and sum(looked) < 120 and looked[12] < 10, f"guesses: {looked}")
    expect(Bound("romeo", server).connect(source="127.0.2.1").refused("SCRAM-SHA-256") == "temporary-auth-failure",
           "a stranger's right password is looked at when strangers have spent all")
    log_in(server, "SCRAM-SHA-256", source="127.0.0.1")
    log_in(server, "SCRAM-SHA-256", source="127.0.2.1", wishes=agent(AGENT))
    log_in(server, "SCRAM-SHA-256", name="juliet", source="127.0.2.2")
    # Next door.
    guessed(server, "juliet", "127.0.0.1", 30)
    log_in(server, "SCRAM-SHA-256", source="127.0.0.1")
    # One mechanism for both doors.
    try:
        App(server, "juliet")
    except Failure as error:
        expect("429" in str(error), str(error))
    else:
        raise Failure("the app door looks at a password of an address that has spent all")


def run(checks):
    with Server() as server:
        server.add_users("romeo", "juliet")
        server.start()
        with checks.check("scram: bound to TLS 1.3 by what OpenSSL exports or to the certificate, direct and by STARTTLS, with every hash"):
            bound(server)
        with checks.check("scram: bound to a session of TLS that was resumed"):
            resumed(server)
        with checks.check("scram: another connection's binding, and a downgrade, are refused"):
            elsewhere(server)
        with checks.check("scram: as ever without channel binding; the offer's hash is of what was offered"):
            older(server)
        with checks.check("scram: bound to the certificate that is shown, over TLS 1.2 and 1.3, also when it is renewed"):
            renewed(server)
        with checks.check("scram: an account with keys of SHA-1 gets those of SHA-512 and SHA-256, durably"):
            upgrades(server)
        with checks.check("scram: strangers' failures slow strangers down, and lock nobody out who is known"):
            strangers(server)
