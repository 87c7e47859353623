"""The partition of a record, as Kafka's own producer chooses it (BuiltInPartitioner, Utils.murmur2)."""

from typing import Final

SEED: Final = 0x9747B28C
FACTOR: Final = 0x5BD1E995
SHIFT: Final = 24
UINT32: Final = 0xFFFFFFFF
INT32_MAX: Final = 0x7FFFFFFF
WORD: Final = 4


def partition_of_key(key: bytes, partitions: int) -> int:
    return (murmur2(key) & INT32_MAX) % partitions


def murmur2(data: bytes) -> int:
    """The 32-bit hash, unsigned."""
    found = SEED ^ len(data)
    whole = len(data) - len(data) % WORD
    for at in range(0, whole, WORD):
        word = int.from_bytes(data[at : at + WORD], "little") * FACTOR & UINT32
        word = (word ^ word >> SHIFT) * FACTOR & UINT32
        found = found * FACTOR & UINT32 ^ word
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * FACTOR & UINT32
    found = (found ^ found >> 13) * FACTOR & UINT32
    return found ^ found >> 15
