from collections.abc import Iterable, Sequence

def texts_in_hash_map_order(texts: Iterable[str], among: int = 0) -> list[str]:
    """The texts in the order of a Java HashMap that has them as its keys (String.hashCode).

    It may have more keys: `among` so many altogether.
    """

def ids_in_hash_set_order(ids: Iterable[bytes]) -> list[bytes]:
    """The ids of topics in the order of a Java HashSet of them (Uuid.hashCode); 16 bytes each."""

def assignment_in_hash_order(assignment: dict[bytes, tuple[int, ...]]) -> dict[bytes, Sequence[int]]:
    """Topic id → partitions, which are ascending, as Java goes through a HashMap of HashSets of them."""
