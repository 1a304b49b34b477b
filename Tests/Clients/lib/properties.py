"""`app_properties` and `security` share these: a taker of webhooks, a picture, and a file to ask for."""
import base64
import http.server
import threading
import urllib.request

from lib.harness import PATIENCE, expect

SECRET = "a secret of the backend of this check"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


class Taker:
    """The app's backend, which takes letters and pushes and does nothing with them."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(204)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def upload(app, server):
    status, slot = app.call("POST", "/v1/attachments", {"name": "east.txt", "mediaType": "text/plain", "size": 4})
    expect(status == 201, f"no slot: {status} {slot}")
    url = server.base + "/uploads/" + slot["uploadUrl"].split("/uploads/", 1)[1]
    request = urllib.request.Request(url, data=b"east", method="PUT", headers={"Content-Type": "text/plain"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        expect(answer.status == 201, f"no upload: {answer.status}")
    return slot["id"]
