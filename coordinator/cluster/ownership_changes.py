"""Adopting groups and giving them back, as `coordinator cluster adopt` and `release` ask for it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.alter_group_owners import ChangedGroup, GroupOwnerResult
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.log.group_patterns import NAME_CHARACTERS_MAX, GroupPattern, is_pattern
from coordinator.cluster.log.notes import Rule, rule_record
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.core.causes import Cause
from coordinator.core.decision import OperationContext
from coordinator.core.groups.states import EMPTY
from coordinator.core.kinds.operations import RELEASE_GROUP
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.shard import Shard
from coordinator.runtime.slices import Steps, awaited

GROUPS_REPORTED_MAX: Final = 1_000
GROUPS_AT_ONCE: Final = 1_000
"""Groups that are looked at before other requests have a turn."""


class Change(msgspec.Struct, frozen=True):
    """A rule, and the shards of this node that it is about."""

    name: str
    is_adopted: bool
    shards: list[Shard[Any]]


class OwnershipChanges:
    """For the partitions that this node leads. The group of the nodes itself always stays with the cluster."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        ownership: GroupOwnership,
        sentinels: Sentinels,
        list_groups: Callable[[], Coroutine[Any, Any, list[str]]],
        pending: PendingRequests,
        wall_ms: Callable[[], int],
    ) -> None:
        """`list_groups` lists the groups at the cluster."""
        self._coordinator = coordinator
        self._ownership = ownership
        self._sentinels = sentinels
        self._list_groups = list_groups
        self._pending = pending
        self._wall_ms = wall_ms
        self._tasks = Tasks()

    def would(self, name: str, is_adopted: bool) -> Steps[GroupOwnerResult]:
        """What the change would be about; nothing is changed."""
        try:
            change = self._change(name, is_adopted)
            groups = []
            for group_id in (yield from self._groups_of(change)):
                groups.append((yield from self._described(group_id)))
            if not is_adopted:
                owned = self._ownership.is_owned
                groups = [group if owned(group.group_id) else _elsewhere(group) for group in groups]
        except BrokerError as problem:
            return _failed(name, ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem))
        return GroupOwnerResult(name=name, groups=groups[:GROUPS_REPORTED_MAX])

    def change(self, by: str, name: str, is_adopted: bool) -> Steps[GroupOwnerResult]:
        """Write the rule, then adopt the groups that nobody is in, or give back those that nobody is in here."""
        change = self._change(name, is_adopted)
        rule = Rule(is_adopted=is_adopted, at_ms=self._wall_ms(), by=by)
        result = GroupOwnerResult(name=name, needed=self._needed(name))
        for shard in change.shards:
            unwritten = yield from self._written(shard, name, rule)
            if unwritten is not None:
                result.error_code, result.error_message = ErrorCode.COORDINATOR_NOT_AVAILABLE, str(unwritten)
                return result
            result.taken.append(shard.partition)
        move = self._adopt if is_adopted else self.release
        try:
            groups = []
            for group_id in (yield from self._groups_of(change)):
                groups.append((yield from move(group_id)))
        except BrokerError as problem:
            result.error_code, result.error_message = ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem)
            return result
        held = [group for group in groups if group.members]
        result.groups = groups[:GROUPS_REPORTED_MAX]
        if held:
            where = "at the cluster" if is_adopted else "at the nodes"
            result.error_code = ErrorCode.NON_EMPTY_GROUP
            result.error_message = f"{len(held)} of {len(groups)} groups have members {where}"
        return result

    def _change(self, name: str, is_adopted: bool) -> Change:
        needed = self._needed(name)
        shards = [self._coordinator.shards[partition] for partition in needed]
        return Change(name, is_adopted, [shard for shard in shards if shard.is_active])

    def _needed(self, name: str) -> list[int]:
        """A pattern is about all partitions, a name about the one of the group, whoever leads them now."""
        if is_pattern(name):
            return [shard.partition for shard in self._coordinator.shards]
        return [self._coordinator.partition_of(name)]

    def _groups_of(self, change: Change) -> Steps[list[str]]:
        """The groups of these partitions, at the cluster and here, that the change is about."""
        if not change.shards:
            return []
        if not is_pattern(change.name):
            return [change.name]
        partitions = {shard.partition for shard in change.shards}
        existing = set(self._ownership.owned_groups())
        if change.is_adopted:
            existing.update((yield from self._tasks.steps(self._list_groups)))
        found, pattern = [], GroupPattern(change.name)
        for position, group_id in enumerate(existing, 1):
            is_meant = len(group_id) <= NAME_CHARACTERS_MAX and pattern.matches(group_id)
            if is_meant and self._coordinator.partition_of(group_id) in partitions:
                found.append(group_id)
            if position % GROUPS_AT_ONCE == 0:
                yield
        return sorted(found)

    def _written(self, shard: Shard[Any], name: str, rule: Rule) -> Steps[StoreError | None]:
        store = shard.store
        assert isinstance(store, ClusterStore)
        return awaited(partial(store.leave_note, rule_record(name, rule)))

    def _adopt(self, group_id: str) -> Steps[ChangedGroup]:
        """Adopt a group that exists at the cluster; one that does not is adopted with its first member."""
        group = yield from self._described(group_id)
        if group.members or self._ownership.is_owned(group_id) or group.state in ("", "Dead"):
            return group
        result = yield from awaited(partial(self._ownership.own, group_id))
        return (yield from self._described(group_id)) if isinstance(result, ErrorCode) else group

    def release(self, group_id: str, cause: Cause = Cause.RELEASED) -> Steps[ChangedGroup]:
        """Give back a group that has no members here; with members it stays.

        Raises:
            BrokerError: the cluster does not answer.
        """
        group = yield from self._described(group_id)
        if not self._ownership.is_owned(group_id):
            return _elsewhere(group)
        if group.members:
            return group
        if not (yield from awaited(partial(self._remove, group_id, cause))):
            return (yield from self._described(group_id))
        yield from self._sentinels.leave(group_id)
        problem: StoreError | None = yield from awaited(partial(self._ownership.disown, group_id))
        if problem is not None:
            raise BrokerError(f"{group_id} is not given back: {problem}")
        return group

    def _remove(self, group_id: str, cause: Cause, answered: Callable[[bool], None]) -> None:
        request_id = self._pending.register(ReplyTo(answered, lambda error: False))
        context = OperationContext(request_id, 0, "", "", self._coordinator.environment, 0, 0)
        self._coordinator.enqueue(RELEASE_GROUP, group_id, cause, context)

    def _described(self, group_id: str) -> Steps[ChangedGroup]:
        """State and members of a group: here if the nodes own it, else at the cluster."""
        if self._ownership.is_owned(group_id):
            group = self._coordinator.shard_of(group_id).machine.groups.get(group_id)
            if group is None:
                return ChangedGroup(group_id=group_id, state=EMPTY.value)
            members = [f"{member.client_id} {member.client_host}" for member in group.membership.members.values()]
            return ChangedGroup(group_id=group_id, state=group.membership.state.value, members=members)
        described = yield from self._sentinels.describe(group_id)
        if isinstance(described, ErrorCode):
            raise BrokerError(f"the cluster does not describe {group_id}: {described.name}")
        members = [f"{member.client_id} {member.client_host}" for member in described.members]
        members += ["a member that is joining"] * described.unnamed_members
        return ChangedGroup(group_id=group_id, state=described.state, members=members)


def _elsewhere(group: ChangedGroup) -> ChangedGroup:
    """A group that is with the cluster already: whoever is in it there does not keep it from being given back."""
    group.members = []
    return group


def _failed(name: str, error: ErrorCode, problem: str) -> GroupOwnerResult:
    return GroupOwnerResult(name=name, error_code=error, error_message=problem)
