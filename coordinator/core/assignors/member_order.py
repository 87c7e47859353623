"""The orders in which Kafka's assignors iterate over members, so that both give a group the same assignment."""

from collections.abc import Iterable

from coordinator.core.assignors.model import MemberSubscription
from coordinator.core.hash_map_order import texts_in_hash_map_order


def text_key(text: str) -> bytes:
    """A sort key with the order of Java's `String.compareTo`, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def static_first(members: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Members with an instance id, sorted by it, then the others, sorted by member id."""
    return sorted(members, key=_static_first_key)


def _static_first_key(member: MemberSubscription) -> tuple[bool, bytes]:
    if member.group_instance_id is None:
        return True, text_key(member.member_id)
    return False, text_key(member.group_instance_id)


def hash_map_order(texts: Iterable[str]) -> list[str]:
    """The keys in the iteration order of Java's HashMap.

    It decides which of several members with too many partitions keeps one more. Keys of the same bucket are sorted
    here, while Java has them in insertion order, so that the result does not depend on the order of the members.
    """
    return texts_in_hash_map_order(sorted(texts, key=text_key))
