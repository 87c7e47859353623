"""Appends to several partitions of a cluster: what shares a request, what is tried again, and what is refused."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.log.access import Appended, Refused
from coordinator.cluster.log.produce_pipeline import IN_FLIGHT_MAX, ProducePipeline

SECONDS = 10
TOPIC = "t"


class FakeBrokers:
    """Brokers whose requests a test answers. Partition n is led by broker n % 2, unless it was moved."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[tuple[int, ProduceRequest, asyncio.Future[ProduceResponse]]] = asyncio.Queue()
        self.leaders: dict[int, int | None] = {}
        self.known: dict[int, int | None] = {}
        self.refreshed = 0

    def leader_of(self, topic: str, partition: int) -> int | None:
        return self.known.get(partition)

    def forget_leader(self, topic: str, partition: int) -> None:
        self.known.pop(partition, None)

    async def refresh(self, topics: Iterable[str]) -> None:
        self.refreshed += 1
        self.known = {partition: self.leaders.get(partition, partition % 2) for partition in range(20)}

    async def connection(self, broker_id: int, purpose: str) -> Any:
        brokers = self

        class Connection:
            async def request(self, message: ProduceRequest, version_max: int) -> ProduceResponse:
                answered: asyncio.Future[ProduceResponse] = asyncio.get_running_loop().create_future()
                brokers.requests.put_nowait((broker_id, message, answered))
                return await answered

        return Connection()


def partitions_of(request: ProduceRequest) -> list[int]:
    return [each.index for topic in request.topic_data for each in topic.partition_data]


def response(request: ProduceRequest, error: ErrorCode = ErrorCode.NONE, base_offset: int = 7) -> ProduceResponse:
    answers = [
        PartitionProduceResponse(index=index, error_code=error, base_offset=base_offset)
        for index in partitions_of(request)
    ]
    return ProduceResponse(responses=[TopicProduceResponse(name=TOPIC, partition_responses=answers)])


class Stage:
    """A pipeline, and the answers that it gave."""

    def __init__(self) -> None:
        self.brokers = FakeBrokers()
        self.before: list[Callable[[], None]] = []
        self.pipeline = ProducePipeline(self.brokers, self._before_sending)  # type: ignore[arg-type]
        self.answers: dict[int, Appended | Refused] = {}

    def _before_sending(self) -> None:
        for act in self.before:
            act()

    def append(self, *partitions: int) -> None:
        for partition in partitions:
            self.pipeline.append(TOPIC, partition, b"batch", partial(self._answered, partition))

    def _answered(self, partition: int, answer: Appended | Refused) -> None:
        assert partition not in self.answers
        self.answers[partition] = answer

    async def answered(self, partition: int) -> Appended | Refused:
        while partition not in self.answers:
            await asyncio.sleep(0)
        return self.answers[partition]


def play(act: Callable[[Stage], Awaitable[None]]) -> None:
    async def run() -> None:
        stage = Stage()
        async with asyncio.timeout(SECONDS):
            await act(stage)
        stage.pipeline.close()

    asyncio.run(run())


def test_all_partitions_of_a_broker_share_a_request() -> None:
    async def act(stage: Stage) -> None:
        stage.append(0, 1, 2, 3)
        sent = [await stage.brokers.requests.get() for _ in range(2)]
        assert sorted((broker, partitions_of(request)) for broker, request, _ in sent) == [(0, [0, 2]), (1, [1, 3])]
        assert all(request.acks == -1 for _, request, _ in sent)
        for _, request, answered in sent:
            answered.set_result(response(request))
        assert [await stage.answered(partition) for partition in range(4)] == [Appended(7)] * 4

    play(act)


def test_at_most_five_requests_are_in_flight_to_a_broker() -> None:
    async def act(stage: Stage) -> None:
        await stage.brokers.refresh([TOPIC])
        for partition in range(0, 16, 2):
            stage.append(partition)
            for _ in range(5):
                await asyncio.sleep(0)
        assert stage.brokers.requests.qsize() == IN_FLIGHT_MAX
        _, request, answered = stage.brokers.requests.get_nowait()
        answered.set_result(response(request))
        while stage.brokers.requests.qsize() < IN_FLIGHT_MAX:
            await asyncio.sleep(0)
        *_, (_, last, _) = [stage.brokers.requests.get_nowait() for _ in range(IN_FLIGHT_MAX)]
        assert partitions_of(last) == [10, 12, 14], "what waited shares the next request"

    play(act)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ],
)
def test_an_error_that_may_end_is_tried_again_with_the_same_batch(error: ErrorCode) -> None:
    async def act(stage: Stage) -> None:
        stage.append(1)
        _, request, answered = await stage.brokers.requests.get()
        stage.brokers.leaders[1] = 0
        answered.set_result(response(request, error))
        broker, again, answered = await stage.brokers.requests.get()
        assert broker == 0, "its leader was looked up again"
        assert again.topic_data[0].partition_data[0].records == b"batch"
        answered.set_result(response(again))
        assert await stage.answered(1) == Appended(7)

    play(act)


def test_a_lost_connection_is_tried_again() -> None:
    async def act(stage: Stage) -> None:
        stage.append(1)
        _, _, answered = await stage.brokers.requests.get()
        answered.set_exception(BrokerError("gone"))
        _, again, answered = await stage.brokers.requests.get()
        answered.set_result(response(again, ErrorCode.DUPLICATE_SEQUENCE_NUMBER))
        assert await stage.answered(1) == Appended(-1), "an earlier try has stored it"

    play(act)


@pytest.mark.parametrize(
    "error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.MESSAGE_TOO_LARGE]
)
def test_an_error_that_stays_is_the_answer(error: ErrorCode) -> None:
    async def act(stage: Stage) -> None:
        stage.append(1)
        _, request, answered = await stage.brokers.requests.get()
        answered.set_result(response(request, error))
        refused = await stage.answered(1)
        assert isinstance(refused, Refused)
        assert refused.error is error
        assert refused.is_fenced is (error is ErrorCode.INVALID_PRODUCER_EPOCH)

    play(act)


def test_what_is_abandoned_is_neither_sent_again_nor_answered() -> None:
    async def act(stage: Stage) -> None:
        stage.append(1)
        _, request, answered = await stage.brokers.requests.get()
        stage.pipeline.abandon(TOPIC, 1)
        answered.set_result(response(request))
        stage.append(3)
        _, request, answered = await stage.brokers.requests.get()
        assert partitions_of(request) == [3]
        answered.set_result(response(request))
        await stage.answered(3)
        assert 1 not in stage.answers

    play(act)


def test_what_is_abandoned_before_batches_leave_is_not_sent() -> None:
    async def act(stage: Stage) -> None:
        await stage.brokers.refresh([TOPIC])
        stage.before.append(lambda: stage.pipeline.abandon(TOPIC, 1))
        stage.append(1, 3)
        _, request, _ = await stage.brokers.requests.get()
        assert partitions_of(request) == [3]

    play(act)


def test_a_partition_without_a_leader_waits_for_one() -> None:
    async def act(stage: Stage) -> None:
        stage.brokers.leaders[1] = None
        stage.append(1)
        while stage.brokers.refreshed < 3:
            await asyncio.sleep(0.005)
        stage.brokers.leaders[1] = 1
        _, request, answered = await stage.brokers.requests.get()
        answered.set_result(response(request))
        assert await stage.answered(1) == Appended(7)

    play(act)


def test_a_response_without_the_partition_is_no_answer_for_it() -> None:
    async def act(stage: Stage) -> None:
        stage.append(1)
        _, _, answered = await stage.brokers.requests.get()
        answered.set_result(ProduceResponse())
        _, again, answered = await stage.brokers.requests.get()
        answered.set_result(response(again))
        assert await stage.answered(1) == Appended(7)

    play(act)
