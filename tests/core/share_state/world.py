"""Share partitions whose states are decided about without a shard: events are applied, stored, and read back."""

from collections.abc import Mapping
from typing import Any, Final

from coordinator.config.settings import Config
from coordinator.core.decision import Decision, Environment, OperationContext
from coordinator.core.operation import Operation
from coordinator.core.share_state import operations
from coordinator.core.share_state.requests import Initialize, Named, Outcome, Read, Write
from coordinator.core.share_state.state import SharePartition, ShareState
from coordinator.core.share_state.stored import StoredStates, records_of
from coordinator.core.share_states import StateBatch

TOPIC_ID: Final = bytes(range(16))
PARTITIONS: Final = 3
MINE: Final = SharePartition("g", TOPIC_ID, 0)
UPDATES_PER_SNAPSHOT: Final = 3


class OneTopic:
    """A cluster with one topic, until that is deleted."""

    is_there = True

    def topic_name(self, topic_id: bytes) -> str | None:
        return "orders" if topic_id == TOPIC_ID and self.is_there else None

    def partition_count(self, name: str) -> int:
        return PARTITIONS if name == "orders" and self.is_there else 0


class World:
    """The states of share partitions in memory, and as their records say."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.topics = OneTopic()
        self.config = Config(
            {"share.coordinator.snapshot.update.records.per.snapshot": str(UPDATES_PER_SNAPSHOT), **(settings or {})}
        )
        self.environment = Environment(self.config, self.topics, None, lambda: "id")  # type: ignore[arg-type]
        self.now_ms = 1_000
        self.states: dict[str, ShareState] = {}
        self.records: list[tuple[bytes, bytes | None]] = []

    def decide(self, operation: Operation, of: SharePartition, request: Any) -> Decision:
        """The decision, which is applied and stored."""
        context = OperationContext(1, 0, "", "", self.environment, self.now_ms, self.now_ms)
        decision = operation.decide(self.states.get(of.key), request, context)
        self.records += [record for batch in records_of(decision.events) for record in batch.records]
        for event in decision.events:
            assert event.key == of.key
            event.apply(self.states)
        return decision

    def ask(self, operation: Operation, of: SharePartition, request: Any) -> Outcome:
        outcome = self.decide(operation, of, request).replies[0].response
        assert isinstance(outcome, Outcome)
        return outcome

    def initialize(self, state_epoch: int = 2, start_offset: int = -1, of: SharePartition = MINE) -> Outcome:
        return self.ask(operations.INITIALIZE, of, Initialize(of, state_epoch, start_offset))

    def write(
        self,
        *batches: tuple[int, int, int, int],
        state_epoch: int = 2,
        leader_epoch: int = 0,
        start_offset: int = -1,
        done: int = -1,
        of: SharePartition = MINE,
    ) -> Outcome:
        made = tuple(StateBatch(*batch) for batch in batches)
        return self.ask(operations.WRITE, of, Write(of, state_epoch, leader_epoch, start_offset, done, made))

    def read(self, leader_epoch: int = 0, of: SharePartition = MINE) -> Outcome:
        return self.ask(operations.READ, of, Read(of, leader_epoch))

    def summary(self, of: SharePartition = MINE) -> Outcome:
        return self.ask(operations.SUMMARIZE, of, Named(of))

    def delete(self, of: SharePartition = MINE) -> Outcome:
        return self.ask(operations.DELETE, of, Named(of))

    @property
    def state(self) -> ShareState:
        return self.states[MINE.key]

    def replayed(self) -> dict[str, ShareState]:
        stored = StoredStates(UPDATES_PER_SNAPSHOT)
        for key, value in self.records:
            stored.apply(key, value)
        return stored.states
