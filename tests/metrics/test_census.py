"""The census of groups: right, in slices, and short."""

import asyncio
from itertools import pairwise
from time import process_time
from types import SimpleNamespace

import pytest

from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.table import new_group
from coordinator.metrics.census import GroupCensus
from coordinator.metrics.group_meter import GroupMeter, GroupRecord
from coordinator.metrics.top_groups import TopGroups

SLICE_MS_AT_MOST = 20
"""Far above what a slice takes (below 1 ms), so that a busy machine fails no test."""


def coordinator_with(shards):
    """What the census reads of a GroupCoordinator: these groups in each shard."""
    held = [SimpleNamespace(machine=SimpleNamespace(groups={id_: new_group(id_) for id_ in ids})) for ids in shards]
    of_group = {group_id: shard for shard, ids in zip(held, shards, strict=True) for group_id in ids}
    nowhere = SimpleNamespace(machine=SimpleNamespace(groups={}))
    return SimpleNamespace(shards=held, shard_of=lambda group_id: of_group.get(group_id, nowhere))


def take(coordinator, meter, top, between=lambda: None):
    pauses = []

    async def pause():
        pauses.append(process_time())
        between()

    began = process_time()
    census = asyncio.run(GroupCensus(coordinator, meter, top).count(0, pause))
    times = [began, *pauses, process_time()]
    return census, max(after - before for before, after in pairwise(times)) * 1000


@pytest.mark.parametrize("shard_count", [1, 50])
def test_ten_thousand_groups_are_counted_in_short_slices(shard_count):
    shards = [[f"{shard}-{number}" for number in range(10_000 // shard_count)] for shard in range(shard_count)]
    meter = GroupMeter(keeps_records=True)
    for group_id in shards[0][:100]:
        meter.records[group_id] = GroupRecord(rank=1.0)
    census, slice_ms = take(coordinator_with(shards), meter, TopGroups([], 20))
    assert census.states == {("classic", GroupState.EMPTY): 10_000}
    assert (census.groups, len(census.top)) == (10_000, 20)
    assert set(census.top) <= set(shards[0][:100])
    assert slice_ms < SLICE_MS_AT_MOST


def test_groups_may_come_and_go_while_they_are_counted():
    coordinator = coordinator_with([[str(number) for number in range(5_000)]])
    groups = coordinator.shards[0].machine.groups

    def between():
        groups.pop(next(iter(groups)))
        groups[f"new-{len(groups)}"] = new_group("new")

    census, _ = take(coordinator, GroupMeter(keeps_records=True), TopGroups([], 5_000), between)
    assert census.groups == 5_000
    assert set(census.top) <= groups.keys()


def test_records_of_groups_that_are_not_served_any_more_are_forgotten():
    meter = GroupMeter(keeps_records=True)
    meter.records = {each: GroupRecord() for each in ("here", "gone", "gone too")}
    take(coordinator_with([["here"]]), meter, TopGroups([], 20))
    assert meter.records.keys() == {"here"}


def test_without_series_of_groups_no_group_is_ranked():
    census, _ = take(coordinator_with([["a"]]), GroupMeter(keeps_records=False), TopGroups([], 0))
    assert (census.groups, census.top) == (1, [])
