"""What a shard depends on beside its state machine: a log, and a way to send responses."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from _wire.errors import ErrorCode
from coordinator.audit.schema import Record
from coordinator.core.groups.stored import StoredGroups
from coordinator.core.stored import Stored

AuditRecord = Record


class StoreError(OSError):
    """The log behind a shard could not be written or read; nothing of the batch counts as stored."""

    def __init__(self, message: str, *, is_told: bool = False) -> None:
        """`is_told`: the log directory failed, which has a line of its own."""
        super().__init__(message)
        self.is_told = is_told


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

        Audit records that come with nothing to store may be held back until the next append, or `write_held_audit`.
        """

    @property
    def held_audit(self) -> Sequence[AuditRecord]:
        """Audit records that are held back."""

    def write_held_audit(self, now_ms: int) -> None:
        """Append the audit records that are held back. Raises StoreError."""

    def drop_held_audit(self) -> None:
        """Forget the audit records that are held back: what they report is forgotten, too."""

    def replay(self, groups: StoredGroups, from_offset: int = 0) -> Iterator[None]:
        """Apply what `__consumer_offsets` holds from an offset on, in steps, with what is appended meanwhile.

        `from_offset` is 0, or an `offsets_end_offset` while nothing was in flight. Raises StoreError.
        """

    def audit_replay_offsets(self) -> Sequence[int]:
        """Where to start to read the audit topic: first a checkpoint if one is known, last the start of the log."""

    def replay_audit(self, from_offset: int) -> Iterator[Sequence[AuditRecord]]:
        """The batches of the audit topic, in order, each as its records. Raises StoreError."""

    @property
    def audit_end_offset(self) -> int:
        """The offset that the next record of the audit topic will get."""

    @property
    def offsets_end_offset(self) -> int:
        """The offset that the next record of `__consumer_offsets` will get."""

    @property
    def audit_retention_ms(self) -> int:
        """The effective `retention.ms` of the audit topic; -1 if records never become too old."""

    def note_audit_checkpoint(self, offset: int) -> bool:
        """Let later starts read the audit topic from `offset` on; False if they do already."""


class Responses(Protocol):
    """Delivers replies. An id for which no client waits any more is ignored."""

    def reply(self, request_id: int, response: object) -> None: ...

    def fail(self, request_id: int, error: ErrorCode) -> None:
        """Answer a request with an error when only its id is known, as for a JoinGroup that waits in a group."""


class AppendMeter(Protocol):
    """Measures appends. `begin` and `end` are called in pairs."""

    def begin(self) -> None: ...

    def end(self, audit_events: int, failed: bool) -> None:
        """The append of a batch with so many audit events is over."""
