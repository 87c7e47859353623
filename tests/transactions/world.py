"""A transaction coordinator and its partitions, without sockets: requests are answered when a test says so."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.describe_transactions import TransactionState as Described
from _wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import batch_headers, build_batch, parse_batch
from coordinator.broker.data.produce import Verified
from coordinator.broker.data.producers import Marker
from coordinator.broker.data.transaction_markers import MarkerWriter
from coordinator.broker.partitions import LEADER_EPOCH
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.operation import Answer, Operation
from coordinator.core.stored import TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions import operations
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.core.transactions.transaction import Transaction
from coordinator.front.pending_requests import PendingRequests
from coordinator.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.metadata.producer_ids import ProducerIds
from coordinator.runtime.delays import Delays
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard
from coordinator.runtime.slices import Steps, at_once
from coordinator.runtime.store import LogStore
from coordinator.timers.clock import VirtualClock
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine
from coordinator.transactions.stream import TransactionStream
from tests.broker.virtual_broker import DATA, VirtualBroker
from tests.model.memory_files import MemoryFileSystem

PARTITIONS: Final = 2
TOPIC: Final = "orders"
SETTINGS: Final = {"transaction.state.log.num.partitions": "2"}
READ_COMMITTED: Final = 1
TIMEOUT_MS: Final = 60_000
EPOCHS_OF_THEIR_OWN: Final = 2
COMMIT_ADDS: Final = 12
"""The first version of Produce that adds its partition to the transaction."""


class Lost:
    """The answer to a request that was in progress when the node was killed."""


LOST: Final = Lost()


class World:
    """One node, which can be killed and started again on its disk.

    What groups would do with markers is only noted: in `offset_markers`, or refused while `groups_error` is set.
    """

    def __init__(self, settings: Mapping[str, str] | None = None, clock: VirtualClock | None = None) -> None:
        self.settings = {**SETTINGS, **(settings or {})}
        self.fs = MemoryFileSystem()
        self.groups_error = ErrorCode.NONE
        self.marker_error: ErrorCode | None = None
        """Why no marker can be written to a data partition; None: they can."""
        self.offset_markers: list[tuple[int, TransactionMarker]] = []
        self._is_requested = False
        self._start()
        self.broker.create_topic(TOPIC, PARTITIONS)
        self.broker.topics.create_internal_topics(self.now_ms())
        self.broker.topics.create_transactions_topic(self.now_ms())
        self._load()

    def now_ms(self) -> int:
        return self.broker.clock.now_ms()

    def _start(self, now_ms: int | None = None) -> None:
        self.broker = broker = VirtualBroker(self.settings, self.fs)
        if now_ms is not None:
            broker.clock.advance(now_ms - broker.clock.now_ms())
            broker.wheel.advance(now_ms)
        config = Config({LOG_DIRS.name: str(DATA)} | self.settings)
        self.pending = PendingRequests()
        self.producer_ids = ProducerIds(broker.metadata_store)
        self.producer_ids.request(self.now_ms())
        self.environment = Environment(
            config,
            broker.metadata_store.image,
            None,  # type: ignore[arg-type]
            lambda: "id",
            addresses=AddressLimits(config),
            producer_ids=self.producer_ids,
        )
        self.writer = MarkerWriter(broker.partitions, broker.producers, broker.notifier, self.now_ms)
        self.delays = Delays(broker.wheel)
        self.markers = MarkerSender(
            self._write_marker,
            self._complete_offsets,
            broker.slices,
            self.delays,
            self.now_ms,
            coordinator_epoch=LEADER_EPOCH,
        )
        self.timers = KeyTimers(broker.wheel, TRANSACTIONS_TOPIC)
        self.coordinator = TransactionCoordinator(
            self._shard,
            self.environment,
            broker.wheel,
            self.timers,
            markers=self.markers,
            requests=self.pending,
            request_iteration=self._request,
        )

    def _shard(self, index: int, request_drain: RequestDrain) -> "Shard[TransactionStateMachine]":
        log = self.broker.partitions.get(TRANSACTIONS_TOPIC, index)
        store = LogStore(TransactionStream(log, LEADER_EPOCH), appended=self.broker.notifier.mark_appended)
        assert self.environment.addresses is not None
        created = self.environment.addresses.transactional_ids
        machine = TransactionStateMachine(self.producer_ids, created, partial(getattr, store, "batch_bytes_max"))
        return Shard(index, machine, store, self.timers, self.pending, request_drain=request_drain, local=store)

    def _load(self) -> None:
        count = self.broker.metadata_store.image.partition_count(TRANSACTIONS_TOPIC)
        if count:
            self.coordinator.start(count, range(count), self.now_ms())
            self.run()

    def restart(self, *, clean: bool = False) -> None:
        """End the node, as by `kill -9` unless `clean`, and start another one on its disk."""
        if clean:
            self.broker.producers.finish()
        self.broker.close(clean=clean)
        self.fs.heal()
        self._start(self.now_ms())
        self._load()

    def _write_marker(self, topic: str, partition: int, marker: Marker) -> Steps[ErrorCode]:
        yield
        if self.marker_error is not None:
            return self.marker_error
        return (yield from self.writer.write_own(topic, partition, marker))

    def _complete_offsets(self, partition: int, marker: TransactionMarker, reply: Callable[[ErrorCode], None]) -> None:
        if self.groups_error is ErrorCode.NONE:
            self.offset_markers.append((partition, marker))
        reply(self.groups_error)

    # ---- time

    def _request(self) -> None:
        self._is_requested = True

    def run(self) -> None:
        """Let the loop turn until nothing is left to do."""
        self._is_requested = True
        while self._is_requested:
            self._is_requested = False
            self.coordinator.drain(self.now_ms())
            self.broker.end_iteration()

    def advance(self, ms: int) -> None:
        """Let time pass: timers are handled at their times, in order."""
        until_ms = self.now_ms() + ms
        while True:
            due_ms = self.broker.wheel.next_deadline_ms()
            now_ms = until_ms if not 0 <= due_ms <= until_ms else max(due_ms, self.now_ms())
            self.broker.clock.advance(now_ms - self.now_ms())
            for key in self.broker.wheel.advance(now_ms):
                self.coordinator.due(key, now_ms)
                self.delays.due(key, now_ms)
                self.broker.producers.due(key, now_ms)
            self.run()
            if now_ms == until_ms:
                return

    # ---- requests

    def ask(self, operation: Operation, transactional_id: str, request: Any, api_version: int = 0) -> Any:
        """The answer; LOST if there is none."""
        answers: list[Any] = []
        context = OperationContext(None, api_version, "", "", self.environment, self.now_ms(), self.now_ms())
        if operation.prepare is not None:
            request = operation.prepare(request, context)
            if isinstance(request, Answer):
                return request.response
        self.coordinator.ask(operation, transactional_id, request, answers.append, api_version)
        self.run()
        return answers[0] if answers else LOST

    def initialize(
        self,
        transactional_id: str = "t",
        *,
        timeout_ms: int = TIMEOUT_MS,
        producer_id: int = -1,
        epoch: int = -1,
        api_version: int = 5,
    ) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        response: InitProducerIdResponse = self.ask(operations.INIT_PRODUCER_ID, transactional_id, request, api_version)
        return response

    def add(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        *partitions: TopicPartition,
        client_version: int = EPOCHS_OF_THEIR_OWN,
        only_verify: bool = False,
    ) -> Any:
        """The error of each partition, of one the error alone."""
        request = PartitionsRequest(
            transactional_id, producer_id, epoch, partitions, client_version, only_verify=only_verify
        )
        errors: PartitionErrors = self.ask(operations.ADD_PARTITIONS, transactional_id, request)
        return errors[partitions[0]] if len(partitions) == 1 and errors is not LOST else errors

    def end(
        self, transactional_id: str, producer_id: int, epoch: int, *, committed: bool, api_version: int = 5
    ) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id=transactional_id, producer_id=producer_id, producer_epoch=epoch, committed=committed
        )
        response: EndTxnResponse = self.ask(operations.END_TXN, transactional_id, request, api_version)
        return response

    def describe(self, transactional_id: str) -> Described:
        described: Described = self.ask(operations.DESCRIBE_TRANSACTIONS, transactional_id, transactional_id)
        return described

    def transaction(self, transactional_id: str) -> Transaction:
        return next(
            shard.machine.transactions[transactional_id]
            for shard in self.coordinator.shards
            if transactional_id in shard.machine.transactions
        )

    # ---- records

    def produce(
        self,
        transactional_id: str | None,
        producer_id: int,
        epoch: int,
        sequence: int,
        *values: bytes,
        partition: int = 0,
        api_version: int = COMMIT_ADDS,
        is_transactional: bool = True,
    ) -> ErrorCode:
        """Append a batch, verified as by the handler of Produce."""
        data = build_batch(
            [(None, value, ()) for value in values or (b"v",)],
            timestamp_ms=self.now_ms(),
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        topics = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=partition, records=data)])]
        request = ProduceRequest(transactional_id=transactional_id, acks=-1, topic_data=topics)
        service = self.broker.produce_service
        verified: dict[tuple[str, int], Verified] = {}
        for each in at_once(service.to_verify(request, api_version, self.now_ms())):
            adds = api_version >= COMMIT_ADDS
            tp = TopicPartition(each.topic, each.partition)
            if each.error is not ErrorCode.NONE:
                verified[tp] = Verified(each.verification, each.error)
                continue
            version = EPOCHS_OF_THEIR_OWN if adds else 0
            error = self.add(
                transactional_id or "", producer_id, epoch, tp, client_version=version, only_verify=not adds
            )
            if error is LOST:
                return ErrorCode.REQUEST_TIMED_OUT
            service.end_verification(each, is_verified=error is ErrorCode.NONE)
            fenced = error is ErrorCode.PRODUCER_FENCED
            verified[tp] = Verified(each.verification, ErrorCode.INVALID_PRODUCER_EPOCH if fenced else error)
        response = at_once(service.produce(request, api_version, self.now_ms(), verified))
        self.run()
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    def fetch(self, partition: int = 0, offset: int = 0, isolation_level: int = READ_COMMITTED) -> Any:
        """The response for the partition."""
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            max_bytes=1 << 20,
            isolation_level=isolation_level,
            session_epoch=-1,
            topics=[FetchTopic(topic=TOPIC, partitions=[wanted])],
        )
        return self.broker.fetch(request).partition

    def visible(self, partition: int = 0) -> list[bytes | None]:
        """The values that a read_committed consumer gets, which leaves out aborted transactions as clients do."""
        values: list[bytes | None] = []
        offset = 0
        while True:
            response = self.fetch(partition, offset)
            assert response.error_code == ErrorCode.NONE, response
            data = bytes(response.records or b"")
            if not data:
                return values
            aborted = sorted(response.aborted_transactions, key=lambda each: -each.first_offset)
            skipped: set[int] = set()
            for header in batch_headers(data):
                while aborted and aborted[-1].first_offset <= header.last_offset:
                    skipped.add(aborted.pop().producer_id)
                batch = data[header.position : header.position + header.size_in_bytes]
                records = parse_batch(batch)[1]
                if header.is_control:
                    if records[0].key == b"\0\0\0\0":
                        skipped.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in skipped):
                    values += [record.value for record in records if record.offset >= offset]
            offset = header.next_offset

    def log(self, partition: int = 0) -> Any:
        return self.broker.partitions.get(TOPIC, partition)


orders: Final = partial(TopicPartition, TOPIC)
offsets: Final = partial(TopicPartition, OFFSETS_TOPIC)
