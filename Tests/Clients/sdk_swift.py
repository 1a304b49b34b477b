"""The Swift SDK (clients/swift): its tests against a server of this script, and the terminal chat of its tutorial in a terminal. The
package is built by `make test` together with the server, from its own manifest. The code that its documentation shows is compiled, and its
sources are compiled as on a platform whose only transport is URLSession.

The tests ask this script for what only it can do: to kill and restart the server, to open a letter, to let slixmpp arrive.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lib.harness import PASSWORD, PATIENCE, ROOT, expect, free_port
from lib.sdk import never_done, site
from lib.terminal import Terminal

SDK = ROOT / "clients/swift"
SOURCES = SDK / "Sources/ParleyClient"
PAGES = [SDK / "README.md", *sorted(SOURCES.glob("*.docc/*.md")), *sorted(SOURCES.glob("*.swift"))]
CHAT = SDK / "Sources/terminal-chat/main.swift"
BUILD = ROOT / ".build/debug"
TESTS, PROGRAM = BUILD / "parleyPackageTests.xctest", BUILD / "terminal-chat"
COMPILING = 5 * PATIENCE
MESSAGES = int(os.environ.get("SDK_MESSAGES", "10000"))  # of the test of memory
# Of what a platform has that is not Linux; and the transport of Linux alone.
IMPORTS = {"Foundation", "FoundationNetworking"}
NIO = {"NIOCore", "NIOHTTP1", "NIOPosix", "NIOSSL", "NIOWebSocket"}
# What the code of the documentation takes for given.
IMPORTED = "import Foundation\nimport FoundationNetworking\nimport ParleyClient\n\n"
GIVEN = """
let (me, password, ownToken) = ("juliet", "wherefore-art-thou", "a token")
let (file, picture) = (URL(fileURLWithPath: "juliet.store"), Data())
let parley = try! Parley(url: URL(string: "http://127.0.0.1:8080")!)
func show(_ what: Any...) {}
func lines() -> AsyncStream<String> { AsyncStream { $0.finish() } }
"""


def environment(**more):
    return {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")} | more


def swift(*arguments, **more):
    done = subprocess.run(
        arguments, env=environment(PARLEY_STRICT="1"), capture_output=True, text=True, timeout=COMPILING, **more)
    expect(done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr[-4000:]}")
    return done.stdout


def built():
    """What `make test` builds is there, and newer than what it is built from; its manifest has what Linux needs, and nothing else."""
    newest = max(path.stat().st_mtime for folder in ["Sources", "Tests", "Package.swift"]
                 for path in [SDK / folder, *(SDK / folder).rglob("*.swift")])
    for program in [TESTS, PROGRAM]:
        expect(program.exists(), f"{program} is missing; `PARLEY_STRICT=1 swift build --build-tests` makes it")
    expect(TESTS.stat().st_mtime > newest, "`PARLEY_STRICT=1 swift build --build-tests` was not run since a source was changed")
    manifest = json.loads(swift("swift", "package", "--package-path", SDK, "dump-package"))
    needed = [dependency["product"][:2] for target in manifest["targets"] for dependency in target["dependencies"] if "product" in dependency]
    expect({name for name, _ in needed} == NIO, f"{needed}")
    packages = {package for _, package in needed}
    expect(packages == {each["sourceControl"][0]["identity"] for each in manifest["dependencies"]} == {"swift-nio", "swift-nio-ssl"}, f"{packages}")


def elsewhere(folder):
    """The sources as Apple's platforms compile them: URLSession is the transport, and SwiftNIO is not there."""
    for source in SOURCES.glob("*.swift"):
        text = source.read_text()
        imported = set(re.findall(r"^\s*(?:@\S+ )?(?:public |internal )?import (?:\w+ )?(\w+)", text, re.M))
        expect(imported <= IMPORTS | (NIO if source.name == "NIOTransport.swift" else set()), f"{source.name}: {imported}")
        forbidden = re.findall(r"os\(Linux\)|canImport\(Glibc\)|/proc/|@unchecked|nonisolated\(unsafe\)|@preconcurrency", text)
        expect(not forbidden, f"{source.name}: {forbidden}")
        (folder / source.name).write_text(text.replace("canImport(Darwin)", "true"))
    settings = re.findall(r'enableUpcomingFeature\("(\w+)"\)', (SDK / "Package.swift").read_text())
    swift(
        "swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", "-module-name", "ParleyClient",
        *(word for name in settings for word in ("-enable-upcoming-feature", name)), *folder.glob("*.swift"))


def modules():
    """Options with which the compiler finds what was built."""
    maps = [*BUILD.glob("*.build/module.modulemap"), *(ROOT / ".build/checkouts").glob("*/Sources/*/include/module.modulemap")]
    return ["-I", BUILD / "Modules", *(word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}"))]


def converted(folder):
    """The catalogue of the documentation, with the comments of all public symbols, by DocC: a link that leads nowhere is a warning."""
    target = json.loads(swift("swift", "-print-target-info"))
    docc = pathlib.Path(target["paths"]["runtimeResourcePath"]).parents[1] / "bin/docc"
    expect(docc.exists(), f"{docc} is missing, which is part of the Swift toolchain")
    symbols, pages = folder / "symbols", folder / "pages"
    symbols.mkdir()
    swift("swift", "symbolgraph-extract", "-module-name", "ParleyClient", "-target", target["target"]["triple"], *modules(),
          "-minimum-access-level", "public", "-output-dir", symbols)
    catalogue, = SOURCES.glob("*.docc")
    said = swift(docc, "convert", catalogue, "--additional-symbol-graph-dir", symbols, "--output-path", pages, "--warnings-as-errors",
                 "--fallback-display-name", "ParleyClient", "--fallback-bundle-identifier", "ParleyClient")
    expect("warning:" not in said, said)
    made = pages / "data/documentation/parleyclient"
    for page in ["parley/invitation(_:)", *(path.stem.lower() for path in catalogue.glob("*.md") if path.stem != "ParleyClient")]:
        expect((made / f"{page}.json").exists(), f"there is no page {page}")


def called():
    """Every public function is called by a test, or by the terminal chat."""
    tests = "".join(path.read_text() for path in [*(SDK / "Tests").rglob("*.swift"), CHAT])
    functions = {
        name for source in SOURCES.glob("*.swift")
        for name in re.findall(r"^  (?:@discardableResult )?public (?:nonisolated |static )?func (\w+)\(", source.read_text(), re.M)}
    expect(len(functions) > 100, f"{functions}")
    left = sorted(name for name in functions if not re.search(rf"\.{name}(\(| \{{)", tests))
    expect(not left, f"{left}")


def documented(folder):
    """The Swift code of each page of the documentation, in its order, as one function; what is for a manifest, as one of a package."""
    manifest = []
    for page in PAGES:
        text = page.read_text()
        if page.suffix == ".swift":
            text = "".join(re.findall(r"^ */// ?(.*\n)", text, re.M))
        blocks = re.findall(r"^```swift\n(.*?)^```$", text, re.M | re.S)
        manifest += [block for block in blocks if block.startswith(".package(")]
        code = [block for block in blocks if not block.startswith((".package(", "// A chat"))]
        if code:
            body = re.sub(r"^import \w+\n", "", "".join(code), flags=re.M)
            (folder / f"{page.stem}.swift").write_text(f"{IMPORTED}func {page.stem}() async throws {{\n{body}}}\n")
    names = sorted(path.stem for path in folder.glob("*.swift"))
    expect(names == ["BringYourOwnLogin", "Parley", "README", "TerminalChat"], f"{names}")
    (folder / "Given.swift").write_text(IMPORTED + GIVEN)
    swift("swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", *modules(), *folder.glob("*.swift"))

    (dependency, product), = [re.findall(r"^(\.\w+\(.*\)),$", block, re.M) for block in manifest]
    (folder / "Package.swift").write_text(
        f"// swift-tools-version: 6.1\nimport PackageDescription\nlet package = Package(name: \"app\", dependencies: [{dependency}],"
        f" targets: [.executableTarget(name: \"app\", dependencies: [{product}])])\n")
    app = json.loads(swift("swift", "package", "--package-path", folder, "dump-package"))
    own = json.loads(swift("swift", "package", "--package-path", SDK, "dump-package"))
    name, package, *_ = app["targets"][0]["dependencies"][0]["product"]
    expect(name in {each["name"] for each in own["products"]}, f"{name} is no product")
    path = app["dependencies"][0]["fileSystem"][0]["path"]
    expect(pathlib.Path(path).name == package and path.endswith(str(SDK.relative_to(ROOT))), f"{package} in {path}")


def tutorial():
    """The chat has the length of its name, and the tutorial ends with it, as it is."""
    program = CHAT.read_text()
    expect(program.count("\n") <= 60, f"{program.count(chr(10))} lines")
    page = (SOURCES / "ParleyClient.docc/TerminalChat.md").read_text()
    expect(f"```swift\n{program}```\n" in page, "TerminalChat.md has another program than terminal-chat/main.swift")


def test(server, control, log, alone=False, **more):
    """The suites but that of memory; or that one, alone in its process."""
    suites = ["--filter", "ParleyClientTests.MemoryTests"] if alone else ["--filter", "ParleyClientTests", "--skip", "MemoryTests"]
    done = subprocess.run(
        [TESTS, "--testing-library", "swift-testing", *suites], cwd=SDK,
        env=environment(
            PARLEY_URL=server.base, PARLEY_PASSWORD=PASSWORD, PARLEY_CONTROL=control.url,
            PARLEY_TLS_URL=server.settings["http__url"], PARLEY_CERTIFICATE=server.certificate, PARLEY_REQUESTS=str(log), **more),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=5 * PATIENCE)
    print(done.stdout[-6000:])
    ran = "MemoryTests passed" if alone else "LiveTests passed"
    expect(done.returncode == 0 and ran in done.stdout, done.stdout[-8000:])  # none is skipped


def chat(server, user, other):
    """The terminal chat of a user; the login and the place in the log are in a file."""
    settings = dict(
        CHAT_URL=server.base, CHAT_USER=user, CHAT_PASSWORD=PASSWORD, CHAT_FILE=f"{server.folder}/{user}.store")
    return Terminal(
        server.folder, "env", *(f"{name}={value}" for name, value in settings.items()), PROGRAM, other)


def chats(server):
    romeo, juliet = chat(server, "romeo", "juliet"), chat(server, "juliet", "romeo")
    try:
        romeo.shows("-- online")
        juliet.shows("-- online")
        romeo.type("It is the east")
        juliet.shows("romeo: It is the east")
        romeo.shows("romeo: It is the east [read]")
        server.kill()
        juliet.shows("-- waiting")
        juliet.type("Ay me")
        juliet.shows("juliet: Ay me [sending]")
        server.start()
        romeo.shows("juliet: Ay me")
        juliet.shows("juliet: Ay me [read]")
        expect(romeo.screen().count("juliet: Ay me") == 1, romeo.screen())
    finally:
        romeo.close()
        juliet.close()


def killed(server):
    """kill -9 of the program with an outbox full of lines: at its next start they are sent, in order and once each."""
    lines = [f"line {number}" for number in range(20)]
    romeo, juliet = chat(server, "romeo", "juliet"), None
    try:
        romeo.shows("-- online")
        server.kill()
        romeo.shows("-- waiting")
        for line in lines:
            romeo.type(line)
        romeo.type("the last")  # is taken when those before it are stored
        romeo.shows("romeo: the last [sending]")
        pane = subprocess.run(
            [*romeo.tmux, "list-panes", "-F", "#{pane_pid}"], capture_output=True, text=True, check=True).stdout
        os.kill(int(pane), signal.SIGKILL)
        romeo.close()
        server.start()
        romeo, juliet = chat(server, "romeo", "juliet"), chat(server, "juliet", "romeo")
        romeo.shows(f"romeo: {lines[-1]} [read]")
        # It is marked as read before it is drawn.
        juliet.shows(f"romeo: {lines[-1]}")
        shown = [text.removeprefix("romeo: ") for text in juliet.screen().splitlines() if text.startswith("romeo: line ")]
        expect(shown == lines[-len(shown):] and len(shown) >= 19, f"{shown}")
    finally:
        romeo.close()
        if juliet:
            juliet.close()


def https():
    port = free_port()
    return dict(https__host="127.0.0.1", https__port=port, http__url=f"https://localhost:{port}")


def run(checks):
    expect(shutil.which("swift"), "the Swift compiler is missing")
    failed = len(checks.failed)
    with checks.check("sdk: the package builds"):
        built()
    if len(checks.failed) > failed:
        return
    for name, look in [
            ("it compiles where only URLSession is", elsewhere), ("the code of its documentation compiles", documented),
            ("its documentation is converted without a warning", converted)]:
        with checks.check(f"sdk: {name}"), tempfile.TemporaryDirectory() as folder:
            look(pathlib.Path(folder))
    with checks.check("sdk: each of its functions is called by a test"):
        called()
    with checks.check("sdk: the terminal chat has 60 lines, and its tutorial the same"):
        tutorial()
    with checks.check("sdk: the terminal chat reads no variable that a server or command started beside it refuses"):
        texts = {path: path.read_text() for path in [CHAT, *PAGES] if path == CHAT or path.suffix == ".md"}
        refused = {path.name: names for path, text in texts.items() if (names := re.findall(r"\bPARLEY_\w+", text))}
        expect(not refused, f"{refused}")
    with site(**https()) as (server, control):
        with checks.check("sdk: its tests, all requests by URLSession"):
            test(server, control, os.devnull, PARLEY_TRANSPORT="URLSession")
    with site(**https()) as (server, control):
        log = pathlib.Path(server.folder, "requests")
        with checks.check("sdk: its tests"):
            test(server, control, log)
        with checks.check("sdk: the tests have had every operation done that an app needs"):
            left = never_done(log)
            expect(not left, f"{left}")
        with checks.check(f"sdk: {MESSAGES} messages with memory flat"):
            test(server, control, os.devnull, alone=True, PARLEY_MESSAGES=str(MESSAGES))
        with checks.check("sdk: the terminal chat"):
            chats(server)
        with checks.check("sdk: kill -9 of the terminal chat"):
            killed(server)
