"""The app door against its own documents, by `app_contract.py`, which also runs against servers elsewhere."""
import pathlib
import re
import subprocess
import sys

from lib.harness import Server, expect, free_port
from lib.services import new_secret


def run(checks):
    hook, secret = free_port(), new_secret()
    settings = dict(
        registration="true", invitations="true", identity__backends="contract=a secret that the contract's check knows",
        delivery__url=f"http://127.0.0.1:{hook}/letters", delivery__secret=secret,
        sending__bytes_per_second=1 << 24)  # 12 MB of messages, for a reader that falls behind, come as fast as the machine can
    with checks.check("app: every answer and frame is as the documents say"), Server(**settings) as server:
        server.start()
        invitation = re.search(r"preauth=(\w+)", server.command("invite", "create"))[1]
        done = subprocess.run(
            [sys.executable, str(pathlib.Path(__file__).with_name("app_contract.py")), server.base, f"--hook={hook}:{secret}",
             f"--invitation={invitation}"], capture_output=True, text=True, timeout=300)
        expect(done.returncode == 0, done.stdout + done.stderr)
