"""What a release is made of, without the build: pinned packages, the commit in the program, the source archive, the list of contents, the image layout.

What is made twice, in two folders, must be the same bytes. `make reproducible` does this for all of `make dist`, with two release builds.
"""
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

from lib.harness import BINARY, PATIENCE, ROOT, environment, expect

DATE = "1700000000"
PACKAGING = ["commit", "dist", "image", "packages", "packages.json", "sbom"]
NUMBER = re.search(r'number = "(.+)"', (ROOT / "Sources/ServerConfiguration/Version.swift").read_text())[1]
# The commits of two repositories with the same files are the same.
GIT = {f"GIT_{who}_{what}": value for who in ["AUTHOR", "COMMITTER"] for what, value in [
    ("NAME", "test"), ("EMAIL", "test@localhost"), ("DATE", f"{DATE} +0000")]}
# In the place of `swift package resolve`: the packages that the test expects, and the manifest for which they were asked.
RESOLVER = """#!/bin/bash
[ "$1 $2 $4" = "package --package-path resolve" ] && cp "$3/Package.swift" "$KEPT" && cp "$RESOLVED" "$3/Package.resolved"
"""


def ask(*arguments, status=0, folder=None, **variables):
    more = {name: value for name, value in environment().items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run([str(each) for each in arguments], capture_output=True, text=True, timeout=PATIENCE * 5, cwd=folder, env={**more, **variables})
    expect(done.returncode == status, f"{arguments}: status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if status else "")


def sources(folder):
    """A folder with the files of which these programs read something."""
    for name in [".gitattributes", "Package.swift", "docker/Dockerfile", "Sources/ServerConfiguration/Version.swift", *(f"packaging/{each}" for each in PACKAGING)]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def repository(folder):
    ask("git", "init", "-q", sources(folder), **GIT)
    ask("git", "-C", folder, "add", ".", **GIT)
    ask("git", "-C", folder, "commit", "-q", "--no-gpg-sign", "-m", "release", **GIT)
    return folder


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def pins(checks, folder):
    copy = sources(folder / "pins")
    manifest, rows = copy / "Package.swift", json.loads((copy / "packaging/packages.json").read_text())
    with checks.check("dist: every package has one exact version, and a build has resolved these commits"):
        ask(ROOT / "packaging/packages", "check")
        expect((ROOT / "Package.resolved").exists(), "nothing was resolved")
    with checks.check("dist: a version that is not pinned, listed or resolved alike is found"):
        text = manifest.read_text()
        row = next(each for each in rows if each["name"] == "swift-system")
        pin = {"identity": "swift-system", "location": row["url"] + ".git", "state": {"revision": row["revision"], "version": row["version"]}}
        others = [{"identity": each["name"], "location": each["url"], "state": {"revision": each["revision"], "version": each["version"]}}
                  for each in rows if each is not row]
        moved = {**pin, "state": {**pin["state"], "revision": "0" * 40}}
        line = f'{row["url"]}", exact: "{row["version"]}"'
        expect(text.count(line) == 1, f"{line} is not in Package.swift")
        for changed, found, said in [
            (text, [*others, pin], None),
            (text, [*others, moved], "swift-system is .* in Package.resolved"),
            (text, others, "swift-system is None at None in Package.resolved"),
            (text.replace(line, line.replace("exact:", "from:")), [*others, pin], "does not pin swift-system"),
            (text.replace(line, line.replace(row["version"], "0.0.1")), [*others, pin], "swift-system is 0.0.1 in Package.swift"),
            (text.replace(line, line.replace("swift-system", "swift-other")), [*others, pin], "swift-other is .* and None in packages.json"),
        ]:
            manifest.write_text(changed)
            (copy / "Package.resolved").write_text(json.dumps({"pins": found, "version": 3}))
            shown = ask(copy / "packaging/packages", "check", status=1 if said else 0)
            expect(not said or re.search(said, shown), f"{said}: {shown}")
        (copy / "Package.resolved").unlink()
        manifest.write_text(text)
    with checks.check("dist: an upgrade takes what SwiftPM resolves, for the packages that were named"):
        newer = {**pin, "state": {"revision": "1" * 40, "version": "99.0.0"}}
        (folder / "resolved").write_text(json.dumps({"pins": [*others, newer], "version": 3}))
        (folder / "bin").mkdir()
        (folder / "bin/swift").write_text(RESOLVER)
        (folder / "bin/swift").chmod(0o755)
        path = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "KEPT": str(folder / "kept"), "RESOLVED": str(folder / "resolved")}
        shown = ask(copy / "packaging/packages", "upgrade", "swift-system", **path)
        expect(shown == f"swift-system: {row['version']} -> 99.0.0\n", shown)
        expect((folder / "kept").read_text() == text.replace(line, line.replace("exact:", "from:")), "another manifest was resolved")
        expect(manifest.read_text() == text.replace(line, line.replace(row["version"], "99.0.0")), "Package.swift has something else")
        expected = [{**each, "version": "99.0.0", "revision": "1" * 40} if each["name"] == "swift-system" else each for each in rows]
        expect(json.loads((copy / "packaging/packages.json").read_text()) == expected, "packages.json has something else")
        shown = ask(copy / "packaging/packages", "upgrade", "swift-nothing", status=1, **path)
        expect("has no swift-nothing" in shown, shown)


def commits(checks, folder):
    with checks.check("dist: a debug build names no commit"):
        shown = ask(BINARY, "--version")
        expect(shown == f"Parley {NUMBER} (development)\n", shown)
    with checks.check("dist: the commit is that of the clone or of the archive, and is marked where files differ from it"):
        clone = repository(folder / "clone")
        whole = ask("git", "-C", clone, "rev-parse", "HEAD").strip()
        expect(ask(clone / "packaging/commit") == whole[:12] + "\n", "another commit")
        expect(ask(clone / "packaging/commit", "--date") == DATE + "\n", "another time")
        (clone / "new").write_text("not of the commit")
        expect(ask(clone / "packaging/commit") == whole[:12] + "\n", "a new file is no change")
        (clone / "Package.swift").write_text("changed")
        expect(ask(clone / "packaging/commit") == whole[:12] + "-changed\n", "the change is not named")
        shown = ask(clone / "packaging/dist", "--sources", status=1)
        expect("files differ from the commit" in shown, shown)
        inside = sources(clone / "copy")
        expect(ask(inside / "packaging/commit") == "" == ask(inside / "packaging/commit", "--date"), "a copy in a clone has no commit")


def archives(checks, folder):
    with checks.check("dist: the source archive has one hash in two folders, and names its commit"):
        clones = [repository(folder / "one"), repository(folder / "another/longer")]
        sums = [ask(each / "packaging/dist", "--sources") for each in clones]
        name = f"parley-{NUMBER}.tar.gz"
        (archive,) = [path for path in (clones[0] / ".build-dist").iterdir() if path.name != "SHA256SUMS"]
        expect(sums[0] == sums[1] == f"{digest(archive)}  {name}\n" == (archive.parent / "SHA256SUMS").read_text(), f"{sums}")
        with tarfile.open(archive) as tar:
            expect({entry.mtime for entry in tar} == {int(DATE)} and {entry.uname for entry in tar} == {"root"}, f"{tar.getmembers()}")
            tar.extractall(folder / "unpacked", filter="tar")
        unpacked = folder / "unpacked" / f"parley-{NUMBER}"
        for option in [[], ["--date"]]:
            here, there = (ask(each / "packaging/commit", *option) for each in [clones[0], unpacked])
            expect(here == there != "", f"{option}: {here} in the clone, {there} in the archive")
        shown = ask(unpacked / "packaging/dist", "--sources", status=1)
        expect("in a clone" in shown, shown)


def contents(checks, folder):
    with checks.check("dist: the list of contents has each package with its version and its commit"):
        installed = folder / "installed"
        installed.write_text("libstdc++6 12.2.0-14+deb12u1 amd64\nlibcurl4 7.88.1-10 amd64\nlibcurl4 7.88.1-10 amd64\n")
        ways = ["--version", NUMBER, "--commit", "0123456789ab", "--date", DATE, "--swift", "6.3.1", "--debian", installed]
        text = ask(ROOT / "packaging/sbom", *ways)
        expect(text == ask(ROOT / "packaging/sbom", *ways, TZ="Asia/Tokyo"), "a second list is another one")
        document = json.loads(text)
        expect((document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6"), text)
        expect(document["metadata"]["timestamp"] == "2023-11-14T22:13:20Z", document["metadata"]["timestamp"])
        rows = json.loads((ROOT / "packaging/packages.json").read_text())
        found = {(each["name"], each["version"]) for each in document["components"]}
        expect(found == {(each["name"], each["version"]) for each in rows} | {
            ("swift", "6.3.1"), ("libstdc++6", "12.2.0-14+deb12u1"), ("libcurl4", "7.88.1-10")}, f"{found}")
        names = [each["purl"] for each in document["components"]]
        expect(len(names) == len(rows) + 3 and names == sorted(names), f"{names}")
        expect("pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=amd64&distro=debian-12" in names, f"{names}")
        for row in rows:
            expect(sum(row["revision"] in name and f"@{row['version']}?" in name for name in names) == 1, f"{row}")
        expect(document["dependencies"] == [{"ref": "parley", "dependsOn": names}], "the program depends on something else")


def image(checks, folder):
    with checks.check("dist: the image layout has the settings of the Dockerfile, right digests, and the same bytes each time"):
        base, program = folder / "base.tar", folder / "program"
        with tarfile.open(base, "w") as tar:
            tar.addfile(tarfile.TarInfo("etc"), None)
        program.write_bytes(b"a program")
        variables = {"SOURCE_DATE_EPOCH": DATE, "PARLEY_TAG": NUMBER, "PARLEY_COMMIT": "0123456789ab"}
        made = [folder / "first.tar", folder / "second.tar"]
        for file in made:
            ask(ROOT / "packaging/image", "layout", base, program, file, **variables)
            os.utime(program)
        expect(digest(made[0]) == digest(made[1]), "a second image is another one")
        with tarfile.open(made[0]) as tar:
            files = {entry.name: tar.extractfile(entry).read() for entry in tar}
        expect(json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}, "another version of the layout")

        def blob(reference):
            data = files.pop("blobs/" + reference["digest"].replace(":", "/"))
            expect(reference["digest"] == "sha256:" + hashlib.sha256(data).hexdigest() and reference["size"] == len(data), f"{reference}")
            return data

        (entry,) = json.loads(files["index.json"])["manifests"]
        expect(entry["annotations"] == {"org.opencontainers.image.ref.name": NUMBER}, f"{entry}")
        manifest = json.loads(blob(entry))
        config, layers = json.loads(blob(manifest["config"])), []
        for reference, name in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            with tarfile.open(fileobj=io.BytesIO(blob(reference))) as tar:
                layers.append({each.name: (each.mode, each.mtime, each.uid) for each in tar})
        expect(config["rootfs"]["diff_ids"][0] == f"sha256:{digest(base)}", "another base")
        expect(layers == [{"etc": layers[0]["etc"]}, {"usr/local/bin/parley": (0o755, int(DATE), 0)}], f"{layers}")
        expect(set(files) == {"oci-layout", "index.json"}, f"blobs without a reference: {list(files)}")
        expected = {
            "User": "10001:10001", "Entrypoint": ["parley"], "Cmd": ["serve"], "StopSignal": "SIGTERM", "WorkingDir": "/data",
            "ExposedPorts": {"5222/tcp": {}, "5223/tcp": {}, "8443/tcp": {}}, "Volumes": {"/data": {}}}
        expect({name: config["config"][name] for name in expected} == expected, f"{config}")
        expect("PARLEY_DATA=/data" in config["config"]["Env"] and config["config"]["Healthcheck"]["Test"] == ["CMD", "parley", "health"], f"{config}")
        expect(config["config"]["Labels"]["org.opencontainers.image.revision"] == "0123456789ab", f"{config}")


def package(checks, folder):
    with checks.check("dist: the Debian package of one program has one hash in two folders"):
        found = set()
        for name in ["package", "package-again"]:
            ask(ROOT / "packaging/deb", "--binary", BINARY, "--output", folder / name, "--fast", SOURCE_DATE_EPOCH=DATE)
            (deb,) = (folder / name).glob("parley_*.deb")
            expect(deb.name.startswith(f"parley_{NUMBER}-1_"), deb.name)
            found.add(digest(deb))
            deb.unlink()
        expect(len(found) == 1, f"{found}")


def run(checks):
    with tempfile.TemporaryDirectory(prefix="parley-dist-") as folder:
        folder = pathlib.Path(folder)
        for part in [pins, commits, archives, contents, image, package]:
            part(checks, folder)
