"""The sentinels of a partition that a node leads: tried again until they are there, and given up with the partition."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.cluster import ownership
from coordinator.cluster.log.notes import Notes
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.sentinels.membership import Sentinel


class Sentinels:
    """Joins fail a few times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.tries = 0
        self.present: dict[str, Sentinel] = {}

    def get(self, group_id: str) -> Sentinel | None:
        return self.present.get(group_id)

    def open(self, group_id: str, opened: Callable[[Any], None]) -> None:
        self.tries += 1
        if self.tries <= self.failures:
            opened(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            self.present[group_id] = Sentinel(group_id, "m", 1, 0, 1_800_000)
            opened(self.present[group_id])

    def forget(self, group_ids: Any) -> None:
        for group_id in group_ids:
            self.present.pop(group_id, None)


def owning(sentinels: Sentinels, monkeypatch: pytest.MonkeyPatch) -> tuple[GroupOwnership, Any]:
    shard = SimpleNamespace(partition=0, is_active=True)
    coordinator: Any = SimpleNamespace(partition_of=lambda group_id: 0, shard_of=lambda group_id: shard)
    owning = GroupOwnership(coordinator, sentinels, (), lambda: 0)  # type: ignore[arg-type]
    notes = Notes()
    notes.owned.add("g")
    monkeypatch.setattr(owning, "notes_of", lambda partition: notes)
    return owning, shard


def test_a_sentinel_that_could_not_join_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SENTINELS_CHECKED_SECONDS", 0)
    sentinels = Sentinels(failures=2)

    async def load() -> None:
        owns, shard = owning(sentinels, monkeypatch)
        owns.loaded(shard)
        for _ in range(20):
            await asyncio.sleep(0)
        owns.stop()

    asyncio.run(load())
    assert sentinels.tries == 3
    assert sentinels.get("g") is not None


def test_nothing_is_tried_for_a_partition_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "SENTINELS_CHECKED_SECONDS", 0)
    sentinels = Sentinels(failures=0)

    async def load_and_unload() -> None:
        owns, shard = owning(sentinels, monkeypatch)
        owns.loaded(shard)
        owns.unloaded(0)
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(load_and_unload())
    assert sentinels.tries == 0
