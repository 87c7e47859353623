"""What is known of one generation of a group, from the start of its rebalance until the next one."""

from enum import StrEnum
from typing import Final

import msgspec

from coordinator.audit.schema import (
    AuditEvent,
    GenerationStable,
    GenerationStarted,
    GroupEmptied,
    MemberRef,
    RebalanceSuperseded,
    StreamsShutdown,
    StreamsTopology,
    TopicPartitions,
    Trigger,
    WorkerTasks,
)
from coordinator.core.causes import Cause
from coordinator.explain.changes import CAME_TOO_LATE, Changes, Removal, Replacement
from coordinator.explain.claims.streams import MovedTask
from coordinator.explain.owners import Absence, OwnershipChange, is_cooperative
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.protocols.table import PROTOCOLS, protocol_of
from coordinator.explain.reconciliation import Reconciliations

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
"""Types of groups, as ListGroups names them."""
MOVED_TASKS_KEPT: Final = 200
OF_EPOCHS: Final = frozenset(name for name, protocol in PROTOCOLS.items() if protocol.has_epochs)
"""Those whose generations are group epochs, to which members get one by one."""


class Outcome(StrEnum):
    """How a rebalance ended."""

    IN_PROGRESS = "in_progress"
    STABLE = "stable"
    SUPERSEDED = "superseded"
    EMPTIED = "emptied"
    CUT_SHORT = "cut_short"
    """The coordinator restarted or loaded the group again, and what the rebalance had reached was lost."""
    UNKNOWN = "unknown"
    """The events that would tell it are missing."""


class MemberPart(msgspec.Struct, gc=False):
    """The part of one member in a generation. `join_ms` and `sync_ms` are None if it is not known when it came."""

    member: MemberRef
    join_ms: int | None = None
    first_join_ms: int | None = None
    """When it had joined before in the same join phase, as one that lost its connection: nobody waited for more."""
    sync_ms: int | None = None
    had_nothing: bool = False
    """Whether it had not asked for its assignment before when it rejoined."""
    begins_another: bool = False
    """Whether its JoinGroup would have begun a rebalance, if this one had not begun before."""
    is_assigned: bool = False
    is_readable: bool = True
    partitions: TopicPartitions = {}
    gained: TopicPartitions = {}
    lost: TopicPartitions = {}
    kept: TopicPartitions = {}
    unnamed_partitions: int = 0
    claimed: int = 0
    """Those of its partitions that it still owned when it rejoined (KIP-429)."""
    has_lost: bool = False
    """Whether it had partitions before that it has not now, of topics that are there still.

    `lost` names all of them as long as it is the newest one.
    """
    worker: WorkerTasks | None = None
    """What a worker of Kafka Connect was given."""
    worker_before: WorkerTasks | None = None
    """What it had been given last before that; None: nothing that is known."""


class LateTarget(msgspec.Struct, gc=False):
    """The target assignment of a group epoch that came after the epoch had risen again."""

    epoch: int
    at_ms: int
    was_used: bool = False
    """Whether members have got to that epoch."""


class Generation(msgspec.Struct, gc=False):
    """A rebalance, and the generation that it led to. `generation_id` is the id that it has or would have had.

    Numbers that the events do not tell are None. Times are wall-clock ms since the epoch.
    """

    group_id: str
    created_seq: int
    generation_id: int
    first_seq: int
    last_seq: int
    coordinator_epoch: int = 0
    """That of its last event."""
    outcome: Outcome = Outcome.IN_PROGRESS
    cause: Cause | None = None
    member: MemberRef | None = None
    reason: str = ""
    triggers: list[Trigger] = []
    unnamed_triggers: int = 0
    changes: Changes = msgspec.field(default_factory=Changes)
    replaced_while_stable: list[Replacement] = []
    """Static members that were replaced in it, without a rebalance."""
    topic_changes: dict[str, list[int]] = {}
    recreated_topics: list[str] = []
    rebalance_started_ms: int | None = None
    generation_started_ms: int | None = None
    ended_ms: int | None = None
    """When it became stable, was superseded, emptied or cut short."""
    group_type: str = CLASSIC
    """`consumer` for a group of KIP-848, whose generations are group epochs."""
    reconciliations: Reconciliations | None = None
    """Of a consumer group."""
    protocol_type: str = ""
    protocol_name: str = ""
    leader: str = ""
    member_count: int | None = None
    members: dict[str, MemberPart] = {}
    """Member id → its part: those who joined, and in the end those who are assigned."""
    pending_members: list[str] = []
    never_synced: list[MemberRef] = []
    unnamed_never_synced: int = 0
    partitions: int | None = None
    partitions_moved: int | None = None
    partitions_moved_needed: int | None = None
    join_ms: int | None = None
    sync_ms: int | None = None
    rebalance_ms: int | None = None
    unowned_partition_ms: int | None = None
    silent_partition_ms: int | None = None
    commits_rejected: int | None = None
    lag_before: int | None = None
    lag_after: int | None = None
    slowest_join: tuple[MemberRef, int] | None = None
    slowest_sync: tuple[MemberRef, int] | None = None
    commits: int = 0
    """Offset commits that were counted since it became stable."""
    first_commit_ms: int | None = None
    last_commit_ms: int | None = None
    absences: list[Absence] = []
    absences_are_partial: bool = False
    """Whether other partitions may have had no owner either."""
    """What had no owner until this generation."""
    first_owned: int = 0
    """Partitions that have their first owner in it."""
    without_owner: int = 0
    """Partitions that had an owner until its rebalance, and have none in it."""
    tries: int = 1
    """The rebalances since the group was stable; those before this one did not become stable."""
    began_ms: int | None = None
    """When the first of them started."""
    is_from_empty: bool = False
    """The group had no members before: it waits for further ones (group.initial.rebalance.delay.ms)."""
    converted_to: str = ""
    """The type that its group was converted to before it was stable."""
    awaits_target: bool = False
    """It was superseded while its target assignment was computed, and that has not come yet."""
    late_target: LateTarget | None = None
    """The newest target of an earlier epoch that came in it."""
    shutdown: StreamsShutdown | None = None
    """Who had asked, when the rebalance began, that all members of a streams application end."""
    topology: StreamsTopology | None = None
    """Why the topology of a streams group could not run when the rebalance began; None: it could, or is not known."""
    moved_tasks: dict[str, MovedTask] = {}
    """Of a streams group: active task → who ran it before, and who got it; at most MOVED_TASKS_KEPT."""
    unnamed_tasks: int = 0
    """Tasks that were gained beyond those."""
    has_gap: bool = False
    """Events between its first and its last one are missing."""
    is_void: bool = False
    """The coordinator lost it after it was complete: it counts as if it had never been."""

    @property
    def protocol(self) -> Protocol:
        return protocol_of(self.group_type)

    @property
    def is_epoch(self) -> bool:
        """Whether it is a group epoch of KIP-848: members reconcile one by one, and none sends JoinGroup."""
        return self.protocol.has_epochs

    def is_same(self, event: AuditEvent) -> bool:
        """Whether an event has the generation of its group, in the same incarnation."""
        return (self.created_seq, self.generation_id) == (event.created_seq, event.generation_id)

    @property
    def is_cooperative(self) -> bool:
        """Whether its members keep what they own while they rebalance, by their assignor's name or what they claim."""
        return is_cooperative(self.protocol_name) or any(part.claimed for part in self.members.values())

    @property
    def name(self) -> str:
        """`generation 7`, or `group epoch 7`."""
        return self.protocol.generation(self.generation_id)

    @property
    def is_open(self) -> bool:
        return self.outcome is Outcome.IN_PROGRESS

    @property
    def started_ms(self) -> int | None:
        """When its rebalance started; of a generation that was found stable, since when it is known."""
        return self.rebalance_started_ms if self.rebalance_started_ms is not None else self.ended_ms

    @property
    def disturbed_ms(self) -> int:
        """Since when the group was not stable."""
        return self.began_ms or self.rebalance_started_ms or 0

    @property
    def partitions_in_all(self) -> int | None:
        """The partitions of the group, assigned or not yet; None: not known."""
        return None if self.partitions is None else self.partitions + self.without_owner

    @property
    def moved_needlessly(self) -> int | None:
        """Partitions that moved although another balanced assignment would have left them; None: not known."""
        if self.partitions_moved is None or self.partitions_moved_needed is None:
            return None
        return max(0, self.partitions_moved - self.partitions_moved_needed)

    @property
    def late_members(self) -> list[Removal]:
        """The members that were removed because the rebalance waited for them in vain."""
        return [removal for removal in self.changes.removed if removal.cause in CAME_TOO_LATE]

    def owners(self) -> dict[str, dict[int, str]]:
        """Topic → partition → member id, as this generation assigned them."""
        found: dict[str, dict[int, str]] = {}
        for member_id, part in self.members.items():
            for topic, partitions in part.partitions.items():
                found.setdefault(topic, {}).update(dict.fromkeys(partitions, member_id))
        return found

    def become_stable(self, event: GenerationStable) -> None:
        self.outcome, self.ended_ms = Outcome.STABLE, event.time_ms
        if not self.is_epoch or self.rebalance_started_ms is None:
            self.rebalance_started_ms = _began_ms(event)
        self.member_count, self.partitions = event.members, event.partitions
        self.partitions_moved, self.partitions_moved_needed = event.partitions_moved, event.partitions_moved_needed
        self.join_ms, self.sync_ms, self.rebalance_ms = event.join_ms, event.sync_ms, event.rebalance_ms
        self.unowned_partition_ms, self.silent_partition_ms = event.unowned_partition_ms, event.silent_partition_ms
        self.commits_rejected, self.lag_after = event.commits_rejected, event.lag
        if event.slowest_member is not None:
            self.slowest_sync = event.slowest_member, event.slowest_sync_ms

    def count_owners(self, change: OwnershipChange, without_owner: int) -> None:
        """Fill in what the owners of the partitions tell; the coordinator's own figures are of one rebalance only."""
        began_ms = self.disturbed_ms
        if self.moved_needlessly is not None:
            # After a load the coordinator does not know what belonged to members that were gone; those may not stay.
            self.partitions_moved_needed = change.moved - min(self.moved_needlessly, change.could_stay)
        self.partitions_moved, self.absences, self.without_owner = change.moved, change.absences, without_owner
        self.first_owned, self.absences_are_partial = change.first, change.is_partial
        self.silent_partition_ms = sum(
            absence.partitions * max(0, min(began_ms, absence.assigned_ms) - absence.stopped_ms)
            for absence in self.absences
        )
        self.unowned_partition_ms = sum(
            absence.partitions * (absence.assigned_ms - max(absence.stopped_ms, began_ms)) for absence in self.absences
        )

    def be_superseded(self, event: RebalanceSuperseded) -> None:
        self.outcome, self.ended_ms = Outcome.SUPERSEDED, event.time_ms
        self.rebalance_ms = event.rebalance_ms
        self.rebalance_started_ms = _began_ms(event)
        self.never_synced, self.unnamed_never_synced = list(event.never_synced), event.unnamed_members
        self.awaits_target = event.awaits_target

    def start_late(self, event: GenerationStarted) -> None:
        """Its target assignment was computed after it had been superseded."""
        self.generation_started_ms = event.time_ms
        self.protocol_type, self.protocol_name = event.protocol_type, event.protocol_name
        self.triggers = list(event.triggers) or self.triggers
        self.unnamed_triggers, self.join_ms = event.unnamed_triggers, event.join_ms

    def end_without_members(self, event: GroupEmptied) -> None:
        self.outcome, self.ended_ms = Outcome.EMPTIED, event.time_ms
        self.rebalance_ms, self.member_count = event.rebalance_ms, 0
        self.rebalance_started_ms = _began_ms(event)
        self.triggers = list(event.triggers) or self.triggers
        self.unnamed_triggers = event.unnamed_triggers

    def retract(self, void_from_seq: int) -> None:
        """Mark what did not take effect: all from an event with this number on."""
        if self.last_seq >= void_from_seq and not self.is_void:
            self.is_void = self.outcome is not Outcome.CUT_SHORT
            self.outcome = Outcome.CUT_SHORT
        self.replaced_while_stable = [
            replacement for replacement in self.replaced_while_stable if replacement.seq < void_from_seq
        ]

    def slowest_of(self, event: GenerationStarted) -> tuple[MemberRef, int] | None:
        """The member that joined last, and when; from the joins themselves if the event does not tell it."""
        if event.slowest_member is not None:
            return event.slowest_member, event.slowest_join_ms
        came = [(part.member, part.join_ms) for part in self.members.values() if part.join_ms is not None]
        return max(came, key=lambda member: member[1], default=None)

    @property
    def joins_are_seen(self) -> bool:
        """Whether it is known of all its members when they joined."""
        return all(part.join_ms is not None for part in self.members.values())

    def held_up(self) -> tuple[MemberRef, int] | None:
        """The member that joined last, and how many ms later than the last one before it; None if it was alone.

        An empty group waits for further members, whoever has joined (group.initial.rebalance.delay.ms).
        """
        if self.slowest_join is None or self.is_from_empty:
            return None
        slowest, slowest_ms = self.slowest_join
        joined = {
            member_id: (part.join_ms if part.first_join_ms is None else part.first_join_ms, part.member)
            for member_id, part in self.members.items()
            if part.join_ms is not None
        }
        existing = self.members.get(slowest.member_id)
        if existing is None or existing.first_join_ms is None:
            again_ms, _ = joined.get(slowest.member_id, (0, slowest))
            joined[slowest.member_id] = max(slowest_ms, again_ms), slowest
        last_ms, last = joined.pop(max(joined, key=lambda member_id: joined[member_id][0]))
        return (last, last_ms - max(join_ms for join_ms, _ in joined.values())) if joined else None

    def part_of(self, member: MemberRef) -> MemberPart:
        part = self.members.get(member.member_id)
        if part is None:
            part = self.members[member.member_id] = MemberPart(member)
        return part


def _began_ms(event: GenerationStable | RebalanceSuperseded | GroupEmptied) -> int | None:
    """When the rebalance began that an event ends; None if its duration is not known, as of inferred events."""
    rebalance_ms: int | None = event.rebalance_ms
    return None if rebalance_ms is None else event.time_ms - rebalance_ms


class Gap(msgspec.Struct, frozen=True, gc=False):
    """Events from `first_seq` to `last_seq` are missing; `before_ms` is the time of the event after them."""

    first_seq: int
    last_seq: int
    before_ms: int
