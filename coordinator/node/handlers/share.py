"""ShareFetch and ShareAcknowledge: what members of share groups read, and what they did with it (KIP-932)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.share_acknowledge import (
    LeaderIdAndEpoch as AcknowledgeLeader,
)
from _wire.messages.share_acknowledge import (
    NodeEndpoint as AcknowledgeEndpoint,
)
from _wire.messages.share_acknowledge import (
    PartitionData as AcknowledgedPartition,
)
from _wire.messages.share_acknowledge import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from _wire.messages.share_fetch import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from coordinator.broker.share.acknowledging import ELSEWHERE, Acknowledgements, acknowledge_partitions
from coordinator.broker.share.fetch_service import RECORD_LIMIT, ShareFetchTerms, failed_partition
from coordinator.broker.share.sessions import CLOSING_EPOCH, OPENING_EPOCH, ShareSession, TopicIdPartition
from coordinator.front.authorization import ALLOW_ALL, Authorizer
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.metadata.image import MetadataImage
from coordinator.node.share_plane import SharePlane
from coordinator.runtime.slices import MERGED_AT_ONCE, Steps, awaited
from coordinator.security.acls.model import AclOperation, ResourceType

MEMBER_ID_MAX: Final = 36
"""UTF-16 units of a member id."""
RENEWALS_VERSION: Final = 2
"""The first version in which locks can be renewed (KIP-1222)."""


class ShareHandlers:
    """Handlers of the two APIs."""

    def __init__(
        self,
        plane: SharePlane,
        *,
        image: MetadataImage,
        authorizer: Authorizer,
        node_id: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._plane = plane
        self._image = image
        self._authorizer = authorizer
        self._node_id = node_id
        self._now_ms = now_ms

    def add_to(self, table: DispatchTable) -> None:
        table.add("ShareFetch", self.share_fetch)
        table.add("ShareAcknowledge", self.share_acknowledge)

    # ----------------------------------------------------------------------------------------------------------- fetch

    def share_fetch(self, request: ShareFetchRequest, call: RequestContext) -> Any:
        error = self._refusal(request)
        if error is ErrorCode.NONE and request.is_renew_ack and _asks_for_records(request):
            error = ErrorCode.INVALID_REQUEST
        return ShareFetchResponse(error_code=error) if error is not ErrorCode.NONE else self._fetch(request, call)

    def _fetch(self, request: ShareFetchRequest, call: RequestContext) -> Steps[ShareFetchResponse]:
        named = yield from _named_partitions(request.topics)
        acknowledges = any(named.values())
        if acknowledges and request.share_session_epoch == OPENING_EPOCH:
            return ShareFetchResponse(error_code=ErrorCode.INVALID_REQUEST)
        session = yield from self._session(request, call, named)
        if isinstance(session, ErrorCode):
            if session is ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
                yield from self._plane.waiting.sleep(self._now_ms() + request.max_wait_ms)
            return ShareFetchResponse(error_code=session)
        is_closing = request.share_session_epoch == CLOSING_EPOCH
        rights = _TopicRights(self._authorizer, call, self._image)
        acknowledgements = None
        if acknowledges:
            acknowledgements = yield from self._acknowledged(request, call.api_version, named, rights)
        found: dict[TopicIdPartition, PartitionData] = {}
        if not is_closing and not request.is_renew_ack:
            found = yield from self._found(request, call, session, rights)
        if acknowledgements is not None:
            yield from awaited(acknowledgements.when_done)
        response = yield from self._fetch_response(request, call, session, found, acknowledgements)
        if is_closing:
            self._plane.close_session(session)
        return response

    def _session(
        self, request: ShareFetchRequest, call: RequestContext, named: dict[TopicIdPartition, list[Any]]
    ) -> Steps[ShareSession | ErrorCode]:
        """The session of a fetch, opened by it or as it is with the partitions that the request adds and removes."""
        sessions, epoch = self._plane.sessions, request.share_session_epoch
        group_id, member_id = _named(request)
        if epoch == CLOSING_EPOCH:
            return sessions.check(group_id, member_id, epoch)
        if epoch == OPENING_EPOCH:
            session = self._plane.open_session(group_id, member_id, call.client_connection)
        else:
            session = sessions.check(group_id, member_id, epoch)
        if isinstance(session, ErrorCode):
            return session
        if epoch != OPENING_EPOCH:
            session.count_up()
        for number, partition in enumerate(named, 1):
            session.add(partition, self._exists(partition), is_opening=epoch == OPENING_EPOCH)
            if number % MERGED_AT_ONCE == 0:
                yield
        if epoch != OPENING_EPOCH:
            forgotten = (
                (topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions
            )
            for number, partition in enumerate(forgotten, 1):
                session.forget(partition)
                if number % MERGED_AT_ONCE == 0:
                    yield
        return session

    def _found(
        self, request: ShareFetchRequest, call: RequestContext, session: ShareSession, rights: "_TopicRights"
    ) -> Steps[dict[TopicIdPartition, PartitionData]]:
        """What is fetched, and the errors of partitions of which nothing may be."""
        refused: dict[TopicIdPartition, PartitionData] = {}
        asked = []
        for number, partition in enumerate(_rotated(list(session.partitions), request.share_session_epoch), 1):
            error = self._error_of(partition, rights)
            if error is ErrorCode.NONE:
                asked.append(partition)
            else:
                refused[partition] = failed_partition(partition[1], error)
            if number % MERGED_AT_ONCE == 0:
                yield
        terms = ShareFetchTerms(
            group_id=session.group_id,
            member_id=session.member_id,
            max_wait_ms=request.max_wait_ms,
            min_bytes=request.min_bytes,
            max_bytes=request.max_bytes,
            max_records=request.max_records,
            batch_size=request.batch_size,
            is_record_limit=request.share_acquire_mode == RECORD_LIMIT,
        )
        if asked:
            refused.update((yield from self._plane.fetch_service.fetch(terms, asked, self._now_ms())))
        return refused

    def _fetch_response(
        self,
        request: ShareFetchRequest,
        call: RequestContext,
        session: ShareSession,
        found: dict[TopicIdPartition, PartitionData],
        acknowledgements: Acknowledgements | None,
    ) -> Steps[ShareFetchResponse]:
        answers = {}
        is_opening = request.share_session_epoch == OPENING_EPOCH
        for number, (partition, data) in enumerate(found.items(), 1):
            if is_opening or session.must_respond(partition, bool(data.records), data.error_code):
                answers[partition] = data
            if number % MERGED_AT_ONCE == 0:
                yield
        errors = {} if acknowledgements is None else acknowledgements.errors
        for number, (partition, error) in enumerate(errors.items(), 1):
            if number % MERGED_AT_ONCE == 0:
                yield
            answer = answers.get(partition)
            if answer is None:
                answer = answers[partition] = failed_partition(partition[1], ErrorCode.NONE)
            answer.acknowledge_error_code = error
        response = ShareFetchResponse(acquisition_lock_timeout_ms=self._lock_duration_ms(session.group_id))
        topics: dict[bytes, list[PartitionData]] = {}
        for number, ((topic_id, _), data) in enumerate(answers.items(), 1):
            if number % MERGED_AT_ONCE == 0:
                yield
            # As on Kafka, an error of acknowledgements says it in ShareAcknowledge alone.
            if data.error_code in ELSEWHERE:
                data.current_leader = LeaderIdAndEpoch(leader_id=self._node_id, leader_epoch=self._image.leader_epoch)
                response.node_endpoints = [NodeEndpoint(node_id=self._node_id, **self._address(call))]
            topics.setdefault(topic_id, []).append(data)
        response.responses = [
            ShareFetchableTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ]
        return response

    # ----------------------------------------------------------------------------------------------------- acknowledge

    def share_acknowledge(self, request: ShareAcknowledgeRequest, call: RequestContext) -> Any:
        error = self._refusal(request)
        if error is ErrorCode.NONE and request.share_session_epoch == OPENING_EPOCH:
            error = ErrorCode.INVALID_SHARE_SESSION_EPOCH
        if error is not ErrorCode.NONE:
            return ShareAcknowledgeResponse(error_code=error)
        session = self._plane.sessions.check(*_named(request), request.share_session_epoch)
        if isinstance(session, ErrorCode):
            return ShareAcknowledgeResponse(error_code=session)
        if request.share_session_epoch != CLOSING_EPOCH:
            session.count_up()
        return self._acknowledge(request, call, session)

    def _acknowledge(
        self, request: ShareAcknowledgeRequest, call: RequestContext, session: ShareSession
    ) -> Steps[ShareAcknowledgeResponse]:
        rights = _TopicRights(self._authorizer, call, self._image)
        named = yield from _named_partitions(request.topics)
        acknowledgements = yield from self._acknowledged(request, call.api_version, named, rights)
        yield from awaited(acknowledgements.when_done)
        response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=self._lock_duration_ms(session.group_id))
        topics: dict[bytes, list[AcknowledgedPartition]] = {}
        for number, ((topic_id, index), error) in enumerate(acknowledgements.errors.items(), 1):
            if number % MERGED_AT_ONCE == 0:
                yield
            data = AcknowledgedPartition(partition_index=index, error_code=error)
            if error in ELSEWHERE:
                data.current_leader = AcknowledgeLeader(leader_id=self._node_id, leader_epoch=self._image.leader_epoch)
                response.node_endpoints = [AcknowledgeEndpoint(node_id=self._node_id, **self._address(call))]
            topics.setdefault(topic_id, []).append(data)
        response.responses = [
            ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
            for topic_id, partitions in topics.items()
        ]
        if request.share_session_epoch == CLOSING_EPOCH:
            self._plane.close_session(session)
        return response

    # ------------------------------------------------------------------------------------------------------------ both

    def _refusal(self, request: ShareFetchRequest | ShareAcknowledgeRequest) -> ErrorCode:
        """What is wrong with a request before its session is looked at."""
        if not self._plane.is_enabled():
            return ErrorCode.UNSUPPORTED_VERSION
        member_id = request.member_id
        if request.group_id is None or not member_id:
            return ErrorCode.INVALID_REQUEST
        is_long = len(member_id.encode("utf-16-le", "surrogatepass")) // 2 > MEMBER_ID_MAX
        return ErrorCode.INVALID_REQUEST if is_long else ErrorCode.NONE

    def _acknowledged(
        self,
        request: ShareFetchRequest | ShareAcknowledgeRequest,
        api_version: int,
        named: dict[TopicIdPartition, list[Any]],
        rights: "_TopicRights",
    ) -> Steps[Acknowledgements]:
        """Begin what a request acknowledges."""
        can_renew = api_version >= RENEWALS_VERSION
        return (
            yield from acknowledge_partitions(
                self._plane.share_partitions,
                *_named(request),
                named.items(),
                lambda partition: self._error_of(partition, rights),
                type_max=4 if can_renew else 3,
                may_renew=can_renew and request.is_renew_ack,
            )
        )

    def _exists(self, partition: TopicIdPartition) -> bool:
        topic = self._image.topics_by_id.get(partition[0])
        return topic is not None and 0 <= partition[1] < topic.partitions

    def _error_of(self, partition: TopicIdPartition, rights: "_TopicRights") -> ErrorCode:
        topic = self._image.topics_by_id.get(partition[0])
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        if not rights.may_read(topic.name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if not 0 <= partition[1] < topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def _lock_duration_ms(self, group_id: str) -> int:
        return self._plane.settings.of(group_id).lock_duration_ms

    def _address(self, call: RequestContext) -> dict[str, Any]:
        return {"host": call.endpoint.host, "port": call.endpoint.port}


class _TopicRights:
    """Which topics a client may read: a session has topics that its requests do not name."""

    def __init__(self, authorizer: Authorizer, call: RequestContext, image: MetadataImage) -> None:
        self._authorizer = authorizer
        self._call = call
        self._allowed: dict[str, bool] = {}

    def may_read(self, topic: str) -> bool:
        if self._authorizer is ALLOW_ALL:
            return True
        allowed = self._allowed.get(topic)
        if allowed is None:
            call = self._call
            allowed = self._allowed[topic] = self._authorizer.authorize(
                call.principal, call.client_host, AclOperation.READ, ResourceType.TOPIC, topic
            )
        return allowed


def _named(request: ShareFetchRequest | ShareAcknowledgeRequest) -> tuple[str, str]:
    """Group and member id of a request that has both."""
    assert request.group_id is not None and request.member_id is not None
    return request.group_id, request.member_id


def _asks_for_records(request: ShareFetchRequest) -> bool:
    """What renews locks fetches nothing."""
    return bool(request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms)


def _named_partitions(topics: Iterable[Any]) -> Steps[dict[TopicIdPartition, list[Any]]]:
    """The partitions of a request and their acknowledgement batches; of one that is listed twice the last ones."""
    named: dict[TopicIdPartition, list[Any]] = {}
    partitions = ((topic.topic_id, partition) for topic in topics for partition in topic.partitions)
    for number, (topic_id, partition) in enumerate(partitions, 1):
        named[topic_id, partition.partition_index] = partition.acknowledgement_batches
        if number % MERGED_AT_ONCE == 0:
            yield
    return named


def _rotated(partitions: Sequence[TopicIdPartition], epoch: int) -> Sequence[TopicIdPartition]:
    """Each fetch of a session begins with another partition."""
    start = epoch % len(partitions) if partitions and epoch > 0 else 0
    return [*partitions[start:], *partitions[:start]]
