"""Replaces the metadata log by a snapshot of what it says, when it has grown: at a start and while the server runs.

The snapshot is made of a copy of the image, encoded and written in a thread, and takes the place of all records that it
stands for (`log/compaction/rewrite.py`). Changes go on meanwhile, behind it. No fsync is in the event loop.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, Protocol

from coordinator.log.compaction.rewrite import Rewrite
from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.log.files import FileSystem
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import MetadataRecord, encode_record
from coordinator.metadata.store import MetadataStore

SNAPSHOT_FRACTION: Final = 2
"""A snapshot is worth it if the log has so many times its bytes."""

Steps = Generator[None, None, Any]


class Slices(Protocol):
    """Runs steps in the event loop (`runtime/slices.py`)."""

    def start(self, steps: Steps, done: Callable[[Any], None], failed: Callable[[Exception], None]) -> object: ...


class AtOnce:
    """In place of Slices: takes all steps at once."""

    def start(self, steps: Steps, done: Callable[[Any], None], failed: Callable[[Exception], None]) -> None:
        try:
            for _ in steps:
                continue
        except OSError as problem:
            failed(problem)
        else:
            done(None)


class MetadataCompaction:
    """Looks at the size of the metadata log. One snapshot is written at a time."""

    def __init__(
        self,
        store: MetadataStore,
        fs: FileSystem,
        log_bytes_max: int,
        slices: Slices,
        threads: DiskThreads | InLine,
        now_ms: Callable[[], int],
    ) -> None:
        self._store = store
        self._fs = fs
        self._log_bytes_max = log_bytes_max
        self._slices = slices
        self._threads = threads
        self._now_ms = now_ms
        self._is_running = False
        self._not_below_bytes = 0
        """The size of the log below which a snapshot was found to gain too little, or could not be written."""

    def check(self) -> None:
        """Write a snapshot if it is time. To be called after each commit."""
        size_bytes = self._store.log.size_bytes
        if self._is_running or size_bytes <= max(self._log_bytes_max, self._not_below_bytes):
            return
        try:
            rewrite = Rewrite(self._fs, self._store.log)
        except OSError as problem:
            self._failed(problem)
            return
        if not rewrite.has_room:
            self._abandon(rewrite, OSError("its offsets are too far apart"))
            return
        self._is_running = True
        # What it replaces has all changes that were appended, also those that are not committed yet.
        writing = _Writing(rewrite, self._store.latest_image.copy(), self._now_ms())
        self._threads.run([writing.run], partial(self._written, rewrite, writing))

    def _written(self, rewrite: Rewrite, writing: "_Writing", problem: Exception | None) -> None:
        self._not_below_bytes = SNAPSHOT_FRACTION * writing.snapshot_bytes
        if problem is not None or not writing.is_worth_it:
            self._abandon(rewrite, problem)
            return
        self._slices.start(rewrite.finish(), self._ended, self._failed)

    def _ended(self, _: None) -> None:
        self._is_running = False
        logger.info("the metadata log begins with a snapshot now", bytes=self._store.log.size_bytes)

    def _abandon(self, rewrite: Rewrite, problem: Exception | None) -> None:
        self._is_running = False
        try:
            rewrite.abort()
        except OSError as another:
            problem = problem or another
        if problem is not None:
            self._failed(problem)

    def _failed(self, problem: Exception) -> None:
        self._is_running = False
        # Not again with each change: the disk may stay as it is for long.
        self._not_below_bytes = self._store.log.size_bytes + self._log_bytes_max
        logger.error("cannot write a snapshot of the metadata log; it grows", problem=str(problem) or repr(problem))


class _Writing:
    """The work of the thread."""

    def __init__(self, rewrite: Rewrite, image: MetadataImage, now_ms: int) -> None:
        self._rewrite = rewrite
        self._image = image
        self._now_ms = now_ms
        self.snapshot_bytes = 0
        self.is_worth_it = False

    def run(self) -> None:
        """Write the snapshot, if it is worth it.

        Raises:
            OSError: a file cannot be written.
        """
        records: list[MetadataRecord] = list(self._image.snapshot())
        values = [encode_record(record) for record in records]
        self.snapshot_bytes = sum(map(len, values))
        self.is_worth_it = self._rewrite.old_bytes >= SNAPSHOT_FRACTION * self.snapshot_bytes
        if self.is_worth_it:
            self._rewrite.write(values, self._now_ms)
