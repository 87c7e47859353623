from collections.abc import Iterable

def subscribed_topics(protocol_type: str | None, metadata: bytes) -> list[str]:
    """The topics a member subscribes to; none when the bytes are not a subscription."""

def claimed_partitions(protocol_type: str | None, metadata: bytes) -> set[tuple[str, int]]:
    """The partitions a member says it still owns while it rejoins (KIP-429); none for eager assignors."""

def assigned_partitions(protocol_type: str | None, assignment: bytes) -> set[tuple[str, int]] | None:
    """The partitions (topic, index) a member is assigned; None when the bytes are no consumer's assignment.

    Empty bytes are nothing.
    """

def by_topic(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """Topic → partition indexes, both ascending."""
