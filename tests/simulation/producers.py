"""Producers without transactions: idempotent ones, which repeat and reorder their batches, and those without an id."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from _wire.errors import ErrorCode
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.produce import ProduceRequest
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.calls import LOST
from tests.simulation.consumers import PARTITIONS
from tests.simulation.programs import TRANSIENT, Program, Steps, produce_request, produced

if TYPE_CHECKING:
    from tests.simulation.record_traffic import RecordTraffic

REMEMBERED: Final = 5
"""Batches of a producer that a partition remembers, as Kafka does: one of them that comes again is not appended."""
VERSION: Final = 9
INPUTS: Final = tuple(TopicPartition(topic, index) for topic, count in PARTITIONS.items() for index in range(count))


class Sent(NamedTuple):
    """A batch that was acknowledged at an offset."""

    request: ProduceRequest
    offset: int
    start: int
    """The number of the start of the server that acknowledged it."""


class IdempotentProducer(Program):
    """Appends each record once, whatever becomes of its requests."""

    def __init__(self, harness: "RecordTraffic", name: str, partition: int) -> None:
        self.tp = INPUTS[partition % len(INPUTS)]
        super().__init__(harness, name)

    def run(self) -> Steps[None]:
        while True:
            response = yield from self.ask_until_answered(InitProducerIdRequest(transactional_id=None), 4)
            assert response.error_code == ErrorCode.NONE, response
            yield from self._send_all(response.producer_id)

    def _send_all(self, producer_id: int) -> Steps[None]:
        """Batches of one producer id, until the server does not know it any more."""
        sequence, sent = 0, deque[Sent](maxlen=REMEMBERED)
        while True:
            chosen = sent[self.value // 10 % len(sent)] if sent else None
            match self.value % 10:
                case 3 | 8 if chosen is not None and self._is_remembered(chosen, sent):
                    yield from self._repeat(chosen)
                    continue
                case 4 if sent and self._is_remembered(sent[-1], sent):
                    yield from self._skip(producer_id, sequence)
                    continue
            value = self.harness.next_value(self.name)
            request = produce_request(
                self.tp, value, self.harness.server.wall_ms, producer_id=producer_id, epoch=0, sequence=sequence
            )
            offset = yield from self._send(request)
            if offset is None:
                return
            self.harness.acknowledged.appended(self.tp, offset, value)
            sent.append(Sent(request, offset, self.harness.server.starts))
            sequence += 1
            yield None

    def _is_remembered(self, batch: Sent, sent: Sequence[Sent]) -> bool:
        """Whether the partition must know a batch, as on Kafka.

        A restart forgets the producers of records that were deleted, and a snapshot has only the last batch of each.
        """
        if batch.offset < self.harness.acknowledged.start_offsets.get(self.tp, 0):
            return False
        return batch is sent[-1] or batch.start == self.harness.server.starts

    def _send(self, request: ProduceRequest) -> Steps[int | None]:
        """Until it is acknowledged; None after a power loss that took the batches before it."""
        while True:
            error, offset = produced((yield from self.ask(request, VERSION)))
            self.harness.seen[f"answer Produce {error.name}"] += 1
            if error is ErrorCode.NONE:
                return offset
            if error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and self.harness.acknowledged.was_lost:
                return None
            assert error in TRANSIENT or error is ErrorCode.REQUEST_TIMED_OUT, error
            yield None

    def _repeat(self, sent: Sent) -> Steps[None]:
        """A batch that is among the last five of its producer is answered as it was, and not appended again."""
        error, offset = produced((yield from self.ask(sent.request, VERSION)))
        self.harness.seen[f"answer a repeated Produce {error.name}"] += 1
        if error is ErrorCode.NONE and not self.harness.acknowledged.was_lost:
            assert offset == sent.offset, f"a repeated batch at {sent.offset} is now at {offset}"
        allowed = error in TRANSIENT or error in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT)
        assert allowed or self.harness.acknowledged.was_lost, error
        yield None

    def _skip(self, producer_id: int, sequence: int) -> Steps[None]:
        """A batch before which another one is missing is rejected."""
        value = self.harness.next_value("skipping")
        request = produce_request(
            self.tp, value, self.harness.server.wall_ms, producer_id=producer_id, epoch=0, sequence=sequence + 1
        )
        error, _ = produced((yield from self.ask(request, VERSION)))
        self.harness.seen[f"answer a Produce out of order {error.name}"] += 1
        assert error is not ErrorCode.NONE or self.harness.acknowledged.was_lost, "a batch is missing before this one"
        yield None


class PlainProducer(Program):
    """Repeats what was not answered; so a record may be there twice."""

    def run(self) -> Steps[None]:
        while True:
            tp = INPUTS[self.value % len(INPUTS)]
            value = self.harness.next_value(self.name)
            self.harness.acknowledged.plain_values.add(value)
            request = produce_request(tp, value, self.harness.server.wall_ms)
            while True:
                response = yield from self.ask(request, VERSION)
                error, offset = produced(response)
                if error is ErrorCode.NONE:
                    self.harness.acknowledged.appended(tp, offset, value)
                    break
                assert response is LOST or error in TRANSIENT, error
                yield None
            yield None
