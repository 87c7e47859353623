"""What `coordinator cluster` asks a node: which groups the nodes coordinate, and to change that."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.alter_group_owners import (
    AlterGroupOwnersRequest,
    AlterGroupOwnersResponse,
    GroupOwnerChange,
    GroupOwnerResult,
)
from _wire.messages.alter_watched_groups import (
    AlterWatchedGroupsRequest,
    AlterWatchedGroupsResponse,
    WatchChange,
    WatchResult,
)
from _wire.messages.describe_group_owners import (
    DescribeGroupOwnersRequest,
    DescribeGroupOwnersResponse,
    GroupOwnerNode,
    GroupOwnerRule,
    LedPartition,
    OwnedGroup,
    WatchedRule,
)
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.log.group_patterns import NAME_CHARACTERS_MAX
from coordinator.cluster.log.notes import Rule
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.cluster.sentinels.sentinels import Sentinels
from coordinator.cluster.watch_changes import WatchChanges
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.slices import Steps

CHANGES_MAX: Final = 100
"""Names and patterns in one request."""


class OwnerHandlers:
    """Each node answers for the partitions that it leads."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        leads: PartitionLeads,
        ownership: GroupOwnership,
        changes: OwnershipChanges,
        watch_changes: WatchChanges,
        sentinels: Sentinels,
        checked_by: str = "",
    ) -> None:
        """`checked_by` is the setting by which nodes know each other; empty: none."""
        self._checked_by = checked_by
        self._coordinator = coordinator
        self._leads = leads
        self._ownership = ownership
        self._changes = changes
        self._watch_changes = watch_changes
        self._sentinels = sentinels

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeGroupOwners", self._describe, versions=(0, 0))
        table.add("AlterGroupOwners", self._alter, versions=(0, 0))
        table.add("AlterWatchedGroups", self._alter_watched, versions=(0, 0))

    def _describe(self, request: DescribeGroupOwnersRequest, context: RequestContext) -> DescribeGroupOwnersResponse:
        led = [shard for shard in self._coordinator.shards if shard.partition in self._leads.partitions]
        rules: dict[str, Rule] = {}
        for shard in led:
            rules |= self._ownership.notes_of(shard.partition).rules
        owned = self._ownership.owned_groups() if request.include_groups else ()
        watching = self._watch_changes.watching
        return DescribeGroupOwnersResponse(
            node_id=self._leads.node.node_id,
            checked_by=self._checked_by,
            nodes=[GroupOwnerNode(node_id=node.node_id, host=node.host, port=node.port) for node in self._leads.nodes],
            rules=[
                GroupOwnerRule(name=name, is_adopted=rule.is_adopted, by=rule.by, at_ms=rule.at_ms)
                for name, rule in rules.items()
            ],
            partitions=[
                LedPartition(
                    partition=shard.partition, state=shard.state.name.lower(), end_offset=shard.store.end_offset
                )
                for shard in led
            ],
            groups=[
                OwnedGroup(group_id=group_id, has_sentinel=self._sentinels.get(group_id) is not None)
                for group_id in owned
            ],
            watched=[
                WatchedRule(name=name, is_watched=rule.is_watched, by=rule.by, at_ms=rule.at_ms)
                for name, rule in watching.watched.rules.items()
            ],
            watched_groups=watching.watch.counted.groups,
        )

    def _alter(self, request: AlterGroupOwnersRequest, context: RequestContext) -> Steps[AlterGroupOwnersResponse]:
        problem = _problem(request.changes)
        if problem:
            return AlterGroupOwnersResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=problem)
        by = _requester(context)
        results: list[GroupOwnerResult] = []
        for change in request.changes:
            apply = self._changes.would if request.validate_only else partial(self._changes.change, by)
            results.append((yield from apply(change.name, change.is_adopted)))
        return AlterGroupOwnersResponse(results=results)

    def _alter_watched(
        self, request: AlterWatchedGroupsRequest, context: RequestContext
    ) -> Steps[AlterWatchedGroupsResponse]:
        problem = _problem(request.changes)
        if problem:
            return AlterWatchedGroupsResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=problem)
        by = _requester(context)
        results: list[WatchResult] = []
        for change in request.changes:
            apply = self._watch_changes.would if request.validate_only else partial(self._watch_changes.change, by)
            results.append((yield from apply(change.name, change.is_watched)))
        return AlterWatchedGroupsResponse(results=results)


def _requester(context: RequestContext) -> str:
    return str(context.requester.principal or "") or context.client_id


def _problem(changes: Sequence[GroupOwnerChange | WatchChange]) -> str:
    """Why the request cannot be handled; empty if it can."""
    if len(changes) > CHANGES_MAX:
        return f"at most {CHANGES_MAX} names are changed at a time"
    if any(not 0 < len(change.name) <= NAME_CHARACTERS_MAX for change in changes):
        return f"a name has 1 to {NAME_CHARACTERS_MAX} characters"
    return ""
