"""What nodes have seen, from its topic, as logs that a watcher follows: one for each partition."""

from collections.abc import Callable, Container, Sequence
from time import monotonic
from typing import Final

import msgspec

from coordinator.audit.schema.sighted import (
    LATE_ANSWER_MS,
    AnySighting,
    Beat,
    Left,
    Synced,
    Watches,
    decode_sighting,
)
from coordinator.client.audit_topic import AuditRecord, AuditTopic
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST
from coordinator.internal_topics import SIGHTINGS_TOPIC
from coordinator.logger import logger
from coordinator.observe.group_stream import LoggedStatement
from coordinator.observe.logs.followed import FollowedLog, LogPosition
from coordinator.observe.logs.log_files import FileBegin
from coordinator.observe.logs.statements import Sighted
from coordinator.observe.places import Place, Source

NO_FILE: Final = FileBegin(b"", 0)


def log_name(partition: int) -> str:
    return f"{SIGHTINGS_TOPIC}-{partition}"


def position_at(offset: int) -> LogPosition:
    """Offsets take the place of the numbers of files: each record has one sighting."""
    return LogPosition(offset, NO_FILE, offset, 0)


class SightingTopic:
    """Reads all partitions together."""

    def __init__(self, server: Server, starts: dict[int, int | None], clock: Callable[[], float] = monotonic) -> None:
        """`starts`: from which offset each partition is read; None: from its begin. Raises ClientError."""
        self._topic = AuditTopic(server, name=SIGHTINGS_TOPIC)
        self._clock = clock
        earliest = self._topic.offsets(list(starts), EARLIEST)
        self.positions = {
            partition: earliest[partition] if start is None else max(start, earliest[partition])
            for partition, start in starts.items()
        }
        self._found: dict[int, list[AuditRecord]] = {}
        self._read_at = float("-inf")

    def close(self) -> None:
        self._topic.close()

    def pop(self, partition: int) -> tuple[list[AuditRecord], float | None]:
        """What is new in a partition; and up to when all has been read, if there is nothing. Raises ClientError."""
        if partition not in self._found:
            for listed in self.positions:
                self._found.setdefault(listed, [])
            self._read_at = self._clock()
            for record in self._topic.new_records(self.positions):
                self._found[record.partition].append(record)
        found = self._found.pop(partition)
        return found, None if found else self._read_at


class SightingLog:
    """One partition, as a log."""

    def __init__(self, topic: SightingTopic, partition: int, is_watched: Container[str]) -> None:
        self.name = log_name(partition)
        self.partition: int | None = partition
        self._number = partition
        self._topic = topic
        self._is_watched = is_watched
        self._offset = topic.positions[partition]
        self._order_ms = 0

    @property
    def position(self) -> LogPosition | None:
        return position_at(self._offset)

    def follow(self) -> FollowedLog:
        before = self.position
        records, current_at = self._topic.pop(self._number)
        lines: list[LoggedStatement] = []
        for record in records:
            self._offset = record.offset + 1
            lines += self._lines(record)
        return FollowedLog(lines, before, self.position, current_at, [])

    def _lines(self, record: AuditRecord) -> Sequence[LoggedStatement]:
        try:
            sighting = decode_sighting(record.value)
        except (msgspec.MsgspecError, ValueError):
            logger.warning("what a node saw cannot be read", log=self.name, offset=record.offset)
            return ()
        if not isinstance(sighting, Watches) and sighting.group_id not in self._is_watched:
            return ()
        at_ms = time_of(sighting)
        self._order_ms = max(self._order_ms, at_ms)
        place = Place(Source.NODE, f"node {sighting.node_id}", at_ms)
        statement = Sighted(place=place, group_id=sighting.group_id, sighting=sighting)
        return (LoggedStatement(statement, self.name, (record.offset, 0), self._order_ms),)


def time_of(sighting: AnySighting) -> int:
    """When the request passed, of what is recorded before it is answered.

    A heartbeat is answered when a broker reads it: one that it answers late came while it stood still.
    """
    if isinstance(sighting, Beat) and sighting.at_ms - sighting.asked_ms >= LATE_ANSWER_MS:
        return sighting.at_ms
    return sighting.asked_ms if isinstance(sighting, Beat | Left | Synced) else sighting.at_ms
