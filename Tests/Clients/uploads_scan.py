"""Files are scanned before anybody may read them: by a real clamd with a signature of our own, by a program, and by nobody
because there is none.
"""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

from lib.apps import App
from lib.files import Put, ask, part, progress, slot, want
from lib.harness import Log, Server, expect
from lib.scrape import Growth

# The test file that every scanner takes for harmful, in two halves: else scanners would find this one.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$" + rb"EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


@contextlib.contextmanager
def clamd():
    program = shutil.which("clamd", path=os.environ["PATH"] + ":/usr/sbin")
    expect(program, "clamd is missing: `make test` installs clamav-daemon")
    with tempfile.TemporaryDirectory(prefix="parley-clamd-") as name:
        folder = pathlib.Path(name)
        (folder / "db").mkdir()
        # A signature by content (ClamAV's .ndb): name, any kind of file, anywhere, hex.
        (folder / "db" / "test.ndb").write_text(f"Verona.Test.Poison:0:*:{EICAR.hex()}\n")
        (folder / "clamd.conf").write_text(
            f"LocalSocket {folder}/clamd.sock\nDatabaseDirectory {folder}/db\nForeground yes\nStreamMaxLength 5M\n"
            f"LogFile {folder}/clamd.log\nTemporaryDirectory {folder}\nOfficialDatabaseOnly no\n")
        process = subprocess.Popen([program, "--config-file", str(folder / "clamd.conf")], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        log = Log(process.stdout)
        try:
            log.until("clamd listens", lambda text: "Self checking" in text or "LOCAL: Unix socket file" in text
                      and os.path.exists(folder / "clamd.sock"), 60)
            yield str(folder / "clamd.sock")
        finally:
            process.terminate()
            process.wait(20)


def put(server, app, data, name="a.txt", kind="text/plain"):
    made = slot(app, len(data), name, kind)
    return made, Put(server, made["uploadUrl"], len(data), kind).send(data).answer()


def run(checks):
    with clamd() as path, Server(uploads__scan__clamd=path) as server:
        server.start()
        server.add_users("juliet")
        juliet = App(server, "juliet")

        with checks.check("scan: clamd lets through what is clean"):
            growth = Growth(server)
            made, answer = put(server, juliet, b"A rose by any other name" * 10_000)
            expect(answer == (201, None) and ask(server, made["url"])[0] == 200, f"{answer}")

        with checks.check("scan: what clamd finds is refused, gone, and stays refused"):
            made, answer = put(server, juliet, b"some words before " + EICAR)
            expect(answer == (422, "file-refused"), f"{answer}")
            expect(ask(server, made["url"])[0] == 404 and juliet.call("GET", "/v1/attachments/" + made["id"])[0] == 404, "it is given out")
            expect(Put(server, made["uploadUrl"], 18 + len(EICAR), "text/plain").answer() == (422, "file-refused"), "tried again")
            server.log.until("what it was", lambda text: "Verona.Test.Poison" in text)
            files = [name for _, _, names in os.walk(os.path.join(server.data, "blobs")) for name in names]
            expect(not any(name.startswith(made["id"]) for name in files), f"bytes are left: {files}")

        with checks.check("scan: in parts, found in the middle of two"):
            data = b"x" * 1000 + EICAR + b"y" * 1000
            made = want(juliet, data)
            expect(part(server, made, 0, data[:1020], False) == (204, 1020), "not taken")
            expect(part(server, made, 1020, data[1020:]) == (422, "file-refused"), "taken")

        with checks.check("scan: what clamd will not look at is not taken, and nothing is lost"):
            data = bytes(6_000_000)
            made = want(juliet, data)
            expect(part(server, made, 0, data) == (503, "scan-unavailable"), "taken")
            expect(progress(server, made)[0] == len(data), "lost")
            for result, count in [("stored", 1), ("refused", 2), ("failed", 1)]:
                growth.until("parley_uploads_total", count, result=result)
            growth.until("parley_upload_bytes_total", 240_000)

    with checks.check("scan: a program says no, and yes"):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "scan")
            pathlib.Path(program).write_text('#!/bin/sh\nif grep -q "$1"; then echo "A $1"; exit 1; fi\nexit 0\n')
            os.chmod(program, 0o755)
            os.chmod(folder, 0o755)
            with Server(uploads__scan__command=program + " dagger") as server:
                server.start()
                server.add_users("juliet")
                juliet = App(server, "juliet")
                expect(put(server, juliet, b"a happy dagger")[1] == (422, "file-refused"), "taken")
                server.log.until("what it was", lambda text: "A dagger" in text)
                expect(put(server, juliet, b"a rose")[1] == (201, None), "not taken")

    for needed, expected in [("true", (503, "scan-unavailable")), ("false", (201, None))]:
        with checks.check(f"scan: nobody scans, needed={needed}"):
            with Server(uploads__scan__clamd="/nowhere/clamd.sock", uploads__scan__needed=needed) as server:
                server.start()
                server.add_users("juliet")
                made, answer = put(server, App(server, "juliet"), b"a rose")
                expect(answer == expected, f"{answer}")
                expect(ask(server, made["url"])[0] == (404 if needed == "true" else 200), "not as it was answered")
                server.log.until("a line about it", lambda text: "a file was not scanned" in text)

    with checks.check("scan: a scanner that never answers costs its time and no more"):
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            held = []

            def hold():
                with contextlib.suppress(OSError):
                    while True:
                        held.append(silent.accept()[0])

            threading.Thread(target=hold, daemon=True).start()
            with Server(uploads__scan__clamd=f"127.0.0.1:{silent.getsockname()[1]}", uploads__scan__seconds=1) as server:
                server.start()
                server.add_users("juliet")
                expect(put(server, App(server, "juliet"), b"a rose")[1] == (503, "scan-unavailable"), "taken")
            for connection in held:
                connection.close()
