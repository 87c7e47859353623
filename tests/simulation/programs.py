"""Clients that are written as programs: generators that yield requests, and are sent the responses."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, TypeVar

from _wire.errors import ErrorCode
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.calls import LOST, Ask, Call

if TYPE_CHECKING:
    from tests.simulation.record_traffic import RecordTraffic

T = TypeVar("T")

Steps = Generator[Ask | None, Any, T]
"""Yields the next request, and is sent its response or LOST; None: it waits for its next step."""

ASKS_AT_ONCE: Final = 8
"""Requests of one step, if each is answered at once."""
TRANSIENT: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""After these a client asks again. The last one is that of a full disk: an exception would fail the history."""


class Program:
    """A client whose `run` is its program. `value` is that of the current step, by which it decides."""

    def __init__(self, harness: "RecordTraffic", name: str) -> None:
        self.harness = harness
        self.name = name
        self.value = 0
        self.call: Call | None = None
        self._steps = self.run()
        self._has_begun = False
        self._response: Any = None

    def run(self) -> Steps[None]:
        """The program, which has no end."""
        raise NotImplementedError

    def step(self, value: int) -> None:
        """Read the response, if there is one, and go on."""
        self.value = value
        for _ in range(ASKS_AT_ONCE):
            if self.call is not None and self.call.response is None:
                return
            ask = self._next()
            if ask is None:
                return
            # If the server dies meanwhile, this is what becomes of the request.
            self._response = LOST
            self.call = self.harness.call(ask, self.name)

    def _next(self) -> Ask | None:
        if self.call is not None:
            self._response, self.call = self.call.response, None
        response, self._response = self._response, None
        if not self._has_begun:
            self._has_begun = True
            return next(self._steps)
        return self._steps.send(response)

    def stop_waiting(self) -> None:
        """The connection breaks, or the client does not wait any longer."""
        if self.call is not None:
            self.call.lose()

    def repeat(self) -> None:
        """Send the request that is under way once more, on another connection; the first one is answered or not."""
        if self.call is not None and self.call.response is None:
            self.call.lose()
            self.call = self.harness.call(self.call.ask, self.name)

    def end(self) -> None:
        """The process ends."""
        self.stop_waiting()
        self._steps.close()

    def ask(self, message: Message, version: int) -> Steps[Any]:
        """The response; LOST if there is none."""
        return (yield Ask(message, version))

    def ask_until_answered(self, message: Message, version: int) -> Steps[Any]:
        """Ask again, a step later, as long as the response is lost or its error is transient."""
        while True:
            response = yield from self.ask(message, version)
            if response is not LOST and ErrorCode(response.error_code) not in TRANSIENT:
                return response
            yield None


def produce_request(
    tp: TopicPartition,
    value: bytes,
    timestamp_ms: int,
    *,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    transactional_id: str | None = None,
    acks: int = -1,
) -> ProduceRequest:
    """A request with one record."""
    records = build_batch(
        [(None, value, ())],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional_id is not None,
    )
    data = [TopicProduceData(name=tp.topic, partition_data=[PartitionProduceData(index=tp.partition, records=records)])]
    return ProduceRequest(transactional_id=transactional_id, acks=acks, topic_data=data)


def produced(response: Any) -> tuple[ErrorCode, int]:
    """Error and base offset of the one partition; UNKNOWN_SERVER_ERROR for a lost response."""
    if response is LOST:
        return ErrorCode.REQUEST_TIMED_OUT, -1
    ((partition,),) = (topic.partition_responses for topic in response.responses)
    return ErrorCode(partition.error_code), partition.base_offset
