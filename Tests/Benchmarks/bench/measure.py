"""Runs one workload once against one server."""
import json
import os
import subprocess

from .servers import XLOAD, log


def measure(name, args, server, address, http, pids, cpu=None, cache=None, max_other=40, attempts=3, options=(),
            enter=lambda command: command):
    """One row of results; a run on a machine that was not quiet is repeated."""
    command = (["taskset", "-c", str(cpu)] if cpu is not None else []) + [
        XLOAD, *args.split(), "--addr", address, "--http", http, "--pid", pids, "--name", server, *options]
    if cache:
        os.makedirs(os.path.dirname(cache), exist_ok=True)
        command += ["--scram-cache", cache]
    for attempt in range(attempts):
        try:
            done = subprocess.run(enter(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900)
            line, error, code = done.stdout.strip(), done.stderr, done.returncode
        except subprocess.TimeoutExpired:
            line, error, code = "", "timed out", 1
        row = json.loads(line) if line else {"server": server}
        if row.get("other_cpu_pct", 0) <= max_other:
            break
        log("%-14s %-12s machine not quiet (%s %%)%s" % (
            name, server, row["other_cpu_pct"], ", again" if attempt + 1 < attempts else ", kept"))
    row.update(workload=name, failures=int(code != 0), attempts=attempt + 1)
    if code:
        row["error"] = error.strip().splitlines()[-1] if error.strip() else "failed"
    return row


def tell(row, metric, round_):
    log("%-14s round %d %-12s %s=%s server_cpu=%s%% xload_cpu=%s%% other_cpu=%s%% %s" % (
        row["workload"], round_ + 1, row["server"], metric, row.get(metric), row.get("server_cpu_pct"),
        row.get("xload_cpu_pct"), row.get("other_cpu_pct"), row.get("error", "")))
