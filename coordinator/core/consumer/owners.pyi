from coordinator.core.consumer.topic_partitions import EpochsByPartition

Owners = dict[bytes, dict[int, str]]
"""Topic id → partition → member id. No topic without partitions."""

def own(owners: Owners, partitions: EpochsByPartition, member_id: str) -> None:
    """Make these partitions those of a member."""

def disown(owners: Owners, partitions: EpochsByPartition, member_id: str) -> None:
    """Take these partitions from a member; those that another one owns by now are left to it."""
