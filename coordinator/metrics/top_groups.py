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
            group_id
            for group_id, since_ms in self._since_ms.items()
            if group_id in existing and now_ms - since_ms < TENURE_MS
        ]
        ranked = (candidate.group_id for candidate in sorted(candidates, reverse=True))
        order = dict.fromkeys([*(group_id for group_id in self.allowed if group_id in existing), *tenured, *ranked])
        chosen = list(order)[: self.groups_max]
        is_tenured = set(tenured)
        self._since_ms = {
            group_id: self._since_ms[group_id] if group_id in is_tenured else now_ms for group_id in chosen
        }
        return sorted(chosen)

    @property
    def listed(self) -> set[str]:
        """The groups that may be chosen without being candidates."""
        return {*self.allowed, *self._since_ms}
