"""docker/kubernetes.yaml and docker/compose.yaml, walked by what they publish.

The server runs with the configuration, the variables and the ports of such a file, on a network of its own with one address beside
the loopback address, as a pod or a container has. What it hands out is gathered: links of invitations, the web client, slots and
files, exports, host-meta, the WebSockets. Each URL must lead to a port that the file publishes, and from there, as the file maps
it, to the thing that it names. Nothing else is known of an engine or a cluster here. It needs root.
"""
import asyncio
import contextlib
import functools
import html
import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

import yaml

from lib.files import png
from lib.harness import PASSWORD, PATIENCE, ROOT, Server, environment, expect, until
from lib.internet import Space
from lib.peers import Client

ADDRESS = "10.88.0.2"  # of the pod or container
# What an operator may add so that users invite and clients find the server without the DNS; no port and no URL.
ADDED = {"PARLEY_INVITATIONS": "true", "PARLEY_HTTP_ADDRESSES": ADDRESS}
XMPP, XMPPS = 5222, 5223  # the ports in the records of docs/operations.md


class Deployment(Server):
    """A server as a file starts it. `published` has the port of the server for each one that clients connect to; folders of
    volumes are below the test's own."""

    host = ADDRESS

    def __init__(self, space, domain, published, variables, volumes, configuration="", authority=None):
        super().__init__(wrapper=space.enter())
        self.domain, self.published = domain, published
        places = {mount: os.path.join(self.folder, mount.strip("/").replace("/", "-")) for mount in volumes}
        for place in places.values():
            pathlib.Path(place).mkdir()
        mounts = re.compile(rf"(?<![\w/.])({'|'.join(map(re.escape, places))})(?![\w-])")
        self.variables = {name: mounts.sub(lambda found: places[found[1]], value) for name, value in variables.items()}
        self.data = self.variables["PARLEY_DATA"]
        pathlib.Path(self.configuration).write_text(mounts.sub(lambda found: places[found[1]], configuration) or "# No key is set here.\n")
        self.authority = authority and authority(places)

    certificate = property(lambda self: self.authority or os.path.join(self.data, "tls", "self-signed.pem"))

    def environment(self):
        return {**environment(), **self.variables, **ADDED}

    @functools.cached_property
    def settings_in_effect(self):
        return {each["key"]: each["value"] for each in json.loads(self.command("check", "--print", "--json"))}

    @property
    def base(self):
        """The address that people type: the domain, with the port at which HTTPS is published."""
        inside = int(self.settings_in_effect["https.port"])
        (port,) = [port for port, target in self.published.items() if target == inside]
        return f"https://{self.domain}" + ("" if port == 443 else f":{port}")

    def port(self, number, source):
        expect(number in self.published, f"{source}: port {number} is not published; {sorted(self.published)} are")
        return self.published[number]

    def connection(self, number, name, source, protocols=()):
        """A connection to this port over TLS, with this name in its certificate."""
        context = ssl.create_default_context(cafile=self.certificate)
        if protocols:
            context.set_alpn_protocols(protocols)
        return context.wrap_socket(socket.create_connection((ADDRESS, self.port(number, source)), PATIENCE), server_hostname=name)

    def ask(self, method, url, body=None, source="a client", **headers):
        """A request as a client sends it that resolves the name and connects to the port. The status, header fields and body."""
        parts = urllib.parse.urlsplit(url)
        expect(parts.scheme in ("https", "wss"), f"{source}: {url} is without TLS")
        connection = http.client.HTTPConnection(parts.hostname)
        connection.sock = self.connection(parts.port or 443, parts.hostname, f"{source} with {url}")
        with contextlib.closing(connection):
            connection.request(method, urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, "")), body,
                               {"Host": parts.netloc, **headers})
            answer = connection.getresponse()
            return answer.status, answer.headers, b"" if answer.status == 101 else answer.read()

    def api(self, method, path, body=None, token=None):
        status, _, data = self.ask(method, self.base + path, None if body is None else json.dumps(body), **{
            "Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
        expect(status < 300, f"{method} {path}: {status} {data}")
        return json.loads(data)

    def follow(self, url, source):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme == "wss":
            status, _, _ = self.ask("GET", url, source=source, Connection="Upgrade", Upgrade="websocket", **{
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                "Sec-WebSocket-Protocol": "xmpp" if "xmpp" in parts.path else "parley.v1"})
            expect(status == 101, f"{source}: {url} is no WebSocket: {status}")
        elif parts.path.endswith("/http-bind"):
            body = (f"<body xmlns='http://jabber.org/protocol/httpbind' to='{self.domain}' rid='1' ver='1.6' wait='1' hold='1' "
                    "xmlns:xmpp='urn:xmpp:xbosh' xmpp:version='1.0'/>")
            status, _, data = self.ask("POST", url, body, source)
            expect(status == 200 and b" sid=" in data, f"{source}: {url} is no BOSH: {status} {data}")
        else:
            status, _, data = self.ask("GET", url, source=source)
            expect(status == 200, f"{source}: {url} has status {status}: {data[:200]}")


def links(text, domain):
    """The URLs of this domain in a text."""
    found = [url.rstrip(".,;)") for url in re.findall(r"(?:https?|wss?)://[^\s\"'<>\\]+", html.unescape(text))]
    return [url for url in found if f".{urllib.parse.urlsplit(url).hostname}".endswith(f".{domain}")]


def from_http(server, user):
    """What the server hands out by commands, by requests and in the app protocol: a name for the source, and a text."""
    yield "parley check --print", server.command("check", "--print")
    yield "parley invite create", server.command("invite", "create")
    for path in ["/.well-known/host-meta", "/.well-known/host-meta.json", "/v1/info"]:
        status, _, text = server.ask("GET", server.base + path)
        expect(status == 200, f"{path}: {status}")
        yield path, text.decode()
    for link in json.loads(server.ask("GET", server.base + "/.well-known/host-meta.json")[2])["links"]:
        if "port" in link:
            server.connection(link["port"], link["sni"], "/.well-known/host-meta.json", ["xmpp-client"]).close()
    token = server.api("POST", "/v1/sessions", {
        "grant": "password", "username": user, "password": PASSWORD, "deviceId": "walk"})["accessToken"]
    yield "POST /v1/invitations", json.dumps(server.api("POST", "/v1/invitations", {}, token))
    picture = png(400, 300)
    made = server.api("POST", "/v1/attachments", {"name": "a.png", "mediaType": "image/png", "size": len(picture)}, token)
    yield "POST /v1/attachments", json.dumps(made["url"])
    status, fields, _ = server.ask("PUT", made["uploadUrl"], picture, "POST /v1/attachments", **{"Content-Type": "image/png"})
    expect(status == 201, f"the upload: {status}")
    yield "Location of an upload", fields["Location"]
    found = until("the picture has a thumbnail", lambda: (
        known := server.api("GET", f"/v1/attachments/{made['id']}", token=token)).get("thumbnail") and known)
    yield "a thumbnail", json.dumps(found["thumbnail"])
    export = server.api("POST", "/v1/users/me/exports", {}, token)["id"]
    yield "an export", json.dumps(until("the export is done", lambda: (
        known := server.api("GET", f"/v1/users/me/exports/{export}", token=token))["status"] == "done" and known))
    yield "parley user export", server.command("user", "export", f"{user}@{server.domain}", "--json")


async def from_xmpp(server, user):
    """The same over XMPP, by slixmpp on both of its ports."""
    handed = []
    for direct in (False, True):
        client = Client(server, f"{user}@{server.domain}/{'direct' if direct else 'starttls'}", direct)
        for plugin in ("xep_0004", "xep_0050", "xep_0363"):
            client.register_plugin(plugin)
        await client.arrive()
        uploads = server.settings_in_effect["uploads.domain"].format(domain=server.domain)
        slot = (await client["xep_0363"].request_slot(uploads, "a.txt", 5, "text/plain", timeout=PATIENCE))["http_upload_slot"]
        status, _, _ = server.ask("PUT", slot["put"]["url"], b"walks", "XEP-0363", **{"Content-Type": "text/plain"})
        expect(status == 201, f"the upload: {status}")
        handed.append(("XEP-0363", slot["get"]["url"]))
        done = await client["xep_0050"].send_command(server.domain, "urn:xmpp:invite#invite", timeout=PATIENCE)
        handed.append(("XEP-0401", done["command"]["form"].get_values()["landing-url"]))
        await client.leave()
    return handed


def walk(server):
    """Follows everything that a server hands out."""
    server.xmpp, server.tls = (server.port(number, "the SRV records") for number in (XMPP, XMPPS))
    server.start()
    server.command("user", "add", f"romeo@{server.domain}", "--password-stdin", stdin=PASSWORD + "\n")
    handed = [("the address that people type", server.base), *from_http(server, "romeo"), *asyncio.run(from_xmpp(server, "romeo"))]
    for source, text in handed:
        urls = links(text, server.domain)
        expect(urls, f"{source} has no URL of {server.domain}: {text}")
        for url in urls:
            server.follow(url, source)


def docker(text, space, **given):
    """The server of docker/compose.yaml, with these variables where `docker compose` is called."""
    text = re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda found: given.get(found[1], found[2]), text)
    service = yaml.safe_load(text)["services"]["parley"]
    published = {int(port): int(target) for port, target in (each.split(":") for each in service["ports"])}
    image = dict(re.findall(r"^ENV (\w+)=(\S+)$", (ROOT / "docker/Dockerfile").read_text(), re.M))
    variables = {**image, **service["environment"]}
    return Deployment(space, variables["PARLEY_DOMAIN"], published, variables, [each.split(":")[1] for each in service["volumes"]])


def issued(folders):
    """A certificate where the manifest's secret has one."""
    chain, key = (f"{folders['/certificates']}/tls.{kind}" for kind in ["crt", "key"])
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=example.org",
         "-addext", "subjectAltName=DNS:example.org", "-days", "2", "-keyout", key, "-out", chain], check=True, capture_output=True)
    return chain


def manifest():
    """The things in docker/kubernetes.yaml by their kind, the container, and the numbers of its ports by name."""
    kinds = {thing["kind"]: thing for thing in yaml.safe_load_all((ROOT / "docker/kubernetes.yaml").read_text())}
    (container,) = kinds["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    return kinds, container, {port["name"]: port["containerPort"] for port in container["ports"]}


def pod(space):
    """The server of docker/kubernetes.yaml."""
    kinds, container, ports = manifest()
    return Deployment(
        space, "example.org", {port["port"]: ports[port["targetPort"]] for port in kinds["Service"]["spec"]["ports"]},
        {variable["name"]: variable["value"] for variable in container["env"]}, [each["mountPath"] for each in container["volumeMounts"]],
        kinds["ConfigMap"]["data"]["parley.yaml"], issued)


def schemas():
    """The manifest against Kubernetes' schemas, and its names against each other."""
    done = subprocess.run(
        [pathlib.Path(sys.executable).with_name("kubernetes-validate"), "--strict", "--quiet", ROOT / "docker/kubernetes.yaml"],
        capture_output=True, text=True)
    expect(done.returncode == 0, done.stdout + done.stderr)
    kinds, container, ports = manifest()
    spec = kinds["StatefulSet"]["spec"]
    inside = spec["template"]["spec"]
    expect(spec["serviceName"] == kinds["Service"]["metadata"]["name"] and spec["replicas"] == 1, f"{spec}")
    labels = spec["template"]["metadata"]["labels"]
    expect(labels == spec["selector"]["matchLabels"] == kinds["Service"]["spec"]["selector"], f"{labels}")
    targets = {port["targetPort"] for port in kinds["Service"]["spec"]["ports"]}
    expect(targets == set(ports) - {"metrics"}, f"published {targets} of {ports}; metrics are for the cluster alone")
    volumes = {volume["name"] for volume in inside["volumes"]} | {claim["metadata"]["name"] for claim in spec["volumeClaimTemplates"]}
    expect({mount["name"] for mount in container["volumeMounts"]} == volumes, f"{volumes}")
    (place,) = [mount["mountPath"] for mount in container["volumeMounts"] if mount["name"] == "configuration"]
    expect(place == "/etc/parley" and list(kinds["ConfigMap"]["data"]) == ["parley.yaml"], "the server looks for /etc/parley/parley.yaml")
    user = re.search(r"^USER (\d+)", (ROOT / "docker/Dockerfile").read_text(), re.M).group(1)
    expect(str(inside["securityContext"]["runAsUser"]) == user, f"{inside['securityContext']}")


def watched(server):
    """What a cluster asks the pod itself: its probes, and Prometheus, by the annotations. A backup is on the volume."""
    kinds, container, ports = manifest()
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE  # as the kubelet does it
    probes = [container[name]["httpGet"] for name in ["startupProbe", "livenessProbe", "readinessProbe"]]
    annotations = kinds["StatefulSet"]["spec"]["template"]["metadata"]["annotations"]
    expect(annotations["prometheus.io/scrape"] == "true" and int(annotations["prometheus.io/port"]) == ports["metrics"], f"{annotations}")
    metrics = f"http://{ADDRESS}:{annotations['prometheus.io/port']}/metrics"
    for url in [*(f"{probe['scheme'].lower()}://{ADDRESS}:{ports[probe['port']]}{probe['path']}" for probe in probes), metrics]:
        with urllib.request.urlopen(url, timeout=PATIENCE, context=anyone) as answer:
            text = answer.read()
    expect(b"parley_" in text, "no metrics")
    until("the server has made a backup", lambda: json.loads(server.command("health", "--json")).get("lastBackupAt"))


def run(checks):
    compose = (ROOT / "docker/compose.yaml").read_text()
    # The other way to publish HTTPS that the file describes.
    usual = compose.replace('"8443:8443"', '"443:8443"').replace("#PARLEY_HTTP_URL", "PARLEY_HTTP_URL")
    with checks.check("kubernetes: Kubernetes' own schemas take the manifest, and its names are one another's"):
        schemas()
    with contextlib.ExitStack() as stack:
        resolver = stack.enter_context(tempfile.NamedTemporaryFile(prefix="parley-deployments-"))
        space = Space(resolver.name)
        stack.callback(space.close)
        space.run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo")
        stack.enter_context(space.here())
        for name, deployment in {
            "kubernetes": lambda: pod(space),
            "compose": lambda: docker(compose, space),
            "compose with a domain": lambda: docker(compose, space, PARLEY_DOMAIN="chat.example.org"),
            "compose with a domain, HTTPS at 443": lambda: docker(usual, space, PARLEY_DOMAIN="chat.example.org"),
        }.items():
            with checks.check(f"{name}: every URL that is handed out leads to a published port, and there to what it names"):
                with deployment() as server:
                    walk(server)
                    if name == "kubernetes":
                        watched(server)
