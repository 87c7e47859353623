from collections.abc import Callable, Sequence
from typing import Any, Protocol

from coordinator.core.decision import Environment
from coordinator.groups.sessions import SessionTable
from coordinator.runtime.batch import Batch, QueuedOperation
from coordinator.runtime.shard import Shard

class WaitsForFrame(Protocol):
    """Who gets the answer to a commit: a connection."""

    def send_frame(self, frame: bytes) -> None:
        """Send an encoded response, with its length."""

class HasSteadyShards(Protocol):
    """The coordinator of the groups (`groups/coordinator.py`)."""

    @property
    def shards(self) -> tuple[Shard[Any], ...]:
        """Those of all partitions."""

    @property
    def is_dirty(self) -> bool:
        """Whether a drain comes anyway."""

    def drain_later(self, partition: int) -> None: ...

class CallsSoon(Protocol):
    """What calls back in an event loop (`front/loop_scheduler.py`)."""

    call_soon: Callable[[Callable[[], None]], object]
    """Calls back when the data of the iteration was read."""
    is_abandoned: bool
    """Whether nothing may be done any more: the logs are about to be closed."""

class SteadyCommits:
    """Reads the commits that need no decision of the core.

    Each is queued in the shard of its group. The first one of an iteration of the event loop has the `scheduler` call
    `drain` soon; without one they wait for the drain of their shard, as operations do.

    `as_operation(waiting, frame, topics)` makes the operation that decides one that turned out to be unusual: the frame
    is without its length, and all of the topics exist. Commits of more than `elements_max` topics and partitions are
    left to the core.
    """

    def __init__(
        self,
        sessions: SessionTable,
        environment: Environment,
        coordinator: HasSteadyShards,
        as_operation: Callable[[Any, bytes, Sequence[str]], QueuedOperation],
        elements_max: int,
        scheduler: CallsSoon | None,
        now_ms: Callable[[], int],
    ) -> None: ...
    def drain(self) -> None:
        """Handle what was queued since the last call."""
    def read(self, frame: bytes, waiting: WaitsForFrame, now_ms: int) -> SteadyCommit | None:
        """Queue the request in a frame (without its length) if it is a commit of a steady member; None: it is not."""

class SteadyCommit:
    """A commit in the queue of a shard. See `runtime/batch.py`, SteadyRequest."""

    key: str
    """The group id."""
    member_id: str
    request_id: None
    answer: bytes
    """The response, with its length, once it was handled."""
    partitions: int
    """How many it commits offsets for."""
    api_version: int
    def handle(self, machine: Any, batch: Batch, now_ms: int) -> bool: ...
    def as_operation(self) -> QueuedOperation: ...
    def send(self) -> None: ...
