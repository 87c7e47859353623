"""Replicas of partitions, as a cluster in which each partition has one: moving them, and electing their leaders."""

from collections.abc import Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from _wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from _wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.leadership import NO_LEADER, Leadership
from coordinator.node.handlers.partition_steps import answer_partitions
from coordinator.node.handlers.request_timeouts import within_timeout
from coordinator.runtime.slices import Steps

PREFERRED: Final = 0
UNCLEAN: Final = 1
ELECTION_TYPE_VERSION: Final = 1
"""Before it, ElectLeaders only elects preferred replicas (KIP-460)."""


class ReplicaHandlers:
    """No partition is ever moved, and each has the only leader that it can have."""

    def __init__(
        self,
        *,
        image: MetadataImage,
        leadership: Leadership,
        node_id: int,
    ) -> None:
        self._image = image
        self._leadership = leadership
        self._node_id = node_id

    def add_to(self, table: DispatchTable) -> None:
        table.add("ElectLeaders", within_timeout(self.elect_leaders, _elect_error), _elect_error)
        table.add("AlterPartitionReassignments", self.reassign, _reassign_error)
        table.add("ListPartitionReassignments", self.list_reassignments, _list_error)

    def reassign(
        self, request: AlterPartitionReassignmentsRequest, call: RequestContext
    ) -> Steps[AlterPartitionReassignmentsResponse]:
        if request.topics and request.timeout_ms <= 0:
            return _reassign_error(request, ErrorCode.REQUEST_TIMED_OUT, call.api_version)
        responses = yield from answer_partitions(
            ((topic.name, topic.partitions) for topic in request.topics),
            self._reassign,
            lambda topic, partitions: ReassignableTopicResponse(name=topic, partitions=partitions),
        )
        return AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=request.allow_replication_factor_change,
            error_message=None if request.topics else "",
            responses=responses,
        )

    def _reassign(self, topic: str, requested: ReassignablePartition) -> ReassignablePartitionResponse:
        index = requested.partition_index
        if topic not in self._image.topics:
            return _not_moved(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {topic}.")
        if not self._image.has_partition(topic, index):
            return _not_moved(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {topic}:{index}.")
        if requested.replicas is None:
            return _not_moved(index, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)
        leader = self._leadership.leader_of(topic, index)
        problem = _assignment_problem(requested.replicas, self._node_id if leader == NO_LEADER else leader)
        return _not_moved(index, ErrorCode.NONE if problem is None else ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)

    def list_reassignments(
        self, request: ListPartitionReassignmentsRequest, call: RequestContext
    ) -> ListPartitionReassignmentsResponse:
        return ListPartitionReassignmentsResponse(error_message=None)

    def elect_leaders(self, request: ElectLeadersRequest, call: RequestContext) -> Steps[ElectLeadersResponse]:
        if call.api_version >= ELECTION_TYPE_VERSION and request.election_type not in (PREFERRED, UNCLEAN):
            message = f"Unknown election type {request.election_type}"
            return _elect_error(request, ErrorCode.INVALID_REQUEST, call.api_version, message)
        if request.topic_partitions is None:
            # Kafka leaves out partitions that need no election when all are asked for.
            results = [ReplicaElectionResult(topic=name) for name in self._image.topics]
        else:
            results = yield from answer_partitions(
                ((topic_partition.topic, topic_partition.partitions) for topic_partition in request.topic_partitions),
                self._election,
                lambda topic, partitions: ReplicaElectionResult(topic=topic, partition_result=partitions),
            )
        return ElectLeadersResponse(replica_election_results=results)

    def _election(self, topic: str, index: int) -> PartitionResult:
        error, message = ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        if topic not in self._image.topics:
            error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}"
        elif not self._image.has_partition(topic, index):
            error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{index}"
        return PartitionResult(partition_id=index, error_code=error, error_message=message)


def _assignment_problem(replicas: Sequence[int], leader: int) -> str | None:
    """Why a partition cannot have these replicas; None when they are those that it has."""
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    unknown = next((replica for replica in replicas if replica != leader), None)
    if unknown is not None:
        return f"The manual partition assignment includes broker {unknown}, but no such broker is registered."
    if len(replicas) > 1:
        return f"The manual partition assignment includes the broker {leader} more than once."
    return None


def _not_moved(index: int, error: ErrorCode, message: str | None) -> ReassignablePartitionResponse:
    return ReassignablePartitionResponse(partition_index=index, error_code=error, error_message=message)


def _message_of(error: ErrorCode) -> str | None:
    """Kafka has no words for a request that came too late."""
    return None if error is ErrorCode.REQUEST_TIMED_OUT else error.description


def _reassign_error(
    request: AlterPartitionReassignmentsRequest, error: ErrorCode, api_version: int
) -> AlterPartitionReassignmentsResponse:
    responses = [
        ReassignableTopicResponse(
            name=topic.name,
            partitions=[
                _not_moved(partition.partition_index, error, _message_of(error)) for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return AlterPartitionReassignmentsResponse(error_code=error, error_message=_message_of(error), responses=responses)


def _list_error(
    request: ListPartitionReassignmentsRequest, error: ErrorCode, api_version: int
) -> ListPartitionReassignmentsResponse:
    topics = [
        OngoingTopicReassignment(
            name=topic.name,
            partitions=[OngoingPartitionReassignment(partition_index=index) for index in topic.partition_indexes],
        )
        for topic in request.topics or ()
    ]
    return ListPartitionReassignmentsResponse(error_code=error, error_message=error.description, topics=topics)


def _elect_error(
    request: ElectLeadersRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> ElectLeadersResponse:
    """Before v1 there is no error but that of a partition."""
    results = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[
                PartitionResult(partition_id=index, error_code=error, error_message=message or _message_of(error))
                for index in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=error, replica_election_results=results)
