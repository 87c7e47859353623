"""The logs on real brokers (`access.py`)."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from coordinator.cluster.brokers.backoff import tried
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError, RetriableAnswer
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.log.access import (
    AppendAnswered,
    FetchAnswered,
    Fetched,
    IdentityGiven,
    ProducerIdentity,
    Refused,
    StartAnswered,
)
from coordinator.cluster.log.produce_pipeline import ProducePipeline

TRANSACTION_KEY: Final = 1
"""The type of key that FindCoordinator has for transactional ids."""
TRANSACTION_TIMEOUT_MS: Final = 10_000
"""A transactional id needs one, though nothing is written in transactions."""
INIT_PRODUCER_ID_VERSION_MAX: Final = 4
FETCH_VERSION_MAX: Final = 12
"""The latest version in which topics are named."""
LIST_OFFSETS_VERSION_MAX: Final = 6
EARLIEST: Final = -2
FETCH_WAIT_MS: Final = 500
CLIENT: Final = -1
"""The replica id of who is no replica."""
TRIED_SECONDS: Final = 30
"""For how long something other than an append is tried."""


class BrokerLogAccess:
    """Asks the brokers. Nothing is lost by a failure that may end: what has failed is tried again after a while."""

    def __init__(self, brokers: Brokers, before_sending: Callable[[], None] = lambda: None) -> None:
        """`before_sending` is called before batches leave; what it abandons is not sent."""
        self._brokers = brokers
        self._pipeline = ProducePipeline(brokers, before_sending)
        self._tasks = Tasks()

    def close(self) -> None:
        self._pipeline.close()
        self._tasks.cancel()

    def append(self, topic: str, partition: int, batch: bytes, answered: AppendAnswered) -> None:
        self._pipeline.append(topic, partition, batch, answered)

    def abandon(self, topic: str, partition: int) -> None:
        self._pipeline.abandon(topic, partition)

    def init_producer_id(self, transactional_id: str, answered: IdentityGiven) -> None:
        self._ask(lambda: self._init_producer_id(transactional_id), answered)

    def fetch(self, topic: str, partition: int, offset: int, bytes_max: int, answered: FetchAnswered) -> None:
        self._ask(lambda: self._fetch(topic, partition, offset, bytes_max), answered)

    def log_start_offset(self, topic: str, partition: int, answered: StartAnswered) -> None:
        self._ask(lambda: self._log_start_offset(topic, partition), answered)

    def _ask(self, ask: Callable[[], Coroutine[Any, Any, Any]], answered: Callable[[Any], None]) -> None:
        """Have `answered` called with the result of `ask`, or why the cluster refused it."""
        self._tasks.ask(partial(tried, ask, _refusal, TRIED_SECONDS), answered)

    async def _init_producer_id(self, transactional_id: str) -> ProducerIdentity | Refused:
        coordinator_id = await self._brokers.coordinator_of(transactional_id, TRANSACTION_KEY)
        connection = await self._brokers.connection(coordinator_id)
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
        )
        response = await connection.request(request, INIT_PRODUCER_ID_VERSION_MAX)
        if (refused := _refused(response.error_code)) is not None:
            return refused
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    async def _fetch(self, topic: str, partition: int, offset: int, bytes_max: int) -> Fetched | Refused:
        connection = await self._leader(topic, partition)
        asked = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=bytes_max)
        request = FetchRequest(
            max_wait_ms=FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=bytes_max,
            topics=[FetchTopic(topic=topic, partitions=[asked])],
        )
        response = await connection.request(request, FETCH_VERSION_MAX)
        if (refused := _refused(response.error_code)) is not None:
            return refused
        found = response.responses[0].partitions[0]
        if found.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and offset < found.log_start_offset:
            return await self._fetch(topic, partition, found.log_start_offset, bytes_max)
        self._forget_leader_if_moved(topic, partition, found.error_code)
        if (refused := _refused(found.error_code)) is not None:
            return refused
        return Fetched(bytes(found.records or b""), found.log_start_offset, found.high_watermark)

    async def _log_start_offset(self, topic: str, partition: int) -> int:
        connection = await self._leader(topic, partition)
        asked = ListOffsetsPartition(partition_index=partition, timestamp=EARLIEST)
        request = ListOffsetsRequest(replica_id=CLIENT, topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
        response = await connection.request(request, LIST_OFFSETS_VERSION_MAX)
        found = response.topics[0].partitions[0]
        self._forget_leader_if_moved(topic, partition, found.error_code)
        if found.error_code != ErrorCode.NONE:
            raise RetriableAnswer(ErrorCode(found.error_code))
        return int(found.offset)

    async def _leader(self, topic: str, partition: int) -> BrokerConnection:
        if self._brokers.leader_of(topic, partition) is None:
            await self._brokers.refresh([topic])
        leader = self._brokers.leader_of(topic, partition)
        if leader is None:
            raise RetriableAnswer(ErrorCode.LEADER_NOT_AVAILABLE)
        try:
            return await self._brokers.connection(leader, "fetch")
        except BrokerError:
            self._brokers.forget_leader(topic, partition)
            raise

    def _forget_leader_if_moved(self, topic: str, partition: int, error_code: int) -> None:
        if error_code != ErrorCode.NONE:
            self._brokers.forget_leader(topic, partition)


def _refusal(problem: BrokerError) -> Refused:
    if isinstance(problem, RetriableAnswer):
        return Refused(problem.error, problem.error.name)
    return Refused(ErrorCode.REQUEST_TIMED_OUT, str(problem))


def _refused(error_code: int) -> Refused | None:
    """The error with which a broker refused a request that is not tried again; None if it did what was asked.

    Raises:
        RetriableAnswer: the error may end.
    """
    error = ErrorCode(error_code)
    if error is ErrorCode.NONE:
        return None
    if error.retriable:
        raise RetriableAnswer(error)
    return Refused(error, error.name)
