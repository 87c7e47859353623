"""Appends to partitions of the cluster: one Produce for all that wait for a broker, five of them in flight.

A batch is tried again until the partition's leader has stored it on all replicas that are in sync, or refuses it for
good. It keeps its sequence number, so the leader stores it once (KIP-98).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData
from coordinator.cluster.brokers.backoff import Backoff
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.log.access import AppendAnswered, Appended, Refused
from coordinator.logger import logger

VERSION_MAX: Final = 11
"""The latest version that means the same for batches outside of transactions; topics are named."""
ALL_IN_SYNC: Final = -1
IN_FLIGHT_MAX: Final = 5
"""What brokers remember of a producer's batches, and so what may be sent without an answer."""
REPLICATION_TIMEOUT_MS: Final = 10_000
LOGGED_FROM_TRY: Final = 5


class Waiting(msgspec.Struct, frozen=True):
    """A batch that is not stored yet."""

    topic: str
    partition: int
    batch: bytes
    answered: AppendAnswered
    backoff: Backoff


class ProducePipeline:
    """One batch for each partition at a time."""

    def __init__(self, brokers: Brokers, before_sending: Callable[[], None]) -> None:
        """`before_sending` is called before batches leave; what it abandons is not sent."""
        self._brokers = brokers
        self._before_sending = before_sending
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[tuple[str, int], Waiting] = {}
        """All that was asked for and is not answered."""
        self._ready: dict[tuple[str, int], Waiting] = {}
        """Those of them that are to be sent."""
        self._in_flight: dict[int, int] = {}
        """Broker → requests without an answer."""
        self._flush_is_due = False
        self._tasks = Tasks()
        self._is_refreshing = False

    def append(self, topic: str, partition: int, batch: bytes, answered: AppendAnswered) -> None:
        waiting = Waiting(topic, partition, batch, answered, Backoff())
        assert (topic, partition) not in self._waiting, f"{topic}-{partition} has an append already"
        self._waiting[topic, partition] = waiting
        self._send_soon(waiting)

    def abandon(self, topic: str, partition: int) -> None:
        """Forget the batch of a partition. If it was sent, it may still be stored."""
        self._waiting.pop((topic, partition), None)
        self._ready.pop((topic, partition), None)

    def close(self) -> None:
        self._waiting.clear()
        self._ready.clear()
        self._tasks.cancel()

    # ---- sending

    def _send_soon(self, waiting: Waiting) -> None:
        """At the end of the iteration of the loop, with what others append in it."""
        self._ready[waiting.topic, waiting.partition] = waiting
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_is_due = False
        self._before_sending()
        by_broker: dict[int, list[Waiting]] = {}
        for waiting in self._ready.values():
            leader = self._brokers.leader_of(waiting.topic, waiting.partition)
            if leader is None:
                self._refresh()
            elif self._in_flight.get(leader, 0) < IN_FLIGHT_MAX:
                by_broker.setdefault(leader, []).append(waiting)
        for broker_id, batches in by_broker.items():
            for batch in batches:
                del self._ready[batch.topic, batch.partition]
            self._in_flight[broker_id] = self._in_flight.get(broker_id, 0) + 1
            self._tasks.start(self._send(broker_id, batches))

    async def _send(self, broker_id: int, batches: Sequence[Waiting]) -> None:
        try:
            connection = await self._brokers.connection(broker_id, "produce")
            response = await connection.request(_request(batches), VERSION_MAX)
        except BrokerError as problem:
            self._sent(broker_id)
            for batch in batches:
                self._try_again(batch, str(problem))
            return
        self._sent(broker_id)
        answers = {
            (topic.name, partition_response.index): partition_response
            for topic in response.responses
            for partition_response in topic.partition_responses
        }
        for batch in batches:
            if self._is_requested(batch):
                self._answer(batch, answers.get((batch.topic, batch.partition)))

    def _sent(self, broker_id: int) -> None:
        self._in_flight[broker_id] -= 1
        if self._ready and not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _is_requested(self, waiting: Waiting) -> bool:
        return self._waiting.get((waiting.topic, waiting.partition)) is waiting

    # ---- answers

    def _answer(self, waiting: Waiting, answer: PartitionProduceResponse | None) -> None:
        if answer is None:
            self._try_again(waiting, "the broker did not answer for it")
            return
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.NONE:
            self._end(waiting, Appended(answer.base_offset))
        elif error is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._end(waiting, Appended(-1))
        elif error.retriable:
            self._try_again(waiting, error.name)
        else:
            reason = f": {answer.error_message}" if answer.error_message else ""
            self._end(waiting, Refused(error, f"{error.name}{reason}"))

    def _end(self, waiting: Waiting, result: Appended | Refused) -> None:
        del self._waiting[waiting.topic, waiting.partition]
        waiting.answered(result)

    def _try_again(self, waiting: Waiting, problem: str) -> None:
        if not self._is_requested(waiting):
            return
        tries = waiting.backoff.tries + 1
        if tries % LOGGED_FROM_TRY == 0:
            log = f"{waiting.topic}-{waiting.partition}"
            logger.warning("append not acknowledged; trying again", log=log, problem=problem, tries=tries)
        self._brokers.forget_leader(waiting.topic, waiting.partition)
        self._loop.call_later(waiting.backoff.next_seconds(), self._send_again, waiting)

    def _send_again(self, waiting: Waiting) -> None:
        if self._is_requested(waiting):
            self._send_soon(waiting)

    def _refresh(self) -> None:
        """Ask who leads the partitions whose leader is not known, then send their batches."""
        if not self._is_refreshing:
            self._is_refreshing = True
            self._tasks.start(self._refreshed())

    async def _refreshed(self) -> None:
        unknown = [
            waiting
            for waiting in self._ready.values()
            if self._brokers.leader_of(waiting.topic, waiting.partition) is None
        ]
        problem = "the cluster names no leader"
        try:
            await self._brokers.refresh({waiting.topic for waiting in unknown})
        except BrokerError as failure:
            problem = str(failure)
        self._is_refreshing = False
        for waiting in unknown:
            has_leader = self._brokers.leader_of(waiting.topic, waiting.partition) is not None
            if not has_leader and self._ready.pop((waiting.topic, waiting.partition), None) is not None:
                self._try_again(waiting, problem)
        if self._ready and not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)


def _request(batches: Sequence[Waiting]) -> ProduceRequest:
    by_topic: dict[str, list[Any]] = {}
    for batch in batches:
        by_topic.setdefault(batch.topic, []).append(PartitionProduceData(index=batch.partition, records=batch.batch))
    return ProduceRequest(
        acks=ALL_IN_SYNC,
        timeout_ms=REPLICATION_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in by_topic.items()],
    )
