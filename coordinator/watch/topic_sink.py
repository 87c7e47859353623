"""Appends to a topic of a cluster, idempotently: a batch that is sent again is there once.

A watcher that begins fences the one before it, by a transactional id of the topic, though nothing is written in
transactions: it writes to each partition, so that what one that was killed has sent cannot come after the position was
read. Without the right to use the id, the offsets of the answers show whether somebody else writes.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import build_batch
from coordinator.audit.schema import Record
from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.client.groups import ErrorAnswer, raise_for_error
from coordinator.client.wire import ClientError, WireConnection
from coordinator.logger import logger
from coordinator.observe.errors import TRANSIENT
from coordinator.watch.positions import begun_record, now_ms
from coordinator.watch.sink import Fenced, SinkError

CLIENT_ID: Final = "coordinator-watch"
ANSWER_SECONDS: Final = 30
ACKS_OF_ALL: Final = -1
TIMEOUT_MS: Final = 20_000
PRODUCE_VERSION_MAX: Final = 12
"""The last version that names topics."""
COMPRESSION: Final = "lz4"
PAUSE_SECONDS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
UNCERTAIN: Final = frozenset({ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER})
FENCED: Final = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})
TRANSACTION_KEY: Final = 1
"""The type of key that FindCoordinator has for transactional ids."""
TRANSACTION_TIMEOUT_MS: Final = 10_000
INIT_PRODUCER_ID_VERSION_MAX: Final = 4
FIND_COORDINATOR_VERSION_MAX: Final = 3
"""The last version that is asked for one key."""
RETRIED: Final = TRANSIENT | {ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}
NO_OFFSET: Final = -1


class TopicSink:
    """Blocking; what cannot be written now is tried again until it can, or the watcher is stopped."""

    def __init__(
        self, server: Server, name: str, stopped: threading.Event, partitions: Sequence[int] | None = None
    ) -> None:
        """Fence the watcher before. `partitions`: those that are written; None: all. Raises ClientError."""
        self._server = bootstrap_of(server)
        self._name, self._stopped = name, stopped
        self._ends: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._connections: dict[str, WireConnection] = {}
        self._leaders: dict[int, str] = {}
        self._is_away = False
        try:
            self._find_leaders()
            written = list(self._leaders) if partitions is None else list(partitions)
            self._producers = self._make_producers(written)
            self._sequences = dict.fromkeys(written, 0)
            self._begin_to_write(written)
        except BaseException:
            self.close()
            raise

    def _make_producers(self, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Partition → id and epoch of the producer that writes it."""
        producer = self._fenced_producer(f"{CLIENT_ID}-{self._name}")
        return dict.fromkeys(partitions, producer or self._plain_producer())

    def _plain_producer(self) -> tuple[int, int]:
        return self._producer_of(None, self._connection(self._server.address))

    def _begin_to_write(self, partitions: Sequence[int]) -> None:
        self.append({partition: [begun_record(now_ms())] for partition in partitions})

    def begin(self, ends: Mapping[int, int]) -> None:
        """`ends`: the offset after all that was restored, of each partition. Raises SinkError."""
        other = [partition for partition, end in ends.items() if self._ends.get(partition) != end]
        if other:
            raise SinkError(f"somebody else writes to {self._name}-{other[0]}")

    def _fenced_producer(self, transactional_id: str) -> tuple[int, int] | None:
        """The producer of a transactional id; None: there is no right to use it."""
        request = FindCoordinatorRequest(key=transactional_id, key_type=TRANSACTION_KEY)
        answer = self._connection(self._server.address).send_latest(request, FIND_COORDINATOR_VERSION_MAX)
        if answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return None
        raise_for_error(answer.error_code, f"cannot write to {self._name}: no coordinator of {transactional_id}")
        return self._producer_of(transactional_id, self._connection(f"{answer.host}:{answer.port}"))

    def _producer_of(self, transactional_id: str | None, connection: WireConnection) -> tuple[int, int]:
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        answer = connection.send_latest(request, INIT_PRODUCER_ID_VERSION_MAX)
        raise_for_error(answer.error_code, f"cannot write to {self._name}: no producer id")
        return answer.producer_id, answer.producer_epoch

    def close(self) -> None:
        for connection in self._connections.values():
            connection.socket.close()
        self._connections = {}

    def end_offset(self, partition: int) -> int:
        return self._ends[partition]

    def retain(self, partition: int, offset: int) -> None:
        """Its own retention deletes; positions are written again long before that."""

    def append(self, batches: dict[int, list[Record]]) -> None:
        """Raises SinkError, ClientError."""
        left = {partition: self._built(partition, records) for partition, records in batches.items()}
        counts = {partition: len(records) for partition, records in batches.items()}
        attempt = 0
        while left:
            problem = self._send(left, counts)
            if problem is None:
                continue
            if not self._is_away:
                logger.warning("cannot write what was seen; it is tried again", topic=self._name, problem=problem)
                self._is_away = True
            self.close()
            self._leaders = {}
            if self._stopped.wait(PAUSE_SECONDS[min(attempt, len(PAUSE_SECONDS) - 1)]):
                raise SinkError("stopped while the topic could not be written")
            attempt += 1
        if self._is_away:
            logger.info("writes what was seen again", topic=self._name)
            self._is_away = False

    def _built(self, partition: int, records: list[Record]) -> bytes:
        producer_id, producer_epoch = self._producers[partition]
        return build_batch(
            records,
            timestamp_ms=now_ms(),
            compression=COMPRESSION,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=self._sequences[partition],
        )

    def _send(self, left: dict[int, bytes], counts: Mapping[int, int]) -> str | None:
        """Send what is left, and take out of it what is there; return why something is not."""
        problem = None
        try:
            if any(partition not in self._leaders for partition in left):
                self._find_leaders()
            for address in sorted({self._leaders[partition] for partition in left}):
                own = [partition for partition in left if self._leaders[partition] == address]
                data = [PartitionProduceData(index=partition, records=left[partition]) for partition in own]
                topic = TopicProduceData(name=self._name, partition_data=data)
                request = ProduceRequest(acks=ACKS_OF_ALL, timeout_ms=TIMEOUT_MS, topic_data=[topic])
                answer = self._connection(address).send_latest(request, PRODUCE_VERSION_MAX)
                for partition_response in answer.responses[0].partition_responses:
                    problem = (
                        self._appended(
                            partition_response.index,
                            partition_response.error_code,
                            partition_response.base_offset,
                            left,
                            counts,
                        )
                        or problem
                    )
        except ErrorAnswer:
            raise
        except ClientError as lost:
            return str(lost)
        return problem

    def _appended(
        self, partition: int, error: int, base_offset: int, left: dict[int, bytes], counts: Mapping[int, int]
    ) -> str | None:
        if error in RETRIED:
            return f"{self._name}-{partition}: {ErrorCode(error).description}"
        if error in FENCED:
            raise Fenced(f"another watcher has begun to write to {self._name}")
        if error in UNCERTAIN:
            raise SinkError(f"{self._name}-{partition}: {ErrorCode(error).description}")
        if error != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            raise_for_error(error, f"cannot write to {self._name}-{partition}")
        expected = self._offset_of(partition, base_offset)
        self._ends[partition] = expected + counts[partition]
        self._sequences[partition] = (self._sequences[partition] + counts[partition]) % (1 << 31)
        del left[partition]
        return None

    def _offset_of(self, partition: int, base_offset: int) -> int:
        """Where a batch is. Raises Fenced: others write, too."""
        expected = self._ends.get(partition, base_offset)
        if base_offset not in (expected, NO_OFFSET):
            raise Fenced(f"somebody else writes to {self._name}-{partition}, too: at offset {expected}")
        return expected

    def _find_leaders(self) -> None:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=self._name)], allow_auto_topic_creation=False)
        answer = self._connection(self._server.address).send_latest(request)
        (topic,) = answer.topics
        if topic.error_code not in TRANSIENT:
            raise_for_error(topic.error_code, f"cannot find the leaders of {self._name}")
        addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in answer.brokers}
        self._leaders = {
            partition.partition_index: addresses[partition.leader_id]
            for partition in topic.partitions
            if partition.leader_id in addresses
        }
        if len(addresses) == 1:
            self._leaders = dict.fromkeys(self._leaders, self._server.address)
        if len(self._leaders) < len(self._ends):
            raise ClientError(f"some partitions of {self._name} have no leader")

    def _connection(self, address: str) -> WireConnection:
        found = self._connections.get(address)
        if found is None:
            server = self._server.at(address)
            found = self._connections[address] = WireConnection(server, CLIENT_ID, ANSWER_SECONDS)
        return found
