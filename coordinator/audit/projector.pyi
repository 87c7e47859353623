from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.projections import Projection
from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import AuditEvent, Record
from coordinator.core.causes import Cause
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.events import Event
from coordinator.core.states import GroupState

class AuditProjector:
    """The audit of the groups of one partition (`runtime.interfaces.AuditProjector`).

    It has a table of projections, the audit state of each live group, and a writer of records; an event goes one way
    through them: projection → fields → writer → record.
    """

    def __init__(
        self,
        node_id: int,
        coordinator_epoch: int = 0,
        projections: dict[type, tuple[Projection, ...]] = ...,
        checkpoint_records: int = ...,
        members_at_once: int = ...,
    ) -> None:
        """Records of the partition that are appended before its next checkpoint, and members in one slice of it."""

    @property
    def replay(self) -> AuditReplay:
        """What was read of the topic since `start_replay`; empty after `resume`."""

    @property
    def groups(self) -> dict[str, GroupAuditState]:
        """ClassicGroup id → audit state, for live groups only."""

    @property
    def next_offset(self) -> int:
        """The offset in the audit topic that the next record will get."""

    @property
    def checkpoint_offset(self) -> int:
        """The offset from which a start has to read the partition to know all live groups."""

    @property
    def checkpoint_ms(self) -> int:
        """When the last checkpoint was completed, in ms since the epoch.

        If there was none, no event of the topic is older.
        """

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether `write_snapshots` has to be called (again)."""

    @property
    def starts_at_checkpoint(self) -> bool:
        """Whether the replay began at a completed checkpoint, so that it knows all live groups."""

    @property
    def committed_groups(self) -> list[str]:
        """ClassicGroup ids with commits that were not taken to be reported yet."""

    def project(
        self, event: Event, group: ClassicGroup, state_before: GroupState, generation_before: int, records: list[Record]
    ) -> None:
        """Append the records for an event that was just applied to `group`: one for most, none for some."""

    def clear(self) -> None:
        """Forget all groups: the partition is led by another node now."""

    def start_replay(self, from_offset: int) -> None:
        """Forget all groups; the topic is about to be read from `from_offset` on."""

    def apply(self, records: Sequence[Record]) -> None:
        """Read the next batch of the topic.

        Raises:
            MalformedMessage: a record that no coordinator can have written.
        """

    def resume(
        self, groups: Mapping[str, ClassicGroup], now_ms: int, end_offset: int, cause: Cause | None = None
    ) -> list[Record]:
        """Continue each group where the replay ended. `end_offset` is the end of the topic, `cause` that of the load.

        Returns a `group.loaded` for each group that was loaded in another state than the audited one, and a
        `group.removed` for each that only the audit knows.
        """

    def write_event(
        self,
        event_class: type[AuditEvent],
        group_id: str,
        state: GroupAuditState,
        at_ms: int,
        state_before: GroupState,
        generation_before: int,
        state_after: GroupState,
        generation_after: int,
        fields: dict[str, Any],
    ) -> Record:
        """The next record, of an event of the group that `state` belongs to (`RecordWriter.record`)."""

    def write_snapshots(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> list[Record]:
        """The next slice of a checkpoint, a new one if none is under way.

        To be called when the groups are as stored: before the events of a batch. The records are part of that batch.
        """

    def take_committed_groups(self) -> list[str]:
        """The groups with commits since the last call."""

    def write_commits(
        self,
        groups: Mapping[str, ClassicGroup],
        group_ids: Iterable[str],
        now_ms: int,
        interval_ms: int,
        first_log_offset: int,
        last_log_offset: int,
    ) -> list[Record]:
        """An `offsets.committed` for each of `group_ids` that is still live; its commits are counted from 0 again."""
