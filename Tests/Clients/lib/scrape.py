"""What a server measures (docs/metrics.md): the numbers of one scrape, and whether they move."""
import re
import urllib.error
import urllib.request

from lib.harness import PATIENCE, expect, until


def get(port, path, host="127.0.0.1"):
    """Returns the status, the media type and the body of an answer."""
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


class Scrape:
    """What a scrape says: families by name, and samples by name and labels."""

    def __init__(self, server):
        status, kind, self.text = get(server.metrics, "/metrics", server.host)
        expect((status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8"), f"{status} {kind}")
        self.families, self.samples = {}, {}
        for line in self.text.splitlines():
            if found := re.fullmatch(r"# (HELP|TYPE) (\w+) (.*)", line):
                what, name, text = found.groups()
                self.families.setdefault(name, {"labels": {}})[what] = text
                continue
            found = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            expect(found, f"not a line of the format: {line}")
            name, labels = found[1], dict(re.findall(r'(\w+)="([^"]*)"', found[2] or ""))
            self.samples[name, frozenset(labels.items())] = float(found[3])
            family = name if name in self.families else re.sub(r"_(bucket|sum|count)$", "", name)
            for label, value in labels.items():
                if label != "le":
                    values = self.families[family]["labels"].setdefault(label, [])
                    if value not in values:
                        values.append(value)

    def __call__(self, metric, **labels):
        """The sum of the samples with these labels."""
        found = [value for (name, has), value in self.samples.items() if name == metric and set(labels.items()) <= has]
        expect(found, f"there is no {metric} {labels}")
        return sum(found)

    def table(self):
        rows = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
        for name, family in self.families.items():
            labels = "; ".join(f"`{label}`: {', '.join(values)}" for label, values in family["labels"].items())
            rows.append(f"| `{name}` | {family['TYPE']} | {labels} | {family['HELP']} |")
        return "\n".join(rows) + "\n"


class Growth:
    """What has grown since this was made."""

    def __init__(self, server):
        self.server, self.before = server, Scrape(server)

    def until(self, metric, count=None, **labels):
        """Waits for a growth of so much and no more, or of anything: a number may move a moment after what others see of it."""
        def test(now):
            growth = now(metric, **labels) - self.before(metric, **labels)
            expect(count is None or growth <= count, f"{metric} {labels} grew by {growth}")
            return growth == count if count is not None else growth > 0
        shows(self.server, f"{metric} {labels} to grow by {count or 'anything'}", test)


def shows(server, what, test):
    """Waits for a scrape of which this is true."""
    until(what, lambda: test(Scrape(server)))
