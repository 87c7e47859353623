"""AlterReplicaLogDirs (KIP-113): moves partitions to other log directories of this node."""

from _wire.errors import ErrorCode
from _wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from coordinator.runtime.slices import Steps
from coordinator.server.dispatch import DispatchTable
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext


class ReplicaLogDirsHandler:
    """The answer says that a move has begun, or why not; DescribeLogDirs says how far it is."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node

    def add_to(self, table: DispatchTable) -> None:
        table.add("AlterReplicaLogDirs", self.alter, _error_for_each, versions=(1, 2))

    def alter(self, request: AlterReplicaLogDirsRequest, call: RequestContext) -> Steps[AlterReplicaLogDirsResponse]:
        """Of a partition that is listed twice, the last directory counts, as on Kafka."""
        wanted: dict[str, dict[int, str]] = {}
        for directory in request.dirs:
            for topic in directory.topics:
                for index in topic.partitions:
                    wanted.setdefault(topic.name, {})[index] = directory.path
                yield
        response = AlterReplicaLogDirsResponse()
        for name, paths in wanted.items():
            results = []
            for index, path in paths.items():
                error = self._node.replica_moves.alter(name, index, path)
                results.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error))
                yield
            response.results.append(AlterReplicaLogDirTopicResult(topic_name=name, partitions=results))
        return response


def _error_for_each(
    request: AlterReplicaLogDirsRequest, error: ErrorCode, api_version: int
) -> AlterReplicaLogDirsResponse:
    """The error of each partition that was asked for; there is no other place for it."""
    wanted: dict[str, dict[int, None]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for index in topic.partitions:
                wanted.setdefault(topic.name, {})[index] = None
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error) for index in indexes
                ],
            )
            for name, indexes in wanted.items()
        ]
    )
