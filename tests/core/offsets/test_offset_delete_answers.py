"""What OffsetDelete answers for partitions that do not exist."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from coordinator.core.kinds import operations
from coordinator.core.offsets.events import OffsetsDeleted
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

NONE: Final = ErrorCode.NONE
UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

Topics = list[tuple[str, list[int]]]


@pytest.fixture
def sim():
    """A group with an offset for partition 0 of `t`."""
    sim = Simulation()
    sim.topics.missing.add("gone")
    sim.commit()
    return sim


def delete(sim: Simulation, topics: Topics) -> list[tuple[str, list[tuple[int, int]]]]:
    """Topic and (partition, error), in the order of the response."""
    request = OffsetDeleteRequest(
        group_id=GROUP_ID,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in partitions]
            )
            for name, partitions in topics
        ],
    )
    asked = Sent()
    sim.submit(operations.OFFSET_DELETE, GROUP_ID, request, asked, "admin", 0)
    return [
        (topic.name, [(partition.partition_index, partition.error_code) for partition in topic.partitions])
        for topic in asked.response.topics
    ]


def deleted(sim: Simulation) -> list[tuple[TopicPartition, ...]]:
    return [event.partitions for event in sim.events if isinstance(event, OffsetsDeleted)]


def test_unknown_partitions_are_rejected_each_by_itself_and_nothing_is_deleted_for_them(sim):
    assert delete(sim, [("t", [0, -1]), ("gone", [0])]) == [("t", [(-1, UNKNOWN), (0, NONE)]), ("gone", [(0, UNKNOWN)])]
    assert deleted(sim) == [(TopicPartition("t", 0),)]


def test_a_topic_is_answered_once_where_a_partition_is_unknown(sim):
    topics = [("t", [-1]), ("u", [1]), ("t", [0]), ("gone", [3]), ("gone", [])]
    expected = [("t", [(-1, UNKNOWN), (0, NONE)]), ("gone", [(3, UNKNOWN)]), ("u", [(1, NONE)])]
    assert delete(sim, topics) == expected
