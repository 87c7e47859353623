"""What a start knows of the logs of a directory by its checkpoint files."""

import os

import pytest

from _wire.records import CorruptBatch
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import read_checkpoint
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.files import DiskFileSystem
from coordinator.log.segments.reads import position_of
from tests.captured_logs import capture_logs
from tests.log.batches import everything, filled, values

CONFIG = LogConfig(segment_bytes=1_000)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def test_logs_that_were_not_opened_keep_their_checkpoints(root):
    directory = LogDirectory.open(root)
    filled(directory.open_log("a", 0, CONFIG), 3)
    filled(directory.open_log("b", 7, CONFIG), 4)
    directory.close()
    LogDirectory.open(root).close()
    assert read_checkpoint(DiskFileSystem(), root / "recovery-point-offset-checkpoint") == {("a", 0): 3, ("b", 7): 4}


def test_log_start_offsets_survive(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 9)
    log.log_start_offset = 4
    directory.close()
    assert read_checkpoint(DiskFileSystem(), root / "log-start-offset-checkpoint") == {("topic", 0): 4}
    again = LogDirectory.open(root)
    assert again.open_log("topic", 0, CONFIG).log_start_offset == 4
    again.close()


def test_a_damaged_checkpoint_costs_a_recovery_and_no_records(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    log.delete_records_before(40)
    directory.close()
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint"):
        (root / name).write_bytes((root / name).read_bytes().replace(b"topic 0", b"topic 1"))
    with capture_logs() as lines:
        again = LogDirectory.open(root)
    assert [line["file"].rpartition("/")[2] for line in lines] == [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
    ]
    assert everything(again.open_log("topic", 0, CONFIG)) == [str(offset) for offset in range(50)]
    again.close()


def test_a_log_that_nobody_opened_is_recovered_after_the_clean_stop_that_follows(root):
    """A kill left it with a torn tail; the process after that stops cleanly but never looks at it."""
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    filled(directory.open_log("topic", 1, CONFIG), 1)
    directory.close(clean=False)
    last = max(log.folder.glob("*.log"))
    os.truncate(last, last.stat().st_size - 1)
    for _ in range(2):
        between = LogDirectory.open(root)
        between.open_log("topic", 1, CONFIG)
        between.close()
    again = LogDirectory.open(root)
    assert again.had_clean_shutdown
    assert everything(again.open_log("topic", 0, CONFIG)) == [str(offset) for offset in range(49)]
    again.close()
    assert LogDirectory.open(root).open_log("topic", 0, CONFIG).recovery.scanned_bytes == 0


def test_a_kill_costs_no_more_than_the_write_that_it_interrupted(root):
    """The system still has all that was written before, so whatever else is missing is damage, and is not cut."""
    directory = LogDirectory.open(root, boot_id="first")
    log = filled(directory.open_log("topic", 0, LogConfig()), 50)
    middle = position_of(log.segments[0], 20)
    directory.close(clean=False)
    path = log.folder / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[middle + 66] ^= 1
    path.write_bytes(content[:-1])
    again = LogDirectory.open(root, boot_id="first")
    log = again.open_log("topic", 0, LogConfig())
    assert (log.log_end_offset, log.recovery.truncated_bytes) == (49, 69)
    assert values(log.read(21, 0)) == ["21"]
    with pytest.raises(CorruptBatch, match="offset 20"):
        log.read(20, 0)
    again.close(clean=False)
    later = LogDirectory.open(root, boot_id="second")
    log = later.open_log("topic", 0, LogConfig())
    assert log.log_end_offset == 20, "the power failed: of what was not flushed, only the begin is certain"
    later.close()


def test_a_checkpoint_of_a_deleted_log_is_not_that_of_the_next_one_of_its_name(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    log.delete_records_before(45)
    log.flush()
    directory.write_checkpoints()
    directory.delete_log("topic", 0)
    filled(directory.open_log("topic", 0, CONFIG), 3)
    directory.close(clean=False)
    again = LogDirectory.open(root)
    assert everything(again.open_log("topic", 0, CONFIG)) == ["0", "1", "2"]
    again.close()


def test_a_checkpoint_of_a_log_that_is_gone_is_not_that_of_the_next_one_of_its_name(root):
    """The process was killed after it had deleted the topic and before it wrote the checkpoints again."""
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    log.delete_records_before(45)
    log.flush()
    directory.write_checkpoints()
    directory.delete_log("topic", 0)
    directory.close(clean=False)
    again = LogDirectory.open(root)
    filled(again.open_log("topic", 0, CONFIG), 3)
    again.close(clean=False)
    last = LogDirectory.open(root)
    assert everything(last.open_log("topic", 0, CONFIG)) == ["0", "1", "2"]
    last.close()
