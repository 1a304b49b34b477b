"""`parley check --compliance` against a running server (XEP-0479): with everything configured every row is met, and what is
turned off is told with what would turn it on.
"""
import json
import subprocess

from lib.harness import BINARY, Server, expect, free_port


def rows(server):
    done = subprocess.run(
        [str(BINARY), "check", "--compliance", "--json", "--config", server.configuration], env=server.environment(),
        capture_output=True, text=True, timeout=60)
    expect(done.stdout, f"no answer: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def run(checks):
    whole = dict(https__host="127.0.0.1", https__port=free_port(), components="gateway.localhost=prospero",
                 component__port=free_port())
    with checks.check("compliance: a server with everything is advanced in every category"), Server(**whole) as server:
        server.start()
        status, found = rows(server)
        missing = [row for row in found if not row["isMet"]]
        expect(not missing and status == 0, f"{missing}")
        expect({row["category"] for row in found} == {"Core", "Web", "IM", "Mobile", "A/V Calling"}, f"{found}")
        # The account that asked is gone.
        expect("parley-check" not in server.command("user", "list"), "the account that asked is still there")
    with checks.check("compliance: what is turned off is not met, and what would help is said"), Server(
            xmpp__tls_port=0, http__port=0, https__host="127.0.0.1", https__port=free_port()) as server:
        server.start()
        status, found = rows(server)
        missing = {row["feature"]: row["remedy"] for row in found if not row["isMet"]}
        expect(set(missing) == {"Direct TLS", "Server extensibility"} and status == 1, f"{missing}")
        expect(missing["Direct TLS"] == "set xmpp.tls_port", f"{missing}")
