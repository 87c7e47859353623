"""The state of the partitions, sent to the executors by Spark's broadcasts.

The driver keeps the state in files that only it needs to reach. What executors know of it are broadcasts: the whole
state once, then what each batch has changed. A worker of Spark keeps the states that it has put together, of the
partitions that it was given, and goes on with them as long as it gets the same partitions. An executor fetches a
broadcast once.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.core.broadcast import Broadcast
from pyspark.sql import SparkSession

from coordinator.pipeline.partition_folds import Changes
from coordinator.pipeline.partition_state import PartitionState, decode_state, encode_state

CHAIN_MAX: Final = 50
"""After as many batches the whole state is sent again, and the broadcasts before it are deleted."""

Encoded = dict[int, bytes]
"""Partition → its state, or what has changed of it."""


@dataclass(frozen=True)
class StateChain:
    """The state before a batch, as its tasks get it."""

    name: str
    whole: "Broadcast[Encoded]"
    changes: "tuple[Broadcast[Encoded], ...]"
    """Of the batches since, in order."""

    def before(self, partition: int) -> PartitionState:
        """The state of a partition; in a worker."""
        applied_state = _applied_states.get(partition)
        if applied_state is None or applied_state.chain != self.name or applied_state.applied > len(self.changes):
            encoded = self.whole.value.get(partition)
            state = PartitionState() if encoded is None else decode_state(encoded)
            applied_state = _applied_states[partition] = _AppliedState(self.name, 0, state)
        for change in self.changes[applied_state.applied :]:
            changed = change.value.get(partition)
            if changed is not None:
                applied_state.state.update(decode_state(changed))
        applied_state.applied = len(self.changes)
        return applied_state.state


@dataclass(slots=True)
class _AppliedState:
    """The state of a partition after so many changes of a chain."""

    chain: str
    applied: int
    state: PartitionState


_applied_states: Final[dict[int, _AppliedState]] = {}
"""Of this process, a worker, which runs one task at a time."""


class StateBroadcasts:
    """The driver's side."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._chain: StateChain | None = None
        self._next_batch_id: int | None = None

    def chain(self, batch_id: int, states: Mapping[int, PartitionState]) -> StateChain:
        """The state before a batch, which is `states`."""
        if self._chain is None or self._next_batch_id != batch_id or len(self._chain.changes) >= CHAIN_MAX:
            self.forget()
            self._chain = StateChain(uuid.uuid4().hex, self._broadcast(states), ())
        self._next_batch_id = batch_id
        return self._chain

    def add(self, batch_id: int, changes: Changes) -> None:
        """A batch that got a chain is in the tables, and has changed this."""
        assert self._chain is not None and self._next_batch_id == batch_id
        self._chain = StateChain(self._chain.name, self._chain.whole, (*self._chain.changes, self._broadcast(changes)))
        self._next_batch_id = batch_id + 1

    def forget(self) -> None:
        """Delete all broadcasts."""
        if self._chain is not None:
            for broadcast in (self._chain.whole, *self._chain.changes):
                broadcast.destroy()
        self._chain = None

    def _broadcast(self, states: Mapping[int, PartitionState]) -> "Broadcast[Encoded]":
        encoded: Any = {partition: encode_state(state) for partition, state in states.items()}
        return self._context.broadcast(encoded)
