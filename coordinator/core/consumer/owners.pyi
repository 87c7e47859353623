from collections.abc import Container, Mapping

from coordinator.core.consumer.topic_partitions import EpochsByPartition, TopicPartitions

Owners = dict[bytes, dict[int, str]]
"""Topic id → partition → member id. No topic without partitions."""

def own(owners: Owners, partitions: EpochsByPartition, member_id: str) -> None:
    """Make these partitions those of a member."""

def disown(owners: Owners, partitions: EpochsByPartition, member_id: str) -> None:
    """Take these partitions from a member; those that another one owns by now are left to it."""

def divide(
    assigned: EpochsByPartition, target: TopicPartitions, subscribed: Container[bytes]
) -> tuple[EpochsByPartition, EpochsByPartition]:
    """What of its partitions a member keeps, as far as it subscribes to their topics, and what it has to give up."""

def gain(
    kept: EpochsByPartition,
    target: TopicPartitions,
    subscribed: Container[bytes],
    pending: EpochsByPartition,
    owners: Mapping[bytes, Mapping[int, str]],
    epoch: int,
) -> bool:
    """Add to what a member keeps what of its target no other has, and what it has `pending` itself; whether that is
    all of the target.
    """
