"""Which groups of the cluster nodes watch: those that settings and rules name, but for those that nodes coordinate."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Final

from coordinator.cluster.log.group_patterns import GroupPattern, is_pattern
from coordinator.cluster.log.notes import WatchRule

BY_SETTING: Final = "cluster.watch"


class WatchedGroups(Container[str]):
    """Asked from several threads; a group that another node has adopted may be among them.

    A rule takes the place of the setting with the same name or pattern. The rule of a name counts more than those of
    patterns, and of these one that watches is enough.
    """

    def __init__(self, patterns: Iterable[str], nodes_group_id: str, is_owned: Callable[[str], bool]) -> None:
        self._is_owned = is_owned
        self.nodes_group_id: Final = nodes_group_id
        self._settings = {name: WatchRule(is_watched=True, at_ms=0, by=BY_SETTING) for name in patterns}
        self.rules: Mapping[str, WatchRule] = {}
        self._patterns: list[GroupPattern] = []
        self._names: dict[str, bool] = {}
        self.use({})

    def use(self, rules: Mapping[str, WatchRule]) -> bool:
        """Watch by these rules from now on; return whether that is a change."""
        effective = self._settings | dict(rules)
        if effective == self.rules:
            return False
        self._patterns = [GroupPattern(name) for name, rule in effective.items() if rule.is_watched]
        self._names = {name: rule.is_watched for name, rule in effective.items() if not is_pattern(name)}
        self.rules = effective
        return True

    @property
    def watches(self) -> bool:
        """Whether there may be a group to watch."""
        return any(rule.is_watched for rule in self.rules.values())

    @property
    def fingerprint(self) -> list[tuple[str, bool]]:
        """What the rules say, and nothing else of them."""
        return sorted((name, rule.is_watched) for name, rule in self.rules.items())

    def matches(self, group_id: str) -> bool:
        """Whether it is to be watched where it stays with the cluster."""
        found = self._names.get(group_id)
        if found is None:
            found = any(pattern.matches(group_id) for pattern in self._patterns)
        return found and group_id != self.nodes_group_id

    def __contains__(self, group_id: object) -> bool:
        return isinstance(group_id, str) and self.matches(group_id) and not self._is_owned(group_id)


def merged(rules: Iterable[Mapping[str, WatchRule]]) -> dict[str, WatchRule]:
    """Of several partitions, one of which may not have got the last change: the newest rule of each name."""
    found: dict[str, WatchRule] = {}
    for of_partition in rules:
        for name, rule in of_partition.items():
            if name not in found or rule.at_ms > found[name].at_ms:
                found[name] = rule
    return found
