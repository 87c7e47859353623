"""Which partition of `__consumer_offsets` (and of `__group_audit`) a group belongs to."""

from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, in 32 bits without sign."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value


def partition_for(group_id: str, partitions: int) -> int:
    """Kafka's rule: the hash without its sign bit (not its absolute value, which -2**31 has none of), modulo."""
    return (java_string_hash(group_id) & 0x7FFFFFFF) % partitions
