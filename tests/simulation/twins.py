"""The slow twins of a shard: its events replayed, its records loaded, its audit read, all as they come."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from coordinator.audit import schema
from coordinator.audit.schema import Record as AuditRecord
from coordinator.audit.schema import decode_coordinator_event, decode_event
from coordinator.core.causes import Cause
from coordinator.core.classic import events
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from coordinator.core.client_connection import ClientConnection
from coordinator.core.consumer import events as consumer_events
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.event import Event
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.events import GroupCreated, GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME, CONSUMER_NAME
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets.events import (
    DeletionCause,
    OffsetsCommitted,
    OffsetsDeleted,
    TransactionalOffsetsCommitted,
)
from coordinator.core.stored import Stored
from coordinator.core.topic_partition import TopicPartition
from tests.model.stored_log import groups_of
from tests.simulation.audit_reader import AuditReader, Described
from tests.simulation.client_view import Generation
from tests.simulation.rules import check_event

Record = TypeVar("Record")
CAUSED: Final = (
    events.MemberRemoved,
    events.PendingMemberRemoved,
    consumer_events.ConsumerMemberRemoved,
    consumer_events.GroupEpochBumped,
)
"""Events with a cause that is counted."""


class InjectedDefect(AssertionError):
    """A defect of the coordinator that a history asks for."""


def session_timeout_ms(group: ClassicGroup | ConsumerGroup, member_id: str) -> int | None:
    """The session timeout of a member or of a pending member id; None if the group does not know the id."""
    member = group.members.get(member_id)
    if isinstance(group, ConsumerGroup):
        return None if member is None else member.session_timeout_ms
    return group.pending_members.get(member_id) if member is None else member.session_timeout_ms


class ShardTwins:
    """What one partition must be, over all lives of its server.

    `stored` and `audited` are what the two logs must hold. After a crash a batch that was `in_flight` may be there
    too, and after a power loss what had not been flushed may be missing.
    """

    def __init__(self, partition: int, seen: Counter[str], step_ms: Callable[[], int]) -> None:
        self.partition = partition
        self._step_ms = step_ms
        self.clock_was_set_back = False
        """Whether a later event may have an earlier time."""
        self.seen = seen
        self.stored: list[Stored] = []
        self.audited: list[AuditRecord] = []
        self.audit_batches: list[int] = []
        """The offset at which each batch of `audited` begins."""
        self.flushed_stored = self.flushed_audited = 0
        self.in_flight: tuple[list[Stored], list[AuditRecord]] = ([], [])
        self.power_was_lost = False
        """Since the last start, which is not through yet."""
        self.power_was_ever_lost = False
        self.replayed: dict[str, Group] = {}
        self.durable = StoredGroups()
        self.readers: dict[str, AuditReader] = {}
        self.shown: defaultdict[str, dict[int, Described]] = defaultdict(dict)
        """Group id → `seq` of an audit event that is not appended yet → what DescribeGroups would show after it."""
        self.incarnation: Counter[str] = Counter()
        """Group id → how often it was created, loaded or converted. Generations are counted within an incarnation."""
        self.consumer_incarnations: set[tuple[str, int]] = set()
        """Group id and incarnation of consumer groups."""
        self.expired: defaultdict[str, set[TopicPartition]] = defaultdict(set)
        """Group id → partitions whose offsets expired since somebody looked."""
        self._instances: dict[str, str] = {}
        """Member id → instance id, of static members."""
        self.generations: dict[tuple[str, int, int], Generation] = {}
        """Group id, incarnation and generation id → the generation as clients saw it."""
        self.committed: dict[str, tuple[int, int]] = {}
        """Group id → commits and committed offsets since they were last reported, or since the load."""
        self.may_be_silent_until_ms: dict[tuple[str, str], int] = {}
        """Group and member id → when its session may end, by what its client was answered."""
        self.first_session_until_ms: dict[tuple[str, str], int] = {}
        """Group and member id → when the session ends that it began with, which may be longer than the next ones."""
        self.came_by: defaultdict[tuple[str, str], list[ClientConnection]] = defaultdict(list)
        """Group and member id → the connections that its JoinGroup and SyncGroup came by since the last start."""
        self.lived_ms: dict[tuple[str, str], int] = {}
        """Group and member id → when its client was last answered in a way that keeps its session alive."""
        self.on_offsets_deleted: Callable[[str, Iterable[TopicPartition]], None] = lambda group_id, partitions: None
        self.breaking: dict[str, int] = {}
        """Group id → after how many further events the group breaks an invariant."""

    def lives(self, group_id: str, member_id: str, now_ms: int) -> None:
        """The client was answered in a way that keeps its session alive."""
        group = self.replayed.get(group_id)
        timeout_ms = None if group is None else session_timeout_ms(group.membership, member_id)
        if timeout_ms is not None:
            self.lived_ms[group_id, member_id] = now_ms
            self.may_be_silent_until_ms[group_id, member_id] = now_ms + timeout_ms

    def identity(self, member_id: str) -> str:
        """The same for all member ids of one instance."""
        return self._instances.get(member_id, member_id)

    def note_flushed(self) -> None:
        self.flushed_stored, self.flushed_audited = len(self.stored), len(self.audited)

    # ---- events

    def happened(self, event: GroupEvent) -> None:
        """Check what is true of the group before the event, then replay it."""
        group = self.replayed.get(event.group_id)
        if group is None:
            assert isinstance(event, GroupCreated), (event, "of a group that is not there")
            group = self.replayed[event.group_id] = new_group(event.group_id, event.kind)
            self._count_incarnation(event.group_id, group)
        before = group.membership
        state = before.state
        now_ms = event.at_ms - self._step_ms()
        check_event(event, group, now_ms)
        self._check_session(event, before, now_ms)
        if isinstance(event, events.MemberRemoved):
            self._check_connection(event, before.members[event.member_id].answered_ms)
        event.apply(group)
        self.seen[f"event {type(event).__name__}"] += 1
        self._instances |= {
            static_member: instance for instance, static_member in group.membership.static_members.items()
        }
        if group.membership is not before:
            self._converted(group)
        elif before.state is not state:
            self.seen[f"state {state} → {before.state}"] += 1
        if isinstance(event, CAUSED):
            self.seen[f"cause of {type(event).__name__}: {event.cause}"] += 1
        elif isinstance(event, consumer_events.ConsumerMemberAssigned):
            self.seen[f"a member is {event.current.state.name}"] += 1
        elif isinstance(event, events.RebalanceStarted):
            self.seen[f"cause of RebalanceStarted: {event.rebalance_reason.cause}"] += 1
        elif isinstance(event, OffsetsCommitted | TransactionalOffsetsCommitted):
            commits, partitions = self.committed.get(event.group_id, (0, 0))
            self.committed[event.group_id] = commits + 1, partitions + sum(map(len, event.offsets.values()))
        elif isinstance(event, OffsetsDeleted):
            self.seen[f"cause of OffsetsDeleted: {event.cause.name}"] += 1
            self.on_offsets_deleted(event.group_id, event.partitions)
            if event.cause is DeletionCause.EXPIRED:
                self.expired[event.group_id].update(event.partitions)
        elif isinstance(event, GroupRemoved):
            self.seen[f"cause of GroupRemoved: {event.cause}"] += 1
            del self.replayed[event.group_id]
            self.committed.pop(event.group_id, None)

    def _converted(self, group: Group) -> None:
        """The group is of another kind from now on: sessions begin anew, and who waited is answered."""
        self._count_incarnation(group.group_id, group)
        self._forget_sessions(group.group_id)
        if group.kind.name == CLASSIC_NAME and group.membership.state is GroupState.STABLE:
            key = group.group_id, self.incarnation[group.group_id], group.membership.generation_id
            self.generations[key] = Generation(self.identity, from_its_start=False)

    def _count_incarnation(self, group_id: str, group: Group) -> None:
        self.incarnation[group_id] += 1
        if group.kind.name == CONSUMER_NAME:
            self.consumer_incarnations.add((group_id, self.incarnation[group_id]))

    def was_consumer_group(self, group_id: str, since: int) -> bool:
        """Whether the group is a consumer group, or was one in an incarnation from `since` on."""
        numbers = range(since, self.incarnation[group_id] + 1)
        return any((group_id, number) in self.consumer_incarnations for number in numbers)

    def _forget_sessions(self, group_id: str) -> None:
        for deadlines in (self.may_be_silent_until_ms, self.first_session_until_ms):
            for key in [key for key in deadlines if key[0] == group_id]:
                del deadlines[key]

    def shows(self, group_id: str, seq: int, described: Described) -> None:
        """What DescribeGroups would show after a core event, the last audit event of which is `seq`."""
        self.shown[group_id][seq] = described

    def break_invariant(self, group_id: str) -> None:
        """Raises InjectedDefect if this is the event at which the group was to break."""
        left = self.breaking.get(group_id)
        if left == 0:
            del self.breaking[group_id]
            self.seen["group broke an invariant"] += 1
            raise InjectedDefect(group_id)
        if left is not None:
            self.breaking[group_id] = left - 1

    def discarded(self, group_id: str) -> None:
        """The group is not served until it is rebuilt."""
        self.replayed.pop(group_id, None)
        self.committed.pop(group_id, None)
        self.shown.pop(group_id, None)

    def rebuilt(self, group_id: str, group: Group | None) -> None:
        """The group is served again as it is stored; None: it is not."""
        self.seen["group was rebuilt"] += 1
        self._forget_sessions(group_id)
        if group is not None:
            self.replayed[group_id] = groups_of(self.stored)[group_id]
            self._begin_anew(group_id, group)

    def _check_session(self, event: Event, group: Any, now_ms: int) -> None:
        """A session runs out when nothing was heard for its whole length."""
        match event:
            case events.MemberJoined():
                until_ms = now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
                self.may_be_silent_until_ms[event.group_id, event.member_id] = until_ms
                self.first_session_until_ms[event.group_id, event.member_id] = until_ms
            case events.StaticMemberReplaced():
                new, old_timeout_ms = event.new_member_id, group.members[event.old_member_id].session_timeout_ms
                self.first_session_until_ms[event.group_id, new] = now_ms + old_timeout_ms
                # It may be renewed by the new timeout, also by a request whose answer is lost.
                least_ms = min(old_timeout_ms, event.session_timeout_ms)
                self.may_be_silent_until_ms[event.group_id, new] = now_ms + least_ms
            case consumer_events.ConsumerMemberJoined() | consumer_events.ConsumerMemberReplaced():
                until_ms = now_ms + event.session_timeout_ms
                self.may_be_silent_until_ms[event.group_id, event.member_id] = until_ms
            case events.GenerationStarted():
                for member in group.members.values():
                    until_ms = now_ms + member.session_timeout_ms
                    self.may_be_silent_until_ms[event.group_id, member.member_id] = until_ms
            case (
                events.MemberRemoved(cause=Cause.SESSION_EXPIRED)
                | events.PendingMemberRemoved(cause=Cause.SESSION_EXPIRED)
                | consumer_events.ConsumerMemberRemoved(cause=Cause.SESSION_EXPIRED)
            ):
                assert now_ms >= self.may_be_silent_until_ms.get((event.group_id, event.member_id), 0), event

    def _check_connection(self, event: events.MemberRemoved, answered_ms: int | None) -> None:
        """What is said of the connection of a member that is removed is what its client did.

        A request in the very millisecond in which a waiting one was answered (`answered_ms`) cannot be told from that.
        """
        who = event.group_id, event.member_id
        came_by = self.came_by.pop(who, [])
        if event.connection.is_open:
            assert not came_by or any(each.is_open for each in came_by), event
        if event.connection.closed_ms is None:
            assert event.connection.is_open is not False, event
        else:
            closed_ms = event.connection.closed_ms - self._step_ms()
            assert event.connection.is_open is False, event
            assert not came_by or closed_ms in [each.closed_ms for each in came_by], event
            lived_ms = self.lived_ms.get(who, closed_ms)
            assert lived_ms <= closed_ms or lived_ms + self._step_ms() == answered_ms, event
        if event.last_heard_ms is not None and not self.clock_was_set_back:
            assert event.coordinator_paused_ms is not None, event
            assert 0 <= event.coordinator_paused_ms <= event.at_ms - event.last_heard_ms, event
            self.seen["the coordinator stood still in a silence"] += event.coordinator_paused_ms > 0
        self.seen[f"connection of a removed member is open: {event.connection.is_open}"] += 1

    # ---- the logs

    def appended(self, stored: list[Stored], audited: list[AuditRecord]) -> None:
        self.stored += stored
        first_offset = len(self.audited)
        if audited:
            self.audit_batches.append(first_offset)
        self.audited += audited
        for each in stored:
            self.durable.apply(each)
        self._read(audited, first_offset)

    def _read(self, audited: list[AuditRecord], first_offset: int) -> None:
        for offset, (key, value, _) in enumerate(audited, first_offset):
            if key is None:
                decode_coordinator_event(value)
                continue
            event = decode_event(value)
            assert key.decode() == event.group_id
            self.seen[f"audit {type(event).__struct_config__.tag}"] += 1
            if isinstance(event, schema.GenerationStarted) and event.target_epoch is not None:
                self.seen["the target of an earlier epoch"] += event.target_epoch < event.generation_id
            reader = self.readers.get(event.group_id)
            if reader is None:
                reader = self.readers[event.group_id] = AuditReader(lambda: self.clock_was_set_back)
            reader.apply(event, offset, may_be_lost=self.power_was_ever_lost)
            shown = self.shown[event.group_id].pop(event.seq, None)
            assert shown is None or reader.describe() == shown, event
            self.seen["audit tells what DescribeGroups shows"] += shown is not None

    def found_stored(self, found: list[Stored]) -> None:
        """A start or a reload reads these from `__consumer_offsets`."""
        if found != self.stored:
            assert_survived(found, self.stored, self.in_flight[0], self.flushed_stored, self.power_was_lost)
            self.stored = found
            self.durable = StoredGroups()
            for each in found:
                self.durable.apply(each)

    def found_audited(self, found: list[AuditRecord], start: int) -> None:
        """A start or a reload finds these in the audit topic from `start` on; what was before is deleted."""
        written = self.audited[start:]
        if found != written:
            assert_survived(found, written, self.in_flight[1], self.flushed_audited - start, self.power_was_lost)
            self.audit_batches = [audit_batch for audit_batch in self.audit_batches if audit_batch < start + len(found)]
            if len(found) > len(written):
                self.audit_batches.append(start + len(written))
            self.audited[start:], self.readers = found, {}
            self._read(self.audited, 0)
        self.in_flight = ([], [])

    def loaded(self, groups: Mapping[str, Group]) -> None:
        durable = {group_id: group.membership for group_id, group in self.durable.groups.items()}
        found = {group_id: group.membership for group_id, group in groups.items()}
        assert found == durable, "records are loaded one way only"
        self.replayed = dict(groups_of(self.stored))
        self.committed.clear()
        self.shown.clear()
        # Each session is a new one.
        self.may_be_silent_until_ms.clear()
        self.first_session_until_ms.clear()
        for group_id, group in groups.items():
            self._begin_anew(group_id, group)

    def _begin_anew(self, group_id: str, whole: Group) -> None:
        group = whole.membership
        generation = self.generations.get((group_id, self.incarnation[group_id], group.generation_id))
        self._count_incarnation(group_id, whole)
        if group.state is GroupState.STABLE:
            if generation is None or self.power_was_lost:
                generation = Generation(self.identity, from_its_start=False)
            self.generations[group_id, self.incarnation[group_id], group.generation_id] = generation

    def generation(self, group_id: str, generation_id: int, incarnation: int | None = None) -> Generation:
        """The generation as its members saw it, in the current incarnation of their group or an earlier one."""
        incarnation = self.incarnation[group_id] if incarnation is None else incarnation
        return self.generations.setdefault((group_id, incarnation, generation_id), Generation(self.identity))


def assert_survived(
    found: list[Record], written: list[Record], in_flight: list[Record], flushed: int, power_was_lost: bool
) -> None:
    """kill -9 keeps all that was written, and perhaps a part of what was being written; a power loss keeps a prefix
    that is no shorter than what was flushed."""
    whole = written + in_flight
    assert found == whole[: len(found)], "a log holds what nobody wrote"
    if power_was_lost:
        assert len(found) >= flushed, f"{len(found)} of {flushed} flushed records are left"
    else:
        assert len(found) >= len(written), f"{len(found)} of {len(written)} records are left"
