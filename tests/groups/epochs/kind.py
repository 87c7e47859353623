"""The row of a kind: what would be `coordinator/core/epochs/kind.py`.

Its records are of several types, one for the epoch and one for each member; a classic group becomes one and keeps its
offsets; its own protocol has no JoinGroup.
"""

from dataclasses import dataclass, field
from struct import pack, unpack_from
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails, KnowsClient
from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext, replying
from coordinator.core.event import Event
from coordinator.core.groups.background_work import Worker, WorkSteps
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import (
    DerivedField,
    EventRecords,
    GroupKind,
    KindChecks,
    KindEvents,
    KindRecords,
    OffsetRules,
    RecordType,
)
from coordinator.core.groups.membership import Membership, TopicName
from coordinator.core.groups.states import DEAD, EMPTY, STABLE, GroupState
from coordinator.core.sessions import SessionStarted
from coordinator.core.stored import StoredRecord

NAME: Final = "epochs"
EPOCH_TYPE: Final = 3
MEMBER_TYPE: Final = 5
SESSION_TIMEOUT_MS: Final = 10_000


@dataclass(slots=True)
class EpochMember(KnowsClient):
    member_id: str
    client_id: str = "client"
    client_host: str = "/127.0.0.1"
    group_instance_id: str | None = None
    client_details: ClientDetails = UNKNOWN_CLIENT
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    is_new: bool = False
    committed_ms: int | None = field(default=None, compare=False)


@dataclass(slots=True)
class EpochGroup:
    """Its epoch rises with each member."""

    group_id: str
    state: GroupState = EMPTY
    state_since_ms: int | None = None
    generation_id: int = 0
    members: dict[str, EpochMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    protocol_type: str | None = "consumer"
    protocol_name: str | None = None
    leader: str | None = None
    counted: int | None = None
    """What the work `count` has found."""

    def mark_created(self, at_ms: int) -> None:
        self.state_since_ms = at_ms

    def mark_removed(self, at_ms: int) -> None:
        self.state = DEAD

    def shared_protocols(self, searched_max: int) -> list[str]:
        return []

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]] | None:
        return {member_id: [0]}


@dataclass(slots=True, kw_only=True)
class EpochMemberAdded(GroupEvent):
    group_id: str
    at_ms: int
    member_id: str

    def apply(self, group: Group[EpochGroup]) -> None:
        membership = group.membership
        membership.members[self.member_id] = EpochMember(self.member_id)
        membership.state, membership.generation_id = STABLE, membership.generation_id + 1


@dataclass(slots=True, kw_only=True)
class MembersCounted(GroupEvent):
    """The result of the work beside requests; it is not stored."""

    group_id: str
    at_ms: int
    count: int

    def apply(self, group: Group[EpochGroup]) -> None:
        group.membership.counted = self.count


@dataclass(slots=True, kw_only=True)
class GroupConverted(GroupEvent):
    """A classic group goes on with epochs, and its members stay."""

    group_id: str
    at_ms: int

    def apply(self, group: Group[Any]) -> None:
        group.kind, group.membership = KIND, converted(group.membership)


def converted(before: Membership) -> EpochGroup:
    members = {member_id: EpochMember(member_id) for member_id in before.members}
    return EpochGroup(before.group_id, before.state, before.state_since_ms, before.generation_id, members)


# ---- records


def key_of(key_type: int, group_id: str, member_id: str = "") -> bytes:
    parts = b"".join(pack(">h", len(name)) + name for name in (group_id.encode(), member_id.encode()))
    return pack(">h", key_type) + parts


def names_of(key: bytes) -> tuple[str, str]:
    (size,) = unpack_from(">h", key, 2)
    return key[4 : 4 + size].decode(), key[6 + size :].decode()


def epoch_record(group_id: str, epoch: int) -> StoredRecord:
    return key_of(EPOCH_TYPE, group_id), pack(">i", epoch)


def records_of_state(group: EpochGroup) -> list[StoredRecord]:
    members = [(key_of(MEMBER_TYPE, group.group_id, member_id), b"\0") for member_id in group.members]
    return [*members, epoch_record(group.group_id, group.generation_id)]


def records_of_removal(group: EpochGroup) -> list[StoredRecord]:
    return [(key, None) for key, _ in records_of_state(group)]


def _member_records(
    event: EpochMemberAdded, group: Group[EpochGroup] | None, events: tuple[Event, ...]
) -> list[StoredRecord]:
    added = [each for each in events if isinstance(each, EpochMemberAdded)]
    epoch = (0 if group is None else group.membership.generation_id) + added.index(event) + 1
    return [(key_of(MEMBER_TYPE, event.group_id, event.member_id), b"\0"), epoch_record(event.group_id, epoch)]


def _records_of_conversion(event: GroupConverted, group: Group[Any], events: object) -> list[StoredRecord]:
    return [*group.kind.records.of_removal(group.membership), *records_of_state(converted(group.membership))]


def replay(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
    group_id, member_id = names_of(key)
    (key_type,) = unpack_from(">h", key)
    if value is None and not isinstance(before, EpochGroup):
        return before
    group = before if isinstance(before, EpochGroup) else EpochGroup(group_id)
    if key_type == EPOCH_TYPE:
        if value is None:
            return None
        (group.generation_id,) = unpack_from(">i", value)
    elif value is None:
        group.members.pop(member_id, None)
    else:
        group.members[member_id] = EpochMember(member_id)
    group.state = STABLE if group.members else EMPTY
    return group


# ---- operations


def heartbeat(group: Group[EpochGroup] | None, request: Any, context: OperationContext) -> Decision:
    return replying(context, HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))


COUNT: Final = "count"
"""Work beside the requests: the request is a tuple of member ids."""


def counting_steps(request: tuple[str, ...], environment: Environment) -> WorkSteps:
    count = 0
    for _ in request:
        count += 1
        yield
    return count


def take_count(group: Group[EpochGroup] | None, request: int, context: OperationContext) -> Decision:
    assert group is not None, "work is taken back with its group"
    return Decision((MembersCounted(group_id=group.group_id, at_ms=context.wall_ms, count=request),))


def not_counted(group: Group[EpochGroup] | None, request: int, context: OperationContext, problem: object) -> Decision:
    return NOTHING


def validate_commit(
    group: EpochGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    api_version: int,
    committed: object,
    topics: object,
) -> ErrorCode:
    return NONE if member_id in group.members and epoch == group.generation_id else ErrorCode.STALE_MEMBER_EPOCH


KIND: Final = GroupKind(
    described_bytes=lambda membership: 0,
    name=NAME,
    states=(EMPTY, STABLE, DEAD),
    stored_states=frozenset({EMPTY, STABLE}),
    rebalance_states=frozenset(),
    new_membership=EpochGroup,
    handlers={"Heartbeat": heartbeat, "take count": take_count},
    too_large_handlers={},
    failure_handlers={"take count": not_counted},
    workers={COUNT: Worker("take count", counting_steps, lambda request, problem: -1)},
    advance=lambda group, context: NOTHING,
    next_deadline_ms=lambda group: None,
    waiting_requests=lambda group: [],
    session_ids=lambda group: list(group.members),
    effects_of_loaded=lambda group, environment: [
        SessionStarted(member.member_id, None, member.session_timeout_ms, member.session_timeout_ms)
        for member in group.members.values()
    ],
    has_fast_heartbeats=False,
    max_size=None,
    validate_removal=lambda group: NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP,
    offsets=OffsetRules(
        validate_commit=validate_commit,
        validate_transactional_commit=lambda group, member_id, instance_id, epoch, committed, topics: NONE,
        validate_fetch=lambda group, member_id, epoch: NONE if epoch < 0 else ErrorCode.STALE_MEMBER_EPOCH,
        validate_delete=lambda group: NONE,
        sessions_renewed=lambda group, member_id: (),
        topics_read=lambda group: frozenset({"t"}),
        may_expire=lambda group: False,
        expiration_base_ms=lambda group: None,
    ),
    records=KindRecords(
        of_events={
            EpochMemberAdded: EventRecords(_member_records),
            GroupConverted: EventRecords(_records_of_conversion),
        },
        of_creation=lambda event: [epoch_record(event.group_id, 0)],
        of_state=records_of_state,
        of_removal=records_of_removal,
        types=tuple(RecordType(each, lambda key: names_of(key)[0], replay) for each in (EPOCH_TYPE, MEMBER_TYPE)),
    ),
    events=KindEvents(
        transition_reasons={EpochMemberAdded: lambda event: "member added", GroupConverted: lambda event: "converted"},
        rebalance_started={},
        rebalance_ended={},
        rebalance_counted={},
        members_removed={},
    ),
    checks=KindChecks(
        legal_predecessors={STABLE: frozenset({EMPTY}), EMPTY: frozenset({STABLE}), DEAD: frozenset({EMPTY})},
        durable_part=lambda group: (group.state, group.generation_id, set(group.members)),
        derived_fields=lambda group: [DerivedField("state", group.state is STABLE, bool(group.members))],
    ),
)
