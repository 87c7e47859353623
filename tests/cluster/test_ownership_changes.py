"""A change is done when each partition that it is about has it; else it is told what is missing."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from _wire.messages.alter_group_owners import AlterGroupOwnersRequest, AlterGroupOwnersResponse, GroupOwnerResult
from coordinator.cli import main
from coordinator.client import group_owners
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.ownership_changes import OwnershipChanges
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import Steps

PARTITIONS = 4
GROUP = "web-1"
PARTITION = 2
"""That of GROUP."""
BY_NAME_AND_PATTERN = pytest.mark.parametrize("name", [GROUP, "web-*"])
VERB = pytest.mark.parametrize("is_adopted", [True, False])


class Store(ClusterStore):
    """Takes notes, unless it is told not to."""

    def __init__(self) -> None:
        self.noted: list[Any] = []
        self.problem: StoreError | None = None

    def leave_note(self, record: Any, completed: Callable[[StoreError | None], None] | None = None) -> None:
        if self.problem is None:
            self.noted.append(record)
        assert completed is not None
        completed(self.problem)


class Node:
    """The changes of a node that serves some partitions."""

    def __init__(self, served: Sequence[int]) -> None:
        self.stores = [Store() for _ in range(PARTITIONS)]
        self.shards = [
            SimpleNamespace(partition=partition, is_active=partition in served, store=store)
            for partition, store in enumerate(self.stores)
        ]
        coordinator: Any = SimpleNamespace(partition_of=lambda group_id: PARTITION, shards=self.shards)
        ownership = MagicMock()
        ownership.owned_groups.return_value = []
        ownership.is_owned.return_value = False
        sentinels = MagicMock()

        def described(group_id: str) -> Steps[Any]:
            yield
            return SimpleNamespace(members=[], unnamed_members=0, state="Empty")

        async def listed() -> list[str]:
            return []

        sentinels.describe = described
        ownership.own = lambda group_id, answered: answered(None)
        self.changes = OwnershipChanges(coordinator, ownership, sentinels, listed, MagicMock(), lambda: 1)

    def answer(self, request: AlterGroupOwnersRequest) -> AlterGroupOwnersResponse:
        results: list[GroupOwnerResult] = []
        for change in request.changes:
            asked = (
                self.changes.would(change.name, change.is_adopted)
                if request.validate_only
                else self.changes.change("somebody", change.name, change.is_adopted)
            )
            results.append(asyncio.run(completed(asked)))
        return AlterGroupOwnersResponse(results=results)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """Those that `coordinator cluster` asks; a test adds them."""
    nodes: list[Node] = []

    @contextmanager
    def connected(server: Any) -> Iterator[Any]:
        yield SimpleNamespace(request=lambda request, version: nodes[int(server.address)].answer(request))

    monkeypatch.setattr(group_owners, "_connected", connected)
    monkeypatch.setattr(group_owners, "_addresses", lambda bootstrap: [str(number) for number in range(len(nodes))])
    return nodes


def run(is_adopted: bool, name: str, *options: str) -> tuple[int, str]:
    """Exit status and output of the command."""
    told = CliRunner().invoke(
        main, ["cluster", "adopt" if is_adopted else "release", name, "--bootstrap", "any:1", *options]
    )
    return told.exit_code, told.output


@VERB
@BY_NAME_AND_PATTERN
def test_it_is_done_when_all_partitions_are_served_by_somebody(nodes, name, is_adopted):
    nodes += [Node([0, 3]), Node([1, 2])]
    status, output = run(is_adopted, name)
    assert status == 0, output


@VERB
@BY_NAME_AND_PATTERN
def test_what_is_missing_is_named_and_a_second_try_is_harmless(nodes, name, is_adopted):
    nodes += [Node([0, 3]), Node([1])]
    needed = PARTITIONS if name != GROUP else 1
    for _ in range(2):
        status, output = run(is_adopted, name)
        assert status == 1
        assert f"{name}: not done for 1 of {needed} partitions" in output
        assert f"which no node leads now: {PARTITION};" in output
        assert "no group matches yet" not in output
    nodes[1].shards[PARTITION].is_active = True
    status, output = run(is_adopted, name)
    assert status == 0, output
    assert nodes[1].stores[PARTITION].noted


@VERB
def test_a_rule_that_is_not_stored_everywhere_is_not_done(nodes, is_adopted):
    nodes += [Node([0, 1, 2, 3])]
    nodes[0].stores[2].problem = StoreError("the node leads the partition no more")
    status, output = run(is_adopted, "web-*")
    assert status == 1
    assert "leads the partition no more" in output
    assert "not done for 2 of 4 partitions" in output


@VERB
def test_what_would_be_done_needs_no_partition(nodes, is_adopted):
    nodes += [Node([0])]
    status, output = run(is_adopted, "web-*", "--dry-run")
    assert status == 0, output
    assert not any(store.noted for store in nodes[0].stores)


def test_it_waits_until_the_partitions_are_led(nodes, monkeypatch):
    nodes += [Node([0, 1])]
    monkeypatch.setattr("coordinator.cli.cluster.sleep", lambda seconds: nodes.append(Node([2, 3])))
    status, output = run(True, "web-*", "--wait", "60")
    assert status == 0, output
