"""Continues the audit after a load: the last audited state of each group, compared with the state that was loaded.

Kafka has no counterpart, because it has no audit topic.
"""

from collections.abc import Generator, Hashable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import xor
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import astuple

from _wire.errors import MalformedMessage
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import whole_group
from coordinator.audit.projections import (
    KIND_AUDITS,
    STORED_EVENTS,
    marks_have_progress,
    remember_group,
    type_and_progress,
)
from coordinator.audit.schema import (
    LEFT_FOR_A_MOMENT,
    NEVER_VOID,
    SCHEMA_VERSION,
    TAGS,
    GenerationStable,
    GroupLoaded,
    GroupRemoved,
    GroupSnapshot,
    RebalanceStarted,
    Record,
)
from coordinator.audit.schema.observed import PLACES_MARK
from coordinator.core.causes import Cause
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME
from coordinator.core.groups.states import DEAD, EMPTY, GroupState
from coordinator.core.kinds.table import KINDS

if TYPE_CHECKING:
    from coordinator.audit.projector import AuditProjector

STATES_REMEMBERED_MAX: Final = 16
"""Number of past states of a group that are kept for the comparison. A crash undoes one batch, which has few."""

STORED_KINDS: Final = {
    group_type: frozenset({*(TAGS[event] for event in stored), TAGS[GroupLoaded], TAGS[GroupSnapshot]})
    for group_type, stored in STORED_EVENTS.items()
}
"""Type of group → events after which `__consumer_offsets` may have its current state; the last two report it."""

STORED_STATES: Final = frozenset(state for kind in KINDS.values() for state in kind.stored_states)

RECORDS_PER_STEP: Final = 100
"""Audit events that are read, or groups that are resumed, in one step: half a millisecond."""

NEVER_VOID_KINDS: Final = frozenset(TAGS[kind] for kind in NEVER_VOID)


class ReadMember(msgspec.Struct):
    member_id: str


class ReadSnapshot(msgspec.Struct):
    member: ReadMember


class ReadProgress(msgspec.Struct):
    member_epoch: int
    member_state: str
    partition_count: int
    revoking_count: int


class ReadStored(msgspec.Struct):
    seq: int
    generation_id: int
    state: str
    member_ids: list[str]


class ReadEvent(msgspec.Struct):
    """The fields of an audit event that tell the state of its group."""

    kind: str
    seq: int
    created_seq: int
    time_ms: int
    generation_id: int
    state: str
    member: ReadMember | None = None
    old_member_id: str = ""
    members: int | list[ReadSnapshot] = 0
    """A number in events that only count the members."""
    stored: ReadStored | None = None
    checkpoint_offset: int | None = None
    group_type: str = ""
    """Of the events that tell it."""
    progress: dict[str, ReadProgress] = {}
    member_epoch: int | None = None
    """Of `member.reconciled`, as are the next ones."""
    member_state: str = ""
    partition_count: int = 0
    revoking_count: int = 0
    rebalance_started_ms: int | None = None
    """Of `group.snapshot`."""


_decode = msgspec.json.Decoder(ReadEvent).decode

StateKey = tuple[int, GroupState, int]
"""Generation, state, and the fingerprint of the members."""


def fingerprint(marks: Iterable[Hashable]) -> int:
    """A hash of a set of members by their marks (`KindAudit.mark`), valid within this process: the XOR of their own."""
    return reduce(xor, map(hash, marks), 0)


def state_key(group: Group[Any]) -> StateKey:
    membership = group.membership
    marks = map(KIND_AUDITS[group.kind.name].mark, membership.members.values())
    return membership.generation_id, membership.state, fingerprint(marks)


class AuditCursor(msgspec.Struct):
    """The last event of a group, and the `seq` of the last event of each state that may be stored."""

    seq: int = 0
    created_seq: int = 0
    generation_id: int = 0
    state: GroupState = EMPTY
    group_type: str = CLASSIC_NAME
    members: int = 0
    """Fingerprint of the members."""
    marks: dict[str, Hashable] = msgspec.field(default_factory=dict)
    """Member id → mark, of those members whose mark is more than their id."""
    knows_members: bool = False
    """False until an event names all members, because earlier events may be deleted or precede the checkpoint."""
    last_seq_by_state: dict[StateKey, int] = msgspec.field(default_factory=dict)
    """In ascending order of `seq`."""

    has_unstored_change: bool = False
    """Whether a member changed in a way that its state key does not show, and the group was not stored since: a
    JoinGroup with other topics whose group failed before it began to rebalance."""

    started_ms: dict[int, int] = msgspec.field(default_factory=dict)
    """Generation → wall-clock time of its `rebalance.started`, or as a snapshot tells it, of the last ones."""

    stable_generation_id: int | None = None
    """The last generation that became stable: a static member may have left it for a time since."""

    unconfirmed: tuple[StateKey, int] | None = None
    """An entry for `last_seq_by_state` that is valid only if the batch of that event was stored."""

    def apply(self, event: ReadEvent) -> None:
        before = self._state_key()
        self._apply_members(event)
        self.seq, self.created_seq = event.seq, event.created_seq
        self.generation_id, self.state = event.generation_id, GroupState(event.state)
        if event.kind == TAGS[RebalanceStarted]:
            self._note_start(event.generation_id, event.time_ms)
        elif event.rebalance_started_ms is not None:
            self._note_start(event.generation_id, event.rebalance_started_ms)
        elif event.kind == TAGS[GenerationStable] or _is_left_for_a_time(event):
            self.stable_generation_id = event.generation_id
        is_stored = event.kind in STORED_KINDS.get(self.group_type, STORED_KINDS[CLASSIC_NAME])
        if is_stored:
            self.has_unstored_change = False
        elif event.kind not in NEVER_VOID_KINDS and self._state_key() == before:
            self.has_unstored_change = True
        if event.stored is not None:
            stored = event.stored
            key = (stored.generation_id, GroupState(stored.state), fingerprint(stored.member_ids))
            self._note_stored(key, stored.seq)
        elif self.knows_members and self.state in STORED_STATES:
            key = self._state_key()
            if is_stored:
                self._note_stored(key, event.seq)
            elif event.kind in NEVER_VOID_KINDS and self._last_seq_of(key) == event.seq - 1:
                self.unconfirmed = key, event.seq

    def _note_start(self, generation_id: int, at_ms: int) -> None:
        self.started_ms.pop(generation_id, None)
        self.started_ms[generation_id] = at_ms
        if len(self.started_ms) > STATES_REMEMBERED_MAX:
            del self.started_ms[next(iter(self.started_ms))]

    def _state_key(self) -> StateKey:
        return self.generation_id, self.state, self.members

    def confirm(self) -> None:
        """The batch of the last event was stored, so events that did not change the group are not void."""
        if self.unconfirmed is not None:
            key, seq = self.unconfirmed
            if key in self.last_seq_by_state:
                self.last_seq_by_state[key] = seq
            self.unconfirmed = None

    def _last_seq_of(self, key: StateKey) -> int | None:
        if self.unconfirmed is not None and self.unconfirmed[0] == key:
            return self.unconfirmed[1]
        return self.last_seq_by_state.get(key)

    def _note_stored(self, key: StateKey, seq: int) -> None:
        self.last_seq_by_state.pop(key, None)
        self.last_seq_by_state[key] = seq
        if self.unconfirmed is not None and self.unconfirmed[0] == key:
            self.unconfirmed = None  # it is older
        if len(self.last_seq_by_state) > STATES_REMEMBERED_MAX:
            del self.last_seq_by_state[next(iter(self.last_seq_by_state))]

    def _apply_members(self, event: ReadEvent) -> None:
        self.group_type = event.group_type or self.group_type
        member_id = "" if event.member is None else event.member.member_id
        match event.kind:
            case "member.joined":
                self._add(member_id, (0, "STABLE", 0, 0))
            case "member.removed":
                self._remove(member_id)
            case "member.reconciled":
                self._remove(member_id)
                counts = event.partition_count, event.revoking_count
                self._add(member_id, (event.member_epoch, event.member_state, *counts))
            case "static_member.replaced":
                before = self._remove(event.old_member_id)
                self._add(member_id, (0, *before[2:]) if isinstance(before, tuple) else (0, "STABLE", 0, 0))
            case "group.created" | "group.emptied" | "group.removed":
                self.members, self.knows_members = 0, True
                self.marks.clear()
            case _ if isinstance(event.members, list):
                self._add_snapshot(event.members, event.progress)

    def _add_snapshot(self, members: list[ReadSnapshot], progress: Mapping[str, ReadProgress]) -> None:
        self.members, self.knows_members = 0, True
        self.marks.clear()
        for member in members:
            of_member = progress.get(member.member.member_id)
            self._add(member.member.member_id, () if of_member is None else astuple(of_member))

    def _add(self, member_id: str, progress: tuple[Any, ...]) -> None:
        """Add a member, whose mark perhaps contains how far it is."""
        mark: Hashable = member_id
        if marks_have_progress(self.group_type):
            mark = self.marks[member_id] = (member_id, *progress)
        self.members ^= hash(mark)

    def _remove(self, member_id: str) -> Hashable:
        mark = self.marks.pop(member_id, member_id)
        self.members ^= hash(mark)
        return mark

    def agrees_with(self, group: Group[Any]) -> bool:
        """Whether the group is as its events tell it, so that nothing is void."""
        return self.knows_members and not self.has_unstored_change and self._state_key() == state_key(group)

    def void_from(self, group: Group[Any]) -> int | None:
        """The `seq` that follows the last event in the state of `group`; None if no event had that state."""
        seq = self.last_seq_by_state.get(state_key(group))
        return None if seq is None else seq + 1


def _is_left_for_a_time(event: ReadEvent) -> bool:
    """Whether a snapshot tells of no rebalance, and of a static member that is away."""
    is_snapshot = event.kind == TAGS[GroupSnapshot]
    return is_snapshot and any(
        read_progress.member_epoch == LEFT_FOR_A_MOMENT for read_progress in event.progress.values()
    )


class AuditReplay:
    """Reads the records of a partition in order, from some offset on, and keeps a cursor for each group.

    The cursor of a removed group is dropped when the next batch is read. A crash undoes at most one batch, so until
    then the group may still be loaded.
    """

    def __init__(self, from_offset: int) -> None:
        self.cursors: dict[str, AuditCursor] = {}
        self.checkpoint_offset = from_offset
        """Where the last completed checkpoint begins; `from_offset` if there is none."""
        self.checkpoint_ms: int | None = None
        """Completion time of the last checkpoint, in ms since the epoch; if there is none, that of the first event."""
        self.starts_at_checkpoint = False
        """Whether a checkpoint that began at `from_offset` was completed."""
        self._from_offset = from_offset
        self._removed: set[str] = set()
        self._unconfirmed: list[AuditCursor] = []

    def apply(self, records: Sequence[Record]) -> Generator[None, None, None]:
        """Read the next batch, in steps.

        Raises:
            MalformedMessage: a record is not a valid audit event.
        """
        self.confirm_last_batch()
        for position, (key, value, _) in enumerate(records, 1):
            if position % RECORDS_PER_STEP == 0:
                yield
            if key is None or PLACES_MARK in value:
                continue  # about the coordinator itself, or seen of a group that another Kafka coordinates
            try:
                self._apply_event(key.decode(), _decode(value))
            except (msgspec.MsgspecError, ValueError) as problem:
                raise MalformedMessage("AuditEvent", SCHEMA_VERSION, "", 0, f"key {key!r}: {problem}") from None

    def knows(self, group_ids: Iterable[str]) -> bool:
        """Whether it began at a completed checkpoint and tells where each of these groups is.

        A checkpoint leaves out the groups that are being rebuilt while it is written.
        """
        cursors = self.cursors
        return self.starts_at_checkpoint and all(
            group_id in cursors and cursors[group_id].knows_members for group_id in group_ids
        )

    def _apply_event(self, group_id: str, event: ReadEvent) -> None:
        cursor = self.cursors.get(group_id)
        if cursor is None:
            cursor = self.cursors[group_id] = AuditCursor()
        cursor.apply(event)
        if cursor.state is DEAD:
            self._removed.add(group_id)
        if cursor.unconfirmed is not None:
            self._unconfirmed.append(cursor)
        if self.checkpoint_ms is None:
            self.checkpoint_ms = event.time_ms
        if event.checkpoint_offset is not None:
            self.checkpoint_offset, self.checkpoint_ms = event.checkpoint_offset, event.time_ms
            self.starts_at_checkpoint |= event.checkpoint_offset == self._from_offset

    def confirm_last_batch(self) -> None:
        """The previous batch was stored, because another one follows it."""
        for group_id in self._removed:
            if self.cursors[group_id].state is DEAD:
                del self.cursors[group_id]
        self._removed.clear()
        for cursor in self._unconfirmed:
            cursor.confirm()
        self._unconfirmed.clear()


def resume(
    projector: "AuditProjector",
    cursors: Mapping[str, AuditCursor],
    groups: Mapping[str, Group[Any]],
    now_ms: int,
    cause: Cause | None,
) -> Generator[None, None, list[Record]]:
    """Set the audit state of each loaded group in `projector`, in steps; return records for the groups that differ."""
    records: list[Record] = []
    gone = [group_id for group_id in cursors if group_id not in groups]
    for position, group_id in enumerate(chain(groups, gone), 1):
        records += resume_group(projector, cursors.get(group_id), group_id, groups.get(group_id), now_ms, cause)
        if position % RECORDS_PER_STEP == 0:
            yield
    return records


def resume_group(
    projector: "AuditProjector",
    cursor: AuditCursor | None,
    group_id: str,
    group: Group[Any] | None,
    now_ms: int,
    cause: Cause | None,
    *,
    always: bool = False,
) -> list[Record]:
    """Set the audit state of a group as it was loaded; None: it is not stored.

    Returns a record if the audit says something else. `always`: in any case, as after a fault of a test, which is told
    whatever it changed.
    """
    if group is None:
        return [] if cursor is None or cursor.state is DEAD else [_removed(projector, cursor, group_id, now_ms, cause)]
    state = projector.groups[group_id] = _resumed_state(cursor, projector.next_offset)
    remember_group(group, state, projector.world)
    records, membership = [], group.membership
    if state.is_rebalancing and cursor is not None:
        _go_on_rebalancing(state, cursor, group)
    if always or cause is Cause.FAULT or cursor is None or not cursor.agrees_with(group):
        before = (DEAD, 0) if cursor is None else (cursor.state, cursor.generation_id)
        after = (membership.state, membership.generation_id)
        fields = (
            whole_group(membership, state)
            | _difference(cursor, group)
            | {"cause": cause}
            | type_and_progress(group, state)
        )
        records.append(projector.write_event(GroupLoaded, group_id, state, now_ms, *before, *after, fields))
    state.mark_stored(membership)
    return records


def _go_on_rebalancing(state: GroupAuditState, cursor: AuditCursor, group: Group[Any]) -> None:
    """Each step of a reconciliation is stored, so it goes on, if there is one."""
    generation_id = group.membership.generation_id
    if cursor.stable_generation_id == generation_id and cursor.agrees_with(group):
        state.is_rebalancing = False
    else:
        state.rebalance_started_ms = cursor.started_ms.get(generation_id, state.rebalance_started_ms)


def _removed(
    projector: "AuditProjector", cursor: AuditCursor, group_id: str, now_ms: int, cause: Cause | None
) -> Record:
    state = _resumed_state(cursor, projector.next_offset)
    before, after = (cursor.state, cursor.generation_id), (DEAD, cursor.generation_id)
    fields = {"cause": cause or Cause.NOT_STORED, "requested_by": None}
    return projector.write_event(GroupRemoved, group_id, state, now_ms, *before, *after, fields)


def _resumed_state(cursor: AuditCursor | None, next_offset: int) -> GroupAuditState:
    """A group without audit events starts a new incarnation, as in `AuditProjector.state_of`."""
    return GroupAuditState(next_offset) if cursor is None else GroupAuditState(cursor.seq, cursor.created_seq)


def _difference(cursor: AuditCursor | None, group: Group[Any]) -> dict[str, Any]:
    void_from_seq = None if cursor is None else cursor.void_from(group)
    return {"void_from_seq": void_from_seq, "lost": cursor is not None and void_from_seq is None}
