def subscribed_topics(protocol_type: str | None, metadata: bytes) -> list[str]:
    """The topics a member subscribes to; none when the bytes are not a subscription."""

def count_claimed(protocol_type: str | None, metadata: bytes, partitions: set[tuple[str, int]]) -> int:
    """How many of the partitions a member says it still owned while it rejoined (KIP-429); none for eager assignors."""

def assigned_partitions(protocol_type: str | None, assignment: bytes) -> set[tuple[str, int]] | None:
    """The partitions (topic, index) a member is assigned; None when the bytes are no consumer's assignment.

    Empty bytes are nothing.
    """
