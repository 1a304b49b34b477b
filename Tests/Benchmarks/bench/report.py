"""Writes the results of a run into docs/performance.md and docs/images."""
import os
import re
import statistics

from . import charts, tables
from .servers import VARIANTS, label
from .workloads import ATTACKS, OPERATIONS, WORKLOADS, title


def put(page, name, content):
    """Replaces the text between a section's marker comments."""
    begin, end = "<!-- bench:%s -->" % name, "<!-- bench:end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if not pattern.search(page):
        raise SystemExit("docs/performance.md has no section %s" % begin)
    return pattern.sub(lambda _: begin + "\n" + content.strip() + "\n" + end, page)


def conditions(machine, rows):
    rounds = max(r.get("round", 0) for r in rows) + 1
    lines = ["- %s: %s" % (k, v) for k, v in machine.items()]
    lines.append("- rounds: %d, servers in turn; cells are median (lowest-highest)" % rounds)
    repeated = sum(r.get("attempts", 1) > 1 for r in rows)
    if repeated:
        lines.append("- %d of %d runs were repeated because other processes used the machine" % (repeated, len(rows)))
    busy = [r["other_cpu_pct"] for r in rows if "other_cpu_pct" in r]
    if busy:
        lines.append("- processes that had no part in a run used %.0f %% of a core meanwhile (median; at most %.0f %%)" % (
            statistics.median(busy), max(busy)))
    filled = sorted({(r["server"], r["prefill"]) for r in rows if r.get("prefill")})
    if filled:
        lines.append("- messages already in the store before `chat-real`: " + ", ".join("%s %s" % x for x in filled))
    names = tables.servers_of(rows)
    lines += ["- `%s`: %s" % (s, VARIANTS[s][4]) for s in names if s in VARIANTS]
    return "\n".join(lines)


def drawings(rows):
    """The charts of the results: {file name: (title, SVG)}."""
    out = {}
    ratios = [b for b in tables.bars(rows) if b.get("ratio") and b["against"] not in (None, "self")]
    if ratios:
        groups = [(title(b["workload"]), [("parley", "times %s (target: %g)" % (label(b["peer"]), b["factor"]), b["ratio"])])
                  for b in ratios]
        heading = "Work per CPU-second, Parley and the best other server"
        out["throughput.svg"] = heading, charts.bar_chart(
            heading, "Parley's work as a multiple of the other server's; the dashed line is the other server", groups, "times", mark=1)
    for name, heading, subtitle, unit, figures in (
        ("latency.svg", "Latency at 300 messages a second", "Milliseconds from scheduled sending to arrival, 60 s", "ms",
         [("chat-300", "p50_ms", "median"), ("chat-300", "p99_ms", "99th percentile"),
          ("chat-300", "p999_ms", "99.9th percentile")]),
        ("memory.svg", "Memory of an idle session", "KiB per session, growth of the server's resident memory",
         "KiB", [(w, "kib_per_session", title(w)) for w in WORKLOADS if w.startswith("idle")]),
    ):
        groups = []
        for w, metric, group in figures:
            bars = [(s, label(s), tables.median(rows, w, s, metric)) for s in tables.servers_of(rows)]
            bars = [b for b in bars if b[2] is not None]
            if bars:
                groups.append((group, bars))
        if groups:
            out[name] = heading, charts.bar_chart(heading, subtitle, groups, unit)
    return out


def micro_section(micro):
    return "\n\n".join("`%s`\n\n```text\n%s\n```" % (m["micro"], m["output"].strip() or "exit status %d" % m["status"])
                       for m in micro) or "(not run)"


def write(docs, machine, rows, micro):
    path = os.path.join(docs, "performance.md")
    with open(path) as f:
        page = f.read()
    beside = [r for r in rows if r["workload"] in ATTACKS or r["workload"] in OPERATIONS]
    across = [r for r in rows if WORKLOADS[r["workload"]].partner and r not in beside]
    for name, part in (("beside", beside), ("federation", across)):
        if part:
            page = put(page, name, "\n\n".join([tables.bars_table(part), tables.results(part), conditions(machine, part)]))
    alone = [r for r in rows if r not in across and r not in beside]
    if alone:
        page = local_sections(docs, page, machine, alone, micro)
    with open(path, "w") as f:
        f.write(page)
    return path


def local_sections(docs, page, machine, rows, micro):
    """The page with what servers do for their own users."""
    pictures = drawings(rows)
    os.makedirs(os.path.join(docs, "images"), exist_ok=True)
    for name, (_, svg) in pictures.items():
        with open(os.path.join(docs, "images", name), "w") as f:
            f.write(svg)
    page = put(page, "conditions", conditions(machine, rows))
    page = put(page, "bars", tables.bars_table(rows))
    page = put(page, "charts", "\n".join("![%s](images/%s)" % (heading, n) for n, (heading, _) in pictures.items()))
    page = put(page, "results", tables.results(rows))
    return put(page, "micro", micro_section(micro))
