"""Connections to the brokers of a cluster, and what their logs are asked for lag."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Self

from _wire.batch_times import batch_timestamp, placed_batches
from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import WireConnection

EARLIEST: Final = -2
LATEST: Final = -1
"""Timestamps of ListOffsets that mean the first and the next offset."""
FETCH_VERSION_MAX: Final = 12
"""The last version that names topics. From version 13 on they are ids."""
FETCH_BYTES: Final = 1
"""A Fetch answers with the batch at its offset whole, however large it is (KIP-74), and with nothing more."""
MARKERS_BYTES: Final = 16 * 1024
"""Of a Fetch after a marker of a transaction: some 200 of them, as many producers may end theirs."""
FETCHES_MAX: Final = 4
"""Fetches that look for a record after markers."""
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
PARTITIONS_AT_ONCE: Final = 2_000
"""Of one ListOffsets request."""

Partition = tuple[str, int]
"""Topic and partition."""


class FirstRecord(NamedTuple):
    """The first record from an offset on that is no marker of a transaction: its offset, and its timestamp in ms.

    Where there is none (`is_record`), `offset` is the end of the log, or where it was no longer sought. `timestamp_ms`
    is that of its batch, None if it has none.
    """

    offset: int
    timestamp_ms: int | None
    is_record: bool = True


class Cluster:
    """Blocking connections, made when they are needed. Close them by leaving the context."""

    def __init__(self, server: Server, client_id: str, timeout_seconds: float) -> None:
        """Connect to HOST:PORT.

        Raises:
            ClientError: the server cannot be reached. So do all methods, also when it does not answer.
        """
        self._bootstrap = bootstrap_of(server)
        self._client_id = client_id
        self._timeout_seconds = timeout_seconds
        self._addresses: dict[int, str] = {}
        self._connections: dict[str, WireConnection] = {}
        self.hidden_topics: set[str] = set()
        """Those whose leaders were asked for, and that may not be described."""
        self.missing_topics: set[str] = set()
        """Those of the topics whose leaders were asked for last that are not there."""
        self.anyone = WireConnection(server, client_id, timeout_seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        for connection in (self.anyone, *self._connections.values()):
            connection.socket.close()

    @property
    def requests(self) -> int:
        """That were sent to the brokers, without the connections' own."""
        return sum(wire_connection.requests for wire_connection in (self.anyone, *self._connections.values()))

    def brokers(self) -> list[WireConnection]:
        """A connection to each broker."""
        return list(self.brokers_by_id().values())

    def brokers_by_id(self) -> dict[int, WireConnection]:
        """As `brokers`, by the ids of their nodes."""
        self._learn_brokers(self.anyone.send_latest(MetadataRequest(topics=[])))
        return {node_id: self._broker(node_id) for node_id in sorted(self._addresses)}

    def coordinator(self, group_id: str) -> WireConnection:
        return self._connection(coordinator_of(self.anyone, group_id))

    def leaders(self, topics: Iterable[str], *, are_internal: bool = False) -> dict[Partition, int]:
        """The node that leads each partition of these topics, for those that exist and have a leader.

        Topics that `are_internal` are no topics of a group: whether they are hidden or missing is not noted.
        """
        names = [MetadataRequestTopic(name=name) for name in sorted(set(topics))]
        if not are_internal:
            self.missing_topics = set()
        if not names:
            return {}
        response = self.anyone.send_latest(MetadataRequest(topics=names, allow_auto_topic_creation=False))
        self._learn_brokers(response)
        if not are_internal:
            errors = {topic.name: topic.error_code for topic in response.topics}
            self.hidden_topics.update(_with_error(errors, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            self.missing_topics = set(_with_error(errors, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return {
            (topic.name, partition.partition_index): partition.leader_id
            for topic in response.topics
            for partition in topic.partitions
            if partition.leader_id in self._addresses
        }

    def partition_count(self, topic: str) -> int:
        """The partitions of a topic that have a leader; 0 if it does not exist, or nobody may know."""
        return len(self.leaders([topic]))

    def log_end_offsets(
        self, partitions: Iterable[Partition], leaders: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """The log end offsets, as read_uncommitted sees them, of the partitions that have one."""
        return self.offsets_at(partitions, leaders, LATEST)

    def log_start_offsets(
        self, partitions: Iterable[Partition], leaders: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """As `log_end_offsets`, of the first records that are left."""
        return self.offsets_at(partitions, leaders, EARLIEST)

    def last_stable_offsets(
        self, partitions: Iterable[Partition], leaders: Mapping[Partition, int]
    ) -> dict[Partition, int]:
        """As `log_end_offsets`, as read_committed sees them: up to the first transaction that is open (KIP-98)."""
        return self.offsets_at(partitions, leaders, LATEST, READ_COMMITTED)

    def offsets_at(
        self,
        partitions: Iterable[Partition],
        leaders: Mapping[Partition, int],
        timestamp: int,
        isolation_level: int = READ_UNCOMMITTED,
    ) -> dict[Partition, int]:
        """The offsets of ListOffsets for a timestamp: EARLIEST, LATEST, or ms; -1 where no record is as new as that.

        Partitions that cannot be asked are left out.
        """
        found: dict[Partition, int] = {}
        for leader, own in _by_leader(partitions, leaders).items():
            for start in range(0, len(own), PARTITIONS_AT_ONCE):
                part = own[start : start + PARTITIONS_AT_ONCE]
                found.update(_list_offsets(self._broker(leader), part, timestamp, isolation_level))
        return found

    def first_records(
        self, places: Iterable[tuple[Partition, int]], leaders: Mapping[Partition, int]
    ) -> Iterator[tuple[tuple[Partition, int], FirstRecord]]:
        """Partition and offset, and the first record from there on, by the header of its batch.

        Each costs a Fetch of one batch, or a few where the records at the offset have been deleted, or are markers.
        """
        for partition, offset in places:
            if partition in leaders:
                yield (partition, offset), _first_record(self._broker(leaders[partition]), partition, offset)

    def records_from(
        self, partition: Partition, offset: int, leaders: Mapping[Partition, int], bytes_max: int
    ) -> memoryview:
        """Batches from an offset on, the last one perhaps cut; empty if they cannot be read."""
        return _fetch(self._broker(leaders[partition]), partition, offset, bytes_max)[1]

    def _learn_brokers(self, response: object) -> None:
        self._addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in response.brokers}  # type: ignore[attr-defined]

    def _broker(self, node_id: int) -> WireConnection:
        """The one broker of a cluster is reached at the address that was given."""
        return self.anyone if len(self._addresses) == 1 else self._connection(self._addresses[node_id])

    def _connection(self, address: str) -> WireConnection:
        found = self._connections.get(address)
        if found is None:
            server = self._bootstrap.at(address)
            found = self._connections[address] = WireConnection(server, self._client_id, self._timeout_seconds)
        return found


def _with_error(errors: Mapping[str, int], error_code: int) -> Iterator[str]:
    return (name for name, error in errors.items() if error == error_code)


def _by_leader(partitions: Iterable[Partition], leaders: Mapping[Partition, int]) -> dict[int, list[Partition]]:
    found: dict[int, list[Partition]] = {}
    for partition in partitions:
        if partition in leaders:
            found.setdefault(leaders[partition], []).append(partition)
    return found


def _list_offsets(
    connection: WireConnection, partitions: list[Partition], timestamp: int, isolation_level: int = READ_UNCOMMITTED
) -> dict[Partition, int]:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(ListOffsetsPartition(partition_index=index, timestamp=timestamp))
    topics = [ListOffsetsTopic(name=name, partitions=listed) for name, listed in by_topic.items()]
    request = ListOffsetsRequest(replica_id=-1, topics=topics, isolation_level=isolation_level)
    return {
        (topic.name, partition.partition_index): partition.offset
        for topic in connection.send_latest(request).topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE
    }


def _first_record(connection: WireConnection, partition: Partition, offset: int) -> FirstRecord:
    error_code, records = _fetch(connection, partition, offset, FETCH_BYTES)
    if error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        start = _list_offsets(connection, [partition], EARLIEST).get(partition, offset)
        if start > offset:
            offset, (error_code, records) = start, _fetch(connection, partition, start, FETCH_BYTES)
    for _ in range(FETCHES_MAX):
        for placed_batch in placed_batches(records):
            if placed_batch.next_offset <= offset:
                continue  # a broker may answer with batches before the one that has the offset
            if not placed_batch.is_control:
                return FirstRecord(
                    max(placed_batch.base_offset, offset), batch_timestamp(records[placed_batch.position :])
                )
            offset = placed_batch.next_offset
        if not records:
            break
        records = _fetch(connection, partition, offset, MARKERS_BYTES)[1]
    return FirstRecord(offset, None, is_record=False)


def _fetch(connection: WireConnection, partition: Partition, offset: int, bytes_max: int) -> tuple[int, memoryview]:
    """Error code and records."""
    topic, index = partition
    requested = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=bytes_max)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=bytes_max, topics=[FetchTopic(topic=topic, partitions=[requested])]
    )
    response = connection.send_latest(request, FETCH_VERSION_MAX)
    for of_topic in response.responses:
        for fetched in of_topic.partitions:
            return fetched.error_code, memoryview(fetched.records or b"")
    return response.error_code, memoryview(b"")
