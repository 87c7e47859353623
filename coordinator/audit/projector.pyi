from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import Projection
from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import AuditEvent, CoordinatorEvent, Record
from coordinator.audit.world import Cluster, World
from coordinator.core.causes import Cause
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.records import CommittedOffset

class AuditProjector:
    """Projects the events of the groups of one partition to records of the audit topic.

    Records are appended in the order in which they are returned; when an append fails, the partition is loaded again.

    Each event takes the same path: projection → fields → writer → record. The audit state of each live group supplies
    the fields that the core event does not have.
    """

    def __init__(
        self,
        node_id: int,
        coordinator_epoch: int = 0,
        projections: dict[type, tuple[Projection, ...]] = ...,
        checkpoint_records: int = ...,
        members_at_once: int = ...,
        cluster: Cluster = ...,
    ) -> None:
        """`checkpoint_records`: records between two checkpoints. `members_at_once`: the size of a slice of one."""

    @property
    def world(self) -> World:
        """What it reads beside the groups."""

    @property
    def replay(self) -> AuditReplay:
        """The replay since `start_replay`; an empty one after `resume`."""

    @property
    def groups(self) -> dict[str, GroupAuditState]:
        """Group id → audit state, for live groups only."""

    @property
    def next_offset(self) -> int:
        """The offset in the audit topic that the next record will get."""

    @property
    def seq_max(self) -> int:
        """No event that was written has a larger `seq`."""

    def begin_above(self, seq: int) -> None:
        """Begin the numbers of groups without events above `seq`, as somebody else has told of one of them."""

    @property
    def checkpoint_offset(self) -> int:
        """The offset from which a start has to read the partition to know all live groups."""

    @property
    def checkpoint_end_offset(self) -> int:
        """The offset after the last snapshot of the last completed checkpoint.

        After a load it is the end of the topic, because where the checkpoint that was read ended is not kept.
        """

    @property
    def checkpoint_ms(self) -> int:
        """When the last checkpoint was completed, in ms since the epoch.

        If there was none, the time of the first event in the topic.
        """

    @property
    def is_checkpoint_due(self) -> bool:
        """Whether `write_snapshots` has to be called (again)."""

    @property
    def committed_groups(self) -> list[str]:
        """Ids of the groups with commits that are not reported yet."""

    @property
    def records(self) -> list[Record]:
        """The records of the batch that is being made, in their order."""

    def pop_records(self) -> list[Record]:
        """The records of the batch, which ends here."""

    def project(self, event: Event, group: Group[Any], state_before: GroupState, generation_before: int) -> None:
        """Add the records of an event that was just applied to `group`; most events have one, some have none."""

    def project_commit(
        self, group_id: str, member_id: str, offsets: Mapping[str, Mapping[int, CommittedOffset]], at_ms: int
    ) -> None:
        """As `project`, of an OffsetsCommitted with these fields that nobody has made."""

    def write_about_coordinator(self, event: CoordinatorEvent, now_ms: int) -> Record:
        """Make the next record: an event of the coordinator itself, which happens now."""

    def clear(self) -> None:
        """Drop the state of all groups, because the partition is unloaded."""

    def start_replay(self, from_offset: int) -> None:
        """Drop the state of all groups, before the topic is read from `from_offset` on."""

    def apply(self, records: Sequence[Record]) -> Generator[None]:
        """Read the next batch of the topic, in steps.

        Raises:
            MalformedMessage: a record is not a valid audit event.
        """

    def resume(
        self, groups: Mapping[str, Group[Any]], now_ms: int, end_offset: int, cause: Cause | None = None
    ) -> Generator[None, None, list[Record]]:
        """Continue each group where the replay ended, in steps.

        `end_offset` is the end of the topic, `cause` that of the load. Returns a `group.loaded` for each group that was
        loaded in another state than the audited one, and a `group.removed` for each that only the audit knows.
        """

    def knows(self, group_ids: Iterable[str]) -> bool:
        """Whether the replay began at a completed checkpoint and knows each of these groups."""

    def discard(self, group_id: str, count: int) -> None:
        """Forget a group, and take back the `records` after the first `count`, which are about it."""

    def start_rebuild(self, from_offset: int) -> AuditReplay:
        """A replay of the topic from `from_offset` on, beside the groups that are served."""

    def resume_rebuilt(
        self, replay: AuditReplay, group_id: str, group: Group[Any] | None, now_ms: int, cause: Cause
    ) -> list[Record]:
        """Continue a discarded group where `replay` ended; nothing was in flight then. None: no such group is stored.

        Returns a `group.loaded` in any case, as a checkpoint that was written meanwhile left the group out.
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
        """Make the next record: an event of the group that `state` belongs to (`RecordWriter.record`)."""

    def write_snapshots(self, groups: Mapping[str, Group[Any]], now_ms: int) -> list[Record]:
        """Make the records of the next slice of a checkpoint; start a checkpoint if none is in progress.

        Call it while the groups are as stored, before the events of a batch. The records belong to that batch.
        """

    def pop_committed_groups(self) -> list[str]:
        """Return the groups with commits since the last call."""

    def write_commits(
        self,
        groups: Mapping[str, Group[Any]],
        group_ids: Iterable[str],
        now_ms: int,
        interval_ms: int,
        first_log_offset: int,
        last_log_offset: int,
    ) -> list[Record]:
        """Make an `offsets.committed` for each live group of `group_ids`, and reset its count of commits."""
