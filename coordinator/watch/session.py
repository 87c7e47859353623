"""Connects a watcher with the Kafka that it watches and the topic that it appends to, again and again until it ends."""

import glob
import os
import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing
from datetime import tzinfo
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from coordinator.client.audit_topic import AuditTopic, NoAuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.wire import ClientError
from coordinator.logger import logger
from coordinator.observe.errors import NoRight, OffsetsUnavailable
from coordinator.observe.logs.client_following import ClientLogFollower
from coordinator.observe.logs.followed import LogPosition
from coordinator.observe.logs.following import LogFollower
from coordinator.observe.logs.log_files import is_rotated
from coordinator.observe.records.following import Followed, OffsetsFollower
from coordinator.observe.records.offsets_topic import OffsetsTopic
from coordinator.observe.topic_ids import TopicIds
from coordinator.watch.polls import GroupPolls
from coordinator.watch.positions import PositionError, Restored
from coordinator.watch.sink import Sink, SinkError, restored
from coordinator.watch.watcher import Counted, Watcher

PAUSE_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
PATTERNS_REMEMBERED: Final = 100_000
UNKNOWN_PARTITIONS: Final = 50
"""Kafka's default of offsets.topic.num.partitions, where the topic may not be described."""


Found = dict[int, tuple[Restored, int | None, int]]
"""What `restored` returns."""


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`groups`: patterns as those of file names; none: all groups. `zone`: None: found out by the clock."""

    server: Bootstrap
    groups: tuple[str, ...] = ()
    log_paths: tuple[str, ...] = ()
    client_paths: tuple[str, ...] = ()
    """Logs of clients."""
    log_format: str = "auto"
    zone: tzinfo | None = None
    poll_seconds: float = 0
    """How often groups are polled; 0: never."""


class MatchingGroups(Container[str]):
    """The groups that patterns match."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._matches = lru_cache(PATTERNS_REMEMBERED)(
            lambda group_id: any(fnmatchcase(group_id, pattern) for pattern in patterns)
        )

    def __contains__(self, group_id: object) -> bool:
        return isinstance(group_id, str) and self._matches(group_id)


class Target(msgspec.Struct):
    """Where is appended to: a topic of a server, and what makes its sink."""

    server: Bootstrap
    topic: str
    make_sink: Callable[[], Sink]


class FollowedRecords:
    """Goes on after leaders were away."""

    def __init__(self, follower: OffsetsFollower, starts: dict[int, int], stopped: threading.Event) -> None:
        self._follower, self._stopped = follower, stopped
        self._positions = starts
        self._iterator = follower.follow(starts)
        self._is_away = False

    @property
    def current_at(self) -> dict[int, float]:
        return self._follower.current_at

    def next(self) -> Followed | None:
        """Raises MayNotReadOffsets, ClientError."""
        try:
            found = next(self._iterator)
        except OffsetsUnavailable as problem:
            if not self._is_away:
                logger.warning("the Kafka that is watched is away; it is tried again", problem=str(problem))
                self._is_away = True
            self._iterator = self._follower.follow(self._positions)
            self._stopped.wait(PAUSE_SECONDS[-1])
            return None
        if self._is_away and found.records:
            logger.info("reads records of groups again")
            self._is_away = False
        self._positions = found.positions
        return found


def partition_count(server: Bootstrap) -> int:
    """The partitions of `__consumer_offsets`; Kafka's default where they may not be known. Raises ClientError."""
    try:
        with OffsetsTopic(server) as topic:
            return topic.partition_count
    except NoRight:
        return UNKNOWN_PARTITIONS


class Session:
    """`run` it in a thread of its own; `stopped` ends it."""

    def __init__(self, options: WatchOptions, stopped: threading.Event) -> None:
        self.options, self.stopped = options, stopped
        self.watcher: Watcher | None = None
        self.polls: GroupPolls | None = None
        self.counted = Counted()
        self.problem = ""
        """Why nothing is watched now."""
        self._already_logged = ""
        self._has_reported_right = False

    def run(self, target: Target, ready: Callable[[], None]) -> None:
        """Watch until it is stopped. `ready` is called when it goes on for the first time.

        Raises:
            PositionError: the topic is none that this version can go on with.
            Fenced: another watcher writes to it.
        """
        attempt = 0
        while not self.stopped.is_set():
            try:
                self._watch(target, ready)
            except (ClientError, SinkError) as found:
                problem = _without_topic(found, target)
                batches = self.watcher.counted.batches if self.watcher is not None else 0
                attempt = 0 if batches else attempt + 1
                self.watcher, self.problem = None, problem
                if self.problem != self._already_logged:
                    logger.warning("cannot watch; it is tried again", problem=self.problem)
                    self._already_logged = self.problem
                self.stopped.wait(PAUSE_SECONDS[min(attempt, len(PAUSE_SECONDS) - 1)])

    def _watch(self, target: Target, ready: Callable[[], None]) -> None:
        with closing(target.make_sink()) as sink:  # from now on nobody else writes
            with AuditTopic(target.server, name=target.topic) as topic:
                count = len(topic.partitions)
                found = restored(topic, topic.partitions)
            sink.begin({partition: end for partition, (_, _, end) in found.items()})
            self._go_on(sink, found, count, ready)

    def _go_on(self, sink: Sink, found: Found, count: int, ready: Callable[[], None]) -> None:
        options = self.options
        matching = MatchingGroups(options.groups) if options.groups else None
        records = self._records(count, matching, found)
        logs = Logs(options, matching, found)
        polls = GroupPolls(options.server, options.poll_seconds, matching) if options.poll_seconds else None
        try:
            if polls is not None:
                polls.start()
            with TopicIds(options.server) as names:
                starts = {} if records is None else records[1]
                following = None if records is None else FollowedRecords(records[0], starts, self.stopped)
                watcher = Watcher(sink, following, [], names, count, starts, logs_to_come=logs, polls=polls)
                watcher.counted = self.counted
                watcher.restore(found)
                self.watcher, self.polls, self.problem = watcher, polls, ""
                if self._already_logged:
                    logger.info("watches again")
                    self._already_logged = ""
                ready()
                watcher.run(self.stopped)
        finally:
            logs.close()
            if polls is not None:
                polls.close()
            if records is not None:
                records[0].close()

    def _records(
        self, count: int, matching: Container[str] | None, found: Found
    ) -> tuple[OffsetsFollower, dict[int, int]] | None:
        """What follows the records, and from where; None: there is no right to read them."""
        try:
            follower = OffsetsFollower(self.options.server, groups=matching)
            starts = follower.starts()
        except NoRight as problem:
            if not self._has_reported_right:
                logger.warning("records of groups may not be read: logs and polls are watched", problem=str(problem))
                self._has_reported_right = True
            return None
        if len(starts) != count:
            follower.close()
            raise PositionError(
                f"the topic that is written has {count} partitions, and that of the records has {len(starts)}:"
                " they must be as many"
            )
        for partition, (restored_of, _, _) in found.items():
            if restored_of.position is not None and restored_of.position.records >= 0:
                starts[partition] = restored_of.position.records
        return follower, starts


def _without_topic(problem: Exception, target: Target) -> str:
    if isinstance(problem, NoAuditTopic):
        return f"{target.server} has no topic {target.topic}: create it, with as many partitions as __consumer_offsets"
    return str(problem)


class Logs:
    """The logs that paths name: files, folders and patterns, also those that come later."""

    def __init__(
        self,
        options: WatchOptions,
        matching: Container[str] | None,
        found: Found,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._options, self._matching = options, matching
        self._starts = _first_positions(found)
        self._followers: dict[str, LogFollower] = {}

    def new(self) -> Iterator[LogFollower]:
        """Those that were not there before."""
        options = self._options
        for make, paths in ((LogFollower, options.log_paths), (ClientLogFollower, options.client_paths)):
            for path in sorted({path for given in paths for path in _named(given)}):
                if str(path) not in self._followers:
                    yield self._follower(make, path)

    def _follower(self, make: type[LogFollower], path: Path) -> LogFollower:
        matching = self._matching
        found = self._followers[str(path)] = make(
            path,
            self._starts.get(str(path)),
            log_format=self._options.log_format,
            zone=self._options.zone,
            is_requested=(lambda _: True) if matching is None else matching.__contains__,
            clock=self._clock,
        )
        return found

    def close(self) -> None:
        for follower in self._followers.values():
            follower.close()


def _named(path: str) -> Iterator[Path]:
    """The logs of a path, without the older parts of any."""
    plain = Path(os.path.abspath(path))
    if plain.is_dir():
        paths = sorted(file for file in plain.rglob("*") if file.is_file())
    elif plain.exists() or not glob.has_magic(path):
        yield plain
        return
    else:
        paths = sorted(Path(os.path.abspath(name)) for name in glob.glob(path, recursive=True))
    names = {str(file) for file in paths}
    for file in paths:
        if not any(other != str(file) and _is_part(str(file), other) for other in names):
            yield file


def _is_part(path: str, log: str) -> bool:
    return os.path.dirname(path) == os.path.dirname(log) and is_rotated(os.path.basename(path), os.path.basename(log))


def _first_positions(found: Found) -> dict[str, LogPosition]:
    """Where each log is read on, so that each partition gets all that it has not told.

    A log that a partition has no position of is read from its begin: it had not got there.
    """
    positions = [restored.position for restored, _, _ in found.values() if restored.position is not None]
    if len(positions) < len(found):
        return {}
    first: dict[str, LogPosition] = {}
    for log in set.intersection(*(set(position.logs) for position in positions)) if positions else ():
        first[log] = min(
            (position.logs[log] for position in positions),
            key=lambda log_position: (log_position.mark, log_position.offset),
        )
    return first
