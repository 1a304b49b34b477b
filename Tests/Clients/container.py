"""The build stage of docker/Dockerfile without a container engine: its context, and what the build reads of it.

The files that docker/Dockerfile.dockerignore lets through are copied step by step as the COPY lines say. Before each RUN that
calls SwiftPM the copy must be enough for it: SwiftPM loads the package and finds the same targets and sources as in the
checkout, and the preprocessor finds every file that a C target includes or embeds. `make container` runs the whole build.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from lib.harness import ROOT, expect

DOCKERFILE = ROOT / "docker/Dockerfile"


def expression(pattern):
    """A pattern of an ignore file as a regular expression: `**` stands for any folders, `*` and `?` for no slash."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(parts.get(part) or re.escape(part) for part in re.findall(r"\*\*/|\*\*|[*?]|[^*?]+", pattern)))


class Ignored:
    """An ignore file: the last pattern that matches a path, or a folder above it, decides; `!` lets through."""

    def __init__(self, text):
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
        expect(not any(set(line) & set("[]\\") for line in lines), "a pattern has a form that is not known here")
        self.rules = [(not line.startswith("!"), expression(os.path.normpath(line.lstrip("!")).lstrip("/"))) for line in lines]
        self.exceptions = [line[1:] for line in lines if line.startswith("!")]

    def __call__(self, path):
        above = [path, *map(str, pathlib.PurePath(path).parents)][:-1]
        ignored = False
        for excludes, pattern in self.rules:
            if any(pattern.fullmatch(each) for each in above):
                ignored = excludes
        return ignored

    def context(self, root):
        """The paths of the files that a build receives. A folder is entered if an exception may be below it."""
        for folder, folders, files in os.walk(root):
            inside = os.path.relpath(folder, root)
            paths = {name: os.path.normpath(os.path.join(inside, name)) for name in [*folders, *files]}
            folders[:] = [name for name in folders if not self(paths[name]) or any(
                each.startswith((paths[name] + "/", "*")) for each in self.exceptions)]
            yield from (paths[name] for name in files if not self(paths[name]))


def instructions(text):
    """The instructions of the build stage, and their arguments."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    stages = re.split(r"^(?=FROM )", text, flags=re.M)
    (stage,) = [stage for stage in stages if re.match(r"FROM \S+ AS build\n", stage)]
    return [line.split(None, 1) for line in stage.splitlines() if line.strip()]


def copy(context, source, folder, target):
    """Does a COPY of one source, of which an engine copies a file, or what is in a folder."""
    found = context / source
    expect(found.exists(), f"COPY {source}: the ignore file leaves nothing of it in the context")
    place = folder / target
    if found.is_dir():
        shutil.copytree(found, place, dirs_exist_ok=True)
    else:
        place = place / found.name if target.endswith("/") else place
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, place)


def swift(folder, scratch, *arguments):
    done = subprocess.run(["swift", "package", "--scratch-path", str(scratch), *arguments], cwd=folder, capture_output=True, text=True)
    expect(done.returncode == 0, f"swift package {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def files(folder, scratch):
    """The files of the package's targets as SwiftPM finds them, and those that C sources read."""
    found = set()
    for target in swift(folder, scratch, "describe", "--type", "json")["targets"]:
        path = pathlib.Path(target["path"])
        found |= {str(path / source) for source in target["sources"]}
        found |= {os.path.relpath(resource["path"], folder) for resource in target.get("resources", [])}
        if target["module_type"] == "ClangTarget":
            sources = [str(path / source) for source in target["sources"]]
            done = subprocess.run(["clang", "-M", f"-I{path}/include", *sources], cwd=folder, capture_output=True, text=True)
            expect(done.returncode == 0, f"{target['name']}: {done.stderr}")
            read = {os.path.relpath(folder / name, folder) for name in done.stdout.replace("\\\n", " ").split() if not name.endswith(":")}
            found |= {name for name in read if not name.startswith("../")}  # those are the system's
        if target["module_type"] == "SystemLibraryTarget":
            found |= {str(each.relative_to(folder)) for each in (folder / path).iterdir()}
    return found


def run(checks):
    text = DOCKERFILE.read_text()
    with tempfile.TemporaryDirectory(prefix="parley-container-") as temporary:
        temporary = pathlib.Path(temporary)
        context, image, scratch = (temporary / name for name in ["context", "image", "scratch"])
        with checks.check("container: the build stage has everything that it copies, and everything that SwiftPM and the C compiler read"):
            for path in Ignored(DOCKERFILE.with_name("Dockerfile.dockerignore").read_text()).context(ROOT):
                (context / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, context / path)
            folder, resolved, built = image, 0, 0
            for name, arguments in instructions(text):
                if name == "WORKDIR":
                    folder = image / arguments.lstrip("/")
                    folder.mkdir(parents=True, exist_ok=True)
                elif name == "COPY":
                    *sources, target = arguments.split()
                    expect(not any(re.match(r"--|\[|.*[*?]", each) for each in sources), f"COPY {arguments}: a form that is not known here")
                    for source in sources:
                        copy(context, source, folder, target)
                elif name == "RUN" and "swift package resolve" in arguments:
                    expect(swift(folder, scratch, "dump-package")["name"] == "parley", "the package has another name")
                    resolved += 1
                elif name == "RUN" and "swift build" in arguments:
                    here, there = files(ROOT, scratch), files(folder, scratch)
                    expect(here == there, f"the build lacks {sorted(here - there)[:20]}, and has besides {sorted(there - here)[:20]}")
                    expect(any(path.startswith("clients/web/") for path in there), "the program embeds nothing of the web client")
                    built += 1
            expect((resolved, built) == (1, 1), f"{resolved} steps resolve the package and {built} build it")
