"""Faults of groups: each is an operation of the coordinator, as its real cause is."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.decision import OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.membership import Membership, MemberView
from coordinator.core.groups.requests import ForcedRebalance, JoinAsInstance, SessionExpired
from coordinator.core.kinds import operations
from coordinator.deadlines import deadline_after
from coordinator.faults.answers import Send, catch_answer
from coordinator.faults.request_faults import Surroundings
from coordinator.faults.specs import Expire, FaultError, Fence, Fill, Immediate, Rebalance, Unavailable
from coordinator.front.group_parts import GroupParts
from coordinator.front.request_context import RequestContext
from coordinator.runtime.shard import ShardState

CLIENT: Final = "fault"
"""The client id of the client that fences an instance."""
JOIN_VERSION: Final = 9


def group_of(groups: GroupParts, group_id: str) -> Group[Any] | None:
    """The group; None if there is none, or if its partition is not served now."""
    return groups.coordinator.shard_of(group_id).machine.groups.get(group_id)


def membership_of(groups: GroupParts, group_id: str) -> Membership | None:
    """The members of the group; None if there is none, or if its partition is not served now."""
    group = group_of(groups, group_id)
    return None if group is None else group.membership


def inject(spec: Immediate, groups: GroupParts) -> None:
    """Change a group now, by an operation that is decided after what is queued already.

    Raises:
        FaultError: there is no such group, member or instance, or the group does not fit the fault.
    """
    group = _existing(groups, spec.group)
    match spec:
        case Expire():
            expired = SessionExpired(_member(group.membership, spec.member).member_id, Cause.FAULT, "expire")
            _enqueue(groups, operations.EXPIRE_SESSION, spec.group, expired)
        case Rebalance():
            state = group.membership.state
            if state not in group.kind.rebalance_states:
                raise FaultError(f"group {spec.group} is {state}: only one with a generation can rebalance")
            _enqueue(groups, operations.FORCE_REBALANCE, spec.group, ForcedRebalance(Cause.FAULT, spec.reason))
        case Fence():
            _fence(groups, group, spec.instance)


def _existing(groups: GroupParts, group_id: str) -> Group[Any]:
    group = group_of(groups, group_id)
    if group is None:
        raise FaultError(f"there is no group {group_id}")
    return group


def _member(group: Membership, name: str) -> MemberView:
    found = [
        member
        for member in group.members.values()
        if name in (member.member_id, member.client_id, member.group_instance_id)
    ]
    if len(found) != 1:
        members = ", ".join(f"{member.member_id} ({member.client_id})" for member in group.members.values()) or "none"
        which = "more than one member" if found else "no member"
        raise FaultError(f"group {group.group_id} has {which} {name}; its members: {members}")
    return found[0]


def _enqueue(groups: GroupParts, operation: Any, group_id: str, request: Any) -> None:
    context = OperationContext(None, 0, CLIENT, "", groups.coordinator.environment, 0, 0)
    groups.coordinator.enqueue(operation, group_id, request, context)


class _Nobody:
    """Receives the answer to the client that fences an instance: it only came to take the place."""

    def send_response(self, response: Any) -> None:
        """Nobody reads it."""

    def send_error_response(self, error: ErrorCode) -> None:
        """Nobody reads it."""


def _fence(groups: GroupParts, whole: Group[Any], instance_id: str) -> None:
    """Have another client join with the instance id, with what its holder sent when it joined."""
    group = whole.membership
    if operations.JOIN_AS_INSTANCE.name not in whole.kind.handlers:
        raise FaultError(
            f"nobody can take the place of a member of the {whole.kind.name} group {group.group_id}: who joins with its"
            " instance id is answered UNRELEASED_INSTANCE_ID; to end the member use expire"
        )
    if instance_id not in group.static_members:
        instance_ids = ", ".join(group.static_members) or "none"
        raise FaultError(f"group {group.group_id} has no instance {instance_id}; its instances: {instance_ids}")
    request_id = groups.pending.register(_Nobody())
    context = OperationContext(request_id, JOIN_VERSION, CLIENT, "", groups.coordinator.environment, 0, 0)
    joining = JoinAsInstance(instance_id, Cause.FAULT, "fence")
    groups.coordinator.enqueue(operations.JOIN_AS_INSTANCE, group.group_id, joining, context)


class FillFault:
    """While it is installed, members join under a smaller `group.max.size`, or `group.consumer.max.size`."""

    apis: Final = ("JoinGroup", "ConsumerGroupHeartbeat")

    def __init__(self, spec: Fill, groups: GroupParts) -> None:
        self.hits = 0
        self._group_id = spec.group
        group = _existing(groups, spec.group)
        self._size = spec.size or max(1, len(group.membership.members))

    def applies_to(self, request: Any, context: RequestContext) -> bool:
        return bool(request.group_id == self._group_id)

    def act(self, request: Any, context: RequestContext, proceed: Callable[[], Any]) -> Any:
        """Let the request be decided in an environment with the smaller limit. A hit is one that finds no room."""
        context.environment = msgspec.structs.replace(context.environment, filled_size=self._size)
        return catch_answer(context, self._count, proceed)

    def _count(self, response: Any, send: Send) -> None:
        self.hits += response.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
        send(response)


class EndUnavailabilityKey:
    """The timer key at whose time a partition is led again."""

    def __init__(self, end: Callable[[], None]) -> None:
        self.end = end


class UnavailableFault:
    """A partition of groups that is not led, or whose load does not come to its end, until the fault ends."""

    def __init__(self, spec: Unavailable, around: Surroundings) -> None:
        self._groups = around.groups
        self._partition = around.groups.coordinator.partition_of(spec.group)
        self._around = around
        self._is_over = False
        shard = around.groups.coordinator.shards[self._partition]
        if shard.state is not ShardState.ACTIVE:
            raise FaultError(f"the partition of group {spec.group} is not served: it is {shard.state.name}")
        self._groups.coordinator.unload(self._partition)
        if spec.error == "COORDINATOR_LOAD_IN_PROGRESS":
            shard.start_loading(Cause.FAULT)
        self._timer = 0
        if spec.seconds is not None:
            at_ms = deadline_after(around.now_ms(), round(spec.seconds * 1000))
            self._timer = around.scheduler.start(EndUnavailabilityKey(self.end), at_ms)

    def end(self) -> None:
        """Lead the partition again."""
        if not self._is_over:
            self._is_over = True
            if self._timer:
                self._around.scheduler.cancel(self._timer)
            self._groups.coordinator.load([self._partition], Cause.FAULT)
