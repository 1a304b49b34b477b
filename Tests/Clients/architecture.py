"""docs/architecture.md shows the targets and arrows of Package.swift, all of them and no others.

The diagram leaves out what follows: an arrow from A to C where A needs B and B needs C. The table names the targets of `Sources`.
With `--write` the diagram is written anew.
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


def run(checks):
    graph, page = targets(), PAGE.read_text()
    with checks.check("docs: the diagram of the targets is that of Package.swift"):
        expect(DIAGRAM.search(page)[0] == diagram(graph), "`python3 Tests/Clients/architecture.py --write` writes it")
    with checks.check("docs: each target has its row"):
        rows = {name for line in re.findall(r"^\| (`Sources.*?) \|", page, re.M) for name in re.findall(r"Sources/(\w+)", line)}
        expect(rows == set(graph), f"{sorted(rows ^ set(graph))}")


if __name__ == "__main__" and "--write" in sys.argv:
    PAGE.write_text(DIAGRAM.sub(lambda _: diagram(targets()), PAGE.read_text(), count=1))
