"""A repair that is interrupted: what is left can be read, and repaired again."""

from pathlib import Path

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery import repair
from coordinator.log.recovery.damage import Scanned, scan
from coordinator.log.segments.files import base_offsets
from coordinator.log.segments.segment import Segment
from tests.log.batches import filled
from tests.log.compaction.crashing_files import CrashingFile, CrashingFiles
from tests.model.memory_files import ProcessKilled

ROOT = Path("/data")
FOLDER = ROOT / "topic-0"
BATCH_BYTES = 69
BATCHES = 9
DAMAGED = 4
COPY = ROOT / "damaged" / "topic-0" / f"{0:020d}.log.{DAMAGED * BATCH_BYTES}"


def damaged_disk() -> CrashingFiles:
    """A flushed log of one segment, of which one batch in the middle is damaged."""
    disk = CrashingFiles()
    log = filled(PartitionLog.open(disk, ROOT, "topic", 0, LogConfig()), BATCHES)
    log.finish()
    log.close()
    path = FOLDER / f"{0:020d}.log"
    disk.content(path)[DAMAGED * BATCH_BYTES + 66] ^= 1
    file = disk.open(path)
    file.flush()
    disk.flush_directory(FOLDER)
    disk.operations = 0
    return disk


def run(disk: CrashingFiles) -> None:
    repair.repair_log(disk, ROOT, "topic", 0, clean=True, dry_run=False)


def offsets(fs: FileSystem) -> set[int]:
    """The offsets of all whole batches in the folder."""
    found = set()
    for base_offset in base_offsets(fs, FOLDER):
        segment = Segment(fs, FOLDER, base_offset, LogConfig())
        batches = scan(segment, 0, segment.file_size(), base_offset, next_base_offset=1 << 40, may_have_gaps=True)
        found |= {batch.header.base_offset for batch in batches if isinstance(batch, Scanned)}
    return found


def test_a_power_loss_at_any_step_of_a_repair_loses_no_batch():
    whole = set(range(BATCHES)) - {DAMAGED}
    steps = damaged_disk()
    content = bytes(steps.content(FOLDER / f"{0:020d}.log"))
    lost = content[DAMAGED * BATCH_BYTES : (DAMAGED + 1) * BATCH_BYTES]
    run(steps)
    for dies_at in range(steps.operations):
        disk = damaged_disk()
        disk.dies_at = dies_at
        with pytest.raises(ProcessKilled):
            run(disk)
        found = [disk.after_kill()]
        for state in range(disk.states_after_power_loss()):
            found += [disk.after_power_loss(state), disk.after_power_loss(state, writes_are_kept=True)]
        for each in found:
            assert offsets(each) == whole, f"after {dies_at} steps"
            run(each)
            assert offsets(each) == whole
            assert bytes(each.content(COPY)).startswith(lost)
            assert not list(repair.damages_of(each, FOLDER, clean=True))


def test_the_directories_of_a_copy_are_durable_before_the_bytes_are_cut(monkeypatch):
    disk = damaged_disk()
    done: list[str] = []
    flush, truncate = disk.flush_directory, CrashingFile.truncate

    def flush_directory(path: Path) -> None:
        done.append(str(path))
        flush(path)

    def cut(file: CrashingFile, size: int) -> None:
        if size:
            done.append("cut")
        truncate(file, size)

    monkeypatch.setattr(disk, "flush_directory", flush_directory)
    monkeypatch.setattr(CrashingFile, "truncate", cut)
    run(disk)
    assert {str(COPY.parent), str(ROOT / "damaged"), str(ROOT), str(FOLDER)} <= set(done[: done.index("cut")])
