"""The number of the last start."""

from pathlib import Path

import pytest

from coordinator.log.data_dirs.coordinator_epoch import COORDINATOR_EPOCH, next_coordinator_epoch
from coordinator.log.files import DiskFileSystem
from tests.captured_logs import capture_logs


def next_epoch(root: Path) -> int:
    return next_coordinator_epoch(DiskFileSystem(), root)


def test_the_coordinator_epoch_grows_at_each_call(tmp_path):
    assert [next_epoch(tmp_path), next_epoch(tmp_path), next_epoch(tmp_path)] == [1, 2, 3]


@pytest.mark.parametrize("content", [b"", b"three\n", b"-1\n", b"\xff\x00", b"9" * 17, b"1" * 10_000, b"3 17\n"])
def test_a_damaged_coordinator_epoch_is_counted_on(tmp_path, content):
    path = tmp_path / COORDINATOR_EPOCH
    path.write_bytes(content)
    with capture_logs() as lines:
        epoch = next_epoch(tmp_path)
    assert epoch > 1_700_000_000
    assert [line["file"] for line in lines] == [str(path)]
    assert next_epoch(tmp_path) == epoch + 1


def test_the_coordinator_epoch_of_an_older_version_is_read(tmp_path):
    (tmp_path / COORDINATOR_EPOCH).write_bytes(b"41\n")
    assert next_epoch(tmp_path) == 42
