"""Medians, ratios and the Markdown tables made of them."""
import statistics

from .servers import VARIANTS, durable, label
from .workloads import WORKLOADS, title


def number(v):
    if v == 0:
        return "0"
    return "%.0f" % v if abs(v) >= 100 else "%.3g" % v


def figure(metric):
    """The name of a figure in the table of targets."""
    for unit, words in (("_per_cpu_s", " per CPU-second"), ("_per_s", " per second"), ("_ms", ", ms")):
        if metric.endswith(unit):
            metric = metric[:-len(unit)] + words
    return metric.replace("kib", "KiB").replace("_", " ")


def values(rows, workload, server, metric):
    return [r[metric] for r in rows
            if r["workload"] == workload and r["server"] == server and metric in r and not r.get("failures")]


def median(rows, workload, server, metric):
    v = values(rows, workload, server, metric)
    return statistics.median(v) if v else None


def servers_of(rows):
    seen = dict.fromkeys(r["server"] for r in rows)
    order = [s for s in VARIANTS if s in seen]
    return order + [s for s in seen if s not in order]


def best(medians, sign):
    """The best of {server: median}, and its ratio to the second."""
    order = sorted(medians, key=medians.get, reverse=sign > 0)
    a, b = medians[order[0]], medians[order[1]]
    if min(a, b) <= 0:
        return "" if a == b else label(order[0])
    return "%s x%.2f" % (label(order[0]), a / b if sign > 0 else b / a)


def results(rows, names=None):
    """The table of all figures: median (lowest-highest), and the best server with its ratio to the second."""
    names = names or servers_of(rows)
    out = ["| workload | figure | " + " | ".join(label(s) for s in names) + " | best |", "|---|---|" + "---:|" * len(names) + "---|"]
    for w, load in WORKLOADS.items():
        if not any(r["workload"] == w for r in rows):
            continue
        for metric, sign in load.metrics:
            cells, medians = [], {}
            for s in names:
                v = values(rows, w, s, metric)
                if not v:
                    cells.append("")
                    continue
                medians[s] = statistics.median(v)
                cells.append(number(medians[s]) if len(v) == 1 else
                             "%s (%s-%s)" % (number(medians[s]), number(min(v)), number(max(v))))
            if not medians:
                continue
            winner = best(medians, sign) if len(medians) > 1 else ""
            out.append("| %s | %s | %s | %s |" % (w, metric, " | ".join(cells), winner))
        failed = [sum(r.get("failures", 0) for r in rows if r["workload"] == w and r["server"] == s) for s in names]
        if any(failed):
            out.append("| %s | runs that failed | %s | |" % (w, " | ".join(str(n) if n else "" for n in failed)))
    return "\n".join(out)


def candidates(against, names):
    peers = [s for s in names if s != "parley" and s in VARIANTS]
    if against == "durable":
        return [s for s in peers if durable(s)]
    if against == "volatile":
        return [s for s in peers if not durable(s)]
    return peers


def bars(rows):
    """The targets and Parley's results: a list of dicts."""
    names, out = servers_of(rows), []
    for w, load in WORKLOADS.items():
        for bar in load.bars:
            mine = median(rows, w, "parley", bar.metric)
            if mine is None:
                continue
            sign = next(m.sign for m in load.metrics if m.name == bar.metric)
            others = ["parley"] if bar.against == "self" else candidates(bar.against or "any", names)
            peers = {s: median(rows, bar.of or w, s, bar.metric) for s in others}
            peers = {s: v for s, v in peers.items() if v}
            rival = sorted(peers, key=peers.get, reverse=sign > 0)[0] if peers else None
            row = {"workload": w, "metric": bar.metric, "parley": mine, "peer": rival,
                   "peer_value": peers.get(rival), "against": bar.against, "factor": bar.factor, "of": bar.of, "sign": sign}
            if rival and min(mine, peers[rival]) >= 0:  # of differences, which may be negative, there is no ratio
                row["ratio"] = (mine / peers[rival] if sign > 0 else peers[rival] / mine) if mine else float("inf")
            if bar.against is None:
                row["reached"] = mine <= bar.factor if sign < 0 else mine >= bar.factor
            else:
                row["reached"] = row["ratio"] >= bar.factor if rival else None
            out.append(row)
    return out


def bars_table(rows):
    out = ["| workload | figure | Parley | best other server | ratio | target | |", "|---|---|---:|---:|---:|---:|---|"]
    for b in bars(rows):
        peer = "%s: %s" % (label(b["peer"]), number(b["peer_value"])) if b["peer"] else ""
        if b["against"] is None:
            target = ("at most %s" if b["sign"] < 0 else "at least %s") % number(b["factor"])
        else:
            target = "%s times %s" % (number(b["factor"]), {
                "self": "Parley's own", "durable": "the best with synced archive", "volatile": "the best without archive",
            }.get(b["against"], "the best"))
            target += " in " + title(b["of"]) if b["of"] else ""
        verdict = {True: "reached", False: "**not reached**", None: "not measured"}[b["reached"]]
        ratio = "%.2f" % b["ratio"] if "ratio" in b else ""
        out.append("| %s | %s | %s | %s | %s | %s | %s |" % (
            "%s (`%s`)" % (title(b["workload"]), b["workload"]), figure(b["metric"]), number(b["parley"]), peer, ratio, target, verdict))
    return "\n".join(out) if len(out) > 2 else "(Parley was not measured in this run.)"
