"""Data folders that earlier releases have written: `tests/upgrade/folders` keeps one of each.

`make upgrade-folder` adds that of the present version, when it is released.
"""

import json
import tarfile
from pathlib import Path
from typing import Final

import pytest

from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.meta_properties import FORMAT_PROPERTY, FORMAT_VERSION, META_PROPERTIES
from coordinator.log.errors import DataDirectoryError
from tests.servers import QUICK_GROUPS, RunningServer
from tests.upgrade.content import differences, fill

FOLDERS: Final = Path(__file__).parent / "folders"
FOREVER: Final = {
    "log.retention.ms": "-1",
    "offsets.retention.minutes": str(2**31 - 1),
    "group.max.session.timeout.ms": "1800000",
}
"""The folders are kept for years."""


def unpacked(archive: Path, folder: Path) -> RunningServer:
    with tarfile.open(archive) as opened:
        opened.extractall(folder)
    return RunningServer(folder, QUICK_GROUPS | FOREVER)


@pytest.mark.parametrize(
    "archive", sorted(FOLDERS.glob("*.tar.xz")), ids=lambda path: path.name.removesuffix(".tar.xz")
)
def test_a_folder_of_an_earlier_release_is_served_and_goes_on(archive: Path, tmp_path: Path):
    with unpacked(archive, tmp_path) as server:
        facts = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))
        assert differences(server.bootstrap, facts) == []
        assert server.stop() == 0
        assert f"{FORMAT_PROPERTY}={FORMAT_VERSION}\n" in (server.data / META_PROPERTIES).read_text(encoding="utf-8")
        server.start()
        assert differences(server.bootstrap, facts) == []


def test_each_release_since_0_2_0_has_a_folder():
    """The newest one is that of CHANGELOG.md."""
    changelog = (FOLDERS.parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = [line.split("]")[0].removeprefix("## [") for line in changelog.splitlines() if line.startswith("## [")]
    releases.remove("Unreleased")
    assert [path.name.removesuffix(".tar.xz") for path in sorted(FOLDERS.glob("*.tar.xz"))] == sorted(releases)


def test_what_is_written_now_is_found_again(tmp_path: Path):
    with RunningServer(tmp_path, QUICK_GROUPS | FOREVER) as server:
        facts = fill(server.bootstrap)
        assert server.stop() == 0
        server.start()
        assert differences(server.bootstrap, facts) == []


def test_a_folder_of_a_newer_format_is_refused_in_one_line(tmp_path: Path):
    LogDirectories.open([tmp_path / "data"]).close()
    path = tmp_path / "data" / META_PROPERTIES
    newer = str(int(FORMAT_VERSION) + 1)
    lines = path.read_text(encoding="utf-8").replace(
        f"{FORMAT_PROPERTY}={FORMAT_VERSION}", f"{FORMAT_PROPERTY}={newer}"
    )
    path.write_text(
        "".join(line for line in lines.splitlines(keepends=True) if "checksum" not in line), encoding="utf-8"
    )
    with pytest.raises(DataDirectoryError) as problem:
        LogDirectories.open([tmp_path / "data"])
    assert f"{FORMAT_PROPERTY} is {newer}, not {FORMAT_VERSION}" in str(problem.value)
    assert "\n" not in str(problem.value)
