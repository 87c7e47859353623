"""Deletes the segments that `retention.ms` and `retention.bytes` no longer keep (LogManager.cleanupLogs).

The topics that Kafka compacts are left alone. Of the audit topic, the last events of each live group are kept.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from coordinator.broker.partitions import Partitions
from coordinator.config.log_keys import LOG_INITIAL_TASK_DELAY_MS, LOG_RETENTION_CHECK_INTERVAL_MS
from coordinator.config.settings import Config
from coordinator.deadlines import deadline_after
from coordinator.internal_topics import AUDIT_TOPIC, INTERNAL_TOPICS, SHARE_STATE_TOPIC
from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.partition.retention import retained_from
from coordinator.log.segments.stored_segments import StoredSegments
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.runtime import slices
from coordinator.timers.timers import Timers

COMPACTED_TOPICS: Final = INTERNAL_TOPICS - {SHARE_STATE_TOPIC}
"""Nothing is deleted of them. Of the states of share groups that is deleted which the share coordinator does not need
any more."""
TURN_SECONDS: Final = 0.002
"""How long the work may take at a time."""
NEXT_TURN_MS: Final = 2
"""The pause between two turns."""


class CheckKey(msgspec.Struct, frozen=True):
    """The timer key of the next check."""


class TurnKey(msgspec.Struct, frozen=True):
    """The timer key of the next turn of work under way."""


class RemovalKey(msgspec.Struct, frozen=True):
    """The timer key of deleted segments: `file.delete.delay.ms` have passed, and their files are to be removed."""

    log: PartitionLog
    segments: int


RetentionRule = Callable[[PartitionLog, int], int]
"""(log, now in ms since the epoch) → the offset before which its segments may be deleted."""


class Retention:
    """Checks all logs from time to time. Long work is done in turns, between which other requests are handled."""

    def __init__(
        self,
        image: MetadataImage,
        partitions: Partitions,
        config: Config,
        timers: Timers,
        *,
        store_start_offsets: Callable[[Callable[[Exception | None], None]], None],
        wall_ms: Callable[[], int],
        audit_retained_from: RetentionRule = retained_from,
    ) -> None:
        """`store_start_offsets` makes the log start offsets durable, then calls back with None, or with what failed.

        `wall_ms` is the time with which those of records and files are compared. `audit_retained_from` is the rule for
        the audit topic; for all others it is `retained_from`.
        """
        self._wall_ms = wall_ms
        self._audit_retained_from = audit_retained_from
        self._store_start_offsets = store_start_offsets
        self._image = image
        self._partitions = partitions
        self._interval_ms = config[LOG_RETENTION_CHECK_INTERVAL_MS]
        self._initial_delay_ms = config[LOG_INITIAL_TASK_DELAY_MS]
        self._timers = timers
        self._work: deque[Iterator[None]] = deque()
        self._has_turn_timer = False

    def start(self, now_ms: int) -> None:
        """Start the timer of the first check."""
        self._timers.start(CheckKey(), now_ms + min(self._interval_ms, self._initial_delay_ms))

    timer_keys = (CheckKey, RemovalKey, TurnKey)

    def due(self, key: object, now_ms: int) -> None:
        """Do what is due if this is one of the timers of retention."""
        match key:
            case CheckKey():
                self._work.append(self._check(now_ms))
            case RemovalKey(log, segments):
                self._work.append(_removal(log, segments))
            case TurnKey():
                self._has_turn_timer = False
            case _:
                return
        self._run_turn(now_ms)

    def _run_turn(self, now_ms: int) -> None:
        if self._has_turn_timer:
            return
        until = slices.seconds() + TURN_SECONDS
        while self._work:
            if next(self._work[0], self) is self:
                self._work.popleft()
            if self._work and slices.seconds() >= until:
                self._has_turn_timer = True
                self._timers.start(TurnKey(), now_ms + NEXT_TURN_MS)
                return

    def _check(self, now_ms: int) -> Iterator[None]:
        """Delete segments of all logs. The next check comes an interval after the end of this one."""
        shrunk: list[PartitionLog] = []
        for topic in list(self._image.topics.values()):
            yield
            if topic.name not in COMPACTED_TOPICS:
                yield from self._check_topic(topic, shrunk)
        if shrunk:
            self._store_start_offsets(partial(self._start_offsets_stored, shrunk, now_ms))
        else:
            self._check_later(now_ms)

    def _check_later(self, now_ms: int) -> None:
        self._timers.start(CheckKey(), deadline_after(now_ms, self._interval_ms))

    def _start_offsets_stored(self, shrunk: list[PartitionLog], now_ms: int, problem: Exception | None) -> None:
        if problem is not None:
            logger.error("cannot store the log start offsets; no segment is deleted", problem=str(problem))
            self._check_later(now_ms)
            return
        self._work.append(self._delete_all(shrunk, now_ms))
        self._timers.start(TurnKey(), now_ms)

    def _delete_all(self, shrunk: list[PartitionLog], now_ms: int) -> Iterator[None]:
        for log in shrunk:
            yield from self._delete_segments(log, now_ms)
        self._check_later(now_ms)

    def _check_topic(self, topic: Topic, shrunk: list[PartitionLog]) -> Iterator[None]:
        config = self._partitions.log_config(topic)
        rule = self._audit_retained_from if topic.name == AUDIT_TOPIC else retained_from
        for partition in range(topic.partitions):
            current = self._image.topics.get(topic.name)
            if current is None or current.topic_id != topic.topic_id:
                return  # deleted meanwhile
            try:
                log = self._log_to_check(topic.name, partition, config)
                if log is not None:
                    log.delete_records_before(rule(log, self._wall_ms()))
                    if log.has_segments_to_delete:
                        shrunk.append(log)
            except OSError as problem:
                _report(f"{topic.name}-{partition}", problem)
            yield

    def _log_to_check(self, topic: str, partition: int, config: LogConfig) -> PartitionLog | None:
        """The log of a partition. One that nobody uses is only opened if segments seem to be due.

        Its records are taken to be as old as their file, because their timestamps are not known.
        """
        if not self._partitions.leads(topic, partition):
            return None
        log = self._partitions.open_log(topic, partition)
        if log is None and is_due(self._partitions.stored_segments(topic, partition), config, self._wall_ms()):
            return self._partitions.get(topic, partition)
        return log

    def _delete_segments(self, log: PartitionLog, now_ms: int) -> Iterator[None]:
        deleted = 0
        try:
            while log.has_segments_to_delete:
                log.delete_oldest_segment()
                deleted += 1
                yield
        except OSError as problem:
            if not self._partitions.is_disk_failure(log, problem):
                _report(log.name, problem)
        if deleted:
            logger.info("deleted segments", log=log.name, segments=deleted, log_start_offset=log.log_start_offset)
            self._timers.start(RemovalKey(log, deleted), deadline_after(now_ms, log.config.file_delete_delay_ms))


def is_due(stored: StoredSegments, config: LogConfig, now_ms: int) -> bool:
    """Whether the oldest segment of a log seems to be too old, or too much."""
    if "delete" not in config.cleanup_policy or stored.size_bytes == 0:
        return False
    is_old = config.retention_ms >= 0 and now_ms - stored.oldest_modified_ms > config.retention_ms
    surplus_bytes = stored.size_bytes - config.retention_bytes
    return is_old or (config.retention_bytes >= 0 and surplus_bytes >= stored.oldest_size_bytes)


def _removal(log: PartitionLog, segments: int) -> Iterator[None]:
    try:
        yield from log.segments.remove_deleted_files(segments)
    except OSError as problem:
        if not log.is_closed:
            _report(log.name, problem)


def _report(log: str, problem: OSError) -> None:
    logger.error("cannot delete the old segments of a log", log=log, problem=str(problem))
