"""A broker that moves partitions between three log directories, step by step, on disks in memory that may crash."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from _wire.errors import ErrorCode
from _wire.records import parse_records
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.directories.replica_move import FutureReplica
from coordinator.broker.directories.replica_moves import ReplicaMoves
from coordinator.broker.log_flusher import LogFlusher
from coordinator.config.key import INT64_MAX
from coordinator.config.settings import Config
from coordinator.log import memory_files
from coordinator.log.errors import LogFlushError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.slices import Slices
from coordinator.timers.wheel import TimerWheel
from tests.broker.directories.test_directory_assignment import NOW_MS, A, B, Broker, C
from tests.broker.test_log_flusher import ManualThreads
from tests.log.batches import batch
from tests.log.compaction.crashing_files import CrashingFile, CrashingFiles, Names

SEGMENT_BYTES: Final = 300
"""Four batches of a record."""
ALWAYS: Final = {"log.flush.policy": "always"}


class MovingBroker(Broker):
    """The metadata log is in A. Threads, timers and the event loop go on with each `step`."""

    def __init__(
        self,
        fs: memory_files.MemoryFileSystem,
        settings: Mapping[str, str] | None = None,
        *,
        boot_id: str = "",
        bytes_per_second: int = INT64_MAX,
        paths: tuple[Path, ...] = (A, B, C),
    ) -> None:
        super().__init__(fs, *paths, boot_id=boot_id, on_open=self._opened)
        self.fs = fs
        self.now_ms = NOW_MS
        self.soon: list[Callable[[], None]] = []
        self.wheel = TimerWheel(NOW_MS)
        self.threads = ManualThreads()
        self.failures: list[LogFlushError] = []
        self.cleaning: set[PartitionLog] = set()
        self.slices = Slices(self.soon.append)
        self.notifier = AppendNotifier(lambda: None)
        self.flusher = LogFlusher(
            Config(settings or {}),
            self.directories,
            self.notifier,
            self,
            self.threads,
            on_failure=self.failures.append,
            clock=lambda: self.now_ms,
        )
        self.moves = ReplicaMoves(
            self.image,
            self.directories,
            self.partitions,
            self.assignment,
            self.flusher,
            is_cleaning=self.cleaning.__contains__,
            threads=self.threads,
            slices=self.slices,
            timers=self,
            call_soon=self.soon.append,
            now_ms=lambda: self.now_ms,
            bytes_per_second=bytes_per_second,
        )
        self.store.commit_in(self.threads, self.soon.append, self.failures.append)

    def _opened(self, log: PartitionLog) -> None:
        self.flusher.opened(log)

    # ---- timers

    def start(self, key: object, deadline_ms: int) -> int:
        return self.wheel.start(key, deadline_ms)

    def request_iteration(self) -> None:
        """Each step is one."""

    # ---- time

    def step(self, ms: int = 10, between: Callable[[], None] = lambda: None) -> None:
        """An iteration of the loop. `between` is called after threads have worked, and before that is known."""
        self.now_ms += ms
        for key in self.wheel.advance(self.now_ms):
            self.moves.due(key, self.now_ms)
            self.flusher.due(key, self.now_ms)
        soon, self.soon[:] = list(self.soon), []
        for each in soon:
            each()
        self.flusher.commit(self.now_ms)
        self.threads.work()
        between()
        self.threads.deliver()

    def settle(self, steps: int = 200) -> None:
        """Until nothing is left to do."""
        for _ in range(steps):
            self.step(100)
            if not (self.soon or self.threads.submitted or self.threads.worked or self.moves.is_moving):
                return
        raise AssertionError("the moves do not end")

    # ---- partitions

    def create(self, name: str, partitions: int) -> None:
        super().create(name, partitions)
        self.commit()

    def delete(self, name: str) -> None:
        self.topics.delete([name], self.now_ms)
        self.commit()

    def commit(self) -> None:
        """Until the metadata has its changes."""
        while self.store.is_pending:
            self.step(0)

    def log(self, topic: str = "t", partition: int = 0) -> PartitionLog:
        found = self.partitions.locate(topic, partition)
        assert isinstance(found, PartitionLog), found
        return found

    def put(self, value: str, topic: str = "t", partition: int = 0) -> None:
        log = self.log(topic, partition)
        if log.config.segment_bytes != SEGMENT_BYTES:
            log.configure(replace(log.config, segment_bytes=SEGMENT_BYTES))
        log.append(batch(value), 0, self.now_ms)
        self.notifier.mark_appended(log)

    def alter(self, path: Path | str, topic: str = "t", partition: int = 0) -> ErrorCode:
        return self.moves.alter(topic, partition, str(path))

    def home(self, topic: str = "t", partition: int = 0) -> Path:
        directory = self.partitions.directory_of(topic, partition)
        assert directory is not None
        return directory.root

    def assigned_ids(self, topic: str = "t") -> list[str]:
        return list(self.image.topics[topic].directories)

    def id_of(self, root: Path) -> str:
        (found,) = [key for key, path in self.image.log_directories.items() if path == str(root)]
        return found

    def futures(self, root: Path) -> list[FutureReplica]:
        directory = self.partitions.directory(root)
        return [] if directory is None else list(self.moves.futures_in(directory))

    def folders(self, name: str = "t-0") -> list[str]:
        """Those of a partition, without their unique ids, in all directories."""
        return sorted(
            f"{root}/{name}{each.rpartition('-')[2] if each != name else ''}"
            for root in self.directories.paths
            for each in self.fs.names(root)
            if each == name or each.startswith(f"{name}.")
        )


def values(log: PartitionLog) -> list[str]:
    """All records that are stored, by reading the batches as a load does."""
    return [
        (record.value or b"").decode()
        for _, data in log.batches(log.log_start_offset)
        for record in parse_records(data)
    ]


class CrashingDisks(CrashingFiles):
    """A disk for each log directory: what is flushed on one says nothing of the others.

    A power loss leaves each disk with the names that it had at its last flush of a folder, or at any time since.
    """

    def __init__(self) -> None:
        super().__init__()
        self._histories: dict[str, list[Names]] = {}

    def _note_names(self) -> None:
        for disk in {path.parts[1] for path in self._files} | set(self._histories):
            names = {path: content for path, content in self._files.items() if path.parts[1] == disk}
            history = self._histories.setdefault(disk, [{}])
            if history[-1].keys() != names.keys() or any(history[-1][name] is not names[name] for name in names):
                history.append(names)

    def flush_directory(self, path: Path) -> None:
        self.count()
        self._note_names()
        disk = path.parts[1]
        self._histories[disk] = self._histories[disk][-1:]

    def open(self, path: Path) -> CrashingFile:
        opened = super().open(path)
        assert isinstance(opened, CrashingFile)
        return opened

    def remove_tree(self, path: Path) -> None:
        self.count()
        super().remove_tree(path)
        self._note_names()

    def crashed(self) -> Iterator[tuple[str, "CrashingDisks"]]:
        """What another process may find after a kill, and after a power loss: first and last names of each disk."""
        self._note_names()
        yield "kill", self._after(dict(self._files), is_kept=True)
        chosen = [
            [history[n] for n in sorted({0, len(history) // 2, len(history) - 1})]
            for history in self._histories.values()
        ]
        for number, disks in enumerate(product(*chosen)):
            names = {path: content for disk in disks for path, content in disk.items()}
            for is_kept in (False, True):
                yield f"power {number} {'kept' if is_kept else 'lost'}", self._after(names, is_kept)

    def _after(self, names: Names, is_kept: bool) -> "CrashingDisks":
        copy = CrashingDisks()
        for path, content in names.items():
            held = bytes(content) if is_kept else self.flushed.get(id(content), b"")
            copy._files[path] = bytearray(held)
            copy.flushed[id(copy._files[path])] = held
            copy._directories.update(path.parents)
        copy._directories.update(map(Path, ("/a", "/b", "/c")))
        copy._note_names()
        copy._histories = {disk: history[-1:] for disk, history in copy._histories.items()}
        return copy
