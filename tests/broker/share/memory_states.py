"""The states of share partitions in memory, stored with answers that come when a test says so."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from _wire.errors import ErrorCode
from coordinator.broker.share.share_states import BY_STRATEGY, StateBatch, StateWriter
from coordinator.runtime.slices import Awaited, Steps


class StoredState(NamedTuple):
    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch]


class Write(NamedTuple):
    partition: int
    start_offset: int
    delivery_complete_count: int
    batches: list[StateBatch]


class MemoryStates:
    """Every partition is initialized."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, bytes, int], StoredState | ErrorCode] = {}
        self.writes: list[Write] = []
        self.answer = ErrorCode.NONE
        """Of the next writes."""
        self.is_held = False
        """Whether answers wait for `let_go`."""
        self._held: list[Awaited[None]] = []

    def read(self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int) -> Steps[StoredState | ErrorCode]:
        yield from self._hold()
        return self.stored.get((group_id, topic_id, partition), StoredState(2, BY_STRATEGY, []))

    def writer(self, group_id: str, topic_id: bytes, partition: int) -> StateWriter:
        return partial(self._write, partition)

    def _write(
        self,
        partition: int,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: list[StateBatch],
        stored: Callable[[ErrorCode], None],
    ) -> None:
        _go_on(self._store(partition, start_offset, delivery_complete_count, batches), stored)

    def _store(
        self, partition: int, start_offset: int, delivery_complete_count: int, batches: Sequence[StateBatch]
    ) -> Steps[ErrorCode]:
        self.writes.append(Write(partition, start_offset, delivery_complete_count, list(batches)))
        yield from self._hold()
        return self.answer

    def _hold(self) -> Steps[None]:
        if self.is_held:
            awaited = Awaited[None](is_urgent=False)
            self._held.append(awaited)
            yield from awaited.steps()

    def let_go(self) -> None:
        """Give the answers that were held, and hold no more."""
        self.is_held = False
        self.answer_held(len(self._held))

    def forget_answers(self) -> None:
        """Nobody waits for the answers that are held any more."""
        self.is_held = False
        self._held = []

    def answer_held(self, count: int) -> None:
        """Give the first of the answers that are held."""
        held, self._held = self._held[:count], self._held[count:]
        for each in held:
            each.answer(None)


def _go_on(steps: Steps[ErrorCode], done: Callable[[ErrorCode], None]) -> None:
    """Take steps, which wait for nothing but `answer_held`."""
    try:
        awaited = next(steps)
    except StopIteration as end:
        done(end.value)
        return
    assert isinstance(awaited, Awaited)
    awaited.when_answered(lambda _: _go_on(steps, done))
