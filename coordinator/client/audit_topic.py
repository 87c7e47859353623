"""Reads the audit topic from any server that has it, with plain Metadata, ListOffsets and Fetch requests."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

import msgspec

from _wire.batch_reader import parse_batch
from _wire.batches import CorruptBatch, batch_headers
from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.audit.schema import (
    AuditEvent,
    CoordinatorEvent,
    ObservedEvent,
    Record,
    decode_coordinator_event,
    decode_event,
    decode_observed,
)
from coordinator.audit.schema.observed import PLACES_MARK, WATCH_BEGUN, WATCHED
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.cluster import EARLIEST, LATEST
from coordinator.client.groups import raise_for_error
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import AUDIT_TOPIC

CLIENT_ID: Final = "coordinator-audit"
ANSWER_SECONDS: Final = 4
"""How long a server may take to answer, so that an unreachable one is reported within five seconds."""

"""Timestamps of ListOffsets that mean the first and the next offset."""

FETCH_BYTES: Final = 16 << 20
PARTITION_BYTES: Final = 4 << 20
FOLLOW_WAIT_MS: Final = 500

NO_KEY: Final = b""
"""What `selects` is asked for a record without a key; and for one of the group without a name."""

Headers = tuple[tuple[str, bytes | None], ...]

Offsets = dict[int, int]
"""Partition → offset."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A record of the topic. `event` is None if it is no event of a group, such as the start of a coordinator.

    An event of a later version, whose kind is unknown here, is an `AuditEvent` without fields of its own.
    """

    partition: int
    offset: int
    group_id: str
    value: bytes
    event: AuditEvent | None
    record: Record
    """Key, value and headers, as they are in the topic."""

    @property
    def coordinator_event(self) -> CoordinatorEvent | None:
        """The event about a coordinator itself, if it is one of a known kind."""
        if self.record[0] is not None:
            return None
        try:
            event: CoordinatorEvent = decode_coordinator_event(self.value)
            return event
        except (msgspec.MsgspecError, ValueError):
            return None

    @property
    def observed(self) -> ObservedEvent | None:
        """The event with its evidence, if `coordinator watch` wrote it; None of an event of a coordinator."""
        return None if self.record[0] is None or _PLACES not in self.value else decode_observed(self.value)

    @property
    def is_position(self) -> bool:
        """Whether it says how far `coordinator watch` has come, and is no event."""
        return self.record[0] is None and self.value.startswith(_POSITION)

    @property
    def is_of_watcher(self) -> bool:
        """Whether it is a position, or says that a watcher has begun to write."""
        return self.is_position or (self.record[0] is None and self.value.startswith(_BEGUN))

    @property
    def time_ms(self) -> int:
        """The wall-clock time of the event; 0 if the value tells none."""
        return self.event.time_ms if self.event is not None else _time_ms(self.value)


_PLACES: Final = PLACES_MARK
_POSITION: Final = b'{"kind":"%s"' % WATCHED.encode()
_BEGUN: Final = b'{"kind":"%s"' % WATCH_BEGUN.encode()

_Envelope = msgspec.defstruct(
    "_Envelope", [(field.name, field.type, field.default) for field in msgspec.structs.fields(AuditEvent)], kw_only=True
)
"""The fields of `AuditEvent`, for an event of any kind."""


class _Timed(msgspec.Struct):
    """The one field that the events of groups and of coordinators have in common here."""

    time_ms: int


_decode_timed = msgspec.json.Decoder(_Timed).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode


def audit_record(
    partition: int, offset: int, key: bytes | None, value: bytes | None, headers: Headers = ()
) -> AuditRecord:
    """Decode a record as far as it can be."""
    group_id = (key or b"").decode(errors="replace")
    event = None if key is None else _event(value or b"")
    return AuditRecord(partition, offset, group_id, value or b"", event, (key, value or b"", headers))


def _event(value: bytes) -> AuditEvent | None:
    try:
        event: AuditEvent = decode_event(value)
        return event
    except (msgspec.MsgspecError, ValueError):
        if _PLACES in value and (observed := decode_observed(value)) is not None:
            return observed.event
        try:
            return AuditEvent(**msgspec.structs.asdict(_decode_envelope(value)))
        except (msgspec.MsgspecError, ValueError):
            return None


def _time_ms(value: bytes) -> int:
    try:
        return _decode_timed(value).time_ms
    except (msgspec.MsgspecError, ValueError):
        return 0


class NoAuditTopic(ClientError):
    """The server answers, but has no audit topic, as Apache Kafka."""


class AuditTopic:
    """A connection to each leader of the topic. Close it by leaving its context."""

    def __init__(self, server: Server, timeout_seconds: float = ANSWER_SECONDS, *, name: str | None = None) -> None:
        """Connect to HOST:PORT and learn where the partitions are. `name`: of another topic with such events.

        Raises:
            ClientError: the server cannot be reached.
            NoAuditTopic: it has no audit topic.
        """
        self._bootstrap = bootstrap_of(server)
        self._timeout_seconds = timeout_seconds
        self._name = AUDIT_TOPIC if name is None else name
        self._connections: dict[str, WireConnection] = {}
        self._topic_id = bytes(16)
        self._leaders: dict[int, str] = {}
        """Partition → address."""
        try:
            self._find_leaders()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()

    @property
    def partitions(self) -> list[int]:
        return sorted(self._leaders)

    def partition_of(self, group_id: str) -> int:
        """The partition that has all events of a group."""
        return partition_for(group_id, len(self._leaders))

    def group_events(self, group_id: str) -> Iterator[AuditRecord]:
        """All records of a group that the topic has, in order, up to the end that it has now."""
        partition = self.partition_of(group_id)
        key = group_id.encode()
        yield from self.records(self.offsets([partition], EARLIEST), lambda found: found == key)

    def events_about(self, group_id: str) -> Iterator[AuditRecord]:
        """As `group_events`, with the events about the coordinator itself that the group's partition has."""
        partition = self.partition_of(group_id)
        key = group_id.encode()
        for record in self.records(self.offsets([partition], EARLIEST), lambda found: found in (key, NO_KEY)):
            if record.record[0] is None or record.group_id == group_id:
                yield record

    def tail(self, count: int, group_id: str | None = None) -> tuple[list[AuditRecord], Offsets]:
        """The last records, of one group or of all, in order of time; and the offsets at which the topic goes on."""
        partitions = self.partitions if group_id is None else [self.partition_of(group_id)]
        ends = self.offsets(partitions, LATEST)
        starts = self.offsets(partitions, EARLIEST)
        if group_id is None:
            starts = {partition: max(starts[partition], ends[partition] - count) for partition in partitions}
        key = None if group_id is None else group_id.encode()
        found = list(self.records(starts, lambda found_key: key is None or found_key == key))
        found.sort(key=lambda record: (record.time_ms, record.partition, record.offset))
        return found[-count:] if count else [], ends

    def records(self, starts: Mapping[int, int], selects: Callable[[bytes], bool]) -> Iterator[AuditRecord]:
        """The records from these offsets on up to the present end of each partition, whose key is wanted."""
        ends = self.offsets(starts, LATEST)
        position = {partition: start for partition, start in starts.items() if start < ends[partition]}
        while position:
            yield from self._fetched(position, selects, 0)
            position = {partition: at for partition, at in position.items() if at < ends[partition]}

    def follow(self, position: Offsets, selects: Callable[[bytes], bool]) -> Iterator[AuditRecord]:
        """The records that are appended from these offsets on; never ends. `position` is kept up to date."""
        while True:
            yield from self._fetched(position, selects, FOLLOW_WAIT_MS)

    def new_records(self, position: Offsets) -> list[AuditRecord]:
        """What there is from these offsets on by now, one Fetch for each leader; `position` is moved past it."""
        return list(self._fetched(position, lambda key: True, 0))

    def offsets(self, partitions: Iterable[int], timestamp: int) -> Offsets:
        """Partition → EARLIEST or LATEST offset."""
        found: Offsets = {}
        for leader, own in self._by_leader(partitions).items():
            selects = [ListOffsetsPartition(partition_index=partition, timestamp=timestamp) for partition in own]
            request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self._name, partitions=selects)])
            for partition in self._connection(leader).send_latest(request).topics[0].partitions:
                raise_for_error(
                    partition.error_code, f"cannot list the offsets of {self._name}-{partition.partition_index}"
                )
                found[partition.partition_index] = partition.offset
        return found

    def _find_leaders(self) -> None:
        topics = [MetadataRequestTopic(name=self._name)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        response = self._connection(self._bootstrap.address).send_latest(request)
        (topic,) = response.topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise NoAuditTopic(f"{self._bootstrap} has no topic {self._name}: it is no coordinator of this project")
        raise_for_error(topic.error_code, f"cannot find the leaders of {self._name}")
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in response.brokers}
        for partition in topic.partitions:
            if partition.leader_id not in addresses:
                raise ClientError(f"{self._name}-{partition.partition_index} has no leader; retry later")
            self._leaders[partition.partition_index] = addresses[partition.leader_id]
        self._topic_id = topic.topic_id
        # The first connection goes on to be used: the address by which it was reached may differ from the advertised.
        if len(addresses) == 1:
            (address,) = addresses.values()
            self._connections.setdefault(address, self._connections[self._bootstrap.address])

    def _connection(self, address: str) -> WireConnection:
        found = self._connections.get(address)
        if found is None:
            server = self._bootstrap.at(address)
            found = self._connections[address] = WireConnection(server, CLIENT_ID, self._timeout_seconds)
        return found

    def _by_leader(self, partitions: Iterable[int]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for partition in partitions:
            found.setdefault(self._leaders[partition], []).append(partition)
        return found

    def _skip_deleted(self, partition: PartitionData, position: Offsets) -> bool:
        """Go on at the start of a partition whose next records the retention has deleted; False if it has not."""
        index = partition.partition_index
        start = self.offsets([index], EARLIEST)[index]
        if start <= position[index]:
            return False
        position[index] = start
        return True

    def _fetched(self, position: Offsets, selects: Callable[[bytes], bool], wait_ms: int) -> Iterator[AuditRecord]:
        """One Fetch per leader; moves `position` past what it read."""
        for leader, own in self._by_leader(list(position)).items():
            request = FetchRequest(
                max_wait_ms=wait_ms,
                min_bytes=1,
                max_bytes=FETCH_BYTES,
                topics=[
                    FetchTopic(
                        topic=self._name,
                        topic_id=self._topic_id,
                        partitions=[
                            FetchPartition(
                                partition=partition,
                                fetch_offset=position[partition],
                                partition_max_bytes=PARTITION_BYTES,
                            )
                            for partition in own
                        ],
                    )
                ],
            )
            response = self._connection(leader).send_latest(request)
            raise_for_error(response.error_code, f"cannot fetch from {self._name}")
            for topic in response.responses:
                for partition in topic.partitions:
                    if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._skip_deleted(
                        partition, position
                    ):
                        continue
                    raise_for_error(partition.error_code, f"cannot fetch from {self._name}-{partition.partition_index}")
                    yield from _parsed(partition.partition_index, partition.records or b"", position, selects)


def _parsed(partition: int, data: bytes, position: Offsets, selects: Callable[[bytes], bool]) -> Iterator[AuditRecord]:
    """The records of complete batches from the position on. The last batch may be cut off."""
    start_at = position[partition]
    try:
        for header in batch_headers(data):
            _, records = parse_batch(data, header.position)
            for record in records:
                if record.offset >= start_at and selects(record.key or NO_KEY):
                    yield audit_record(partition, record.offset, record.key, record.value, record.headers)
            position[partition] = max(position[partition], header.next_offset)
    except CorruptBatch as problem:
        raise ClientError(f"{AUDIT_TOPIC}-{partition} has records that cannot be read: {problem}") from problem
