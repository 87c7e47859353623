"""Watching groups and watching them no more, as `coordinator cluster watch` and `unwatch` ask for it."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.alter_watched_groups import WatchResult
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.log.group_patterns import GroupPattern
from coordinator.cluster.log.notes import WatchRule, watch_record
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.log.topics import TopicError
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.watching import Watching
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import Shard
from coordinator.runtime.slices import Steps, awaited

RULES_MAX: Final = 200
"""Names and patterns, of the settings, too: each request of a group that was not seen before is compared with all."""
GROUPS_REPORTED_MAX: Final = 1_000
GROUPS_AT_ONCE: Final = 1_000
"""Groups that are looked at before other requests have a turn."""


class WatchChanges:
    """For the partitions that this node leads: each gets each rule, so that the leader of any of them knows all."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        ownership: GroupOwnership,
        watching: Watching,
        list_groups: Callable[[], Coroutine[Any, Any, list[str]]],
        wall_ms: Callable[[], int],
    ) -> None:
        """`list_groups` lists the groups at the cluster."""
        self._coordinator = coordinator
        self._ownership = ownership
        self.watching: Final = watching
        self._list_groups = list_groups
        self._wall_ms = wall_ms
        self._tasks = Tasks()

    def would(self, name: str, is_watched: bool) -> Steps[WatchResult]:
        """What the change would be about; nothing is changed."""
        try:
            groups = yield from self._groups_of(name)
        except BrokerError as problem:
            return WatchResult(name=name, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, error_message=str(problem))
        return self._result(name, groups)

    def change(self, by: str, name: str, is_watched: bool) -> Steps[WatchResult]:
        """Write the rule to each partition that is led here, and watch by it."""
        result = WatchResult(name=name)
        try:
            if is_watched:
                self._check_room(name)
                yield from self.watching.prepare()
            result = self._result(name, (yield from self._groups_of(name)))
            rule = WatchRule(is_watched=is_watched, at_ms=self._wall_ms(), by=by)
            for shard in self._active():
                unwritten = yield from self._written(shard, name, rule)
                if unwritten is not None:
                    raise unwritten
                result.taken.append(shard.partition)
        except (BrokerError, TopicError, StoreError) as problem:
            result.error_code, result.error_message = ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem)
        self.watching.follow_rules()
        return result

    def _check_room(self, name: str) -> None:
        rules = self.watching.watched.rules
        if name not in rules and len(rules) >= RULES_MAX:
            raise TopicError(f"there are {RULES_MAX} names and patterns already; a pattern takes the place of many")

    def _result(self, name: str, groups: list[str]) -> WatchResult:
        return WatchResult(
            name=name,
            groups=groups[:GROUPS_REPORTED_MAX],
            owned=[group_id for group_id in groups[:GROUPS_REPORTED_MAX] if self._ownership.is_owned(group_id)],
            needed=[shard.partition for shard in self._coordinator.shards],
        )

    def _active(self) -> list[Shard[Any]]:
        return [shard for shard in self._coordinator.shards if shard.is_active]

    def _groups_of(self, name: str) -> Steps[list[str]]:
        """The groups at the cluster that the name or pattern is about, of the partitions that are led here."""
        partitions = {shard.partition for shard in self._active()}
        found, pattern, own = [], GroupPattern(name), self.watching.watched.nodes_group_id
        for position, group_id in enumerate((yield from self._tasks.steps(self._list_groups)), 1):
            is_meant = pattern.matches(group_id) and group_id != own
            if is_meant and self._coordinator.partition_of(group_id) in partitions:
                found.append(group_id)
            if position % GROUPS_AT_ONCE == 0:
                yield
        return sorted(found)

    def _written(self, shard: Shard[Any], name: str, rule: WatchRule) -> Steps[StoreError | None]:
        store = shard.store
        assert isinstance(store, ClusterStore)
        return awaited(partial(store.leave_note, watch_record(name, rule)))
