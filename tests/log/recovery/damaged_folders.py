"""Data folders with one damaged bit: what a server that starts on them serves, and what it says."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

from _wire.errors import MalformedMessage
from _wire.records import build_batch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.coordinator_epoch import next_coordinator_epoch
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.errors import DataDirectoryError, OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.store import MetadataError, MetadataStore
from tests.captured_logs import capture_logs
from tests.log.batches import START_MS
from tests.model.memory_files import MemoryFileSystem

ROOT: Final = Path("/data")
CONFIG: Final = LogConfig(segment_bytes=1_500, index_interval_bytes=250)
BOOT: Final = "the same boot"
TOPICS: Final = {"one": 2, "two": 1}
RECORDS: Final = 36
NO_PART_OF_THE_DATA: Final = (".lock", ".boot-id", ".kafka_cleanshutdown")


class Folder:
    """The files of a data folder."""

    def __init__(self, files: Mapping[Path, bytes]) -> None:
        self.files = dict(files)

    def disk(self) -> MemoryFileSystem:
        disk = MemoryFileSystem()
        for path, content in self.files.items():
            disk.make_directory(path.parent)
            disk.content(path)[:] = content
        return disk

    def positions(self) -> list[tuple[Path, int]]:
        """Each byte that may be damaged."""
        return [(path, at) for path, content in sorted(self.files.items()) for at in range(len(content))]

    def with_flipped(self, path: Path, position: int, bit: int) -> "Folder":
        content = bytearray(self.files[path])
        content[position] ^= 1 << bit
        return Folder({**self.files, path: bytes(content)})


class Start:
    """What a start on a data folder finds. `refused` is the one line of a server that does not start."""

    def __init__(self, folder: Folder) -> None:
        self.refused = ""
        self.served: dict[tuple[str, int], dict[int, bytes | None]] = {}
        """Partition → offset → value; None where reading it is an error. What it does not serve at all is missing."""
        disk = folder.disk()
        with capture_logs() as self.lines:
            try:
                self._read(disk)
            except (DataDirectoryError, MetadataError) as problem:
                self.refused = str(problem)

    def _read(self, disk: MemoryFileSystem) -> None:
        directory = LogDirectory.open(ROOT, fs=disk, boot_id=BOOT)
        store = MetadataStore(directory.open_metadata_log(LogConfig()), _ids())
        self.cluster_id, self.epoch = directory.cluster_id, next_coordinator_epoch(disk, ROOT)
        self.topics = {name: topic.topic_id for name, topic in store.image.topics.items()}
        for key in directory.stored_partitions():
            topic = store.image.topics.get(key[0])
            if topic is not None and directory.belongs_to(*key, topic.topic_id):
                log = directory.open_log(*key, CONFIG)
                self.served[key] = {offset: _value(log, offset) for offset in range(RECORDS)}

    def names(self, path: Path) -> bool:
        """Whether a line, or the reason why it does not start, names the file."""
        wanted = path.name if path.parent == ROOT else f"{path.parent.name}/{path.name}"
        return wanted in self.refused or any(wanted in str(line) for line in self.lines)


def _ids() -> Any:
    numbers = count(1)
    return lambda: (next(numbers) * 0x9E3779B97F4A7C15F39CC0605CEDC834 % 2**128).to_bytes(16, "big")


def _value(log: PartitionLog, offset: int) -> bytes | None:
    try:
        for record in parse_records(log.read(offset, 0)):
            if record.offset == offset:
                return record.value
    except (MalformedMessage, OffsetOutOfRange, OSError):
        pass
    return None


def _append(log: PartitionLog, first: int, last: int) -> None:
    for offset in range(first, last, 2):
        records = [(b"k", b"%s %d" % (log.name.encode(), each), ()) for each in (offset, offset + 1)]
        log.append(bytearray(build_batch(records, timestamp_ms=START_MS + offset * 7 % 31)), 0, START_MS)


def written(*, clean: bool) -> Folder:
    """A folder after a clean stop, or after a kill that came after some flushes. `two` starts above offset 0."""
    disk = MemoryFileSystem()
    directory = LogDirectory.open(ROOT, fs=disk, boot_id=BOOT)
    store = MetadataStore(directory.open_metadata_log(LogConfig()), _ids())
    next_coordinator_epoch(disk, ROOT)
    for name, partitions in TOPICS.items():
        topic = store.create_topic(name, partitions, {"cleanup.policy": "delete"}, START_MS)
        for partition in range(partitions):
            log = directory.open_log(name, partition, CONFIG, topic_id=topic.topic_id)
            _append(log, 0, 20)
            log.flush()
    directory.open_log("two", 0, CONFIG).delete_records_before(4)
    directory.write_checkpoints()
    for log in directory.logs():
        if log.topic in TOPICS:
            _append(log, 20, RECORDS)
    directory.close(clean=clean)
    files = {path: bytes(disk.content(path)) for path in disk.paths()}
    return Folder({path: content for path, content in files.items() if path.name != ".lock"})


def problems(start: Start, whole: Start, path: Path) -> Sequence[str]:
    """What is wrong about a start on a folder in which one bit of a file is flipped."""
    if start.refused:
        may_refuse = path.name == "meta.properties" or path.parent.name == "__cluster_metadata-0"
        return [] if may_refuse and start.names(path) else [f"does not start: {start.refused}"]
    found = []
    if (start.cluster_id, start.topics) != (whole.cluster_id, whole.topics):
        found.append("another cluster or other topics")
    if start.epoch < whole.epoch:
        found.append(f"epoch {start.epoch} after {whole.epoch - 1}")
    for key, values in whole.served.items():
        of_it = start.served.get(key, {})
        wrong = [offset for offset, value in values.items() if of_it.get(offset) not in (value, None)]
        if wrong and not path.name.endswith("-checkpoint"):
            found.append(f"{key} serves something else at {wrong}")
        lost = [offset for offset, value in values.items() if value is not None and of_it.get(offset) is None]
        if lost and not start.names(path):
            found.append(f"{key} lost {lost} silently")
        if lost and path.parent.name != f"{key[0]}-{key[1]}":
            found.append(f"{key} lost {lost}")
        if len(lost) > 2:
            found.append(f"{key} lost more than one batch: {lost}")
        shown = [offset for offset, value in values.items() if value is None and of_it.get(offset) is not None]
        if shown and not start.names(path):
            found.append(f"{key} shows deleted records again, silently: {shown}")
    return found
