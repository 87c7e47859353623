"""The APIs of groups that the nodes own: members are coordinated here, committed offsets are the cluster's."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.offset_delete import OffsetDeleteResponse
from coordinator.cluster.brokers.connection import LongResponse
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.handlers.cluster_answers import ClusterAnswers
from coordinator.cluster.handlers.joining import CONSUMER_HEARTBEAT, JOIN_GROUP, JoiningHandlers
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.relay.responses import in_long_steps
from coordinator.cluster.rights.named_topics import give_names
from coordinator.cluster.rights.probes import Permission
from coordinator.cluster.rights.rights import RightsQuestions
from coordinator.cluster.sentinels.forwarding import Forwarder
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.core.groups import admin
from coordinator.core.kinds import operations
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.core.offsets.checks import MAY_COMMIT, MAY_FETCH, MayDelete
from coordinator.core.operation import Answer, Operation
from coordinator.front.dispatch import DEFERRED, DispatchTable, Handler
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.groups import MANY_GROUPS, ONE_GROUP, GroupHandlers, OneGroup
from coordinator.front.handlers.portions import part_of
from coordinator.front.hidden_resources import topics_described
from coordinator.front.request_context import RequestContext
from coordinator.logger import logger
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.slices import Steps, awaited
from coordinator.security.acls.model import SUPPORTED_OPERATIONS, AclOperation, ResourceType

OF_MEMBERS: Final = (operations.SYNC_GROUP, operations.HEARTBEAT, operations.LEAVE_GROUP)
"""Operations on members of a group that is coordinated here already."""
CONSUMER_DESCRIBE: Final = next(api for api in MANY_GROUPS if api.operation is operations.CONSUMER_GROUP_DESCRIBE)
COMMIT_VERSIONS: Final = (1, 10)
TRANSACTIONAL_COMMIT_VERSIONS: Final = (0, 5)
FETCH_VERSIONS: Final = (1, 10)
EMPTY_GROUP: Final = "Empty"
CLASSIC_GROUP: Final = "classic"
NOT_ASKED: Final = -(1 << 31)
"""For authorized operations, if the request does not ask for them (KIP-430)."""
NO_OPERATIONS: Final = 0
"""The same, until the response is sent."""


class ClusterGroupHandlers:
    """Members are coordinated by the handlers of any node; joins, offsets and lists also ask the cluster."""

    def __init__(
        self,
        node: GroupContext,
        ownership: GroupOwnership,
        joining: JoiningHandlers,
        topics: ClusterTopics,
        forwarder: Forwarder,
        rights: RightsQuestions,
    ) -> None:
        self._enqueue = GroupHandlers(node).enqueue
        self._joining = joining
        self._pending = node.pending
        self._rights = rights
        self._topics = topics
        self._groups = node.coordinator
        self._ownership = ownership
        self._forwarder = forwarder
        self._cluster_answers = ClusterAnswers()

    def add_to(self, table: DispatchTable) -> None:
        rows = {api.operation: api for api in ONE_GROUP}
        for operation in OF_MEMBERS:
            self._add(table, rows[operation], partial(self._enqueue, rows[operation]))
        self._add(table, JOIN_GROUP, self._joining.join_group)
        self._add(table, CONSUMER_HEARTBEAT, self._joining.consumer_heartbeat)
        table.add("DescribeGroups", self._describe, operations.DESCRIBE_GROUPS.error_response, versions=(0, 6))
        described = CONSUMER_DESCRIBE.operation
        table.add(described.name, self._describe_consumer, described.error_response, versions=(0, 1))
        table.add("OffsetCommit", self._commit, offset_commit.request_error, versions=COMMIT_VERSIONS)
        table.add(
            "TxnOffsetCommit",
            self._commit_in_transaction,
            operations.TXN_OFFSET_COMMIT.error_response,
            versions=TRANSACTIONAL_COMMIT_VERSIONS,
        )
        table.add(
            "OffsetFetch",
            self._fetch,
            offset_fetch.request_error,
            downgrade=offset_fetch.downgrade,
            versions=FETCH_VERSIONS,
        )
        table.add("OffsetDelete", self._delete_offsets, operations.OFFSET_DELETE.error_response, versions=(0, 0))
        table.add("DeleteGroups", self._delete_groups, operations.DELETE_GROUPS.error_response, versions=(0, 2))
        table.add("ListGroups", self._list, operations.LIST_GROUPS.error_response, versions=(0, 5))

    def _add(self, table: DispatchTable, api: OneGroup, handler: Handler) -> None:
        table.add(
            api.operation.name,
            handler,
            api.error_response or api.operation.error_response,
            downgrade=api.downgrade,
            versions=(api.min_version, api.max_version),
        )

    # ---- descriptions

    def _describe(self, request: Any, context: RequestContext) -> Steps[Any]:
        """A group that the nodes own is Empty if nobody has joined it yet, as its offsets are at the cluster."""
        responses = []
        for group_id, part in admin.describe_per_group(request):
            response = yield from awaited(partial(self._ask, operations.DESCRIBE_GROUPS, group_id, part, context))
            described = response.groups[0]
            is_missing = described.error_code == ErrorCode.GROUP_ID_NOT_FOUND or described.group_state == "Dead"
            if is_missing and self._ownership.is_owned(group_id) and group_id not in self._groups_here(group_id):
                described.error_code, described.error_message = ErrorCode.NONE, None
                described.group_state = EMPTY_GROUP
                described.authorized_operations = NO_OPERATIONS if request.include_authorized_operations else NOT_ASKED
            if request.include_authorized_operations and described.error_code == ErrorCode.NONE:
                yield from self._rights.find_out(_all_operations(group_id), context)
            responses.append(response)
        return admin.merge_described(responses)

    def _groups_here(self, group_id: str) -> Mapping[str, Any]:
        groups: Mapping[str, Any] = self._groups.shard_of(group_id).machine.groups
        return groups

    def _describe_consumer(self, request: Any, context: RequestContext) -> Steps[Any]:
        """One that nobody has joined yet is none of this kind: DescribeGroups tells of it."""
        operation = CONSUMER_DESCRIBE.operation
        assert operation.prepare is not None
        prepared = operation.prepare(request, context)
        if isinstance(prepared, Answer):
            return prepared.response
        responses = []
        for group_id, part in CONSUMER_DESCRIBE.per_group(request):
            ask = partial(self._ask, operation, group_id, part, context)
            responses.append((yield from awaited(ask)))
        merged = CONSUMER_DESCRIBE.merge(responses)
        found = [group for group in merged.groups if group.error_code == ErrorCode.NONE]
        if request.include_authorized_operations:
            for group in found:
                yield from self._rights.find_out(_all_operations(group.group_id), context)
        named = (topic for group in found for topic in topics_described(group))
        yield from self._rights.find_out(_to_describe(ResourceType.TOPIC, dict.fromkeys(named)), context)
        return merged

    # ---- offsets

    def _commit(self, request: Any, context: RequestContext) -> Steps[Any]:
        """Ids that no topic has are answered here: with nothing else in it, a commit is none to the group."""
        if context.api_version < offset_commit.TOPIC_ID_VERSION:
            return (yield from self._checked_commit(operations.OFFSET_COMMIT, request, context))
        unknown = OffsetCommitRequest(topics=[topic for topic in request.topics if not topic.name])
        rejected = yield from offset_commit.request_error.in_steps(
            unknown, ErrorCode.UNKNOWN_TOPIC_ID, context.api_version
        )
        request.topics = [topic for topic in request.topics if topic.name]
        if rejected.topics and not request.topics:
            return rejected
        response = yield from self._checked_commit(operations.OFFSET_COMMIT, request, context)
        response.topics.extend(rejected.topics)
        return response

    def _commit_in_transaction(self, request: Any, context: RequestContext) -> Steps[Any]:
        return self._checked_commit(operations.TXN_OFFSET_COMMIT, request, context)

    def _checked_commit(self, operation: Operation, request: Any, context: RequestContext) -> Steps[Any]:
        """Check it as a commit to the group here, then commit it to the cluster as the sentinel."""
        failed = partial(context.route.error_response, request)
        sentinel: Sentinel | ErrorCode = yield from awaited(partial(self._ownership.own, request.group_id))
        if not isinstance(sentinel, Sentinel):
            return failed(sentinel, context.api_version)
        # Commits leave in the order in which they are checked.
        ask = partial(self._check, operation, request, context)
        answer = yield from awaited(ask, is_urgent=True)
        if answer is not MAY_COMMIT:
            return answer
        self._cluster_answers.committed(request.group_id, request)
        response = yield from self._forwarder.commit(sentinel, request, context.api_version)
        return failed(response, context.api_version) if isinstance(response, ErrorCode) else response

    def _fetch(self, request: Any, context: RequestContext) -> Steps[Any]:
        """Each group is asked of its coordinator at the cluster: they may differ."""
        offset_fetch.as_groups(request, context.api_version)
        responses = []
        for group_id, part in offset_fetch.per_group(request):
            is_by_id = context.api_version >= offset_fetch.TOPIC_ID_VERSION
            fetch = self._fetch_by_id if is_by_id else self._fetch_group
            responses.append((yield from fetch(group_id, part, context)))
        merged = offset_fetch.merge(responses)
        everything = {group.group_id for group in request.groups if group.topics is None}
        found = {topic.name for group in merged.groups if group.group_id in everything for topic in group.topics}
        yield from self._rights.find_out(_to_describe(ResourceType.TOPIC, found), context)
        return merged

    def _fetch_group(self, group_id: str, part: Any, context: RequestContext) -> Steps[Any]:
        return self._cluster_answers.in_turn(group_id, partial(self._asked_for_offsets, group_id, part, context))

    def _asked_for_offsets(self, group_id: str, part: Any, context: RequestContext) -> Steps[Any]:
        """A member, which names itself from version 9 on, is checked here: the cluster knows the sentinel alone."""
        (asked,) = part.groups
        if asked.member_id is not None or asked.member_epoch >= 0:
            check = operations.OFFSET_FETCH.check
            assert check is not None
            answer = yield from awaited(partial(self._ask, check, group_id, part, context))
            if answer is not MAY_FETCH:
                return answer
        response = yield from self._forwarder.fetch_offsets(group_id, part, context.api_version)
        if isinstance(response, ErrorCode):
            return offset_fetch.error_response(part, response, context.api_version)
        if not isinstance(response, LongResponse):
            self._cluster_answers.answered(group_id, 0)
            return response
        self._cluster_answers.answered(group_id, response.size_bytes)
        try:
            return (yield from in_long_steps(response.decode, response.size_bytes))
        except MalformedMessage as problem:
            logger.warning("the cluster's answer about a group cannot be decoded", group=group_id, problem=str(problem))
            return offset_fetch.error_response(part, ErrorCode.UNKNOWN_SERVER_ERROR, context.api_version)

    def _fetch_by_id(self, group_id: str, part: Any, context: RequestContext) -> Steps[Any]:
        """Ids that no topic has are answered here. Of all topics those that are found get names, to be authorized."""
        (asked,) = part.groups
        requested = asked.topics
        if requested is not None:
            asked.topics = [topic for topic in requested if topic.name]
        response = yield from self._fetch_group(group_id, part, context)
        (group,) = response.groups
        if requested is None:
            if not (yield from give_names(group.topics, self._topics.ids)):
                return offset_fetch.error_response(part, ErrorCode.COORDINATOR_NOT_AVAILABLE, context.api_version)
            group.topics = [topic for topic in group.topics if topic.name]  # one that is gone since has no name
        elif group.error_code == ErrorCode.NONE:
            unknown = [topic for topic in requested if not topic.name]
            group.topics += offset_fetch.failed_topics(unknown, ErrorCode.UNKNOWN_TOPIC_ID)
        return response

    # ---- what needs a group without members at the cluster

    def _delete_offsets(self, request: Any, context: RequestContext) -> Steps[Any]:
        """Offsets of topics that members read stay; the others are deleted while the sentinel is away."""
        answer = yield from awaited(partial(self._check, operations.OFFSET_DELETE, request, context))
        if not isinstance(answer, MayDelete):
            return answer
        if not answer.request.topics:
            return OffsetDeleteResponse(topics=answer.rejected)
        forwarded = self._forwarder.without_sentinel(request.group_id, answer.request, context.api_version)
        response = yield from forwarded
        self._ownership.own(request.group_id, _ignore)
        if isinstance(response, ErrorCode):
            return context.route.error_response(request, response, context.api_version)
        response.topics.extend(answer.rejected)
        return response

    def _delete_groups(self, request: Any, context: RequestContext) -> Steps[Any]:
        """Each group is removed here first, if it is Empty, then at the cluster."""
        responses = []
        for group_id, part in admin.delete_per_group(request):
            responses.append((yield from self._delete_group(group_id, part, context)))
        return admin.merge_deleted(responses)

    def _delete_group(self, group_id: str, request: Any, context: RequestContext) -> Steps[Any]:
        deleted = yield from awaited(partial(self._ask, operations.DELETE_GROUPS, group_id, request, context))
        error = ErrorCode(deleted.results[0].error_code)
        if error not in (ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND):
            return deleted
        response = yield from self._forwarder.without_sentinel(group_id, request, context.api_version)
        if isinstance(response, ErrorCode):
            return admin.delete_error(request, response, context.api_version)
        yield from awaited(partial(self._ownership.disown, group_id))
        return deleted if error is ErrorCode.NONE else response

    def _check(
        self, operation: Operation, request: Any, context: RequestContext, answered: Callable[[Any], None]
    ) -> None:
        """Ask whether the operation may be done at the cluster."""
        assert operation.check is not None, operation.name
        self._ask(operation.check, request.group_id, request, context, answered)

    def _ask(
        self,
        operation: Operation,
        group_id: str,
        request: Any,
        context: RequestContext,
        answered: Callable[[Any], None],
    ) -> None:
        def failed(error: ErrorCode) -> Any:
            assert operation.error_response is not None
            return operation.error_response(request, error, context.api_version)

        request_id = self._pending.register(ReplyTo(answered, failed))
        self._groups.enqueue(operation, group_id, request, msgspec.structs.replace(context, request_id=request_id))

    # ---- lists

    def _list(self, request: Any, context: RequestContext) -> Steps[Any]:
        """The groups that this node owns: those without members are known from the notes alone."""
        yield from self._rights.find_out(_to_describe(ResourceType.GROUP, self._ownership.owned_groups()), context)
        request_id = context.request_id = self._pending.register(context.connection)
        shards = self._groups.shards

        def merge(responses: Iterable[Any]) -> ListGroupsResponse:
            merged = admin.merge_listed(
                ListGroupsResponse(error_code=0 if response is ErrorCode.NOT_COORDINATOR else response)
                if isinstance(response, ErrorCode)
                else response
                for response in responses
            )
            merged.groups.extend(self._without_members(request))
            return merged

        part_ids = self._pending.fan_out(request_id, len(shards), merge)
        for part_id, shard in zip(part_ids, shards, strict=True):
            part = part_of(context, part_id)
            self._groups.enqueue_for_shard(operations.LIST_GROUPS, shard.partition, request, part)
        return DEFERRED

    def _without_members(self, request: ListGroupsRequest) -> list[ListedGroup]:
        states, types = set(request.states_filter), {type_name.lower() for type_name in request.types_filter}
        if (states and EMPTY_GROUP not in states) or (types and CLASSIC_GROUP not in types):
            return []
        return [
            ListedGroup(group_id=group_id, group_state=EMPTY_GROUP, group_type=CLASSIC_GROUP)
            for group_id in self._ownership.owned_groups()
            if group_id not in self._groups_here(group_id)
        ]


def _to_describe(resource_type: ResourceType, names: Iterable[str]) -> list[Permission]:
    return [Permission(AclOperation.DESCRIBE, resource_type, name) for name in names]


def _all_operations(group_id: str) -> list[Permission]:
    """All that can be done with a group."""
    return [
        Permission(operation, ResourceType.GROUP, group_id) for operation in SUPPORTED_OPERATIONS[ResourceType.GROUP]
    ]


def _ignore(result: object) -> None:
    """Whoever needs the sentinel next asks for it."""
