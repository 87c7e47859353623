"""AlterReplicaLogDirs (KIP-113): moves partitions to other log directories of this node."""

from _wire.errors import ErrorCode
from _wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from coordinator.broker.directories.replica_moves import ReplicaMoves
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.node.handlers.partition_steps import answer_partitions
from coordinator.runtime.slices import Steps


class ReplicaLogDirsHandler:
    """The answer says that a move has begun, or why not; DescribeLogDirs says how far it is."""

    def __init__(
        self,
        replica_moves: ReplicaMoves,
    ) -> None:
        self._replica_moves = replica_moves

    def add_to(self, table: DispatchTable) -> None:
        table.add("AlterReplicaLogDirs", self.alter, _error_by_partition)

    def alter(self, request: AlterReplicaLogDirsRequest, call: RequestContext) -> Steps[AlterReplicaLogDirsResponse]:
        """Of a partition that is listed twice, the last directory counts, as on Kafka."""
        requested: dict[str, dict[int, str]] = {}
        for directory in request.dirs:
            for topic in directory.topics:
                for index in topic.partitions:
                    requested.setdefault(topic.name, {})[index] = directory.path
                yield

        def answer(topic: str, partition: tuple[int, str]) -> AlterReplicaLogDirPartitionResult:
            index, path = partition
            error = self._replica_moves.alter(topic, index, path)
            return AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)

        results = yield from answer_partitions(
            ((name, paths.items()) for name, paths in requested.items()),
            answer,
            lambda topic, partitions: AlterReplicaLogDirTopicResult(topic_name=topic, partitions=partitions),
        )
        return AlterReplicaLogDirsResponse(results=results)


def _error_by_partition(
    request: AlterReplicaLogDirsRequest, error: ErrorCode, api_version: int
) -> AlterReplicaLogDirsResponse:
    """The error of each partition that was asked for; there is no other place for it."""
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=error)
                    for index in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )
