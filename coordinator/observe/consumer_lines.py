"""Lines of brokers about a consumer group (KIP-848).

Where its records can be seen they tell all but why a member is gone, and the lines are evidence beside them. Where they
cannot, the lines are all there is: who came and went, when the epoch rose, and when its target was computed. No line
says what a member holds, or when all hold it.
"""

from typing import Final

from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.generation import OF_EPOCHS
from coordinator.observe.classic_lines import Members
from coordinator.observe.consumer import (
    FIRST_EPOCH_MAX,
    add_trigger,
    epoch_events,
    is_stable,
    since,
    target_events,
)
from coordinator.observe.group_so_far import CLASSIC, CONSUMER, Event, EventEmitter, Removed, trigger
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.places import Place
from coordinator.observe.records.stored import GroupEpoch, TargetEpoch

SETTLED: Final = "STABLE"
LINES_KEPT: Final = 10_000
"""Lines whose events have not been told yet."""


class ConsumerLines:
    """The lines of a consumer group: what they are evidence of, and the events that they stand for without records."""

    def __init__(self, *, is_whole: bool = True) -> None:
        """`is_whole`: no line was left out, so that what no line says did not happen."""
        self.is_whole = is_whole
        self.places: dict[tuple[str, object], Place] = {}

    def note(self, statement: OfGroup) -> None:
        """Keep where it was seen for the event that a record will tell."""
        kind, key = _KEYS.get(type(statement), (None, ""))
        if kind is None:
            return
        if len(self.places) >= LINES_KEPT:
            del self.places[next(iter(self.places))]
        self.places[kind, getattr(statement, key)] = statement.place

    def of(self, event: Event) -> tuple[Place, ...]:
        """Where lines say what an event tells."""
        member = event.get("member") or {}
        keys = [(event["kind"], member.get("member_id")), (event["kind"], event["generation_id"])]
        if event["kind"] == "rebalance.started":
            keys += [(literal, member.get("member_id")) for literal in ("member.removed", "member.joined")]
        return tuple(self.places[key] for key in keys if key in self.places)

    def emit(self, emitter: EventEmitter, statement: OfGroup, members: Members) -> None:
        """Tell what the line says, of a group whose records cannot be seen."""
        so_far = emitter.so_far
        if isinstance(statement, said.GroupConverted):
            _convert(emitter, statement.group_type)
            return
        if so_far.protocol == "":
            group_type = _type_of(statement)
            emitter.create(group_type, group_type)
        match statement:
            case said.ConsumerJoined() if statement.member_id not in so_far.members:
                member = members.of(statement.member_id, statement.group_instance_id)
                emitter.join(member)
                add_trigger(emitter, trigger(Cause.NEW_MEMBER, member, emitter.time_ms))
            case said.ConsumerReplaced():
                _so_far(emitter, members, statement.old_member_id, statement.group_instance_id)
                replacing = members.of(statement.member_id, statement.group_instance_id)
                emitter.replace(statement.old_member_id, replacing)
            case said.SessionExpired() | said.MemberLeft() | said.ConsumerLate():
                _so_far(emitter, members, statement.member_id)
                add_trigger(emitter, emitter.leave(statement.member_id, removed_by(statement) or Removed()))
            case said.EpochBumped():
                self._bump(emitter, statement)
            case said.MemberReconciled():
                self._reconcile(emitter, statement)
            case said.TargetComputed():
                if statement.epoch > so_far.generation_id:  # 3.9 writes no line when a leave raises the epoch
                    epoch_events(emitter, GroupEpoch(statement.group_id, statement.epoch))
                so_far.protocol_name = statement.assignor or so_far.protocol_name
                target_events(emitter, TargetEpoch(statement.group_id, statement.epoch))

    def _bump(self, emitter: EventEmitter, statement: said.EpochBumped) -> None:
        """Without a line of a member that came or went, the hash tells whether its topics may have changed."""
        so_far, now = emitter.so_far, statement.metadata_hash
        # A share group's epoch also rises when the state of its partitions is there.
        shows_change = self.is_whole and so_far.protocol == CONSUMER and None not in (so_far.metadata_hash, now)
        if shows_change and not so_far.triggers:
            is_same = now == so_far.metadata_hash
            cause = Cause.METADATA_CHANGED if is_same else InferredCause.TOPICS_OR_SUBSCRIPTION_CHANGED
            add_trigger(emitter, trigger(cause, None, emitter.time_ms))
        is_first = statement.epoch <= FIRST_EPOCH_MAX
        so_far.has_all_members = is_first or (so_far.generation_id > 0 and so_far.has_all_members)
        so_far.is_open = False  # whether its members had got there is not told
        so_far.metadata_hash = None
        epoch_events(emitter, GroupEpoch(statement.group_id, statement.epoch))
        so_far.metadata_hash = now

    def _reconcile(self, emitter: EventEmitter, statement: said.MemberReconciled) -> None:
        """Lines of 3.9 and of share groups tell when each member has got there."""
        so_far = emitter.so_far
        member = so_far.members.get(statement.member_id)
        if member is None:
            return
        member.epoch, member.is_settled = statement.epoch, statement.assignment_state == SETTLED
        if so_far.is_open and so_far.has_all_members and is_stable(so_far):
            so_far.is_open, so_far.state = False, "Stable"
            emitter.emit("generation.stable", members=len(so_far.members), partitions=None, rebalance_ms=since(emitter))


def removed_by(statement: Statement) -> Removed | None:
    """How a member of a consumer group went, by a line; None: the line tells of no member that goes."""
    match statement:
        case said.SessionExpired():
            return Removed(Cause.SESSION_EXPIRED)
        case said.ConsumerLate(missing="sync"):
            return Removed(Cause.SYNC_TIMEOUT)
        case said.ConsumerLate():
            return Removed(Cause.REBALANCE_TIMEOUT)
        case said.MemberLeft():
            text = statement.client_reason
            return Removed(Cause.MEMBER_LEFT, None if text == "not provided" else text)
    return None


def end_epoch(emitter: EventEmitter, group_id: str) -> None:
    """Before the group is removed: its last member left, for which 3.9 writes no line of an epoch."""
    so_far = emitter.so_far
    if so_far.triggers and not so_far.members:
        epoch_events(emitter, GroupEpoch(group_id, so_far.generation_id + 1))


def _type_of(statement: OfGroup) -> str:
    is_other = isinstance(statement, said.ConsumerJoined) and statement.protocol in OF_EPOCHS
    return statement.protocol if is_other else CONSUMER  # type: ignore[attr-defined]


def _so_far(emitter: EventEmitter, members: Members, member_id: str, group_instance_id: str | None = None) -> None:
    """A member that joined before the lines began."""
    if member_id not in emitter.so_far.members:
        emitter.so_far.members[member_id] = members.of(member_id, group_instance_id)


def _convert(emitter: EventEmitter, group_type: str) -> None:
    so_far = emitter.so_far
    if so_far.protocol and so_far.protocol != group_type and group_type in (CLASSIC, CONSUMER):
        emitter.convert(group_type)


_KEYS: Final[dict[type[OfGroup], tuple[str, str]]] = {
    said.ConsumerJoined: ("member.joined", "member_id"),
    said.ConsumerReplaced: ("static_member.replaced", "member_id"),
    said.SessionExpired: ("member.removed", "member_id"),
    said.MemberLeft: ("member.removed", "member_id"),
    said.ConsumerLate: ("member.removed", "member_id"),
    said.EpochBumped: ("rebalance.started", "epoch"),
    said.TargetComputed: ("generation.started", "epoch"),
}
"""Statement → the kind of event that it is evidence of, and its field that tells which one."""
