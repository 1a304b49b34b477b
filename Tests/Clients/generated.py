"""What clients/generate writes from docs/openapi.yaml and the folders of `clients` is what is committed, and an edit by hand is found."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lib.harness import ROOT, expect

OBJECTS, SWIFT, LIST = "clients/js/objects.d.ts", "clients/swift/Sources/ParleyClient/Objects.swift", "Sources/CWebFiles/files.c"


def generate(root, *arguments):
    """The status, and what was printed."""
    done = subprocess.run([sys.executable, root / "clients/generate", *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def checkout(folder):
    """A copy of what the program reads and writes."""
    shutil.copytree(ROOT / "clients", folder / "clients", ignore=shutil.ignore_patterns(".build", "node_modules"))
    for name in ("docs/openapi.yaml", LIST):
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, folder / name)


def change(path, old, new):
    text = path.read_text()
    expect(old in text, f"{path} has no {old!r}")
    path.write_text(text.replace(old, new, 1))


def run(checks):
    with checks.check("generated: files are as clients/generate writes them"):
        status, said = generate(ROOT, "--check")
        expect(status == 0, f"`make generate` writes them:\n{said}")
    with tempfile.TemporaryDirectory(prefix="parley-generated-") as folder:
        root = pathlib.Path(folder)
        checkout(root)
        for name, old, new in [(OBJECTS, "seq: number", "seq: string"), (SWIFT, "var seq: Int", "var seq: Int64"),
                               (LIST, 'ENTRY("web/app.js"', 'ENTRY("web/apps.js"')]:
            with checks.check(f"generated: an edit of {name} by hand is found, and the next run undoes it"):
                before = (root / name).read_bytes()
                change(root / name, old, new)
                status, said = generate(root, "--check")
                expect(status == 1 and all(each in said for each in (name, old, new)), f"{status} {said}")
                expect(generate(root) == (0, ""), "it does not write")
                expect((root / name).read_bytes() == before, f"{name} is another one")
        with checks.check("generated: a new member and a new file reach all that is generated"):
            member = "        seq: {type: integer"
            change(root / "docs/openapi.yaml", member, "        mood: {type: string, description: A test.}\n" + member)
            (root / "clients/web/mood.js").write_text("")
            expect(generate(root) == (0, ""), "it does not write")
            expect("  /** A test. */\n  mood?: string;\n" in (root / OBJECTS).read_text(), "the member is not in TypeScript")
            expect("  /// A test.\n  public var mood: String?\n" in (root / SWIFT).read_text(), "the member is not in Swift")
            expect('ENTRY("web/mood.js", web_mood_js)' in (root / LIST).read_text(), "the file is not in the list")
