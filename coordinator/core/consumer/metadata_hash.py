"""The hash of the topics that a group subscribes to: another value says that one was made, deleted or has grown.

Its record (`ConsumerGroupMetadata.metadata_hash`) is read by Kafka from a folder that was written here, and the
reverse, so it is computed as Kafka does (`org.apache.kafka.coordinator.group.Utils`).
"""

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from xxhash import xxh3_64_intdigest

NO_TOPICS: Final = 0
"""The hash of no topics; the record leaves it out."""
FORMAT_VERSION: Final = 0
"""The first byte of what is hashed (TOPIC_HASH_MAGIC_BYTE)."""
TOPICS_REMEMBERED: Final = 10_000


def metadata_hash(topics: Iterable[tuple[str, bytes, int]]) -> int:
    """The hash of topics that exist: name, id, number of partitions of each. A signed number of 64 bits.

    Their order does not matter. Racks are part of it in Kafka; the brokers here have none.
    """
    hashes = [_topic_hash(*topic) for topic in sorted(topics)]
    if not hashes:
        return NO_TOPICS
    unsigned = xxh3_64_intdigest(struct.pack(f"<{len(hashes)}Q", *hashes))
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned


@lru_cache(maxsize=TOPICS_REMEMBERED)
def _topic_hash(name: str, topic_id: bytes, partitions: int) -> int:
    utf_16 = name.encode("utf-16-le", "surrogatepass")
    most, least = struct.unpack(">QQ", topic_id)
    return xxh3_64_intdigest(
        struct.pack("<BQQ", FORMAT_VERSION, most, least)
        + utf_16
        + struct.pack(f"<ii{partitions}i", len(utf_16) // 2, partitions, *range(partitions))
    )
