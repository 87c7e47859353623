from collections.abc import Callable, Sequence
from typing import Any, Protocol

from coordinator.core.decision import Environment
from coordinator.groups.sessions import SessionTable
from coordinator.runtime.batch import Batch, QueuedOperation
from coordinator.runtime.shard_drains import ShardDrains
from coordinator.runtime.steady import CallsSoon

class WaitsForFrame(Protocol):
    """Who gets the answer to a commit: a connection."""

    def send_frame(self, frame: bytes) -> None:
        """Send an encoded response, with its length."""

class SteadyCommits:
    """Reads the commits that need no decision of the core.

    Each is queued in the shard of its group; `scheduler` and `now_ms` are those of `SteadyDrain`.

    `as_operation(waiting, frame, topics)` makes the operation that decides one that turned out to be unusual: the frame
    is without its length, and all of the topics exist. Commits of more than `elements_max` topics and partitions are
    left to the core.
    """

    def __init__(
        self,
        sessions: SessionTable,
        environment: Environment,
        coordinator: ShardDrains,
        as_operation: Callable[[Any, bytes, Sequence[str]], QueuedOperation],
        elements_max: int,
        scheduler: CallsSoon | None,
        now_ms: Callable[[], int],
    ) -> None: ...
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
