"""Certificates from a real ACME server: Pebble, which refuses three nonces in ten, and whose names pebble-challtestsrv resolves. OpenSSL
verifies what is served by the root that Pebble has made. Renewal information (ARI) is said by a stand-in of ours beside Pebble, whose Debian
package has none yet."""
import asyncio
import base64
import contextlib
import json
import os
import pathlib
import datetime
import http.server
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request

import slixmpp
from cryptography import x509

from lib.harness import PASSWORD, PATIENCE, Log, Server, expect, free_port

DOMAINS = ["capulet.example", "montague.example"]
SERVICES = ["conference", "upload", "pubsub"]
ISSUED = "the certificate is in service"


class Authority:
    """Pebble and its resolver, for which every name is this machine unless it was told otherwise."""

    def __init__(self, **pebble):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="parley-acme-"))
        self.port, self.management, self.dns, self.records = free_port(), free_port(), free_port(), free_port()
        self.http, self.https = free_port(), free_port()
        self.certificate, key = self.folder / "pebble.pem", self.folder / "pebble.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=pebble", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", self.certificate],
            check=True, capture_output=True)
        (self.folder / "pebble.json").write_text(json.dumps({"pebble": {
            "listenAddress": f"127.0.0.1:{self.port}", "managementListenAddress": f"127.0.0.1:{self.management}",
            "certificate": str(self.certificate), "privateKey": str(key), "httpPort": self.http, "tlsPort": self.https} | pebble}))
        self.resolver = subprocess.Popen(
            ["pebble-challtestsrv", "-dns01", f"127.0.0.1:{self.dns}", "-management", f"127.0.0.1:{self.records}", "-http01", "",
             "-https01", "", "-tlsalpn01", "", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = None

    @property
    def directory(self):
        return f"https://127.0.0.1:{self.port}/dir"

    def start(self):
        self.process = subprocess.Popen(
            ["pebble", "-config", self.folder / "pebble.json", "-dnsserver", f"127.0.0.1:{self.dns}", "-strict"],
            env=os.environ | {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "30"}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")
        self.log = Log(self.process.stdout)
        # It says where it listens before it does.
        for port in (self.port, self.management):
            self.reachable(port)
        self.root = self.folder / "root.pem"
        trust = ssl.create_default_context(cafile=self.certificate)
        with urllib.request.urlopen(f"https://127.0.0.1:{self.management}/roots/0", context=trust) as answer:
            self.root.write_bytes(answer.read())

    def reachable(self, port):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                expect(time.monotonic() < end, f"nobody listens on {port}:\n{self.log.text}")
            with self.log.changed:
                self.log.changed.wait(0.05)

    def resolve(self, name, address):
        """A name is elsewhere; with None here again."""
        action, body = ("add-a", {"host": name + ".", "addresses": [address]}) if address else ("clear-a", {"host": name + "."})
        urllib.request.urlopen(
            urllib.request.Request(f"http://127.0.0.1:{self.records}/{action}", json.dumps(body).encode())).close()

    @contextlib.contextmanager
    def hanging(self):
        """Pebble finds no name meanwhile, and so validates nothing."""
        self.resolver.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.resolver.send_signal(signal.SIGCONT)

    def settings(self, **others):
        return dict(
            domain=DOMAINS[0], tls__acme__enabled="true", tls__acme__terms_agreed="true", tls__acme__directory=self.directory,
            tls__acme__authorities=str(self.certificate), tls__acme__contact="admin@capulet.example") | others

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.process, self.resolver):
            if process:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def presented(port, name, *options):
    """What a client of this name gets: the first certificate as OpenSSL shows it."""
    met = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", name, *options], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE)
    shown = subprocess.run(["openssl", "x509", "-noout", "-text"], input=met.stdout, capture_output=True, text=True)
    return met.stdout + met.stderr + shown.stdout


def verified(authority, port, asked, name):
    """Whether the chain that is presented to who asks for a domain is Pebble's, and names this."""
    met = presented(port, asked, "-CAfile", str(authority.root), "-verify_hostname", name, "-verify_return_error")
    return "Verify return code: 0 (ok)" in met


def serial(met):
    return met.split("Serial Number:")[1].split("Signature")[0].strip()


def shown(server):
    return json.loads(server.command("certificate", "show", "--json"))


def issued(server, times=1):
    server.log.until(f"{times} certificates", lambda text: text.count(ISSUED) >= times)


async def talk_over(server, authority, renew):
    """A client that is connected while the certificate is replaced."""
    client = slixmpp.ClientXMPP(f"juliet@{DOMAINS[0]}/balcony", PASSWORD)
    client.ca_certs = authority.root
    client.register_plugin("xep_0199")
    ready, lost = asyncio.Event(), asyncio.Event()
    client.add_event_handler("session_start", lambda _: ready.set())
    client.add_event_handler("disconnected", lambda _: lost.set())
    client.connect("127.0.0.1", server.xmpp)
    await asyncio.wait_for(ready.wait(), PATIENCE)
    await asyncio.to_thread(renew)
    await client["xep_0199"].ping(DOMAINS[0], timeout=PATIENCE)
    expect(not lost.is_set(), "the client was disconnected")
    await client.disconnect()


def run(checks):
    with Authority() as authority:
        by_http(checks, authority)
    with Authority(externalAccountBindingRequired=True, externalAccountMACKeys={"kid-1": BINDING_KEY}) as authority:
        authority.start()
        bound(checks, authority)
    with Authority() as authority:
        authority.start()
        suggested(checks, authority)
    # Certificates that a third of remains after eight seconds.
    with Authority(certificateValidityPeriod=12) as authority:
        authority.start()
        by_tls(checks, authority)


BINDING_KEY = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W"


def bound(checks, authority):
    """RFC 8555 7.3.4."""
    key = authority.folder / "eab.key"
    key.write_text(BINDING_KEY + "\n")
    settings = authority.settings(http__port=authority.http)
    with checks.check("acme: an authority that wants a binding to an account with its operator says so, in words"), Server(**settings) as server:
        server.start()
        server.log.until("the failure", lambda text: "tls.acme.eab_key_id" in text)
    settings |= dict(tls__acme__eab_key_id="kid-1", tls__acme__eab_key=str(key))
    with checks.check("acme: with the binding it certifies; the key is nowhere else"), Server(**settings) as server:
        server.start()
        issued(server)
        expect(verified(authority, server.tls, DOMAINS[0], DOMAINS[0]), presented(server.tls, DOMAINS[0]))
        shown_anywhere = server.log.text + server.command("check", "--print") + "".join(
            path.read_text() for path in pathlib.Path(server.data, "tls", "acme").iterdir())
        expect(BINDING_KEY not in shown_anywhere, "the key is shown")
    with checks.check("acme: a wrong key is the authority's refusal; a file that is none is an error of the configuration"):
        key.write_text("c29tZXRoaW5nIGVsc2Ugd2l0aCBlbm91Z2ggYnl0ZXM\n")
        with Server(**settings) as server:
            server.start()
            server.log.until("the refusal", lambda text: "the authority refuses the account" in text)
        key.write_text("not base64url!\n")
        with Server(**settings) as server:
            done = subprocess.run(
                [str(server.binary), "check", "--config", server.configuration], env=server.environment(), capture_output=True, text=True)
            expect(done.returncode == 2 and "tls.acme.eab_key" in done.stderr and "base64url" in done.stderr, f"{done}")


class Suggestions:
    """Pebble's directory with a `renewalInfo` of its own (RFC 9773), over TLS by Pebble's certificate."""

    def __init__(self, authority):
        self.port, self.window, self.asked = free_port(), None, []
        suggestions = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/dir":
                    trust = ssl.create_default_context(cafile=authority.certificate)
                    with urllib.request.urlopen(authority.directory, context=trust) as answer:
                        body = json.load(answer) | {"renewalInfo": f"https://127.0.0.1:{suggestions.port}/info"}
                else:
                    suggestions.asked.append(self.path)
                    start, end = suggestions.window
                    body = {"suggestedWindow": {"start": start, "end": end}, "explanationURL": "https://authority.example/why"}
                data = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Retry-After", "21600")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.certificate, authority.folder / "pebble.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def suggest(self, *days):
        """A window, in days from now."""
        now = datetime.datetime.now(datetime.timezone.utc)
        self.window = [(now + datetime.timedelta(days=each)).strftime("%Y-%m-%dT%H:%M:%SZ") for each in days]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def named(server):
    """The name by which an authority knows the certificate that is served (RFC 9773 4.1), by another implementation."""
    pem = ssl.get_server_certificate(("127.0.0.1", server.tls), timeout=PATIENCE)
    certificate = x509.load_pem_x509_certificate(pem.encode())
    authority = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    number = certificate.serial_number

    def text(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    return text(authority) + "." + text(number.to_bytes(number.bit_length() // 8 + 1, "big"))


def suggested(checks, authority):
    with Suggestions(authority) as suggestions:
        settings = authority.settings(http__port=authority.http, tls__acme__directory=f"https://127.0.0.1:{suggestions.port}/dir")
        with Server(**settings) as server:
            with checks.check("acme: the authority is asked when to renew, by the certificate's name, and its time is kept"):
                suggestions.suggest(5, 6)
                server.start()
                server.log.until("the suggestion", lambda text: "suggests when to renew" in text and "https://authority.example/why" in text)
                expect(suggestions.asked == [f"/info/{named(server)}"], f"{suggestions.asked}, not {named(server)}")
                expect(suggestions.window[0] <= shown(server)["renewal"]["nextAt"] <= suggestions.window[1], f"{shown(server)} {suggestions.window}")
            with checks.check("acme: a window that has passed renews at once, which a restart finds out"):
                before = serial(presented(server.tls, DOMAINS[0]))
                server.stop()
                suggestions.suggest(-2, -1)
                server.start()
                # The next window is asked for the new certificate alone.
                server.log.until("the renewal", lambda text: ISSUED in text)
                expect(serial(presented(server.tls, DOMAINS[0])) != before, "the same certificate")


def by_http(checks, authority):
    settings = authority.settings(http__port=authority.http)
    with Server(**settings) as server:
        pathlib.Path(server.configuration).write_text(f"domains:\n  - name: {DOMAINS[1]}\n")
        with checks.check("acme: without its authority the server runs with its own certificate, and says so"):
            server.start()
            server.log.until("the failure", lambda text: "the authority does not answer" in text)
            expect("There is no certificate of " + authority.directory in server.command("check"), "check says nothing")
            state = shown(server)
            expect([each["origin"] for each in state["certificates"]] == ["self-signed"], f"{state}")
            expect("does not answer" in state["renewal"]["failure"] and state["renewal"]["failingSince"], f"{state}")
        with checks.check("acme: when it is back the certificate comes by itself (HTTP-01), for both domains and their services"):
            authority.start()
            issued(server)
            for domain in DOMAINS:
                for name in [domain, *(f"{service}.{domain}" for service in SERVICES)]:
                    expect(verified(authority, server.tls, domain, name), presented(server.tls, domain))
            [certificate] = (state := shown(server))["certificates"]
            expect(certificate["origin"] == "acme" and certificate["domains"] == DOMAINS, f"{state}")
            expect("failure" not in state["renewal"] and "Pebble" in certificate["issuer"], f"{state}")
            expect(certificate["validFrom"] < state["renewal"]["nextAt"] < certificate["validUntil"], f"{state}")
            expect("no certificate" not in server.command("check"), "check complains")
        with checks.check("acme: keys are readable by the server alone"):
            folder = pathlib.Path(server.data, "tls", "acme")
            modes = {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}
            expect(modes == {"account.key": "0o600", "certificate.pem": "0o600", "record.json": "0o600"}, f"{modes}")
            expect("PRIVATE" not in server.log.text, "a key in the log")
        with checks.check("acme: a renewal on demand needs no restart and disconnects nobody; the audit has it"):
            server.command("user", "add", f"juliet@{DOMAINS[0]}", "--password-stdin", stdin=PASSWORD + "\n")
            before = serial(presented(server.tls, DOMAINS[0]))
            asyncio.run(talk_over(server, authority, lambda: server.command("certificate", "renew")))
            after = serial(presented(server.tls, DOMAINS[0]))
            expect(before != after and verified(authority, server.tls, *DOMAINS[:1] * 2), "the same certificate")
            [act] = [row for row in json.loads(server.command("audit", "--json")) if row["operation"].startswith("certificates.")]
            expect((act["operation"], act["status"]) == ("certificates.renew", 200), f"{act}")
        with checks.check("acme: metrics tell the expiry"):
            with urllib.request.urlopen(f"http://127.0.0.1:{server.metrics}/metrics") as answer:
                told = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if line.startswith("parley_cert"))
            [until] = [each["validUntil"] for each in shown(server)["certificates"]]
            seconds = subprocess.run(["date", "-d", until, "+%s"], capture_output=True, text=True, check=True).stdout.strip()
            expect(float(told["parley_certificate_expiry_time_seconds"]) == float(seconds), f"{told}, not {seconds}")
            expect(float(told["parley_certificate_failing_seconds"]) == 0, f"{told}")
        with checks.check("acme: a name that leads elsewhere is left out, in words, and the others are certified"):
            authority.resolve(f"pubsub.{DOMAINS[1]}", "127.0.0.9")
            before = serial(presented(server.tls, DOMAINS[0]))
            # Pebble reuses half of its authorizations for as long as they are valid, so another account orders.
            server.stop()
            pathlib.Path(server.data, "tls", "acme", "account.key").unlink()
            server.start()
            issued(server)
            state = shown(server)
            expect(f"pubsub.{DOMAINS[1]}: " in state["renewal"]["failure"] and "connection" in state["renewal"]["failure"], f"{state}")
            expect("127.0.0.9" in state["renewal"]["failure"], f"the authority's reason is not told: {state}")
            expect(before != serial(presented(server.tls, DOMAINS[0])), "the same certificate")
            expect(verified(authority, server.tls, DOMAINS[1], f"conference.{DOMAINS[1]}"), "a name beside it has no certificate")
            expect(not verified(authority, server.tls, DOMAINS[1], f"pubsub.{DOMAINS[1]}"), "it is certified")
            expect(f"does not name pubsub.{DOMAINS[1]}" in server.command("check"), "check says nothing")
            authority.resolve(f"pubsub.{DOMAINS[1]}", None)
            server.command("certificate", "renew")
            expect(verified(authority, server.tls, DOMAINS[1], f"pubsub.{DOMAINS[1]}"), "it is not certified")
        with checks.check("acme: kill -9 between the order and the certificate costs nothing"):
            kept = pathlib.Path(server.data, "tls", "acme")
            server.stop()
            for name in ("account.key", "certificate.pem"):
                (kept / name).unlink()
            with authority.hanging():
                server.start()
                server.log.until("the challenge", lambda text: "names are being verified" in text)
                server.kill()
            server.start()
            issued(server)
            expect(verified(authority, server.tls, *DOMAINS[:1] * 2), "no certificate")
        with checks.check("acme: what is in the file and no certificate does no harm"):
            server.stop()
            (kept / "certificate.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            (kept / "record.json").write_text("{")
            server.start()
            issued(server)
            expect(verified(authority, server.tls, *DOMAINS[:1] * 2), "no certificate")


def by_tls(checks, authority):
    settings = authority.settings(http__port=0, https__host="127.0.0.1", https__port=authority.https)
    with Server(**settings) as server:
        with checks.check("acme: TLS-ALPN-01 shows the proof to who asks for it, and to nobody else"):
            with authority.hanging():
                server.start()
                name = DOMAINS[0]
                server.log.until("the challenge", lambda text: "names are being verified" in text)
                proof = presented(authority.https, name, "-alpn", "acme-tls/1")
                expect("1.3.6.1.5.5.7.1.31: critical" in proof and f"DNS:{name}\n" in proof, proof)
                expect("ALPN protocol: acme-tls/1" in proof, proof)
                for asked, *options in [
                        (name, "-alpn", "http/1.1"), (name,), (name, "-alpn", "http/1.1,acme-tls/1"), ("else.example", "-alpn", "acme-tls/1")]:
                    met = presented(authority.https, asked, *options)
                    expect("1.3.6.1.5.5.7.1.31" not in met and "DNS:localhost" in met, f"{asked} {options}: {met}")
            issued(server)
            first = presented(authority.https, name, "-CAfile", str(authority.root), "-verify_hostname", name)
            expect("Verify return code: 0 (ok)" in first, first)
            expect(verified(authority, server.tls, name, f"conference.{name}"), "not on the XMPP port")
        with checks.check("acme: the certificate is renewed by itself when a third of its validity remains"):
            issued(server, 2)
            expect(serial(presented(authority.https, name)) != serial(first), "the same certificate")
        with checks.check("acme: without a challenge its protocol is not spoken"):
            met = presented(authority.https, DOMAINS[0], "-alpn", "acme-tls/1")
            expect("ALPN protocol: acme-tls/1" not in met and "1.3.6.1.5.5.7.1.31" not in met, met)
