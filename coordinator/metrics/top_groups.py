"""Which groups have series of their own: never more than a fixed number, whatever clients do."""

from collections.abc import Iterable
from typing import Final, NamedTuple

TENURE_MS: Final = 600_000
"""A group keeps its series at least so long, unless it is removed: series that come and go cost Prometheus memory."""


class Candidate(NamedTuple):
    """A group and its rank: the one with more recent rebalances comes first, then the one with more members."""

    rank: float
    members: int
    group_id: str


class TopGroups:
    """Chooses groups: first those of `allowed` that exist, then those of highest rank."""

    def __init__(self, allowed: Iterable[str], groups_max: int) -> None:
        self.allowed = tuple(dict.fromkeys(allowed))
        self.groups_max = groups_max
        self._since_ms: dict[str, int] = {}
        """Chosen group → when its tenure began."""

    def choose(self, existing: set[str], candidates: Iterable[Candidate], now_ms: int) -> list[str]:
        """Choose from the candidates, the highest rank first; `existing` are those that exist of the groups we know.

        A group whose tenure is over has to be among the candidates of highest rank to be chosen again.
        """
        tenured = [
            each for each, since_ms in self._since_ms.items() if each in existing and now_ms - since_ms < TENURE_MS
        ]
        ranked = (each.group_id for each in sorted(candidates, reverse=True))
        order = dict.fromkeys([*(each for each in self.allowed if each in existing), *tenured, *ranked])
        chosen = list(order)[: self.groups_max]
        is_tenured = set(tenured)
        self._since_ms = {each: self._since_ms[each] if each in is_tenured else now_ms for each in chosen}
        return sorted(chosen)

    @property
    def known(self) -> set[str]:
        """The groups that may be chosen without being candidates."""
        return {*self.allowed, *self._since_ms}
