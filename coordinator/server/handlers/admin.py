"""DescribeGroups, ListGroups, DeleteGroups: asked of each shard that is concerned, answered together."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from _wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from coordinator.core import admin
from coordinator.core.decision import Decision, Reply
from coordinator.core.group import Group
from coordinator.runtime.asks import GroupDecision, ShardDecision
from coordinator.server.dispatch import DEFERRED, DispatchTable
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext

WHITESPACE: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's `String.trim` strips: Kafka trims the states of a filter, and its types it does not."""


class AdminHandlers:
    """What administrators ask about groups."""

    def __init__(self, broker: NodeContext) -> None:
        self._broker = broker

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeGroups", self.describe, _describe_error)
        table.add("ListGroups", self.list)
        table.add("DeleteGroups", self.delete, _delete_error)

    def describe(self, request: DescribeGroupsRequest, call: RequestContext) -> Any:
        if not request.groups:
            return DescribeGroupsResponse()
        request_id = self._broker.pending.register(call.connection)

        def merge(parts: list[Any]) -> DescribeGroupsResponse:
            named = zip(request.groups, parts, strict=True)
            return DescribeGroupsResponse(
                groups=[
                    DescribedGroup(group_id=name, error_code=part) if isinstance(part, ErrorCode) else part
                    for name, part in named
                ]
            )

        part_ids = self._broker.pending.fan_out(request_id, len(request.groups), merge)
        for part_id, group_id in zip(part_ids, request.groups, strict=True):
            self._broker.groups.ask(
                group_id, _describing(part_id, call.api_version, request.include_authorized_operations), part_id
            )
        return DEFERRED

    def list(self, request: ListGroupsRequest, call: RequestContext) -> Any:
        request_id = self._broker.pending.register(call.connection)
        states = {state.strip(WHITESPACE).lower() for state in request.states_filter}
        types = {kind.lower() for kind in request.types_filter}

        def merge(parts: list[Any]) -> ListGroupsResponse:
            failed = next((part for part in parts if isinstance(part, ErrorCode)), ErrorCode.NONE)
            groups = [group for part in parts if not isinstance(part, ErrorCode) for group in part]
            return ListGroupsResponse(error_code=failed, groups=groups)

        shards = self._broker.groups.shards
        part_ids = self._broker.pending.fan_out(request_id, len(shards), merge)
        for part_id, shard in zip(part_ids, shards, strict=True):
            self._broker.groups.ask_shard(shard.partition, _listing(part_id, states, types), part_id)
        return DEFERRED

    def delete(self, request: DeleteGroupsRequest, call: RequestContext) -> Any:
        group_ids = list(dict.fromkeys(request.groups_names))
        if not group_ids:
            return DeleteGroupsResponse()
        request_id = self._broker.pending.register(call.connection)

        def merge(parts: list[Any]) -> DeleteGroupsResponse:
            named = zip(group_ids, parts, strict=True)
            return DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name, error_code=error) for name, error in named]
            )

        part_ids = self._broker.pending.fan_out(request_id, len(group_ids), merge)
        for part_id, group_id in zip(part_ids, group_ids, strict=True):
            self._broker.groups.ask(group_id, _deleting(part_id), part_id)
        return DEFERRED


def _describing(part_id: int, api_version: int, with_operations: bool) -> GroupDecision:
    def decide(group: Group, now_ms: int) -> Decision:
        return Decision(replies=(Reply(part_id, admin.describe(group, api_version, with_operations)),))

    return decide


def _listing(part_id: int, states: set[str], types: set[str]) -> ShardDecision:
    def decide(groups: Mapping[str, Group], now_ms: int) -> Sequence[Reply]:
        listed = [
            listed
            for listed in map(admin.listed, groups.values())
            if (not states or listed.group_state.lower() in states)
            and (not types or listed.group_type.lower() in types)
        ]
        return (Reply(part_id, listed),)

    return decide


def _deleting(part_id: int) -> GroupDecision:
    def decide(group: Group, now_ms: int) -> Decision:
        error, events = admin.remove(group, now_ms)
        return Decision(events, (Reply(part_id, error),))

    return decide


def _describe_error(request: DescribeGroupsRequest, error: ErrorCode) -> DescribeGroupsResponse:
    groups = [DescribedGroup(group_id=group_id, error_code=error) for group_id in request.groups]
    return DescribeGroupsResponse(groups=groups)


def _delete_error(request: DeleteGroupsRequest, error: ErrorCode) -> DeleteGroupsResponse:
    results = [DeletableGroupResult(group_id=group_id, error_code=error) for group_id in request.groups_names]
    return DeleteGroupsResponse(results=results)
