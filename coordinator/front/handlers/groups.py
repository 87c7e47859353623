"""The APIs of the group coordinator: requests go to the shards of their groups as operations, responses come back.

This module has no rules about groups; `coordinator/core/kinds/operations.py` is the table of them.
"""

from collections.abc import Callable, Iterable
from functools import partial
from types import GeneratorType
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from coordinator.core.classic import joining
from coordinator.core.consumer.describe import DESCRIPTIONS as CONSUMER_DESCRIPTIONS
from coordinator.core.groups import admin
from coordinator.core.groups.answer_sizes import FEW_PARTITIONS, FEW_TOPICS, described_bytes, fetched_bytes
from coordinator.core.groups.kind import SHARE_NAME
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.kinds import operations
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.core.offsets.records import asks_for_few
from coordinator.core.operation import Answer, Operation
from coordinator.core.share.describe import DESCRIPTIONS as SHARE_DESCRIPTIONS
from coordinator.core.streams.describe import DESCRIPTIONS as STREAMS_DESCRIPTIONS
from coordinator.front.dispatch import DEFERRED, DispatchTable, Downgrade, ErrorResponse, Handler
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.large_answers import BytesOf, LargeAnswers, Merged
from coordinator.front.handlers.portions import Asked, Portions, part_of
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import MUCH_BYTES, Steps

GROUPS_LISTED_AT_ONCE: Final = 5_000
"""With more of them shards are listed one after the other."""


class OneGroup(msgspec.Struct, frozen=True):
    """An API whose request is about the group that it names in `group_id`."""

    operation: Operation
    min_version: int
    max_version: int
    error_response: ErrorResponse | None = None
    """Where it is not that of the operation, because the request is prepared for it."""
    downgrade: Downgrade | None = None


class ManyGroups(msgspec.Struct, frozen=True):
    """An API whose request is about several groups: it is taken apart, and the responses are merged."""

    operation: Operation
    min_version: int
    max_version: int
    per_group: Callable[[Any], Iterable[tuple[str, Any]]]
    """(request) → group id and request of each group."""
    merge: Callable[[Iterable[Any]], Any]
    bytes_of: BytesOf | None = None
    """None: the answer about each group is small."""
    error_response: ErrorResponse | None = None
    downgrade: Downgrade | None = None


ONE_GROUP: Final = (
    OneGroup(operations.JOIN_GROUP, 0, 9, downgrade=joining.downgrade),
    OneGroup(operations.SYNC_GROUP, 0, 5),
    OneGroup(operations.HEARTBEAT, 0, 4),
    OneGroup(operations.LEAVE_GROUP, 0, 5),
    OneGroup(operations.CONSUMER_GROUP_HEARTBEAT, 0, 1),
    OneGroup(operations.OFFSET_COMMIT, 0, 10, offset_commit.request_error),
    OneGroup(operations.OFFSET_DELETE, 0, 0),
)
DELETE: Final = ManyGroups(operations.DELETE_GROUPS, 0, 2, admin.delete_per_group, admin.merge_deleted)
MANY_GROUPS: Final = (
    ManyGroups(
        operations.OFFSET_FETCH,
        0,
        10,
        offset_fetch.per_group,
        offset_fetch.merge,
        fetched_bytes,
        offset_fetch.request_error,
        offset_fetch.downgrade,
    ),
    ManyGroups(operations.DESCRIBE_GROUPS, 0, 6, admin.describe_per_group, admin.merge_described, described_bytes),
    ManyGroups(
        operations.CONSUMER_GROUP_DESCRIBE,
        0,
        1,
        CONSUMER_DESCRIPTIONS.per_group,
        CONSUMER_DESCRIPTIONS.merge,
        described_bytes,
    ),
    DELETE,
)
SHARE_HEARTBEAT: Final = OneGroup(operations.SHARE_GROUP_HEARTBEAT, 1, 1)
SHARE_DESCRIBE: Final = ManyGroups(
    operations.SHARE_GROUP_DESCRIBE,
    1,
    1,
    SHARE_DESCRIPTIONS.per_group,
    SHARE_DESCRIPTIONS.merge,
    described_bytes,
)
STREAMS_HEARTBEAT: Final = OneGroup(operations.STREAMS_GROUP_HEARTBEAT, 0, 0)
STREAMS_DESCRIBE: Final = ManyGroups(
    operations.STREAMS_GROUP_DESCRIBE,
    0,
    0,
    STREAMS_DESCRIPTIONS.per_group,
    STREAMS_DESCRIPTIONS.merge,
    described_bytes,
)
"""The APIs of share and streams groups, which only nodes with logs of their own have."""


NAMES_AT_ONCE: Final = 500
"""Groups of a DeleteGroups that are looked up before other work has its turn."""

DeleteStates = Callable[[Iterable[str], RequestContext], Steps[dict[str, ErrorCode]]]
"""(share groups, call) → those whose states could not be deleted, and why."""


class GroupHandlers:
    """Splits and queues decoded requests, and merges the responses."""

    def __init__(self, node: GroupContext, delete_states: DeleteStates | None = None) -> None:
        """`delete_states` deletes what others keep of share groups before these are deleted; None: nobody does."""
        self._node = node
        self._delete_states = delete_states
        self._coordinator, self._pending = node.coordinator, node.pending
        self._answers = LargeAnswers(node)

    def add_to(self, table: DispatchTable) -> None:
        for api in (*ONE_GROUP, *MANY_GROUPS):
            operation = api.operation
            handler: Handler
            if api is DELETE and self._delete_states is not None:
                handler = partial(self._delete, self._delete_states)
            else:
                handler = partial(self.enqueue, api) if isinstance(api, OneGroup) else partial(self.enqueue_parts, api)
            table.add(
                operation.name,
                handler,
                api.error_response or operation.error_response,
                downgrade=api.downgrade,
                versions=(api.min_version, api.max_version),
            )
        table.add("ListGroups", self._list, operations.LIST_GROUPS.error_response, versions=(0, 5))

    def add_share_to(self, table: DispatchTable) -> None:
        heartbeat, described = SHARE_HEARTBEAT.operation, SHARE_DESCRIBE.operation
        table.add(heartbeat.name, partial(self.enqueue, SHARE_HEARTBEAT), heartbeat.error_response, versions=(1, 1))
        table.add(
            described.name,
            partial(self.enqueue_parts, SHARE_DESCRIBE),
            described.error_response,
            versions=(1, 1),
        )

    def add_streams_to(self, table: DispatchTable) -> None:
        heartbeat, described = STREAMS_HEARTBEAT.operation, STREAMS_DESCRIBE.operation
        table.add(heartbeat.name, partial(self.enqueue, STREAMS_HEARTBEAT), heartbeat.error_response, versions=(0, 0))
        table.add(
            described.name, partial(self.enqueue_parts, STREAMS_DESCRIBE), described.error_response, versions=(0, 0)
        )

    def enqueue(self, api: OneGroup, request: Any, context: RequestContext) -> Any:
        """Queue a request for the group that it names."""
        operation = api.operation
        prepared = request if operation.prepare is None else operation.prepare(request, context)
        kind = type(prepared)
        if kind is GeneratorType:
            return self._enqueue_when_prepared(operation, request, prepared, context)
        if kind is Answer:
            return self._answered(operation, request, prepared, context)
        context.request_id = self._pending.register(context.connection)
        self._coordinator.enqueue(operation, request.group_id, prepared, context)
        return DEFERRED

    def _enqueue_when_prepared(
        self, operation: Operation, request: Any, steps: Steps[Any], context: RequestContext
    ) -> Steps[Any]:
        prepared = yield from steps
        if type(prepared) is Answer:
            return self._answered(operation, request, prepared, context)
        context.request_id = self._pending.register(context.connection)
        self._coordinator.enqueue(operation, request.group_id, prepared, context)
        return DEFERRED

    def _answered(self, operation: Operation, request: Any, answer: Answer, context: RequestContext) -> Any:
        """The answer that needs no group; the audit of the group is told if it was rejected."""
        if answer.rejected is not None:
            self._report(operation, request, answer.rejected, context)
        return answer.response

    def _report(self, operation: Operation, request: Any, error: ErrorCode, context: RequestContext) -> None:
        """Let the audit of the group know of a request that was answered without it."""
        rejected = RejectedRequest(operation.name, request, error)
        self._coordinator.enqueue(operations.REPORT_REJECTION, request.group_id, rejected, context)

    def enqueue_parts(
        self, api: ManyGroups, request: Any, context: RequestContext, *, is_prepared: bool = False
    ) -> Any:
        """Queue a request for each group that it names."""
        operation = api.operation
        if operation.prepare is not None and not is_prepared:
            request = operation.prepare(request, context)
            if type(request) is GeneratorType:
                return self._enqueue_parts_when_prepared(api, request, context)
            if isinstance(request, Answer):
                return request.response
        parts = iter(api.per_group(request))
        first = next(parts, None)
        if first is None:
            return api.merge(())
        if next(parts, None) is not None:
            return self._ask_in_portions(api, request, context)
        is_small = api.bytes_of is fetched_bytes and asks_for_few(first[1], FEW_TOPICS, FEW_PARTITIONS)
        if api.bytes_of is not None and not is_small:
            size_bytes = self._answers.bytes_of(api.bytes_of, *first)
            if size_bytes > MUCH_BYTES:
                ask = partial(self._coordinator.enqueue, api.operation, *first, context)
                return self._answers.in_turn(size_bytes, context, ask)
        # What nearly every client sends: the response needs no merging.
        context.request_id = self._pending.register(context.connection)
        self._coordinator.enqueue(api.operation, first[0], first[1], context)
        return DEFERRED

    def _enqueue_parts_when_prepared(self, api: ManyGroups, steps: Steps[Any], context: RequestContext) -> Steps[Any]:
        request = yield from steps
        if isinstance(request, Answer):
            return request.response
        response = self.enqueue_parts(api, request, context, is_prepared=True)
        return (yield from response) if type(response) is GeneratorType else response

    def _ask_in_portions(self, api: ManyGroups, request: Any, context: RequestContext) -> Steps[Any]:
        many = Merged(api.operation, partial(api.per_group, request), api.merge, api.bytes_of)
        size_bytes = yield from self._answers.sum_bytes(many)
        if size_bytes > MUCH_BYTES:
            return (yield from self._answers.merged_in_turn(many, size_bytes, context))
        asked = Asked(
            api.operation.name,
            partial(self._coordinator.enqueue, api.operation),
            lambda group_ids, responses: api.merge(responses),
        )
        context.request_id = self._pending.register(context.connection)
        Portions(self._node, asked, context, iter(many.parts())).begin()
        return DEFERRED

    def _delete(self, delete_states: DeleteStates, request: Any, context: RequestContext) -> Steps[Any]:
        """DeleteGroups: first the states of the share groups among them. A group whose states are left stays."""
        of_share: dict[str, None] = {}
        for position, group_id in enumerate(request.groups_names):
            group = self._coordinator.shard_of(group_id).machine.groups.get(group_id)
            if group is not None and group.kind.name == SHARE_NAME:
                of_share[group_id] = None
            if position % NAMES_AT_ONCE == NAMES_AT_ONCE - 1:
                yield
        failed = (yield from delete_states(of_share, context)) if of_share else {}
        if not failed:
            response = self.enqueue_parts(DELETE, request, context)
            return (yield from response) if type(response) is GeneratorType else response
        answered = [
            admin.delete_error(DeleteGroupsRequest(groups_names=[group_id]), error, context.api_version)
            for group_id, error in failed.items()
        ]
        left = [group_id for group_id in request.groups_names if group_id not in failed]
        if not left:
            return admin.merge_deleted(answered)
        rest = DeleteGroupsRequest(groups_names=left)
        with_failed = msgspec.structs.replace(
            DELETE, merge=lambda responses: admin.merge_deleted([*answered, *responses])
        )
        return (yield from self._ask_in_portions(with_failed, rest, context))

    def _list(self, request: Any, context: RequestContext) -> Any:
        if sum(len(shard.machine.states) for shard in self._coordinator.shards) > GROUPS_LISTED_AT_ONCE:
            return self._answers.list_in_turn(request, context)
        request_id = context.request_id = self._pending.register(context.connection)
        shards = self._coordinator.shards
        part_ids = self._pending.fan_out(request_id, len(shards), admin.merge_listed)
        for part_id, shard in zip(part_ids, shards, strict=True):
            part = part_of(context, part_id)
            self._coordinator.enqueue_for_shard(operations.LIST_GROUPS, shard.partition, request, part)
        return DEFERRED
