"""What tools ask a broker about itself: its log directories, the metadata quorum, what has configs."""

from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from _wire.messages.describe_quorum import (
    DescribeQuorumListener,
    DescribeQuorumNode,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartition,
    DescribeQuorumResponseTopic,
    ReplicaState,
)
from _wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from coordinator.broker.directories.replica_move import FutureReplica
from coordinator.broker.directories.replica_moves import ReplicaMoves
from coordinator.broker.directories.storage_errors import StorageErrors
from coordinator.broker.partitions import LEADER_EPOCH, Partitions
from coordinator.front.dispatch import DispatchTable
from coordinator.front.protocol_types import ConfigResourceType
from coordinator.front.request_context import RequestContext
from coordinator.log.names import METADATA_LOG
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Steps

RESOURCE_TYPES_VERSION: Final = 1
"""Before it, ListConfigResources lists client metrics only (KIP-1142)."""

NOT_HOSTED: Final = "This server does not host this topic-partition."
CONTROLLER_LISTENER: Final = "CONTROLLER"


class InspectionHandlers:
    """Answers as a node that is broker and controller at once."""

    def __init__(
        self,
        *,
        metadata: MetadataStore,
        partitions: Partitions,
        replica_moves: ReplicaMoves,
        node_id: int,
        now_ms: Callable[[], int],
    ) -> None:
        self._metadata = metadata
        self._partitions = partitions
        self._replica_moves = replica_moves
        self._node_id = node_id
        self._now_ms = now_ms
        self._image = metadata.image
        self._storage_errors = StorageErrors("cannot describe the log directory", "path")

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeLogDirs", self.describe_log_dirs)
        table.add("DescribeQuorum", self.describe_quorum, _quorum_error)
        table.add("ListConfigResources", self.list_config_resources)

    # ---- log directories

    def describe_log_dirs(
        self, request: DescribeLogDirsRequest, call: RequestContext
    ) -> Steps[DescribeLogDirsResponse]:
        """All directories; partitions that this node does not have are left out, and null asks for all."""
        asked: Iterable[tuple[str, Iterable[int]]]
        if request.topics is None:
            asked = [(topic.name, range(topic.partitions)) for topic in self._image.topics.values()]
        else:
            asked = [(topic.topic, topic.partitions) for topic in request.topics]
        yield
        found, seen = yield from self._partitions_by_directory(asked)
        results = []
        for path in self._partitions.directory_paths:
            results.append((yield from self._describe_directory(path, found, seen)))
        return DescribeLogDirsResponse(results=results)

    def _partitions_by_directory(
        self, asked: Iterable[tuple[str, Iterable[int]]]
    ) -> Steps[tuple[dict[Path, dict[str, list[int]]], set[tuple[str, int]]]]:
        """The partitions that were asked for, in each directory, and all together."""
        partitions = self._partitions
        found: dict[Path, dict[str, list[int]]] = {}
        seen: set[tuple[str, int]] = set()
        for name, indexes in asked:
            for index in indexes:
                if (name, index) in seen:
                    continue
                seen.add((name, index))
                if self._image.has_partition(name, index) and partitions.leads(name, index):
                    directory = partitions.directory_of(name, index)
                    if directory is not None:
                        found.setdefault(directory.root, {}).setdefault(name, []).append(index)
                yield
        return found, seen

    def _describe_directory(
        self, path: Path, found: dict[Path, dict[str, list[int]]], asked: Set[tuple[str, int]]
    ) -> Steps[DescribeLogDirsResult]:
        partitions, directory = self._partitions, self._partitions.directory(path)
        result = DescribeLogDirsResult(log_dir=str(path))
        if directory is None:
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            return result
        described: dict[str, list[DescribeLogDirsPartition]] = {}
        try:
            for name, indexes in found.get(path, {}).items():
                for index in indexes:
                    size_bytes = partitions.size_bytes(name, index)
                    described.setdefault(name, []).append(
                        DescribeLogDirsPartition(partition_index=index, partition_size=size_bytes)
                    )
                    yield
            for future in self._replica_moves.futures_in(directory):
                if (future.topic, future.partition) in asked:
                    described.setdefault(future.topic, []).append(_described_future(future))
                yield
            result.topics = [
                DescribeLogDirsTopic(name=name, partitions=partitions) for name, partitions in described.items()
            ]
            result.total_bytes, result.usable_bytes = directory.volume_bytes()
        except OSError as problem:
            if not partitions.disk_errors.report(problem, path, True):
                self._storage_errors.report(result.log_dir, problem)
            return DescribeLogDirsResult(log_dir=result.log_dir, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
        return result

    # ---- the quorum

    def describe_quorum(self, request: DescribeQuorumRequest, call: RequestContext) -> DescribeQuorumResponse:
        topics = [
            (topic.topic_name, [partition.partition_index for partition in topic.partitions])
            for topic in request.topics
        ]
        if topics != [(METADATA_LOG, [0])]:
            if not topics:
                return DescribeQuorumResponse(error_message="")
            return _quorum_error(request, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, call.api_version)
        end_offset, now_ms, node_id = self._metadata.end_offset, self._now_ms(), self._node_id
        voter = ReplicaState(
            replica_id=node_id,
            log_end_offset=end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
        partition = DescribeQuorumResponsePartition(
            partition_index=0,
            error_message="",
            leader_id=node_id,
            leader_epoch=LEADER_EPOCH,
            high_watermark=end_offset,
            current_voters=[voter],
        )
        endpoint = call.endpoint
        listener = DescribeQuorumListener(name=CONTROLLER_LISTENER, host=endpoint.host, port=endpoint.port)
        return DescribeQuorumResponse(
            error_message="",
            topics=[DescribeQuorumResponseTopic(topic_name=METADATA_LOG, partitions=[partition])],
            nodes=[DescribeQuorumNode(node_id=node_id, listeners=[listener])],
        )

    # ---- configs

    def list_config_resources(
        self, request: ListConfigResourcesRequest, call: RequestContext
    ) -> Steps[ListConfigResourcesResponse]:
        """Client metrics have no configs here. No type asks for all types."""
        if call.api_version < RESOURCE_TYPES_VERSION:
            return ListConfigResourcesResponse()
        requested = set(request.resource_types) or set(ConfigResourceType)
        if not requested <= set(ConfigResourceType):
            return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        node_id = str(self._node_id)
        found = []
        if ConfigResourceType.GROUP in requested:
            for name in list(self._image.group_configs):
                found.append(ConfigResource(resource_name=name, resource_type=ConfigResourceType.GROUP))
                yield
        found += [
            ConfigResource(resource_name=node_id, resource_type=literal)
            for literal in (ConfigResourceType.BROKER_LOGGER, ConfigResourceType.BROKER)
            if literal in requested
        ]
        if ConfigResourceType.TOPIC in requested:
            for name in list(self._image.topics):
                found.append(ConfigResource(resource_name=name, resource_type=ConfigResourceType.TOPIC))
                yield
        return ListConfigResourcesResponse(config_resources=found)


def _described_future(future: FutureReplica) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=future.partition,
        partition_size=future.size_bytes,
        offset_lag=future.offset_lag,
        is_future_key=True,
    )


def _quorum_error(request: DescribeQuorumRequest, error: ErrorCode, api_version: int) -> DescribeQuorumResponse:
    """The error of each partition that was asked for; but that of a client that may not ask is of the whole."""
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return DescribeQuorumResponse(error_code=error, error_message=error.description)
    message = NOT_HOSTED if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else error.description
    topics = [
        DescribeQuorumResponseTopic(
            topic_name=topic.topic_name,
            partitions=[
                DescribeQuorumResponsePartition(
                    partition_index=partition.partition_index, error_code=error, error_message=message
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return DescribeQuorumResponse(error_message="", topics=topics)
