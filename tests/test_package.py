"""What is installed: the packages with their compiled modules, and nothing that only the tests need."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

import coordinator
import setup

ROOT: Final = Path(__file__).parent.parent
TOP_LEVEL: Final = {"_wire", "coordinator", f"kafka_group_coordinator-{coordinator.__version__}.dist-info"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names in a wheel, built without compiling, where an earlier build left an extension of the tests."""
    scratch = tmp_path_factory.mktemp("wheel")
    leftover = scratch / "lib" / "tests" / "loops.so"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    arguments = ["egg_info", "--egg-base", scratch, "build", "--build-base", scratch, "--build-lib", scratch / "lib"]
    arguments += ["bdist_wheel", "--dist-dir", scratch, "--bdist-dir", scratch / "bdist"]
    subprocess.run(
        [sys.executable, "setup.py", "--quiet", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"EXTENSIONS_ARE_BUILT": "1"},
        check=True,
        timeout=60,
    )
    (built,) = scratch.glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


def test_a_wheel_holds_the_packages_and_nothing_else(wheel):
    assert {name.partition("/")[0] for name in wheel} == TOP_LEVEL
    suffixes = {Path(name).suffix for name in wheel if ".dist-info/" not in name and "/static/" not in name}
    assert suffixes == {".json", ".py", ".pyi", ".pyx", ".pxd", ".schema", ".typed"}
    static = {name for name in wheel if name.startswith("coordinator/dashboard/static/")}
    assert {"coordinator/dashboard/static/index.html", "coordinator/dashboard/static/vendor/echarts.min.js"} <= static


def test_a_wheel_holds_every_module_and_what_is_read_at_run_time(wheel):
    sources = {
        str(path.relative_to(ROOT))
        for package in setup.PACKAGES
        for pattern in ("*.py", "*.pyi", "*.pyx", "*.pxd", "*.schema", "py.typed")
        for path in (ROOT / package).rglob(pattern)
    }
    assert {"_wire/py.typed", "coordinator/py.typed", "_wire/schemas/join_group.schema"} <= sources
    assert sources - wheel == set()


def test_only_extensions_of_the_packages_are_installed():
    names = {extension.name for extension in setup.extensions()}
    assert {name.partition(".")[0] for name in names} == set(setup.PACKAGES)
    assert {"_wire.structs", "coordinator.front.connection"} <= names


def test_the_newest_entry_of_the_changelog_is_this_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d[^]]*)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert released[0] == coordinator.__version__


def test_the_installed_command_reports_this_version():
    run = subprocess.run(
        [sys.executable, "-m", "coordinator.cli", "--version"], capture_output=True, text=True, check=True, timeout=20
    )
    assert run.stdout.split()[-1] == coordinator.__version__


def test_every_dependency_is_imported():
    """A package that nothing imports is downloaded by every user for nothing."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^dependencies = \[(.*?)^\]", project, re.MULTILINE | re.DOTALL)
    names = re.findall(r'"([\w-]+)', listed)
    assert len(names) > 3
    text = "\n".join(
        path.read_text(encoding="utf-8")
        for package in setup.PACKAGES
        for pattern in ("*.py", "*.pyx")
        for path in (ROOT / package).rglob(pattern)
    )
    modules = {name: {"google-re2": "re2"}.get(name, name.replace("-", "_")) for name in names}
    unused = [name for name in names if not re.search(rf"^\s*(import|from) {modules[name]}\b", text, re.M)]
    assert unused == []


def test_the_same_files_give_the_same_source_archive(tmp_path):
    """Whatever time and permissions the files have, and whoever builds it."""
    archives = []
    for modified, mode in ((1_700_000_000, 0o644), (1_750_000_000, 0o600)):
        folder = tmp_path / str(modified)
        (folder / "package-1").mkdir(parents=True)
        for name in ("b.py", "a.py"):
            file = folder / "package-1" / name
            file.write_text(name)
            file.chmod(mode)
            os.utime(file, (modified, modified))
        code = (
            "import setup; from setuptools import Distribution;"
            "archive = setup.SameSourceArchive(Distribution());"
            "print(archive.make_archive('made/package-1', 'gztar', base_dir='package-1'))"
        )
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=os.environ | {"SOURCE_DATE_EPOCH": "1764000000", "PYTHONPATH": str(ROOT)},
            check=True,
            timeout=60,
        )
        archives.append((folder / "made" / "package-1.tar.gz").read_bytes())
    assert archives[0] == archives[1]
