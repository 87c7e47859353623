"""Which partitions the processes of a streams group can be asked about (interactive queries).

Counterpart in Kafka: `EndpointToPartitionsManager`.
"""

from collections.abc import Iterable, Mapping

from _wire.messages.streams_group_heartbeat import Endpoint, EndpointToPartitions, TopicPartitions
from coordinator.core.decision import Topics
from coordinator.core.streams.configured import ConfiguredSubtopology, UnexpectedTopologyError
from coordinator.core.streams.member import StreamsMemberMetadata
from coordinator.core.streams.tasks import TaskEpochs

Parts = Mapping[str, ConfiguredSubtopology]


def partitions_by_user_endpoint(
    members: Iterable[tuple[StreamsMemberMetadata, TaskEpochs]], parts: Parts | None, topics: Topics
) -> list[EndpointToPartitions]:
    """Of the members that have an endpoint.

    Raises:
        UnexpectedTopologyError: the numbers of tasks are not known, or a topic is gone, where Kafka fails.
    """
    found = []
    for metadata, assigned in members:
        if metadata.user_endpoint is None:
            continue
        if parts is None:
            raise UnexpectedTopologyError("a user endpoint of a topology that is not configured")
        host, port = metadata.user_endpoint
        found.append(
            EndpointToPartitions(
                user_endpoint=Endpoint(host=host, port=port),
                active_partitions=_topic_partitions(assigned.active, parts, topics),
                standby_partitions=_topic_partitions(assigned.standby, parts, topics),
            )
        )
    return found


def _topic_partitions(tasks: Mapping[str, Iterable[int]], parts: Parts, topics: Topics) -> list[TopicPartitions]:
    """Each topic that the tasks read; of one with fewer partitions than there are tasks, the first ones."""
    found: list[TopicPartitions] = []
    for subtopology_id, numbers in tasks.items():
        part = parts.get(subtopology_id)
        if part is None:
            continue
        ascending = sorted(numbers)
        for name in part.topics_read():
            count = topics.partition_count(name)
            if not count:
                raise UnexpectedTopologyError(f"topic {name} of a task that runs does not exist")
            found.append(TopicPartitions(topic=name, partitions=ascending[: min(count, len(ascending))]))
    return found
