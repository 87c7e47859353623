from collections.abc import Iterable

from coordinator.audit.schema import TopicPartitions

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

def hand_over(
    member_id: str,
    owned: set[tuple[str, int]],
    owned_before: tuple[tuple[str, int], ...],
    owners: dict[tuple[str, int], str],
) -> tuple[TopicPartitions, TopicPartitions, TopicPartitions, int]:
    """Make a member the owner of what it got.

    Returns what it gained, lost and kept, and how many of the gained ones had another member in `owners` until now.
    """
