"""`__consumer_offsets` of any Kafka: where its partitions are, their offsets, and their bytes.

A leader that changes is looked up again, for a bounded time.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Self

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.cluster import EARLIEST, FETCH_VERSION_MAX, LATEST
from coordinator.client.groups import ErrorAnswer, raise_for_error
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.observe.errors import (
    TRANSIENT,
    CannotObserve,
    MayNotReadOffsets,
    NoOffsetsTopic,
    OffsetsUnavailable,
)

CLIENT_ID: Final = "coordinator-observe"
ANSWER_SECONDS: Final = 10
FETCH_BYTES: Final = 16 << 20
"""Of one answer at most; a batch that is larger comes whole (KIP-74)."""
FETCH_BYTES_MIN: Final = 1 << 20
FETCH_SECONDS: Final = (0.5, 2.0)
"""An answer that comes sooner is followed by a larger one, one that comes later by a smaller one: to tell progress."""
ATTEMPTS_MAX: Final = 30
THROTTLED_MAX: Final = 100
"""Answers without anything in a row."""
THROTTLE_SECONDS_MAX: Final = 60
Answers = Iterable[tuple[int, Any]]
"""Partitions, and what their leader answers for each."""

PAUSE_SECONDS: Final = (0.05, 0.1, 0.2, 0.5)
"""Before an attempt again; then as the last one. All together some 14 s."""


class OffsetsTopic:
    """A connection to each leader of the topic that is asked. Close it by leaving its context."""

    def __init__(
        self,
        server: Server,
        *,
        timeout_seconds: float = ANSWER_SECONDS,
        attempts_max: int = ATTEMPTS_MAX,
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect to HOST:PORT and learn where the partitions are.

        Raises:
            NoOffsetsTopic, MayNotReadOffsets: as their names say.
            ClientError: the server cannot be reached, or does not answer.
        """
        self.server = bootstrap_of(server)
        self._timeout_seconds = timeout_seconds
        self._attempts_max = attempts_max
        self._pause = pause
        self._clock = clock
        self._fetch_bytes = FETCH_BYTES_MIN
        self._connections: dict[str, WireConnection] = {}
        self._leaders: dict[int, str] = {}
        """Partition → address. A partition without a leader has none."""
        self.partition_count = 0
        try:
            self.find_leaders()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self.forget_all()

    def partition_of(self, group_id: str) -> int:
        """The partition that has all records of a group."""
        return partition_for(group_id, self.partition_count)

    @property
    def partitions(self) -> range:
        return range(self.partition_count)

    def offsets(self, partitions: Iterable[int], timestamp: int) -> dict[int, int]:
        """Partition → EARLIEST, LATEST (the high watermark), or the first offset at a time in ms; -1: there is none.

        Raises:
            OffsetsUnavailable, MayNotReadOffsets, ClientError: as `fetch`.
        """

        def ask(leader: WireConnection, own: list[int]) -> Answers:
            requested = [ListOffsetsPartition(partition_index=partition, timestamp=timestamp) for partition in own]
            topics = [ListOffsetsTopic(name=OFFSETS_TOPIC, partitions=requested)]
            answer = leader.send_latest(ListOffsetsRequest(replica_id=-1, topics=topics))
            return ((partition.partition_index, partition) for partition in answer.topics[0].partitions)

        return {partition: response.offset for partition, response in self._asked(partitions, ask).items()}

    def ends(self, partition: int) -> tuple[int, int]:
        """The first offset, and the one after the last."""
        return self.offsets([partition], EARLIEST)[partition], self.offsets([partition], LATEST)[partition]

    def fetch(self, partition: int, offset: int, wait_ms: int = 0) -> PartitionData:
        """The batches from an offset on, the last one perhaps cut. Of errors it has OFFSET_OUT_OF_RANGE alone.

        Raises:
            OffsetsUnavailable: no leader has answered for long.
            MayNotReadOffsets: the right to read was taken away.
            ClientError: the server answers with another error.
        """
        request = fetch_request([(partition, offset)], wait_ms, fetch_bytes=self._fetch_bytes)

        def ask(leader: WireConnection, own: list[int]) -> Answers:
            for _ in range(THROTTLED_MAX):
                asked_at = self._clock()
                answer = leader.send_latest(request, FETCH_VERSION_MAX)
                raise_for_error(answer.error_code, f"cannot fetch from {OFFSETS_TOPIC}-{partition}")
                if answer.responses:
                    self._learn_pace(self._clock() - asked_at)
                    return [(partition, answer.responses[0].partitions[0])]
                self.wait_for_quota(answer)
            raise OffsetsUnavailable(partition, "a quota of the cluster does not let it be read")

        found: PartitionData = self._asked([partition], ask)[partition]
        return found

    def _learn_pace(self, seconds: float) -> None:
        soon, late = FETCH_SECONDS
        if seconds < soon:
            self._fetch_bytes = min(FETCH_BYTES, 2 * self._fetch_bytes)
        elif seconds > late:
            self._fetch_bytes = max(FETCH_BYTES_MIN, self._fetch_bytes // 2)

    def find_leaders(self) -> None:
        """Look up the leaders of all partitions. Raises as the constructor."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=OFFSETS_TOPIC)],
            allow_auto_topic_creation=False,
        )
        answer = self.connection(self.server.address).send_latest(request)
        (topic,) = answer.topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise NoOffsetsTopic(self.server)
        if topic.error_code not in TRANSIENT:
            self.raise_for(topic.error_code, f"cannot find the leaders of {OFFSETS_TOPIC}")
        if not topic.partitions:
            raise OffsetsUnavailable(None, "it has no partitions yet")
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
        self.partition_count = len(topic.partitions)
        self._leaders = {
            partition.partition_index: addresses[partition.leader_id]
            for partition in topic.partitions
            if partition.leader_id in addresses
        }
        # A cluster of one broker is reached at the address that was given: the one that it advertises may differ.
        if len(addresses) == 1:
            self._leaders = dict.fromkeys(self._leaders, self.server.address)

    def by_leader(self, partitions: Iterable[int]) -> dict[str, list[int]]:
        """Address of the leader → partitions. Those that have no leader are left out."""
        found: dict[str, list[int]] = {}
        for partition in partitions:
            if partition in self._leaders:
                found.setdefault(self._leaders[partition], []).append(partition)
        return found

    def connection(self, address: str) -> WireConnection:
        found = self._connections.get(address)
        if found is None:
            server = self.server.at(address)
            found = self._connections[address] = WireConnection(server, CLIENT_ID, self._timeout_seconds)
        return found

    def forget(self, address: str) -> None:
        """Close the connection to a server that is in trouble, if there is one."""
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.socket.close()

    def forget_all(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        self._connections = {}

    def raise_for(self, error_code: int, what: str) -> None:
        """Raise what an error of the topic means, if it is one."""
        if error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise MayNotReadOffsets(self.server)
        raise_for_error(error_code, what)

    def wait_for_quota(self, answer: FetchResponse) -> None:
        """Wait as long as an answer without partitions says: a client beyond its quota gets such (KIP-219)."""
        self._pause(min(max(answer.throttle_time_ms / 1_000, PAUSE_SECONDS[0]), THROTTLE_SECONDS_MAX))

    def wait_before(self, attempt: int) -> None:
        """Pause before an attempt, counted from 0, is made again."""
        self._pause(PAUSE_SECONDS[min(attempt, len(PAUSE_SECONDS) - 1)])

    def _asked(self, partitions: Iterable[int], ask: Callable[[WireConnection, list[int]], Answers]) -> dict[int, Any]:
        """The leaders' answers for partitions, each of which has an `error_code`."""
        left, found, why = set(partitions), dict[int, Any](), "it has no leader"
        for attempt in range(self._attempts_max):
            if attempt:
                self.wait_before(attempt - 1)
            asked = ""
            try:
                if attempt:
                    asked = self.server.address
                    self.find_leaders()
                for asked, own in self.by_leader(sorted(left)).items():
                    for partition, answer in ask(self.connection(asked), own):
                        if self._is_settled(partition, answer):
                            found[partition] = answer
                        else:
                            why = ErrorCode(answer.error_code).description
                left -= found.keys()
            except (ErrorAnswer, CannotObserve):
                raise
            except ClientError as problem:  # the broker that leads, or tells who does, went away
                why = str(problem)
                self.forget(asked)
            if not left:
                return found
        raise OffsetsUnavailable(min(left), why)

    def _is_settled(self, partition: int, answer: Any) -> bool:
        """Whether the answer stands; if not, the partition is to be asked again. Raises for other errors."""
        if answer.error_code in TRANSIENT:
            return False
        if answer.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            self.raise_for(answer.error_code, f"cannot read {OFFSETS_TOPIC}-{partition}")
        return True


def fetch_request(
    positions: Iterable[tuple[int, int]],
    wait_ms: int,
    *,
    bytes_min: int = 1,
    partition_bytes: int = FETCH_BYTES,
    fetch_bytes: int = FETCH_BYTES,
) -> FetchRequest:
    """Ask one leader for partitions from these offsets on. It answers when it has `bytes_min`, or after `wait_ms`."""
    requested = [
        FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=partition_bytes)
        for partition, offset in positions
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=bytes_min,
        max_bytes=fetch_bytes,
        topics=[FetchTopic(topic=OFFSETS_TOPIC, partitions=requested)],
    )
