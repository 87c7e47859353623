def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, in 32 bits without sign."""

def partition_for(name: str, partitions: int) -> int:
    """Kafka's rule for group ids and transactional ids: the absolute value of the hash, 0 for -2**31, modulo."""
