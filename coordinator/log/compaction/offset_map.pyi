from typing import Final

SLOT_BYTES: Final[int]

class OffsetMap:
    """Key → offset of its last record. Keys cannot be removed."""

    def __init__(self, buffer_bytes: int, load_factor: float, secret: bytes) -> None:
        """Have at most `buffer_bytes` / 24 slots, of which `load_factor` are used (`log.cleaner.dedupe.buffer.size`).

        It begins small; while it grows, it has both the old and the new slots. `secret` has 16 random bytes.

        Raises:
            ValueError: no slot fits, or another argument is not allowed.
            MemoryError: there is no memory.
        """

    @property
    def keys(self) -> int: ...
    @property
    def latest_offset(self) -> int:
        """Up to here all records are in the map; -1 at first."""

    @property
    def size_bytes(self) -> int:
        """The memory of the slots that it has now."""

    def put(self, key: bytes, offset: int) -> bool:
        """Note the offset of a record with this key; return False, and change nothing, if a new key has no room.

        Raises:
            MemoryError: there is no memory to grow.
        """

    def get(self, key: bytes) -> int:
        """Return the offset that was put last for the key; -1 if there is none."""
