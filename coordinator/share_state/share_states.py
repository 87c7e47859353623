"""The states of share partitions for the rest of the node. Counterpart in Kafka: `DefaultStatePersister`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from _wire.errors import ErrorCode
from coordinator.core.operation import Operation
from coordinator.core.share_state import operations
from coordinator.core.share_state.batches import unpacked
from coordinator.core.share_state.requests import Initialize, Named, Outcome, Read, Write
from coordinator.core.share_state.state import SharePartition
from coordinator.core.share_states import InitialState, PartitionState, Summary
from coordinator.logger import logger
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import Slices, Steps, awaited, awaited_all
from coordinator.runtime.steady import SteadyDrain
from coordinator.share_state.coordinator import ShareCoordinator
from coordinator.share_state.state_writer import StateWriter

ASKED_AT_ONCE: Final = 300
"""Share partitions that are asked about together, before other work has its turn."""
TRIES: Final = 5
RETRY_MS_AT_FIRST: Final = 100
"""A partition of the state topic is loaded in less, as a rule. It doubles from try to try; on Kafka it is a second."""
TRANSIENT: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Question(NamedTuple):
    """What is asked about a share partition."""

    operation: Operation
    of: SharePartition
    request: Any


class ShareStates:
    """Asks the share coordinator of this node, whose topic is made when it is asked for the first time."""

    def __init__(
        self,
        coordinator: ShareCoordinator,
        make_topic: Callable[[], Steps[None]],
        slices: Slices,
        delays: Delays,
        now_ms: Callable[[], int],
        drain: SteadyDrain,
    ) -> None:
        """`make_topic` makes sure that there is a topic, and that the coordinator was started."""
        self._coordinator = coordinator
        self._make_topic = make_topic
        self._slices = slices
        self._delays = delays
        self._now_ms = now_ms
        self._drain = drain

    @property
    def held_bytes(self) -> int:
        """The memory that all states take, about."""
        return self._coordinator.held_bytes

    def initialize(self, group_id: str, partitions: Sequence[InitialState]) -> Steps[list[ErrorCode]]:
        """Begin the states of partitions, in place of older ones; an error for each of them, in their order."""
        questions = []
        for topic_id, partition, state_epoch, start_offset in partitions:
            of = SharePartition(group_id, topic_id, partition)
            questions.append(Question(operations.INITIALIZE, of, Initialize(of, state_epoch, start_offset)))
        outcomes = yield from self.ask_all(questions)
        return [outcome.error for outcome in outcomes]

    def read(
        self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int
    ) -> Steps[PartitionState | ErrorCode]:
        """The state of a partition, for the leader of that epoch; leaders before it are fenced from now on."""
        of = SharePartition(group_id, topic_id, partition)
        outcome = yield from self._ask(Question(operations.READ, of, Read(of, leader_epoch)))
        state = outcome.state
        if state is None:
            return outcome.error
        return PartitionState(
            state.state_epoch, state.start_offset, state.delivery_complete_count, unpacked(state.batches)
        )

    def writer(self, group_id: str, topic_id: bytes, partition: int) -> StateWriter:
        """Writes the state of a partition. See the role in `core/share_states.py`.

        Each acknowledgement is one, so the usual one, which is answered at once, takes no steps.
        """
        of = SharePartition(group_id, topic_id, partition)
        return StateWriter(of, self._coordinator, self._drain, self._write_operation, self._ask_to_write)

    def _write_operation(self, request: Write, stored: Callable[[ErrorCode], None]) -> QueuedOperation:
        """What is decided in place of a write that is no plain update."""
        answered = partial(self._write_answered, request, stored)
        return self._coordinator.operation(operations.WRITE, request.of, request, answered)

    def _ask_to_write(self, request: Write, stored: Callable[[ErrorCode], None]) -> None:
        answered = partial(self._write_answered, request, stored)
        self._coordinator.ask(operations.WRITE, request.of, request, answered)

    def _write_answered(self, request: Write, stored: Callable[[ErrorCode], None], outcome: Outcome) -> None:
        def served(outcomes: list[Outcome]) -> None:
            stored(outcomes[0].error)

        def failed(problem: Exception) -> None:
            logger.error("unhandled exception while a share partition is stored", problem=repr(problem))
            stored(ErrorCode.UNKNOWN_SERVER_ERROR)

        if outcome.error in TRANSIENT:
            question = Question(operations.WRITE, request.of, request)
            self._slices.start(self._ask_some([question]), served, failed)
        else:
            stored(outcome.error)

    def delete(self, group_id: str, partitions: Sequence[tuple[bytes, int]]) -> Steps[list[ErrorCode]]:
        """Forget the states of partitions (topic id, partition); an error for each of them, in their order."""
        questions = []
        for topic_id, partition in partitions:
            of = SharePartition(group_id, topic_id, partition)
            questions.append(Question(operations.DELETE, of, Named(of)))
        outcomes = yield from self.ask_all(questions)
        return [outcome.error for outcome in outcomes]

    def summary(self, group_id: str, partitions: Sequence[tuple[bytes, int, int]]) -> Steps[list[Summary]]:
        """Where partitions (topic id, partition, leader epoch) start, in their order."""
        questions = []
        for topic_id, partition, _leader_epoch in partitions:
            of = SharePartition(group_id, topic_id, partition)
            questions.append(Question(operations.SUMMARIZE, of, Named(of)))
        outcomes = yield from self.ask_all(questions)
        return [summary_of(outcome) for outcome in outcomes]

    def ask_all(self, questions: Sequence[Question]) -> Steps[list[Outcome]]:
        """The outcomes, in the order of the questions."""
        outcomes: list[Outcome] = []
        for first in range(0, len(questions), ASKED_AT_ONCE):
            outcomes += yield from self._ask_some(questions[first : first + ASKED_AT_ONCE])
            yield
        return outcomes

    def _ask(self, question: Question) -> Steps[Outcome]:
        (outcome,) = yield from self._ask_some([question])
        return outcome

    def _ask_some(self, questions: Sequence[Question]) -> Steps[list[Outcome]]:
        """Ask again what could not be answered yet, a few times."""
        yield from self._make_topic()
        outcomes = yield from self._ask_at_once(questions)
        for tries in range(TRIES):
            refused = [number for number, outcome in enumerate(outcomes) if outcome.error in TRANSIENT]
            if not refused:
                break
            yield from self._delays.until(self._now_ms() + (RETRY_MS_AT_FIRST << tries))
            again = yield from self._ask_at_once([questions[number] for number in refused])
            for number, outcome in zip(refused, again, strict=True):
                outcomes[number] = outcome
        return outcomes

    def _ask_at_once(self, questions: Sequence[Question]) -> Steps[list[Outcome]]:
        ask = self._coordinator.ask
        if len(questions) == 1:
            outcome = yield from awaited(partial(ask, *questions[0]))
            return [outcome]
        return (yield from awaited_all([partial(ask, *question) for question in questions]))


def summary_of(outcome: Outcome) -> Summary:
    state = outcome.state
    if state is None:
        return Summary(outcome.error)
    return Summary(
        outcome.error, state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count
    )
