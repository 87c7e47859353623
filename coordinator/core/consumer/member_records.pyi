from collections.abc import Mapping

from coordinator.core.consumer.member import CurrentAssignment
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.stored import StoredRecord

def targets_records(group_id: str, targets: Mapping[str, TopicPartitions]) -> list[StoredRecord]:
    """The record of each member's target, by member id. ValueError for a name that no record can hold."""

def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> StoredRecord:
    """The record of a group epoch. ValueError for a name that no record can hold."""

def current_record(group_id: str, member_id: str, current: CurrentAssignment) -> StoredRecord:
    """The record of what a member may use by now. ValueError for a name that no record can hold."""

def removed_member_records(group_id: str, member_id: str) -> list[StoredRecord]:
    """The tombstones of the records of a member, in the order that a load by Kafka insists on."""
