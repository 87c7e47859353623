"""The user data that the sticky assignors put into a subscription: the owned partitions and their generation.

The layouts are those of Kafka's StickyAssignor and CooperativeStickyAssignor. They have no version field.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Final

from coordinator.core.assignors.member_order import hash_map_order
from coordinator.core.assignors.model import NO_GENERATION, PartitionsByTopic

INT16: Final = struct.Struct(">h")
INT32: Final = struct.Struct(">i")


class UnreadableUserData(ValueError):
    """The bytes are not user data of the assignor."""


def encode_sticky(owned: Mapping[str, Sequence[int]], generation_id: int | None) -> bytes:
    """Encode an array of (topic, array of int32), followed by the generation; without generation it is version 0.

    The topics are in the order in which Kafka's client writes them.
    """
    parts = [INT32.pack(len(owned))]
    for name in hash_map_order(owned):
        encoded, numbers = name.encode(), owned[name]
        parts += (INT16.pack(len(encoded)), encoded, struct.pack(f">i{len(numbers)}i", len(numbers), *numbers))
    if generation_id is not None:
        parts.append(INT32.pack(generation_id))
    return b"".join(parts)


def decode_sticky(data: bytes) -> tuple[PartitionsByTopic, int]:
    """Decode version 1 or 0: the owned partitions and their generation.

    As in Kafka, it is version 1 if there are enough bytes for a generation. Further bytes are ignored.

    Raises:
        UnreadableUserData: the bytes are neither.
    """
    owned: PartitionsByTopic = {}
    try:
        count, position = _count(data, 0)
        for _ in range(count):
            (size,) = INT16.unpack_from(data, position)
            name = _text(data, position + INT16.size, size)
            numbers, position = _count(data, position + INT16.size + size)
            owned.setdefault(name, []).extend(struct.unpack_from(f">{numbers}i", data, position))
            position += INT32.size * numbers
    except (struct.error, UnicodeDecodeError) as problem:
        raise UnreadableUserData(f"not the user data of a sticky assignor: {problem}") from problem
    if len(data) - position < INT32.size:
        return owned, NO_GENERATION
    return owned, int(INT32.unpack_from(data, position)[0])


def encode_cooperative_sticky(generation_id: int) -> bytes:
    """Encode the generation; the partitions are in the subscription itself."""
    return INT32.pack(generation_id)


def decode_cooperative_sticky(data: bytes) -> int:
    """Decode the generation.

    Raises:
        UnreadableUserData: the bytes are too few.
    """
    if len(data) < INT32.size:
        raise UnreadableUserData(f"not the user data of cooperative-sticky: {len(data)} bytes")
    return int(INT32.unpack_from(data)[0])


def _count(data: bytes, position: int) -> tuple[int, int]:
    """Return the length of the array at `position`, and the position of its first element."""
    (count,) = INT32.unpack_from(data, position)
    if not 0 <= count <= len(data):
        raise UnreadableUserData(f"not the user data of a sticky assignor: an array of {count} in {len(data)} bytes")
    return count, position + INT32.size


def _text(data: bytes, position: int, size: int) -> str:
    if not 0 <= size <= len(data) - position:
        raise UnreadableUserData(f"not the user data of a sticky assignor: a string of {size} at byte {position}")
    return data[position : position + size].decode()
