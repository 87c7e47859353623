"""JoinGroup and ConsumerGroupHeartbeat: what has to be there before the core decides about a member of a group.

The first member of a group waits until its sentinel has joined, and any until the topics that it names are known.
The request comes by `forwarded_requests.py`, `rights/` and `front/request_chain.py`; its response leaves when the shard
has stored what was decided (`log/store.py`).
"""

from collections.abc import Sequence
from functools import partial
from types import GeneratorType
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from coordinator.audit.schema import TOPICS_NAMED_MAX
from coordinator.cluster.groups.group_settings import ClusterGroupSettings
from coordinator.cluster.groups.group_topics import GroupTopics, Needed
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.rights.rights import RightsQuestions
from coordinator.cluster.rights.visible_topics import VisibleTopics
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.core.consumer_protocol import read_subscription
from coordinator.core.kinds import operations
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.groups import ONE_GROUP, GroupHandlers, OneGroup
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps, awaited

JOIN_GROUP: Final = next(api for api in ONE_GROUP if api.operation is operations.JOIN_GROUP)
CONSUMER_HEARTBEAT: Final = next(api for api in ONE_GROUP if api.operation is operations.CONSUMER_GROUP_HEARTBEAT)

JOIN_EPOCH: Final = 0
"""The member epoch of a heartbeat that joins; those that leave have a lower one (KIP-848)."""


class JoiningHandlers:
    """Queues a request at once, if all is there, as for nearly all of many members."""

    def __init__(
        self,
        node: GroupContext,
        ownership: GroupOwnership,
        topics: GroupTopics,
        rights: RightsQuestions,
        visible: VisibleTopics,
        settings: ClusterGroupSettings,
    ) -> None:
        self._enqueue = GroupHandlers(node).enqueue
        self._groups = node.coordinator
        self._ownership = ownership
        self._topics = topics
        self._rights = rights
        self._visible = visible
        self._settings = settings

    def join_group(self, request: JoinGroupRequest, context: RequestContext) -> Any:
        named: Sequence[str] = ()
        for protocol in request.protocols[:1]:
            named, _ = read_subscription(request.protocol_type or "", protocol.metadata, TOPICS_NAMED_MAX)
        needed = Needed(group_id=request.group_id, named=named, joins=True)
        return self._enqueue_when_ready(JOIN_GROUP, request, needed, context)

    def consumer_heartbeat(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext) -> Any:
        group_id, joins = request.group_id, request.member_epoch == JOIN_EPOCH
        if not joins and not self._ownership.is_owned(group_id) and self._groups.shard_of(group_id).is_active:
            # The core would answer GROUP_ID_NOT_FOUND, which ends a consumer of a group that is the cluster's.
            return self._rejected(request, ErrorCode.NOT_COORDINATOR, context)
        if request.member_epoch < JOIN_EPOCH:  # it leaves
            return self._enqueue(CONSUMER_HEARTBEAT, request, context)
        needed = Needed(
            group_id=group_id,
            named=request.subscribed_topic_names or (),
            pattern=request.subscribed_topic_regex,
            joins=joins,
            converts=joins,
        )
        return self._enqueue_when_ready(CONSUMER_HEARTBEAT, request, needed, context)

    def _enqueue_when_ready(self, api: OneGroup, request: Any, needed: Needed, context: RequestContext) -> Any:
        if self._topics.uses_pattern(needed):
            # Who is asked which topics the member may see, if regular expressions are resolved after this request.
            self._visible.remember(self._rights, context)
        if self._is_ready(needed) and self._topics.can_decide(needed):
            return self._enqueue(api, request, context)
        return self._prepare(api, request, needed, context)

    def _is_ready(self, needed: Needed) -> bool:
        """Whether all but the topics is there."""
        if not needed.joins:
            return self._ownership.is_owned(needed.group_id)
        has_settings = not needed.converts or self._settings.are_fresh(needed.group_id)
        return has_settings and self._ownership.has_sentinel(needed.group_id)

    def _prepare(self, api: OneGroup, request: Any, needed: Needed, context: RequestContext) -> Steps[Any]:
        group_id = needed.group_id
        # ownership.py, sentinels/: the group is the nodes', and its sentinel a member at the cluster.
        error = (yield from self._own(group_id, context)) if needed.joins else None
        if error is not None:
            return self._rejected(request, error, context)
        # groups/group_settings.py: the configs that the cluster has for the group.
        if needed.converts and not self._settings.are_fresh(group_id):
            yield from awaited(partial(self._settings.know, group_id))
        # groups/group_topics.py: the topics. The leader of a classic group computes the assignment, and does not wait.
        has_topics = yield from self._topics.know(needed)
        if not has_topics and (api is CONSUMER_HEARTBEAT or self._topics.are_computed_with(group_id)):
            return self._rejected(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, context)
        # front/handlers/groups.py: into the queue of the group's shard, where the core decides.
        response = self._enqueue(api, request, context)
        return (yield from response) if type(response) is GeneratorType else response

    def _own(self, group_id: str, context: RequestContext) -> Steps[ErrorCode | None]:
        """Have the group owned, with its sentinel; the error if that cannot be.

        A client that has made too many groups is answered by the core, as by any node, and makes no sentinel.
        """
        if not self._ownership.is_owned(group_id) and not context.environment.may_create_group(context.client_host):
            return None
        sentinel: Sentinel | ErrorCode = yield from awaited(partial(self._ownership.own, group_id))
        return None if isinstance(sentinel, Sentinel) else sentinel

    def _rejected(self, request: Any, error: ErrorCode, context: RequestContext) -> Any:
        return context.route.error_response(request, error, context.api_version)
