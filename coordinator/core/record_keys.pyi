def record_key(key_type: int, name: str, second: str | None = None) -> bytes:
    """The key of such a record, of one name or two. ValueError for a name that no record can hold."""
