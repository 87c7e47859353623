"""What a shard needs from outside: a log, an audit, and a way to send responses."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from _wire.errors import ErrorCode
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.events import Event
from coordinator.core.states import GroupState
from coordinator.core.stored import Stored

AuditRecord = tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]
"""Key, value and headers of a record of the audit topic."""


class StoreError(OSError):
    """The log behind a shard could not be written or read; nothing of the batch counts as stored."""


class Store(Protocol):
    """The log behind a shard."""

    @property
    def batch_bytes_max(self) -> int:
        """The largest record batch that the log takes (`message.max.bytes`)."""

    def append(
        self,
        audit: list[AuditRecord],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append to the audit topic first, then to `__consumer_offsets`; call `completed` once, now or later.

        `completed` gets None when the batch is stored, else why it is not. Until then nothing else is appended.
        """

    def replay(self) -> Iterator[Stored]:
        """What `__consumer_offsets` holds, in order. Raises StoreError."""

    def replay_audit(self) -> Iterator[AuditRecord]:
        """The records of the audit topic, in order. Raises StoreError."""


class Trail(Protocol):
    """Tells the audit topic what happened, in its own words."""

    def observe(
        self,
        event: Event,
        group: ClassicGroup,
        state_before: GroupState,
        generation_before: int,
        into: list[AuditRecord],
    ) -> None:
        """Append the audit records for an event that was just applied to `group`."""

    def forget(self) -> None:
        """Begin anew: the topic is about to be read."""

    def take(self, record: AuditRecord) -> None:
        """The next record of the topic. Raises MalformedMessage for one that this coordinator cannot have written."""

    def resume(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> list[AuditRecord]:
        """Take up where the topic ends; returns what has to be said about groups that are not as audited."""


class Responses(Protocol):
    """Where replies go. An id that nobody waits for any more is passed over."""

    def reply(self, request_id: int, response: object) -> None: ...

    def fail(self, request_id: int, error: ErrorCode) -> None:
        """Answer a request that waits in a group, and that its sender therefore remembers, with an error."""
