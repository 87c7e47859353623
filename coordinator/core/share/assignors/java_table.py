"""The order in which Java goes through the keys of a HashMap or a HashSet, which Kafka's simple assignor depends on."""

from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

CAPACITY_LEAST: Final = 16
"""java.util.HashMap.DEFAULT_INITIAL_CAPACITY"""
LOAD_FACTOR: Final = 0.75

Key = TypeVar("Key")


def capacity_for(count: int) -> int:
    """The buckets of a table that Kafka makes for so many keys (`AssignorHelpers.newHashMap`)."""
    least, capacity = int((count + 1) / LOAD_FACTOR + 1), 1
    while capacity < least:
        capacity *= 2
    return capacity


class JavaTable(Generic[Key]):
    """Keys by bucket; those of one bucket are in a chain. Doubling keeps the order of chains, as in Java."""

    __slots__ = ("_buckets", "_hash_of", "_keys")

    def __init__(self, hash_of: Callable[[Key], int], capacity: int = CAPACITY_LEAST) -> None:
        self._hash_of = hash_of
        self._buckets: list[list[Key]] = [[] for _ in range(capacity)]
        self._keys: set[Key] = set()

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[Key]:
        for bucket in self._buckets:
            yield from bucket

    def add(self, key: Key) -> None:
        """As `put` and `add`: a new key comes last in its bucket."""
        if key not in self._keys:
            self._keys.add(key)
            self._bucket_of(key).append(key)
            self._double_if_full()

    def compute_if_absent(self, key: Key) -> None:
        """A new key comes first in its bucket, and the table doubles only before the next one."""
        if key not in self._keys:
            self._double_if_full()
            self._keys.add(key)
            self._bucket_of(key).insert(0, key)

    def remove(self, key: Key) -> None:
        self._keys.remove(key)
        self._bucket_of(key).remove(key)

    def _bucket_of(self, key: Key) -> list[Key]:
        value = self._hash_of(key) & 0xFFFFFFFF
        return self._buckets[(value ^ value >> 16) & (len(self._buckets) - 1)]

    def _double_if_full(self) -> None:
        if len(self._keys) <= len(self._buckets) * LOAD_FACTOR:
            return
        keys = list(self)
        self._buckets = [[] for _ in range(2 * len(self._buckets))]
        for key in keys:
            self._bucket_of(key).append(key)
