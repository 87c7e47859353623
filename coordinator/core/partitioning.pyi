def java_string_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, in 32 bits without sign."""

def partition_for(group_id: str, partitions: int) -> int:
    """Kafka's rule: the hash without its sign bit (not its absolute value, which -2**31 has none of), modulo."""
