"""Traces. The collector is ours, since none is packaged for Debian or PyPI: an HTTP server that reads each request by the messages of
the package `opentelemetry-proto`, which refuse a member that the protocol does not have. What is sent: one trace from a backend's request, whose
`traceparent` it continues, to the commit and to the webhook, which gets it; a stanza's; nothing of what users say; nothing without an endpoint.
"""
import base64
import http.server
import json
import re
import threading

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from lib.apps import App, exchange, exchange_json
from lib.harness import PASSWORD, PATIENCE, Server, expect, free_port
from lib.services import Backend, new_secret
from lib.wire import BODY, XMPP

SECRET = "Parting is such sweet sorrow"
SPAN = trace_pb2.Span


class Collector:
    """Takes `POST /v1/traces`; `status` is what it answers."""

    def __init__(self):
        self.port, self.status = free_port(), 200
        self.changed = threading.Condition()
        self.spans, self.bodies, self.resources, self.asked = [], [], [], 0
        self.errors = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                try:
                    expect(self.path == "/v1/traces" and self.headers["Content-Type"] == "application/json", f"{self.path} {self.headers}")
                    collector.took(body)
                except Exception as error:  # told by who waits
                    collector.errors.append(repr(error))
                with collector.changed:
                    collector.changed.notify_all()
                self.send_response(collector.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def took(self, body):
        with self.changed:
            self.asked += 1
        if self.status != 200:
            return
        # Ids are hex in OTLP's JSON, and base64 in that of protobuf (OTLP, "JSON Protobuf Encoding").
        def coded(match):
            return f'"{match[1]}":"{base64.b64encode(bytes.fromhex(match[2])).decode()}"'
        text = re.sub(r'"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"', coded, body.decode())
        request = json_format.Parse(text, trace_service_pb2.ExportTraceServiceRequest())
        with self.changed:
            self.bodies.append(body)
            for resource in request.resource_spans:
                self.resources.append({each.key: each.value.string_value for each in resource.resource.attributes})
                for scope in resource.scope_spans:
                    self.spans += scope.spans

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def until(self, what, test):
        """Waits for what spans show."""
        with self.changed:
            done = self.changed.wait_for(lambda: self.errors or test(self.spans), PATIENCE)
        expect(done and not self.errors, f"{what}: {self.errors} {[(s.name, s.trace_id.hex()[:4]) for s in self.spans]}")

    def tree(self, trace):
        """The spans of a trace, by the names from the first span to them."""
        spans = {span.span_id: span for span in self.spans if span.trace_id.hex() == trace}

        def way(span):
            above = spans.get(span.parent_span_id)
            return (way(above) if above else ()) + (span.name,)

        return {way(span): span for span in spans.values()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def parent(backend):
    """The `traceparent` of the last request."""
    return {name.lower(): value for name, value in backend.got[-1][0].items()}.get("traceparent")


def counted(server):
    _, _, data = exchange("GET", f"http://127.0.0.1:{server.metrics}/metrics")
    return {m[1]: int(m[2]) for m in re.finditer(r'parley_trace_spans_total\{result="(\w+)"\} (\d+)', data.decode())}


def run(checks):
    with Collector() as collector:
        settings = dict(tracing__endpoint=collector.url, tracing__ratio="1", tracing__service_name="chat", outgoing__networks="127.0.0.0/8")
        with Server(**settings) as server, Backend() as backend:
            with Backend() as gate, Backend() as pushes:
                server.settings.update(
                    before_send__url=gate.url, before_send__secret=new_secret(), push__webhook__url=pushes.url,
                    push__webhook__secret=new_secret())
                server.start()
                for name in ("romeo", "juliet"):
                    server.command("user", "add", f"{name}@localhost", "--password-stdin", stdin=PASSWORD + "\n")
                traced(checks, collector, server, backend, gate)
                pushed(checks, collector, server, pushes)
        with checks.check("tracing: what the last second had is sent while the server stops"):
            with Server(**settings) as server:
                server.start()
                before = len(collector.spans)
                exchange_json("GET", server.base + "/v1/info")
                expect(server.stop() == 0, "it did not stop well")
                expect(any(span.name == "GET /v1/info" for span in collector.spans[before:]), "the last span is missing")
        with checks.check("tracing: a share of none records nothing, but what a caller records"), Server(**settings | {"tracing__ratio": "0"}) as server:
            server.start()
            before = len(collector.spans)
            exchange_json("GET", server.base + "/v1/info")
            trace = "0af7651916cd43dd8448eb211c80319c"
            exchange_json("GET", server.base + "/v1/info", traceparent=f"00-{trace}-b7ad6b7169203331-01")
            server.stop()
            expect({span.trace_id.hex() for span in collector.spans[before:]} == {trace}, f"{collector.spans[before:]}")
        with checks.check("tracing: a collector that takes nothing costs its spans and nobody's time; they are counted"), Server(**settings) as server:
            collector.status = 400
            server.start()
            exchange_json("GET", server.base + "/v1/info")
            server.log.until("the warning", lambda text: "traces are lost" in text and "status 400" in text)
            expect(counted(server)["failed"] > 0 and counted(server)["sent"] == 0, f"{counted(server)}")
        with checks.check("tracing: without an endpoint nothing is sent, and nothing counted"), Server(outgoing__networks="127.0.0.0/8") as server, Backend() as backend:
            collector.status, asked = 200, collector.asked
            server.start()
            for name in ("romeo", "juliet"):
                server.command("user", "add", f"{name}@localhost", "--password-stdin", stdin=PASSWORD + "\n")
            key = json.loads(server.command("key", "add", "backend", "--scope", "*", "--json"))["secret"]
            exchange_json("POST", server.base + "/v1/admin/webhooks", {"url": backend.url, "events": ["message.created"]}, token=key)
            romeo = App(server, "romeo")
            romeo.say(romeo.dialog("juliet"), "Good night")
            backend.until("the event", lambda: backend.got)
            expect("traceparent" not in {name.lower() for headers, _, _ in backend.got for name in headers}, f"{backend.got}")
            server.stop()
            expect(collector.asked == asked and server.process.returncode == 0, "something was sent")


def pushed(checks, collector, server, pushes):
    with checks.check("tracing: a push belongs to its message's trace, and the push service gets it"):
        server.command("user", "add", "nurse@localhost", "--password-stdin", stdin=PASSWORD + "\n")
        nurse, romeo = App(server, "nurse", "phone"), App(server, "romeo")
        status, body = nurse.call("PUT", "/v1/devices/phone", {"push": {"provider": "webhook", "token": "anything", "kind": "alert"}})
        expect(status in (200, 201), f"{status} {body}")
        trace = "11111111111111112222222222222222"
        exchange_json(
            "POST", f"{server.base}/v1/dialogs/{romeo.dialog('nurse')}/messages", {"clientId": "p1", "content": {"type": "text", "text": "Anon"}},
            token=romeo.token, traceparent=f"00-{trace}-00f067aa0ba902b7-01")
        pushes.until("the push", lambda: pushes.got)
        way = ("POST /v1/dialogs/{dialogId}/messages", "post message", "push webhook", "POST")
        collector.until("its span", lambda _: way in collector.tree(trace))
        expect(parent(pushes) == f"00-{trace}-{collector.tree(trace)[way].span_id.hex()}-01", f"{pushes.got}")


def traced(checks, collector, server, backend, gate):
    romeo, juliet = App(server, "romeo"), XMPP("juliet", server.tls, trust=server.certificate)
    juliet.connect()
    juliet.send("<presence/>")
    _, dialog = romeo.call("POST", "/v1/dialogs", {"type": "private", "userId": "juliet"})
    key = json.loads(server.command("key", "add", "backend", "--scope", "*", "--json"))["secret"]
    exchange_json("POST", server.base + "/v1/admin/webhooks", {"url": backend.url, "events": ["message.created"]}, token=key)
    trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    with checks.check("tracing: a request continues its caller's trace, to the commit, to the delivery, and to the webhook, which gets it"):
        status, headers, said = exchange_json(
            "POST", f"{server.base}/v1/dialogs/{dialog['id']}/messages", {"clientId": "m1", "content": {"type": "text", "text": SECRET}},
            token=romeo.token, traceparent=f"00-{trace}-{caller}-01", tracestate="vendor=1")
        expect(status == 201, f"{said}")
        juliet.stanza(lambda s: s.findtext(BODY) == SECRET, "the message")
        backend.until("the event", lambda: backend.got)
        route = "POST /v1/dialogs/{dialogId}/messages"
        post = (route, "post message")
        hook = post + ("webhook message.created", "POST")
        expected = {(route,), (route, "POST"), post, post + ("commit",), post + ("deliver",), hook[:-1], hook}
        collector.until("the trace", lambda _: expected <= set(collector.tree(trace)))
        spans = collector.tree(trace)
        expect({way[-1] for way in spans} - {way[-1] for way in expected} <= {"read other"}, f"{set(spans)}")
        request = spans[route,]
        expect(request.parent_span_id.hex() == caller and request.kind == SPAN.SPAN_KIND_SERVER and request.trace_state == "vendor=1", f"{request}")
        found = attributes(request)
        expect(found["http.response.status_code"] == 201 and found["http.route"] == route.split()[1], f"{found}")
        # The backend that is asked before a message is sent, and the one that is told of it.
        for to, way in ((gate, (route, "POST")), (backend, hook)):
            expect(parent(to) == f"00-{trace}-{spans[way].span_id.hex()}-01", f"{to.got}")
            expect(attributes(spans[way])["server.address"] == f"127.0.0.1:{to.port}", f"{spans[way]}")
        expect("vendor=1" in backend.got[0][0].values(), f"{backend.got}")
        for span in spans.values():
            expect(0 < span.start_time_unix_nano <= span.end_time_unix_nano, f"{span}")
        expect(spans[post + ("commit",)].end_time_unix_nano == spans[post + ("deliver",)].start_time_unix_nano, "a gap behind the commit")
    with checks.check("tracing: a stanza begins a trace, which its id leads to"):
        juliet.send(f"<message type='chat' to='romeo@localhost' id='find-me'><body>{SECRET}</body></message>")

        def shown(spans):
            return [span for span in spans if attributes(span).get("xmpp.stanza.id") == "find-me"]

        collector.until("the stanza", shown)
        [stanza] = shown(collector.spans)
        expect(stanza.name == "xmpp message" and not stanza.parent_span_id, f"{stanza}")
        way = ("xmpp message", "post message", "commit")
        trace = stanza.trace_id.hex()
        collector.until("its commit", lambda _: {way, ("xmpp message", "POST")} <= set(collector.tree(trace)))
        expect(parent(gate) == f"00-{trace}-{collector.tree(trace)['xmpp message', 'POST'].span_id.hex()}-01", f"{gate.got}")
    with checks.check("tracing: a command on a WebSocket begins one, and a refusal has its code"):
        romeo.connect()
        answer = romeo.command("message.send", {"dialogId": dialog["id"], "clientId": "m3", "content": {"type": "text", "text": "again"}})
        expect(answer.get("ok"), f"{answer}")
        collector.until("the command", lambda spans: any(span.name == "websocket message.send" for span in spans))
        status, _ = romeo.call("POST", "/v1/dialogs/nowhere/messages", {"clientId": "m2", "content": {"type": "text", "text": "x"}})
        expect(status >= 400, f"{status}")
        collector.until("the refusal", lambda spans: any(attributes(s).get("http.response.status_code") == status for s in spans))
    with checks.check("tracing: a traceparent that is none begins a new trace"):
        for wrong in ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", "x" * 4_000, "00-zz"):
            status, _, _ = exchange_json("GET", server.base + "/v1/info", traceparent=wrong)
            expect(status == 200, f"{status}")
    with checks.check("tracing: no span has what users say, who they are, or a token; resource and counts are right"):
        collector.until("the new traces", lambda spans: sum(s.name == "GET /v1/info" and not s.parent_span_id for s in spans) >= 3)
        text = b"".join(collector.bodies).decode()
        for word in (SECRET, "juliet", "romeo", "localhost", romeo.token, key, dialog["id"], PASSWORD):
            expect(word not in text, f"{word} is in a span")
        expect({(each["service.name"]) for each in collector.resources} == {"chat"}, f"{collector.resources}")
        expect(counted(server)["sent"] > 0 and counted(server)["failed"] == counted(server)["dropped"] == 0, f"{counted(server)}")
