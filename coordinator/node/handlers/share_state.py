"""Initialize-, Read-, Write-, DeleteShareGroupState and ReadShareGroupStateSummary (KIP-932).

Kafka's brokers ask each other these; here a node asks itself, and tools may ask it. Counterpart in Kafka:
`ShareCoordinatorService`.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.core.operation import Operation
from coordinator.core.share_state import operations
from coordinator.core.share_state.batches import count_of, unpacked
from coordinator.core.share_state.decisions import BATCHES_MAX
from coordinator.core.share_state.requests import Initialize, Named, Outcome, Read, Write, refused
from coordinator.core.share_state.state import SharePartition
from coordinator.core.share_states import UNKNOWN_COUNT, StateBatch
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps
from coordinator.share_state.share_states import ASKED_AT_ONCE, Question, ShareStates, summary_of

BATCHES_AT_ONCE: Final = 1_000
"""Batches of a request that are read before other work has its turn."""
HELD_BYTES_MAX: Final = 128 << 20
"""Once the states take so much memory, these requests add nothing to them. What share groups of this node store is not
asked by requests, and goes on: that has bounds of its own."""
NO_MEMORY: Final = "The states of share groups take all the memory that requests may use for them."

Fields = dict[str, Any]


class StateApi(msgspec.Struct, frozen=True):
    """An API about the states of share partitions: what is asked of each, and how it is answered."""

    operation: Operation
    module: Any
    """That of its messages."""
    request: Callable[[SharePartition, Any, list[StateBatch]], Any]
    """(share partition, its part of the request, the batches in that) → the request of the operation."""
    fields: Callable[[Outcome], Fields] = lambda outcome: {}
    """The fields of an answer without an error."""
    of_error: Fields = {}
    """Those of an answer with one, where they are not 0."""
    adds: bool = False
    """Whether states take more memory after it."""

    def partition_of(self, index: int, error: ErrorCode) -> Any:
        return self.answer(index, refused(error))

    @property
    def name(self) -> str:
        return str(self.response.__name__.removesuffix("Response"))

    @property
    def response(self) -> Any:
        (found,) = [value for name, value in vars(self.module).items() if name.endswith("Response")]
        return found

    def answer(self, index: int, outcome: Outcome) -> Any:
        fields = self.fields(outcome) if outcome.error is NONE else self.of_error
        error = {"error_code": outcome.error, "error_message": outcome.message}
        return self.module.PartitionResult(partition=index, **error, **fields)

    @property
    def error_response(self) -> ErrorForEachPartition:
        return ErrorForEachPartition(
            self.response, self.module.Result, self.partition_of, topics="results", asked_index="partition"
        )


def _initialize(of: SharePartition, asked: Any, batches: object) -> Initialize:
    return Initialize(of, asked.state_epoch, asked.start_offset)


def _write(of: SharePartition, asked: Any, batches: list[StateBatch]) -> Write:
    return Write(of, asked.state_epoch, asked.leader_epoch, asked.start_offset, asked.delivery_complete_count, batches)


def _read(of: SharePartition, asked: Any, batches: object) -> Read:
    return Read(of, asked.leader_epoch)


def _named(of: SharePartition, asked: Any, batches: object) -> Named:
    return Named(of)


def _state_fields(outcome: Outcome) -> Fields:
    state = outcome.state
    assert state is not None, outcome
    batches = [
        read_share_group_state.StateBatch(
            first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count
        )
        for first, last, delivery_state, count in unpacked(state.batches)
    ]
    return {"state_epoch": state.state_epoch, "start_offset": state.start_offset, "state_batches": batches}


def _summary_fields(outcome: Outcome) -> Fields:
    summary = summary_of(outcome)
    return {
        "state_epoch": summary.state_epoch,
        "leader_epoch": summary.leader_epoch,
        "start_offset": summary.start_offset,
        "delivery_complete_count": summary.delivery_complete_count,
    }


STATE_APIS: Final = (
    StateApi(operations.INITIALIZE, initialize_share_group_state, _initialize, adds=True),
    StateApi(operations.READ, read_share_group_state, _read, _state_fields),
    StateApi(operations.WRITE, write_share_group_state, _write, adds=True),
    StateApi(operations.DELETE, delete_share_group_state, _named),
    StateApi(
        operations.SUMMARIZE,
        read_share_group_state_summary,
        _named,
        _summary_fields,
        {"delivery_complete_count": UNKNOWN_COUNT},
    ),
)


class ShareStateHandlers:
    """Asks the share coordinator about each share partition of a request."""

    def __init__(self, states: ShareStates) -> None:
        self._states = states

    def add_to(self, table: DispatchTable) -> None:
        for api in STATE_APIS:
            table.add(api.name, self._handler(api), api.error_response)

    def _handler(self, api: StateApi) -> Callable[[Any, RequestContext], Steps[Any]]:
        def handle(request: Any, call: RequestContext) -> Steps[Any]:
            if not request.group_id or not all(topic.partitions for topic in request.topics):
                return api.response()
            by_topic: dict[bytes, dict[int, Any]] = {}
            asked = ((topic.topic_id, partition) for topic in request.topics for partition in topic.partitions)
            # Few at a time: very many may be asked about, and each question takes more than what it was read from.
            while some := list(islice(asked, ASKED_AT_ONCE)):
                questions = yield from _questions(api, request.group_id, some)
                outcomes = yield from self._outcomes(api, questions)
                yield from _add_answers(api, by_topic, zip(questions, outcomes, strict=True))
            return _response(api, by_topic)

        return handle

    def _outcomes(self, api: StateApi, questions: Sequence[Question]) -> Steps[Sequence[Outcome]]:
        if api.adds and self._states.held_bytes >= HELD_BYTES_MAX:
            return [refused(ErrorCode.INVALID_REQUEST, NO_MEMORY)] * len(questions)
        return (yield from self._states.ask_all(questions))


def _questions(api: StateApi, group_id: str, some: Iterable[tuple[bytes, Any]]) -> Steps[list[Question]]:
    questions = []
    for topic_id, asked in some:
        of = SharePartition(group_id, topic_id, asked.partition)
        batches = yield from _batches(getattr(asked, "state_batches", ()))
        questions.append(Question(api.operation, of, api.request(of, asked, batches)))
    return questions


def _batches(asked: Sequence[Any]) -> Steps[list[StateBatch]]:
    """The batches of a request; of too many no more than it takes to see that."""
    found: list[StateBatch] = []
    for batch in asked[: BATCHES_MAX + 1]:
        found.append(StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count))
        if len(found) % BATCHES_AT_ONCE == 0:
            yield
    return found


def _add_answers(
    api: StateApi, by_topic: dict[bytes, dict[int, Any]], answered: Iterable[tuple[Question, Outcome]]
) -> Steps[None]:
    """Add answers to those by topic. Of a partition that is named twice the last one counts, as on Kafka."""
    batches = 0
    for question, outcome in answered:
        of = question.of
        by_topic.setdefault(of.topic_id, {})[of.partition] = api.answer(of.partition, outcome)
        batches += 1 if outcome.state is None else 1 + count_of(outcome.state.batches)
        if batches >= BATCHES_AT_ONCE:
            batches = 0
            yield


def _response(api: StateApi, by_topic: dict[bytes, dict[int, Any]]) -> Any:
    results = [
        api.module.Result(topic_id=topic_id, partitions=list(partitions.values()))
        for topic_id, partitions in by_topic.items()
    ]
    return api.response(results=results)
