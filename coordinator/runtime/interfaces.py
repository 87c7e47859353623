"""What a shard depends on: a log, an audit, and a way to send responses."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
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

    def note_audit_checkpoint(self, offset: int) -> bool:
        """Let later starts read the audit topic from `offset` on; False if they do already."""


class AuditProjector(Protocol):
    """Projects the events of one partition to records of the audit topic.

    Records are appended in the order in which they are returned; when an append fails, the partition is loaded again.
    """

    @property
    def groups(self) -> Mapping[str, object]:
        """Group id → audit state of a live group."""

    @property
    def next_offset(self) -> int:
        """The offset that the next record will get."""

    def project(
        self,
        event: Event,
        group: ClassicGroup,
        state_before: GroupState,
        generation_before: int,
        records: list[AuditRecord],
    ) -> None:
        """Append the records for an event that was just applied to `group`."""

    def clear(self) -> None:
        """Drop the state of all groups, because the partition is unloaded."""

    def start_replay(self, from_offset: int) -> None:
        """Drop the state of all groups, before the topic is read from `from_offset` on."""

    def apply(self, records: Sequence[AuditRecord]) -> None:
        """Read the next batch of the topic.

        Raises:
            MalformedMessage: a record is not a valid audit event.
        """

    @property
    def starts_at_checkpoint(self) -> bool:
        """Whether the replay began at a completed checkpoint, so that it knows all live groups."""

    def resume(
        self, groups: Mapping[str, ClassicGroup], now_ms: int, end_offset: int, cause: Cause | None
    ) -> list[AuditRecord]:
        """Continue where the topic ends; return records for groups that were not loaded as audited."""

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether `write_snapshots` has to be called (again)."""

    @property
    def checkpoint_offset(self) -> int:
        """The offset from which a start has to read the topic."""

    @property
    def checkpoint_ms(self) -> int:
        """Each live group has a snapshot that is not older than this, in ms since the epoch."""

    def write_snapshots(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> list[AuditRecord]:
        """Make the records of the next slice of a checkpoint; start a checkpoint if none is in progress."""

    def take_committed_groups(self) -> list[str]:
        """Return the groups with offset commits since the last call."""

    def write_commits(
        self,
        groups: Mapping[str, ClassicGroup],
        group_ids: Iterable[str],
        now_ms: int,
        interval_ms: int,
        first_log_offset: int,
        last_log_offset: int,
    ) -> list[AuditRecord]:
        """Make the reports of the offset commits of these groups, and reset their counts."""


class Responses(Protocol):
    """Delivers replies. An id for which no client waits any more is ignored."""

    def reply(self, request_id: int, response: object) -> None: ...

    def fail(self, request_id: int, error: ErrorCode) -> None:
        """Answer a request with an error when only its id is known, as for a JoinGroup that waits in a group."""
