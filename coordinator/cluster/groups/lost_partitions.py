"""Partitions that other nodes may take over at any time: how one is given up, and what is reported of it later."""

from collections.abc import Callable
from functools import partial
from typing import Final

from coordinator.audit.schema import CoordinatorPaused
from coordinator.cluster.log.store import ClusterStore
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import Shard


class LostPartitions:
    """Those that this node has served, and serves no more."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms: Final = now_ms
        self._lost_ms: dict[int, int] = {}
        """Partition → when it was given up."""
        self._unreported: dict[int, CoordinatorPaused] = {}
        """Partition → a pause in which it was given up: reported once it is served here again."""

    def unload(self, shard: Shard[GroupStateMachine], proceed: Callable[[], None]) -> None:
        """Give a partition up, around `proceed`, which unloads it."""
        if shard.is_active:
            self._lost_ms[shard.partition] = self._now_ms()
        assert isinstance(shard.store, ClusterStore)
        # First of all: the answer to an append must not reach a shard that is served no more.
        given_up = shard.store.abandon()
        proceed()
        for completed in given_up:
            completed(StoreError("another node leads the partition"))

    def follow(self, coordinator: GroupCoordinator) -> None:
        """Report what is due as soon as a partition is served again."""
        coordinator.on_loaded(partial(self._loaded, coordinator))

    def _loaded(self, coordinator: GroupCoordinator, shard: Shard[GroupStateMachine]) -> None:
        self._lost_ms.pop(shard.partition, None)
        if (pause := self._unreported.pop(shard.partition, None)) is not None:
            coordinator.report_to(shard, pause)

    def paused(self, event: CoordinatorPaused, from_ms: int) -> None:
        """A pause is over that began at `from_ms` by the clock of the loop: it may have cost partitions."""
        for partition, lost_ms in self._lost_ms.items():
            if lost_ms >= from_ms:
                self._unreported[partition] = event
