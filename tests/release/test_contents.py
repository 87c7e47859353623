"""What the release checks of archives find."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from release.contents import (
    IN_A_WHEEL,
    IN_THE_ARCHIVE,
    WrongContents,
    check_source_archive,
    check_wheel,
)


def wheel(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def source_archive(path: Path, names: list[str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(f"package-1/{name}"), io.BytesIO())
    return path


def good(patterns: tuple[str, ...]) -> list[str]:
    return [pattern.replace("*", "x") for pattern in patterns]


def test_what_is_needed_is_enough(tmp_path):
    assert check_wheel(wheel(tmp_path / "a.whl", good(IN_A_WHEEL))) == len(IN_A_WHEEL)
    assert check_source_archive(source_archive(tmp_path / "a.tar.gz", good(IN_THE_ARCHIVE))) == len(IN_THE_ARCHIVE)


@pytest.mark.parametrize("unwanted", ["tests/test_it.py", "_wire/structs.c", "coordinator/__pycache__/a.pyc"])
def test_a_wheel_with_something_else_is_refused(tmp_path, unwanted):
    with pytest.raises(WrongContents, match=f"a.whl has {unwanted}"):
        check_wheel(wheel(tmp_path / "a.whl", [*good(IN_A_WHEEL), unwanted]))


@pytest.mark.parametrize("unwanted", ["_wire/messages/fetch.pyx", "coordinator/wall_time.so", "build/cython/a.c"])
def test_a_source_archive_with_something_else_is_refused(tmp_path, unwanted):
    with pytest.raises(WrongContents, match=f"a.tar.gz has {unwanted}"):
        check_source_archive(source_archive(tmp_path / "a.tar.gz", [*good(IN_THE_ARCHIVE), unwanted]))


def test_all_that_is_missing_is_named(tmp_path):
    with pytest.raises(WrongContents) as raised:
        check_wheel(wheel(tmp_path / "a.whl", good(IN_A_WHEEL)[2:]))
    assert len(str(raised.value).splitlines()) == 2
