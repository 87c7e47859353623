"""Compacts the logs of topics with `cleanup.policy=compact`, the dirtiest one first (LogCleaner, LogCleanerManager).

One log after the other is cleaned, in a thread, until none is dirty enough; then the next look comes after
`log.cleaner.backoff.ms`. What has to run in the event loop, the choice of the log and the replacement of segments, is
done in turns of 2 ms. Without a thread all of the work is.
"""

from collections.abc import Callable, Generator
from time import monotonic, perf_counter
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

import msgspec

from coordinator.broker.cleaner_thread import CleanerThread, Pace
from coordinator.broker.configs.topic_config_keys import CLEANUP_POLICY
from coordinator.broker.partitions import Partitions
from coordinator.broker.retention import NEXT_TURN_MS, TURN_SECONDS, RemovalKey
from coordinator.config.cleaner_keys import (
    LOG_CLEANER_BACKOFF_MS,
    LOG_CLEANER_DEDUPE_BUFFER_SIZE,
    LOG_CLEANER_ENABLE,
    LOG_CLEANER_IO_BUFFER_LOAD_FACTOR,
    LOG_CLEANER_IO_MAX_BYTES_PER_SECOND,
)
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import PRODUCER_ID_EXPIRATION_MS
from coordinator.deadlines import deadline_after
from coordinator.internal_topics import READ_ONLY_TOPICS
from coordinator.log.compaction.cleanable import CleanableLog, cleanable_log
from coordinator.log.compaction.cleaner import (
    CleanerSettings,
    CleaningAborted,
    CleaningStats,
    Place,
    UncleanableLog,
    clean,
)
from coordinator.log.data_dirs.split_checkpoint import SplitCheckpoint
from coordinator.log.files import FileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.runtime import slices
from coordinator.timers.timers import Timers

RETRY_MS: Final = 300_000
"""How long a log is left alone whose files could not be read or written, or that has a transaction open."""


class CleanKey(msgspec.Struct, frozen=True):
    """The timer key of the next look for dirty logs."""


class CleanTurnKey(msgspec.Struct, frozen=True):
    """The timer key of the next turn of a cleaning under way."""


class CleanerCounts(msgspec.Struct):
    """What the cleaner has done since the start."""

    cleanings: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    uncleanable: int = 0


class LogCleaner:
    """Looks at all logs from time to time, and compacts those that are dirty enough."""

    def __init__(
        self,
        files: FileSystem,
        image: MetadataImage,
        partitions: Partitions,
        config: Config,
        timers: Timers,
        *,
        checkpoint: SplitCheckpoint,
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
        thread: CleanerThread | None = None,
        last_stable_offset: Callable[[PartitionLog], int | None] = lambda log: None,
    ) -> None:
        """`now_ms` is the time of the timers, `wall_ms` that of the records.

        `last_stable_offset` says of a log before which offset all transactions are decided; None: it is not known.

        Then a cleaning finds out; but a log is read in vain if nothing new is decided.
        """
        self.counts = CleanerCounts()
        self._files = files
        self._image = image
        self._partitions = partitions
        self._is_enabled = config[LOG_CLEANER_ENABLE]
        self._config = config
        self._timers = timers
        self._checkpoint = checkpoint
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._thread = thread
        self._last_stable_offset = last_stable_offset
        pace = Pace(
            config[LOG_CLEANER_IO_MAX_BYTES_PER_SECOND], monotonic if thread is not None else lambda: now_ms() / 1000
        )
        config.when_changed(
            [LOG_CLEANER_IO_MAX_BYTES_PER_SECOND], lambda: pace.change(config[LOG_CLEANER_IO_MAX_BYTES_PER_SECOND])
        )
        self._pace = pace
        self._current: PartitionLog | None = None
        self._stats = CleaningStats()
        self._paced_bytes = 0
        self._removals_planned = 0
        self._round: Generator[Place, None, None] | None = None
        self._is_stopped = False
        self._stored: dict[tuple[str, int], int] = {}
        """What the checkpoint says of logs that were not looked at since the start."""
        self._cleaned_to: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()
        self._uncleanable: WeakSet[PartitionLog] = WeakSet()
        self._retry_at_ms: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()
        self._single_segment: set[tuple[bytes, int]] = set()
        """Topic id and partition of logs that nobody has opened, and that have one segment only."""

    def start(self) -> None:
        """Read the checkpoints, and start the timer of the first look."""
        if not self._is_enabled:
            return
        self._stored = self._checkpoint.read()
        self._timers.start(CleanKey(), deadline_after(self._now_ms(), self._backoff_ms))

    timer_keys = (CleanKey, CleanTurnKey)

    def due(self, key: object, now_ms: int) -> None:
        """Do what is due if this is one of the timers of the cleaner."""
        if self._is_stopped:
            return
        match key:
            case CleanKey():
                if self._round is None:
                    self._round = self._clean_dirty_logs()
                    self._run_turn(Place.LOOP)
            case CleanTurnKey():
                self._run_turn(Place.LOOP)

    @property
    def _backoff_ms(self) -> int:
        return max(self._config[LOG_CLEANER_BACKOFF_MS], 1)

    def _settings(self) -> CleanerSettings:
        """What holds for a cleaning that begins now."""
        return CleanerSettings(
            dedupe_buffer_bytes=self._config[LOG_CLEANER_DEDUPE_BUFFER_SIZE],
            load_factor=self._config[LOG_CLEANER_IO_BUFFER_LOAD_FACTOR],
            producer_expiration_ms=self._config[PRODUCER_ID_EXPIRATION_MS],
        )

    def is_cleaning(self, log: PartitionLog) -> bool:
        """Whether files of a log are being written."""
        return self._current is log

    def stop_thread(self) -> None:
        """Take no more work; return when the thread has ended. May be called in another thread than the loop."""
        self._is_stopped = True
        if self._thread is not None:
            self._thread.stop()

    def close(self) -> None:
        """Remove what an interrupted cleaning has left. Call it after `stop_thread`, before the logs are closed."""
        if self._round is not None:
            self._round.close()
            self._round = None

    # ------------------------------------------------------------------------------------------------------------ turns

    def _step(self) -> Place | None:
        try:
            return None if self._round is None else next(self._round, None)
        except Exception:
            logger.exception("unhandled exception in the log cleaner; continuing with the next check")
            return None

    def _pause_seconds(self) -> float:
        more, self._paced_bytes = self._stats.io_bytes - self._paced_bytes, self._stats.io_bytes
        return self._pace.pause_seconds(more) if more > 0 else 0.0

    def _run_turn(self, place: Place | None) -> None:
        """Take steps in the loop, until the thread takes over or the turn has ended."""
        if self._is_stopped:
            return
        until = slices.seconds() + TURN_SECONDS
        pause_ms = NEXT_TURN_MS
        while place is not None:
            self._plan_removals()
            if place is Place.ANYWHERE and self._thread is not None:
                self._thread.run(self._step, self._pause_seconds, self._run_turn)
                return
            pause = self._pause_seconds()
            if slices.seconds() >= until or pause > 0.001:
                pause_ms = max(NEXT_TURN_MS, int(pause * 1000))
                self._timers.start(CleanTurnKey(), deadline_after(self._now_ms(), pause_ms))
                return
            place = self._step()
        self._round = None
        self._timers.start(CleanKey(), deadline_after(self._now_ms(), self._backoff_ms))

    def _plan_removals(self) -> None:
        """Have the files removed, later, of the segments that were replaced since the last call."""
        log, stats = self._current, self._stats
        replaced = stats.segments_before - self._removals_planned
        if log is not None and replaced > 0:
            self._removals_planned = stats.segments_before
            deadline = deadline_after(self._now_ms(), log.config.file_delete_delay_ms)
            self._timers.start(RemovalKey(log, replaced), deadline)

    # --------------------------------------------------------------------------------------------------------- cleaning

    def _clean_dirty_logs(self) -> Generator[Place, None, None]:
        while (target := (yield from self._dirtiest())) is not None:
            yield from self._clean(target)

    def _clean(self, target: CleanableLog) -> Generator[Place, None, None]:
        log, began, now_ms = target.log, perf_counter(), self._now_ms()
        self._current = log
        stats = self._stats = CleaningStats()
        self._paced_bytes = self._removals_planned = 0
        try:
            cleaned_to = yield from clean(self._files, target, self._settings(), stats, self._wall_ms())
        except UncleanableLog as problem:
            self._mark_uncleanable(log, str(problem))
        except CleaningAborted as problem:
            logger.info("compaction of a log aborted", log=log.name, reason=str(problem))
        except (OSError, MemoryError) as problem:
            self._try_later(log, now_ms, problem)
        else:
            self._cleaned(target, cleaned_to, stats, perf_counter() - began)
        self._plan_removals()
        self._current = None

    def _cleaned(self, target: CleanableLog, cleaned_to: int, stats: CleaningStats, seconds: float) -> None:
        log = target.log
        if cleaned_to <= target.first_dirty_offset:
            # A transaction is open, of which `last_stable_offset` does not know.
            self._retry_at_ms[log] = deadline_after(self._now_ms(), RETRY_MS)
            return
        self._cleaned_to[log] = cleaned_to
        self.counts.cleanings += 1
        self.counts.bytes_before += stats.bytes_before
        self.counts.bytes_after += stats.bytes_after
        logger.info(
            "compacted a log",
            log=log.name,
            bytes_before=stats.bytes_before,
            bytes_after=stats.bytes_after,
            records_before=stats.records_read,
            records_after=stats.records_kept,
            segments_before=stats.segments_before,
            segments_after=stats.segments_after,
            keys=stats.keys,
            dirty_from=target.first_dirty_offset,
            clean_to=cleaned_to,
            ms=round(seconds * 1000),
        )
        self._store_checkpoint()

    def _mark_uncleanable(self, log: PartitionLog, problem: str) -> None:
        self._uncleanable.add(log)
        self.counts.uncleanable += 1
        logger.warning("a log cannot be compacted until the next start", log=log.name, problem=problem)

    def _try_later(self, log: PartitionLog, now_ms: int, problem: Exception) -> None:
        if not log.segments:  # closed meanwhile
            return
        self._retry_at_ms[log] = deadline_after(now_ms, RETRY_MS)
        # It may have failed to read, or to write.
        if not self._partitions.is_disk_failure(log, problem, is_read=True):
            logger.error("cannot compact a log; it is tried again later", log=log.name, problem=str(problem))

    def _store_checkpoint(self) -> None:
        cleaned = {(log.topic, log.partition): offset for log, offset in self._cleaned_to.items() if log.segments}
        existing = {key: offset for key, offset in self._stored.items() if self._image.has_partition(*key)}
        try:
            self._checkpoint.write(existing | cleaned)
        except OSError as problem:
            logger.error("cannot store the checkpoint of the log cleaner", problem=str(problem))

    # ----------------------------------------------------------------------------------------------------------- choice

    def _dirtiest(self) -> Generator[Place, None, CleanableLog | None]:
        """Find the log that is cleaned next; None if no log is dirty enough."""
        found: CleanableLog | None = None
        for topic in list(self._image.topics.values()):
            yield Place.LOOP
            if not self._is_compacted(topic):
                continue
            for partition in range(topic.partitions):
                target = self._target(topic, partition)
                if target is not None and (found is None or target.dirty_ratio > found.dirty_ratio):
                    found = target
                yield Place.LOOP
        # It may have been deleted meanwhile.
        if found is None or self._partitions.open_log(found.log.topic, found.log.partition) is not found.log:
            return None
        return self._target_of(found.log)

    def _is_compacted(self, topic: Topic) -> bool:
        # Most topics are not, and to validate all configs of each takes long.
        if topic.name not in READ_ONLY_TOPICS and "compact" not in topic.configs.get(CLEANUP_POLICY.name, ""):
            return False
        return "compact" in self._partitions.log_config(topic).cleanup_policy

    def _target(self, topic: Topic, partition: int) -> CleanableLog | None:
        """What of a partition is to be cleaned, if it is dirty enough."""
        current = self._image.topics.get(topic.name)
        if current is None or current.topic_id != topic.topic_id or not self._partitions.leads(topic.name, partition):
            return None
        try:
            log = self._log_to_look_at(topic, partition)
            return None if log is None else self._target_of(log)
        except OSError as problem:
            logger.error(
                "cannot check whether a log needs compaction", log=f"{topic.name}-{partition}", problem=str(problem)
            )
            return None

    def _target_of(self, log: PartitionLog) -> CleanableLog | None:
        now_ms = self._now_ms()
        if len(log.segments) < 2 or log in self._uncleanable or self._retry_at_ms.get(log, now_ms) > now_ms:
            return None
        if log not in self._cleaned_to and (stored := self._stored.pop((log.topic, log.partition), None)) is not None:
            self._cleaned_to[log] = stored
        stable = self._last_stable_offset(log)
        if stable is None:
            stable = log.log_end_offset
        target = cleanable_log(log, self._cleaned_to.get(log), stable, self._wall_ms())
        return target if target.is_due else None

    def _log_to_look_at(self, topic: Topic, partition: int) -> PartitionLog | None:
        """The log of a partition. One that nobody uses is only opened if it has several segments."""
        log = self._partitions.open_log(topic.name, partition)
        key = (topic.topic_id, partition)
        if log is not None or key in self._single_segment:
            return log
        stored = self._partitions.stored_segments(topic.name, partition)
        if stored.size_bytes > stored.oldest_size_bytes:
            return self._partitions.get(topic.name, partition)
        self._single_segment.add(key)
        return None
