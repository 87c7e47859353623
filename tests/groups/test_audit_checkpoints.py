"""The file that says where a start reads the audit from: written in one step, and only a hint."""

from pathlib import Path
from typing import Final

import pytest

from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.log.data_dirs.checkpoints import CheckpointFile
from tests.captured_logs import capture_logs
from tests.model.memory_files import MemoryFileSystem

PATH: Final = Path("/data/group-audit-checkpoint")


@pytest.fixture
def disk() -> MemoryFileSystem:
    return MemoryFileSystem()


def opened(disk: MemoryFileSystem) -> AuditCheckpoints:
    return AuditCheckpoints(CheckpointFile(disk, PATH))


def test_what_was_written_is_read_by_the_next_start(disk):
    checkpoints = opened(disk)
    assert checkpoints.offset(0) is None
    assert checkpoints.note(0, 700)
    assert checkpoints.note(12, 5)
    checkpoints.write()
    assert disk.content(PATH).startswith(b"0\n3\n__group_audit 0 700\n__group_audit 12 5\n__checksum 0 ")
    again = opened(disk)
    assert (again.offset(0), again.offset(12), again.offset(1)) == (700, 5, None)


def test_nothing_is_written_while_nothing_changed(disk):
    checkpoints = opened(disk)
    checkpoints.write()
    assert not disk.exists(PATH)
    checkpoints.note(0, 7)
    checkpoints.write()
    disk.is_full = True
    assert not checkpoints.note(0, 7)
    with capture_logs() as logs:
        checkpoints.write()
    assert logs == []


def test_a_disk_that_refuses_costs_nothing_but_the_hint(disk):
    checkpoints = opened(disk)
    checkpoints.note(0, 7)
    checkpoints.write()
    checkpoints.note(0, 8)
    disk.is_full = True
    with capture_logs() as logs:
        checkpoints.write()
    assert [line["log_level"] for line in logs] == ["warning"]
    disk.is_full = False
    assert opened(disk).offset(0) == 7, "the old content is still whole"
    checkpoints.write()
    assert opened(disk).offset(0) == 8, "the next write tries again"


@pytest.mark.parametrize(
    "content", [b"", b"0\n", b"1\n0\n", b"0\n2\n__group_audit 0 7\n", b"0\n1\n__group_audit 0\n", b"\xff\x00"]
)
def test_a_damaged_file_is_taken_as_empty(disk, content):
    disk.content(PATH).extend(content)
    with capture_logs() as logs:
        checkpoints = opened(disk)
    assert checkpoints.offset(0) is None
    assert [line["log_level"] for line in logs] == ["warning"]
    checkpoints.note(0, 3)
    checkpoints.write()
    assert opened(disk).offset(0) == 3


def test_a_file_that_cannot_be_read_is_taken_as_empty(disk):
    disk.content(PATH).extend(b"0\n1\n__group_audit 0 7\n")
    disk.is_unreadable = True
    with capture_logs() as logs:
        assert opened(disk).offset(0) is None
    assert len(logs) == 1
