"""Folds the audit events of one group into its generations, its members and what was done to its offsets."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final, Self

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import AuditEvent, MemberRef, MemberSnapshot
from coordinator.core.causes import Cause
from coordinator.explain.generation import (
    CHANGES_KEPT_MAX,
    CLASSIC,
    CONSUMER,
    Changes,
    Gap,
    Generation,
    Joining,
    LateTarget,
    Outcome,
    Removal,
    Replacement,
    Resubscription,
)
from coordinator.explain.known_member import KnownMember
from coordinator.explain.owners import Owners, is_cooperative, without
from coordinator.explain.reconciliation import Reconciliations
from coordinator.explain.replaced_clients import remember_client, with_clients

GENERATIONS_KEPT: Final = 1_000
NOTES_KEPT: Final = 1_000
"""How many gaps, loads, offset resets, deletions and rejected requests are kept, the newest of each."""

EPOCHS_AWAITED_MAX: Final = 20
"""So many epochs may rise while a target is computed until nobody waits for what it tells of its own epoch."""

EMPTY: Final = "Empty"
STABLE: Final = "Stable"
PREPARING: Final = "PreparingRebalance"
COMPLETING: Final = "CompletingRebalance"
RECONCILED: Final = "STABLE"
"""The state of a member that has what it shall have in its epoch."""
REBALANCE_STATES: Final = frozenset({PREPARING, COMPLETING, "Assigning", "Reconciling"})


ABSENCES: Final = (schema.CoordinatorStarted, schema.CoordinatorStopped, schema.CoordinatorPaused)
"""The events about the coordinator itself that say when it was not there."""

WholeGroup = schema.GroupLoaded | schema.GroupSnapshot | schema.GroupConverted


class GroupHistory:
    """All that the events of a group tell, up to the last one applied.

    Keeps the newest `generations_max` generations and `NOTES_KEPT` of all other lists.
    """

    def __init__(
        self,
        group_id: str,
        generations_max: int = GENERATIONS_KEPT,
        changes: Changes | None = None,
        owners: Owners | None = None,
    ) -> None:
        self.group_id = group_id
        self.generations: deque[Generation] = deque(maxlen=generations_max)
        """Oldest first, those that were cut short or superseded too."""
        self.ended: list[Generation] = []
        """Those that the last event applied ended, oldest first: each generation ends once."""
        self.members: dict[str, KnownMember] = {}
        self.state = ""
        self.group_type = CLASSIC
        self.generation_id = 0
        self.created_seq = 0
        self.coordinator_epoch = 0
        """That of the last event. Another one: the coordinator has restarted."""
        self.last_seq = -1
        self.first_ms: int | None = None
        self.last_ms: int | None = None
        self.begins_in_the_middle = False
        """Whether the events before the first one are missing, such as those deleted by retention."""
        self.doubles = 0
        self.gaps: deque[Gap] = deque(maxlen=NOTES_KEPT)
        self.loads: deque[schema.GroupLoaded] = deque(maxlen=NOTES_KEPT)
        self.conversions: deque[schema.GroupConverted] = deque(maxlen=NOTES_KEPT)
        self.coordinator_events: deque[schema.CoordinatorEvent] = deque(maxlen=NOTES_KEPT)
        """Starts, stops and pauses of the coordinator itself, if the reader of the events told of them."""
        self.held: deque[schema.GroupHeldByCluster] = deque(maxlen=NOTES_KEPT)
        """Who was in the group at the cluster, if nodes in front of a cluster are to coordinate it."""
        self.removals: deque[schema.GroupRemoved] = deque(maxlen=NOTES_KEPT)
        self.resets: deque[schema.OffsetsReset] = deque(maxlen=NOTES_KEPT)
        self.deletions: deque[schema.OffsetsDeleted | schema.OffsetsExpired] = deque(maxlen=NOTES_KEPT)
        self.rejected: deque[schema.RequestRejected] = deque(maxlen=NOTES_KEPT)
        self.last_commit_ms: int | None = None
        """The end of the last interval in which offsets were committed."""
        self.clients: dict[str, MemberRef] = {}
        """Member id → the client that took the place of a static member."""
        self.pending_changes = changes or Changes()
        """Who came and who went since the last rebalance began."""
        self.owners = owners or Owners()

    @classmethod
    def of(cls, group_id: str, events: Iterable[AuditEvent], generations_max: int = GENERATIONS_KEPT) -> Self:
        """Fold events in any order, those of other groups left out."""
        history = cls(group_id, generations_max)
        for event in sorted((each for each in events if each.group_id == group_id), key=lambda each: each.seq):
            history.apply(event)
        return history

    def apply(self, event: AuditEvent) -> bool:
        """Apply the next event of the group; return False if it was applied before, which changes nothing."""
        if self.ended:
            self.ended = []
        if event.seq <= self.last_seq:
            self.doubles += 1
            return False
        self._note_place(event)
        if event.coordinator_epoch != self.coordinator_epoch:
            self.coordinator_epoch = event.coordinator_epoch
            for known in self.members.values():
                known.was_loaded = True
                known.set_revoking(is_revoking=known.is_revoking)
        handler = _HANDLERS.get(type(event))
        if self.clients:
            event = with_clients(event, self.clients)
        if handler is not None:
            handler(self, event)
        self.last_seq, self.last_ms = event.seq, event.time_ms
        self.state, self.generation_id = event.state, event.generation_id
        return True

    def note_coordinator(self, event: schema.CoordinatorEvent) -> None:
        """Take an event about the coordinator itself, in its order among those of the group's partition.

        What says nothing of this group is left out.
        """
        if isinstance(event, ABSENCES):
            self.coordinator_events.append(event)
        elif isinstance(event, schema.GroupHeldByCluster) and event.group_id == self.group_id:
            self.held.append(event)
            self.last_ms = max(self.last_ms or 0, event.time_ms)

    # ---- questions

    @property
    def exists(self) -> bool:
        return self.last_seq >= 0 and self.state != "Dead"

    @property
    def has_events(self) -> bool:
        """Whether anything was told of it, also if it was never coordinated here."""
        return self.last_seq >= 0 or bool(self.held)

    @property
    def held_by_cluster(self) -> schema.GroupHeldByCluster | None:
        """Who is in the group at the cluster now, though nodes in front of the cluster are to coordinate it."""
        return self.held[-1] if self.held and self.held[-1].member_count else None

    @property
    def latest(self) -> Generation | None:
        """The newest generation, or the rebalance in progress."""
        return self.generations[-1] if self.generations else None

    @property
    def latest_stable(self) -> Generation | None:
        return next((each for each in reversed(self.generations) if each.outcome is Outcome.STABLE), None)

    def generation(self, generation_id: int) -> Generation | None:
        """The newest generation with this id. One that counts is preferred to one that was cut short."""
        found = [each for each in self.generations if each.generation_id == generation_id]
        return max(found, key=lambda each: (each.outcome is not Outcome.CUT_SHORT, each.first_seq), default=None)

    def before(self, generation: Generation) -> Generation | None:
        """The last stable generation before another one, in the same incarnation of the group."""
        for each in reversed(self.generations):
            if each.first_seq < generation.first_seq and each.outcome is Outcome.STABLE:
                return each if each.created_seq == generation.created_seq else None
        return None

    # ---- where an event belongs

    def _note_place(self, event: AuditEvent) -> None:
        """Notice missing events and the begin of another incarnation."""
        begins = event.seq == event.created_seq
        if self.last_seq < 0:
            self.first_ms = event.time_ms
            self.begins_in_the_middle = not begins
        elif event.seq != self.last_seq + 1 and not (begins and self.state == "Dead"):
            self.gaps.append(Gap(self.last_seq + 1, event.seq - 1, event.time_ms))
            self.pending_changes = Changes()
            self.owners.forget()
            if self.latest is not None and self.latest.is_open:
                self.latest.has_gap = True
        if event.created_seq != self.created_seq:
            self._end_awaiting()
            self._close(Outcome.UNKNOWN, None)
            self.members.clear()
            self.clients.clear()
            self.pending_changes = Changes()
            self.owners = Owners(is_known=begins)
            self.created_seq = event.created_seq

    def _open(self, event: AuditEvent, generation_id: int) -> Generation:
        """The generation in progress; a new one if its start is not among the events."""
        latest = self.latest
        if latest is not None and latest.is_open and latest.generation_id == generation_id:
            latest.last_seq, latest.coordinator_epoch = event.seq, event.coordinator_epoch
            return latest
        found = self._begin(event, generation_id)
        found.has_gap = True
        return found

    def _begin(self, event: AuditEvent, generation_id: int) -> Generation:
        self._close(Outcome.UNKNOWN, None)
        begun = Generation(self.group_id, event.created_seq, generation_id, event.seq, event.seq)
        begun.coordinator_epoch, begun.group_type = event.coordinator_epoch, self.group_type
        begun.reconciliations = Reconciliations() if begun.is_epoch else None
        self.generations.append(begun)
        return begun

    def _close(self, outcome: Outcome, at_ms: int | None) -> None:
        if self.latest is not None and self.latest.is_open:
            self.latest.outcome, self.latest.ended_ms = outcome, at_ms
            self.ended.append(self.latest)

    @property
    def _joining(self) -> Generation | None:
        """The generation whose join phase is in progress; a group epoch has none: each change raises it again."""
        latest = self.latest
        if latest is None or latest.is_epoch or not latest.is_open or latest.generation_started_ms is not None:
            return None
        return latest

    @property
    def _pending(self) -> Changes:
        """Where a change of the members belongs: to the join phase in progress, else to the next rebalance."""
        return self.pending_changes if self._joining is None else self._joining.changes

    # ---- its type

    def _created(self, event: schema.GroupCreated) -> None:
        self.group_type = event.group_type

    def _converted(self, event: schema.GroupConverted) -> None:
        """A rebalance in progress is given up: the members are asked to join again, or reconcile from now on."""
        if self.latest is not None and self.latest.is_open:
            self.latest.converted_to = event.group_type
        self._end_awaiting()
        self._close(Outcome.SUPERSEDED, event.time_ms)
        self.conversions.append(event)
        self._take_members(event, event.members)

    # ---- members

    def _joined(self, event: schema.MemberJoined) -> None:
        self.members[event.member.member_id] = KnownMember(
            event.member,
            event.session_timeout_ms,
            event.rebalance_timeout_ms,
            event.time_ms,
            tuple(event.subscribed_topics),
            tuple(event.protocols),
        )
        pending = self._pending
        pending.add(pending.joined, Joining(event.member, event.time_ms, event.reason))
        self._note_join(event.member, event.join_ms, event.time_ms)

    def _rejoined(self, event: schema.MemberRejoined) -> None:
        known = self.members.get(event.member.member_id)
        if known is None:
            known = self.members[event.member.member_id] = KnownMember(event.member)
        elif event.metadata_changed:
            pending = self._pending
            pending.add(pending.resubscribed, _resubscription(event, known))
        known.rejoin(event)
        if self.group_type != CONSUMER and not self._keeps_what_it_owns(known):
            self.owners.gave_up(event.member.member_id, event.time_ms)
        self._note_join(event.member, event.join_ms, event.time_ms)

    def _keeps_what_it_owns(self, member: KnownMember) -> bool:
        """Whether a member rejoins without giving up its partitions: one that also offers an eager assignor does not.

        Java's consumer uses the protocol that all of its assignors have (KIP-429), whichever one the group uses.
        """
        stable = self.latest_stable
        return (
            stable is not None and is_cooperative(stable.protocol_name) and all(map(is_cooperative, member.protocols))
        )

    def _note_join(self, member: MemberRef, join_ms: int | None, at_ms: int) -> None:
        joining = self._joining
        if joining is not None and len(joining.members) < CHANGES_KEPT_MAX:
            started_ms = joining.rebalance_started_ms
            if join_ms is None and started_ms is not None:
                join_ms = max(0, at_ms - started_ms)
            joining.part_of(member).join_ms = join_ms

    def _removed(self, event: schema.MemberRemoved) -> None:
        known = self.members.pop(event.member.member_id, None)
        removal = Removal(
            event.member,
            event.cause,
            event.reason,
            event.time_ms,
            event.session_timeout_ms or (known.session_timeout_ms if known else None),
            known.timeout_ms(event.cause) if known else None,
            event.last_heard_ms,
            event.last_joined_ms or (known.joined_ms if known else None),
            event.last_committed_ms,
            event.requested_by,
            event.connection_open,
            event.connection_closed_ms,
            event.coordinator_paused_ms,
            event.connection_closed_in_pause_ms,
            known is not None and known.is_revoking,
        )
        self.owners.gave_up(event.member.member_id, removal.stopped_ms)
        latest = self.latest
        if latest is not None and latest.reconciliations is not None and latest.is_open:
            latest.reconciliations.removed(event.member.member_id, event.time_ms)
        pending = self._pending
        pending.add(pending.removed, removal)
        if self._joining is not None:
            self._joining.members.pop(event.member.member_id, None)

    def _replaced(self, event: schema.StaticMemberReplaced) -> None:
        if event.cause is not Cause.FAULT:  # a fault takes the place for no client
            remember_client(self.clients, event)
        old = self.members.pop(event.old_member_id, None)
        known = self.members[event.member.member_id] = old or KnownMember(event.member)
        old_member = known.member
        known.member, known.joined_ms = event.member, event.time_ms
        known.subscribed_topics = tuple(event.subscribed_topics) or known.subscribed_topics
        self.owners.replaced(event.old_member_id, event.member)
        if event.state != STABLE and self.group_type != CONSUMER:
            self.owners.gave_up(event.member.member_id, event.time_ms)  # the new process has nothing yet
        change = Replacement(
            event.member,
            event.old_member_id,
            event.time_ms,
            event.seq,
            event.old_client_id or old_member.client_id,
            event.old_client_host or old_member.client_host,
            event.reason,
            tuple(event.subscribed_topics),
            tuple(event.old_subscribed_topics),
            event.cause,
        )
        pending = self._pending
        pending.add(pending.replaced, change)
        if self._joining is not None:
            self._joining.members.pop(event.old_member_id, None)

    # ---- a rebalance

    def _rebalance_started(self, event: schema.RebalanceStarted) -> None:
        previous = self.latest
        # A group epoch has risen already; a classic generation is counted when all members have joined.
        is_epoch = self.group_type == CONSUMER
        generation = self._begin(event, event.generation_id + (not is_epoch))
        changes, self.pending_changes = self.pending_changes, Changes()
        earlier = [each for each in changes.replaced if each.at_ms < event.time_ms]
        if previous is not None and previous.outcome is Outcome.STABLE:
            previous.replaced_while_stable += earlier
            changes.replaced = [each for each in changes.replaced if each.at_ms >= event.time_ms]
        generation.changes = changes
        awaiting = self._awaiting
        if awaiting is not None and event.generation_id - awaiting.generation_id > EPOCHS_AWAITED_MAX:
            self._end_awaiting()
        generation.rebalance_started_ms = event.time_ms
        generation.cause, generation.member, generation.reason = event.cause, event.member, event.reason
        generation.triggers = list(event.triggers)
        generation.topic_changes = dict(event.topic_changes)
        generation.recreated_topics = list(event.recreated_topics)
        for topic, (before, now) in event.topic_changes.items():
            if topic in generation.recreated_topics or now < before:
                self.owners.deleted(topic, 0 if topic in generation.recreated_topics else now)
        generation.member_count = event.members
        generation.lag_before = event.lag
        generation.began_ms, generation.is_from_empty = event.time_ms, event.state_before == EMPTY
        if previous is not None and previous.outcome in (Outcome.SUPERSEDED, Outcome.CUT_SHORT):
            generation.began_ms, generation.tries = previous.began_ms, previous.tries + 1
            if generation.is_epoch and previous.reconciliations is not None and not previous.is_void:
                generation.reconciliations = previous.reconciliations.unfinished()
        for joined in changes.joined:
            if joined.member.member_id in self.members:
                generation.part_of(joined.member).join_ms = 0

    def _generation_started(self, event: schema.GenerationStarted) -> None:
        if event.target_epoch is not None and event.target_epoch < event.generation_id:
            self._late_target(event, event.target_epoch)
            return
        self._end_awaiting()
        generation = self._open(event, event.generation_id)
        if generation.rebalance_started_ms is None:
            generation.rebalance_started_ms = event.time_ms - (event.join_ms or 0)
        generation.generation_started_ms = event.time_ms
        generation.triggers = list(event.triggers) or generation.triggers
        generation.unnamed_triggers = event.unnamed_triggers
        generation.pending_members = list(event.pending_members)
        generation.protocol_type, generation.protocol_name = event.protocol_type, event.protocol_name
        generation.leader, generation.member_count = event.leader, event.members
        generation.join_ms = event.join_ms
        if generation.is_epoch:
            generation.join_ms = max(0, event.time_ms - generation.rebalance_started_ms)
        generation.slowest_join = generation.slowest_of(event)
        for known in self.members.values():
            generation.part_of(known.member)

    def _late_target(self, event: schema.GenerationStarted, epoch: int) -> None:
        """An epoch starts that another one has superseded: members reconcile with it until the next target is there."""
        latest = self.latest
        if latest is not None and latest.is_open:
            latest.late_target = LateTarget(epoch, event.time_ms)
        for generation in reversed(self.generations):
            if generation.generation_id == epoch and generation.created_seq == event.created_seq:
                generation.start_late(event)
                break
        self._end_awaiting()

    def _end_awaiting(self) -> None:
        """A superseded epoch whose target was being computed has ended: the target came, or nobody waits for it."""
        awaiting = self._awaiting
        if awaiting is not None:
            awaiting.awaits_target = False
            self.ended.append(awaiting)

    @property
    def _awaiting(self) -> Generation | None:
        """The superseded epoch whose target is being computed. All epochs since then are superseded, too."""
        for generation in reversed(self.generations):
            if generation.awaits_target:
                return generation
            if not generation.is_open and generation.outcome is not Outcome.SUPERSEDED:
                return None
        return None

    def _assigned(self, event: schema.MemberAssigned) -> None:
        member, partitions = event.member, event.partitions
        if self._is_of_a_rebalance(event):
            part = self._open(event, event.generation_id).part_of(member)
            part.member, part.is_assigned, part.is_readable = member, True, event.readable
            part.join_ms = part.join_ms if event.join_ms is None else event.join_ms
            part.sync_ms = event.sync_ms
            part.partitions, part.unnamed_partitions = partitions, event.unnamed_partitions
            part.gained, part.lost, part.kept = event.gained, event.lost, event.kept
        known = self.members.get(member.member_id)
        if known is None:
            known = self.members[member.member_id] = KnownMember(member)
        known.partitions, known.unnamed_partitions = partitions, event.unnamed_partitions
        self.owners.assigned(member, partitions, event.time_ms)
        if event.lost:
            self.owners.revoked(member.member_id, event.lost, event.time_ms)

    def _reconciled(self, event: schema.MemberReconciled) -> None:
        member, partitions = event.member, event.partitions
        latest = self.latest
        if latest is not None and latest.is_open and latest.reconciliations is not None:
            part = self._open(event, event.generation_id).part_of(member)
            part.member, part.is_assigned = member, True
            part.partitions, part.unnamed_partitions = partitions, event.unnamed_partitions
            part.gained, part.lost, part.kept = event.gained, event.lost, event.kept
            is_there = event.member_state == RECONCILED and event.member_epoch == event.generation_id
            part.sync_ms = event.reconcile_ms if is_there else None
            latest.reconciliations.apply(event)
            if latest.late_target is not None and event.member_epoch == latest.late_target.epoch:
                latest.late_target.was_used = True
        known = self.members.get(member.member_id)
        if known is None:
            known = self.members[member.member_id] = KnownMember(member)
        self.owners.assigned(member, partitions, event.time_ms)
        # Partitions that it was asked to give up are its own until it has done so.
        for given_up in (known.revoking, event.lost):
            released = without(without(given_up, event.revoking), partitions)
            self.owners.revoked(member.member_id, released, event.time_ms)
        known.partitions, known.unnamed_partitions = partitions, event.unnamed_partitions
        known.revoking = event.revoking
        known.set_revoking(is_revoking=event.revoking_count > 0)

    def _is_of_a_rebalance(self, event: schema.MemberAssigned) -> bool:
        """In a group of KIP-848, what a member holds also changes while its generation is stable, or before any."""
        latest = self.latest
        is_open = latest is not None and latest.is_open and latest.generation_id == event.generation_id
        return is_open or event.state not in (STABLE, EMPTY)

    def _stable(self, event: schema.GenerationStable) -> None:
        generation = self._open(event, event.generation_id)
        generation.become_stable(event)
        if generation.reconciliations is not None:
            generation.reconciliations.ended()
        self.ended.append(generation)
        names_all = not generation.has_gap and not any(part.unnamed_partitions for part in generation.members.values())
        if not names_all:
            self.owners.forget()
        taken = self.owners.take(event.time_ms)
        if self.owners.is_known:
            generation.count_owners(taken, self.owners.lost_since(generation.disturbed_ms))
        else:
            self.owners.is_known = names_all

    def _superseded(self, event: schema.RebalanceSuperseded) -> None:
        generation = self._open(event, event.generation_id)
        generation.be_superseded(event)
        if not generation.awaits_target:
            self.ended.append(generation)

    def _emptied(self, event: schema.GroupEmptied) -> None:
        self._end_awaiting()
        generation = self._open(event, event.generation_id)
        generation.end_without_members(event)
        self.ended.append(generation)

    # ---- the group as a whole

    def _group_removed(self, event: schema.GroupRemoved) -> None:
        self._end_awaiting()
        self._close(Outcome.CUT_SHORT, event.time_ms)
        self.members.clear()
        self.pending_changes = Changes()
        self.owners = Owners()
        self.removals.append(event)

    def _loaded(self, event: schema.GroupLoaded) -> None:
        """Take back the events that did not take effect; what they told stays visible as cut short."""
        self.loads.append(event)
        self._end_awaiting()
        latest = self.latest
        # Each step of a reconciliation is stored, so it goes on; a join phase begins again.
        goes_on = event.group_type == CONSUMER and event.state in REBALANCE_STATES
        kept = latest if goes_on and latest is not None and latest.generation_id == event.generation_id else None
        if kept is None:
            self._close(Outcome.CUT_SHORT, event.time_ms)
        if event.void_from_seq is not None:
            for generation in self.generations:
                if generation is not kept:
                    generation.take_back(event.void_from_seq)
        self.pending_changes = Changes()
        self._take_members(event, event.members)

    def _snapshot(self, event: schema.GroupSnapshot) -> None:
        self._take_members(event, event.members)
        latest = self.latest
        if event.state in REBALANCE_STATES and (latest is None or not latest.is_open):
            generation = self._open(event, event.generation_id + (event.state == PREPARING))
            generation.member_count = len(event.members)

    def _take_members(self, event: WholeGroup, members: list[MemberSnapshot]) -> None:
        known, self.group_type = self.members, event.group_type
        self.members = {}
        for each in members:
            progress = event.progress.get(each.member.member_id)
            before = known.get(each.member.member_id) or KnownMember(each.member)
            # Only the events of this run of the coordinator know the software and the principal of the client.
            knows_client = each.member.client_software_name or each.member.principal
            member = each.member if knows_client else before.member
            self.members[each.member.member_id] = msgspec.structs.replace(
                before,
                member=member,
                subscribed_topics=tuple(each.subscribed_topics),
                partitions=each.partitions,
                unnamed_partitions=each.unnamed_partitions,
                revoking={} if progress is None else progress.revoking,
                is_revoking=progress is not None and progress.revoking_count > 0,
            )
            self.owners.found(member, each.partitions)
        self.owners.is_known |= event.state == STABLE and not any(each.unnamed_partitions for each in members)
        latest = self.latest_stable
        is_known = latest is not None and (latest.created_seq, latest.generation_id) == (
            event.created_seq,
            event.generation_id,
        )
        is_converted = isinstance(event, schema.GroupConverted)  # the generation before, or a rebalance follows
        if event.state == STABLE and not is_known and not is_converted:
            self._inherit(event, members)

    def _inherit(self, event: WholeGroup, members: list[MemberSnapshot]) -> None:
        """A stable generation whose rebalance is not among the events."""
        generation = self._begin(event, event.generation_id)
        generation.outcome, generation.ended_ms, generation.has_gap = Outcome.STABLE, event.time_ms, True
        generation.protocol_type, generation.protocol_name = event.protocol_type, event.protocol_name
        generation.leader, generation.member_count = event.leader, len(members)
        for each in members:
            part = generation.part_of(each.member)
            part.is_assigned, part.partitions = True, each.partitions
            part.unnamed_partitions = each.unnamed_partitions
        generation.partitions = sum(
            sum(map(len, each.partitions.values())) + each.unnamed_partitions for each in members
        )
        self.ended.append(generation)

    # ---- offsets and rejected requests

    def _committed(self, event: schema.OffsetsCommitted) -> None:
        self.last_commit_ms = event.time_ms
        latest = self.latest
        if latest is not None and latest.outcome is Outcome.STABLE:
            latest.commits += event.commits
            latest.last_commit_ms = event.time_ms
            if latest.first_commit_ms is None:
                latest.first_commit_ms = event.time_ms

    def _offsets_gone(self, event: schema.OffsetsDeleted | schema.OffsetsExpired) -> None:
        self.deletions.append(event)

    def _offsets_reset(self, event: schema.OffsetsReset) -> None:
        self.resets.append(event)

    def _rejected(self, event: schema.RequestRejected) -> None:
        self.rejected.append(event)


def _resubscription(event: schema.MemberRejoined, known: KnownMember) -> Resubscription:
    before, now = set(known.subscribed_topics), set(event.subscribed_topics)
    return Resubscription(
        event.member, tuple(sorted(now - before)), tuple(sorted(before - now)), is_first_since_load=known.was_loaded
    )


_HANDLERS: Final[dict[type[AuditEvent], Callable[[GroupHistory, Any], None]]] = {
    schema.GroupCreated: GroupHistory._created,
    schema.GroupConverted: GroupHistory._converted,
    schema.MemberReconciled: GroupHistory._reconciled,
    schema.MemberJoined: GroupHistory._joined,
    schema.MemberRejoined: GroupHistory._rejoined,
    schema.MemberRemoved: GroupHistory._removed,
    schema.StaticMemberReplaced: GroupHistory._replaced,
    schema.RebalanceStarted: GroupHistory._rebalance_started,
    schema.GenerationStarted: GroupHistory._generation_started,
    schema.MemberAssigned: GroupHistory._assigned,
    schema.GenerationStable: GroupHistory._stable,
    schema.RebalanceSuperseded: GroupHistory._superseded,
    schema.GroupEmptied: GroupHistory._emptied,
    schema.GroupRemoved: GroupHistory._group_removed,
    schema.GroupLoaded: GroupHistory._loaded,
    schema.GroupSnapshot: GroupHistory._snapshot,
    schema.OffsetsCommitted: GroupHistory._committed,
    schema.OffsetsExpired: GroupHistory._offsets_gone,
    schema.OffsetsDeleted: GroupHistory._offsets_gone,
    schema.OffsetsReset: GroupHistory._offsets_reset,
    schema.RequestRejected: GroupHistory._rejected,
}
