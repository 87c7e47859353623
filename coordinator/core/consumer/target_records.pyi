from collections.abc import Mapping

from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.stored import StoredRecord

def targets_records(group_id: str, targets: Mapping[str, TopicPartitions]) -> list[StoredRecord]:
    """The record of each member's target, by member id. ValueError for a name that no record can hold."""
