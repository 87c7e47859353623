"""In which order Kafka's assignors meet members, so that a group gets the same answer whichever client leads it."""

from collections.abc import Iterable
from typing import Final

from coordinator.core.assignors.model import MemberSubscription
from coordinator.core.partitioning import java_string_hash

HASH_MAP_SMALLEST: Final = 16
HASH_MAP_LOAD_FACTOR: Final = 0.75
"""Java's HashMap: buckets it begins with, and how full it may be before they are doubled."""


def text_key(text: str) -> bytes:
    """Sorts as Java's `String.compareTo`, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def static_first(members: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Members with an instance id, by it; then the others by member id."""
    return sorted(members, key=_static_first_key)


def _static_first_key(member: MemberSubscription) -> tuple[bool, bytes]:
    if member.group_instance_id is None:
        return True, text_key(member.member_id)
    return False, text_key(member.group_instance_id)


def hash_map_order(texts: Iterable[str]) -> list[str]:
    """As Java's HashMap iterates over its keys.

    It decides which of several members with too many partitions keeps one more. Keys of the same bucket come sorted,
    where Java's come as they were put in: here the answer does not depend on the order of the members.
    """
    keys = sorted(texts, key=text_key)
    buckets = HASH_MAP_SMALLEST
    while len(keys) > buckets * HASH_MAP_LOAD_FACTOR:
        buckets *= 2
    return sorted(keys, key=lambda key: _spread(java_string_hash(key)) & (buckets - 1))


def _spread(value: int) -> int:
    """Java's HashMap mixes the upper half of a hash into the lower one, as only low bits choose the bucket."""
    return value ^ (value >> 16)
