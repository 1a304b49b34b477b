"""Downloads that nobody reads, from several networks at once: how many one network has, and all together; whose connection is closed when
there is no place for another network, over TLS as well; files of others that come meanwhile; and places that are free again, in whatever
way a download ended. The checks compare numbers of downloads, and no times. The networks are addresses of 127.0.0.0/8. A server's checks
take seconds: whoever reads nothing is cut off after a minute (`ResponsePace`).
"""
import contextlib
import http.client
import json
import random
import ssl
import urllib.parse

from lib.apps import App
from lib.files import PIECE, ask, upload
from lib.harness import PATIENCE, Server, expect, free_port
from lib.scrape import Growth, Scrape, shows

# HTTPLimits.downloadsDescriptorShare and downloadsNetworkShare: the descriptors decide on every machine with 400 MB.
DESCRIPTORS = 1_024
IN_ALL, OF_NETWORK = DESCRIPTORS // 8, DESCRIPTORS // 16
# More than both ends of a connection keep.
SIZE = 4 * PIECE
FIRST, SECOND, WITNESS = "127.0.0.3", "127.0.0.4", "127.0.0.2"


class Download:
    """A request from an address, of whose answer nothing but the head is read, until `read`."""

    def __init__(self, server, path, source, trust=None, method="GET"):
        options = dict(timeout=PATIENCE, source_address=(source, 0))
        self.connection = (
            http.client.HTTPSConnection("127.0.0.1", server.https, context=trust, **options) if trust
            else http.client.HTTPConnection("127.0.0.1", server.http, **options))
        self.connection.request(method, path)
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def refusal(self):
        """Returns the status and the code of a refusal, which says when to ask again."""
        with contextlib.closing(self.connection):
            expect(int(self.response.headers["Retry-After"]) > 0, f"{self.response.headers}")
            expect(self.response.headers["Access-Control-Allow-Origin"] == "*", "a page cannot read the refusal")
            problem = json.loads(self.response.read())
            expect(problem["retryAfter"] == int(self.response.headers["Retry-After"]), f"{problem}")
            return self.status, problem["code"]

    def read(self):
        """Returns the bytes that come until the end of the answer or of the connection."""
        data = b""
        with contextlib.closing(self.connection), contextlib.suppress(http.client.IncompleteRead, OSError):
            while piece := self.response.read1(PIECE):
                data += piece
        return data

    def leave(self):
        self.response.close()
        self.connection.close()


class Limited(Server):
    """A server with few descriptors."""

    def __init__(self, **settings):
        self.https = free_port()
        super().__init__(
            wrapper=["prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}", "--"], https__host="127.0.0.1", https__port=self.https, **settings)

    @contextlib.contextmanager
    def file(self):
        """The address of a file on the running server, and its bytes."""
        with self:
            self.start()
            self.add_users("juliet")
            data = random.Random(37).randbytes(SIZE)
            url = upload(self, App(self, "juliet"), data)["url"]
            yield urllib.parse.urlsplit(url).path, data

    def has(self, count):
        shows(self, f"{count} downloads under way", lambda scrape: scrape("parley_downloads") == count)


def networks(checks, server, path, data):
    trust = ssl.create_default_context(cafile=server.certificate)
    trust.check_hostname = False  # the certificate names localhost
    growth = Growth(server)
    with checks.check("downloads: one network has so many at a time, over HTTP and HTTPS together, and no more"):
        first = [Download(server, path, FIRST, trust if number % 2 else None) for number in range(OF_NETWORK)]
        expect({download.status for download in first} == {200}, "one within the bound is refused")
        server.has(OF_NETWORK)
        for number in range(8):
            refused = Download(server, path, FIRST, trust if number % 2 else None).refusal()
            expect(refused == (429, "downloads-too-many"), f"{refused}")
        growth.until("parley_refusals_total", 8, rate="downloads")

    with checks.check("downloads: a network at its bound still has what is short, and heads"):
        info = Download(server, "/v1/info", FIRST)
        expect(info.status == 200 and "features" in json.loads(info.read()), "no short answer")
        head = Download(server, path, FIRST, method="HEAD")
        expect((head.status, head.response.headers["Content-Length"]) == (200, str(SIZE)), f"{head.status}")
        head.leave()

    with checks.check("downloads: meanwhile another network gets its files, and nobody is cut off"):
        for secure in (None, trust):
            expect(Download(server, path, WITNESS, secure).read() == data, "other bytes")
        server.has(OF_NETWORK)
        expect(Scrape(server)("parley_downloads_cut_total") == 0, "somebody was")

    with checks.check("downloads: when all places are taken, another network gets the oldest of the network with most"):
        second = [Download(server, path, SECOND, trust if number % 2 == 0 else None) for number in range(OF_NETWORK)]
        expect({download.status for download in second} == {200}, "one within the bound is refused")
        server.has(IN_ALL)
        expect(Download(server, path, WITNESS).read() == data, "other bytes")
        growth.until("parley_downloads_cut_total", 1)
        server.has(IN_ALL - 1)
        oldest = {len(network[0].read()) == SIZE for network in (first, second)}
        expect(oldest == {True, False}, f"{oldest}: not one of the two that are the oldest of their networks was cut off")
        server.has(IN_ALL - 2)

    with checks.check("downloads: each further one takes the oldest of whoever has most then, over TLS as well"):
        # The oldest that are left: over TLS of the first network, and over HTTP of the second.
        places = [Download(server, path, WITNESS), Download(server, path, WITNESS)]
        server.has(IN_ALL)
        later = [Download(server, path, WITNESS) for _ in range(4)]
        expect({download.status for download in places + later} == {200}, "the network with fewest is refused")
        growth.until("parley_downloads_cut_total", 5)
        server.has(IN_ALL)
        cut = [network[number] for network in (first, second) for number in range(1, 5)]
        short = [download for download in cut if len(download.read()) < SIZE]
        expect(len(short) == 4, f"{len(short)} are cut off")
        expect(any(isinstance(download.connection, http.client.HTTPSConnection) for download in short), "none over TLS")

    with checks.check("downloads: who was cut off goes on with a range"):
        status, _, rest = ask(server, path, headers={"Range": f"bytes={SIZE - 100}-"})
        expect((status, rest) == (206, data[-100:]), f"{status}")

    with checks.check("downloads: their places are free when they were read, when clients leave, and for what comes next"):
        for download in first[5:9] + second[5:9]:
            expect(download.read() == data, "one that was not the oldest was cut off")
        for download in first[9:] + second[9:] + places + later:
            download.leave()
        server.has(0)
        kept = http.client.HTTPConnection("127.0.0.1", server.http, timeout=PATIENCE, source_address=(FIRST, 0))
        with contextlib.closing(kept):
            for _ in range(OF_NETWORK + 1):
                kept.request("GET", path, headers={"Range": "bytes=0-99999"})
                answer = kept.getresponse()
                expect((answer.status, answer.read()) == (206, data[:100_000]), f"{answer.status}")
        server.has(0)


def one_address(checks, server, path, data):
    growth = Growth(server)
    with checks.check("downloads: with limits.by_network off one address has all places, and what is more waits"):
        all_places = [Download(server, path, FIRST) for _ in range(IN_ALL)]
        expect({download.status for download in all_places} == {200}, "one within the bound is refused")
        server.has(IN_ALL)
        for source in (FIRST, WITNESS):
            refused = Download(server, path, source).refusal()
            expect(refused == (503, "downloads-full"), f"{refused}")
        growth.until("parley_refusals_total", 2, rate="downloads")
        all_places[0].leave()
        server.has(IN_ALL - 1)
        expect(Download(server, path, WITNESS).read() == data, "other bytes")
        expect(Scrape(server)("parley_downloads_cut_total") == 0, "somebody was cut off")
        for download in all_places:
            download.leave()
        server.has(0)


def run(checks):
    server = Limited()
    with server.file() as (path, data):
        networks(checks, server, path, data)
    server = Limited(limits__by_network="false")
    with server.file() as (path, data):
        one_address(checks, server, path, data)
