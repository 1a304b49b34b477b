"""docs/architecture.md shows the targets and arrows of Package.swift, all of them and no others.

The diagram leaves out what follows: an arrow from A to C where A needs B and B needs C. The table names the targets of `Sources`.
With `--write` the diagram is written anew. The functions of a store are as many as the page says.
"""
import json
import re
import subprocess
import sys

from lib.harness import ROOT, expect

PAGE = ROOT / "docs/architecture.md"
DIAGRAM = re.compile(r"```mermaid\ngraph TD\n.*?```\n", re.S)


def targets():
    """Returns what each target of `Sources` depends on among the others."""
    package = json.loads(subprocess.run(
        ["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    names = {each["name"] for each in package["targets"] if not (each.get("path") or "").startswith("Tests")
             and each["type"] != "test"}
    return {each["name"]: {next(iter(d.values()))[0] for d in each["dependencies"]} & names
            for each in package["targets"] if each["name"] in names}


def reduced(graph):
    """Returns the arrows that follow from no others."""
    def reach(name):
        found = set()
        for each in graph[name]:
            found |= {each} | reach(each)
        return found
    return {name: {each for each in needs if not any(each in reach(other) for other in needs - {each})}
            for name, needs in graph.items()}


def diagram(graph):
    lines = [f"  {name} --> {' & '.join(sorted(needs))}" for name, needs in sorted(reduced(graph).items()) if needs]
    return "```mermaid\ngraph TD\n" + "\n".join(lines) + "\n```\n"


def requirements():
    """Returns the number of functions and values of each protocol that a store implements."""
    source = "\n".join(path.read_text() for path in sorted((ROOT / "Sources/Dialogs").rglob("*.swift")))
    found = {name: (inherited, body) for name, inherited, body in re.findall(
        r"^public protocol (\w+)([^{]*)\{(\}|.*?^\})\n", source, re.M | re.S)}
    todo, counts = ["Store", "StoreWriter"], {}
    while todo:
        name = todo.pop()
        if name not in counts and name in found:
            inherited, body = found[name]
            counts[name] = len(re.findall(r"^  (?:func|var) ", body, re.M))
            todo += re.findall(r"\w+", inherited)
    return {name: count for name, count in counts.items() if count}


def run(checks):
    graph, page = targets(), PAGE.read_text()
    with checks.check("docs: the diagram of the targets is that of Package.swift"):
        expect(DIAGRAM.search(page)[0] == diagram(graph), "`python3 Tests/Clients/architecture.py --write` writes it")
    with checks.check("docs: each target has its row"):
        rows = {name for line in re.findall(r"^\| (`Sources.*?) \|", page, re.M) for name in re.findall(r"Sources/(\w+)", line)}
        expect(rows == set(graph), f"{sorted(rows ^ set(graph))}")
    with checks.check("docs: the functions of a store are as many as the page says"):
        counts = requirements()
        expect(f"implements {sum(counts.values())} functions" in page, f"{sum(counts.values())}")
        table = page[page.index("## A second store"):page.index("## Concurrency")]
        for names, count in re.findall(r"^\| [\w ]+ \| (`.*`) \| (\d+) \|", table, re.M):
            expect(sum(counts.pop(name) for name in re.findall(r"`(\w+)`", names)) == int(count), names)
        expect(not counts, f"{sorted(counts)} have no row")


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(DIAGRAM.sub(lambda _: diagram(targets()), PAGE.read_text(), count=1))
