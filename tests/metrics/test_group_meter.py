"""Which events of consumer groups count as rebalances, as on a running Kafka 4.3.1, and how long those take."""

from typing import Any

import pytest

from coordinator.core.causes import Cause
from coordinator.metrics.group_meter import GroupMeter, GroupRecord
from tests.core.consumer.test_migration import classic_group, join, mixed_group
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID


def metered(world: World) -> GroupMeter:
    """Counts what happens in the world from now on."""
    meter = GroupMeter(keeps_records=True)
    machine: Any = world.shard.machine
    machine._on_applied = meter.applied
    return meter


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def meter(world: World) -> GroupMeter:
    return metered(world)


def record(meter: GroupMeter) -> GroupRecord:
    return meter.records[GROUP_ID]


def test_a_member_that_joins_alone_is_a_rebalance_that_took_no_time(world, meter):
    world.enter("a")
    assert (meter.counted_rebalances, meter.rebalances) == ({"consumer": 1}, {Cause.NEW_MEMBER: 1})
    assert (record(meter).began_ms, record(meter).last_rebalance_ms) == (None, 0)


def test_a_rebalance_lasts_until_the_last_member_has_its_target(world, meter):
    world.enter("a")
    world.enter("b")
    world.advance(300)
    world.beat("a", 2)
    world.beat("a", 2, owned={"t": [0, 1]})
    assert record(meter).began_ms is not None
    world.advance(200)
    world.beat("b", 3)
    assert (record(meter).began_ms, record(meter).last_rebalance_ms) == (None, 500)
    assert meter.counted_rebalances == {"consumer": 2}


def test_a_removal_is_a_rebalance_that_kafka_does_not_count(world, meter):
    world.enter("a")
    world.enter("b")
    world.beat("a", 2)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    world.depart("b")
    assert meter.counted_rebalances == {"consumer": 2}
    assert meter.rebalances == {Cause.NEW_MEMBER: 2, Cause.MEMBER_LEFT: 1}
    assert meter.removed_members == {Cause.MEMBER_LEFT: 1}
    world.advance(100)
    world.beat("a", 3)
    assert (record(meter).began_ms, record(meter).last_rebalance_ms) == (None, 100)


def test_the_rebalance_of_a_group_that_empties_is_over(world, meter):
    world.enter("a")
    world.depart("a")
    assert (record(meter).began_ms, record(meter).last_rebalance_ms) == (None, 0)
    world.advance(60_000)
    world.enter("b")
    assert record(meter).last_rebalance_ms == 0


def test_members_whose_time_to_revoke_is_over_are_removed_without_a_count(world, meter):
    world.enter("a", timeout_ms=1_000)
    world.enter("b")
    world.beat("a", 2)
    world.advance(1_000)
    assert meter.removed_members == {Cause.REBALANCE_TIMEOUT: 1}
    assert meter.counted_rebalances == {"consumer": 2}
    assert record(meter).began_ms is not None
    world.beat("b", 3)
    assert (record(meter).began_ms, record(meter).last_rebalance_ms) == (None, 1_000)


@pytest.mark.parametrize(("topics", "counted"), [(("t",), 1), (("t", "u"), 2)])
def test_a_static_member_that_returns_counts_if_it_brings_other_topics(world, meter, topics, counted):
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    world.enter("again", *topics, instance_id="i")
    assert meter.counted_rebalances == {"consumer": counted}


def test_resolved_regular_expressions_count_and_so_do_topics_that_grow(world, meter):
    world.enter("a", pattern="t.*")
    assert meter.counted_rebalances == {"consumer": 1}
    world.beat("a", 1)
    world.fixed.grow("t", 5)
    world.beat("a", 2)
    assert meter.counted_rebalances == {"consumer": 2}
    assert meter.rebalances == {Cause.TOPICS_CHANGED: 2}


def test_an_upgrade_counts_once_and_its_rebalance_ends_when_the_group_is_stable():
    world, member_id = classic_group()
    meter = metered(world)
    world.enter("a")
    assert meter.counted_rebalances == {"consumer": 1}
    assert record(meter).began_ms is not None
    join(world, member_id)
    world.beat("a", 2)
    assert record(meter).began_ms is None


def test_who_is_removed_by_a_downgrade_is_counted():
    world = mixed_group()
    meter = metered(world)
    world.depart("a")
    assert meter.removed_members == {Cause.MEMBER_LEFT: 1}
    assert meter.counted_rebalances == {}
    assert meter.rebalances == {Cause.MEMBER_LEFT: 1}
    assert record(meter).began_ms is not None, "the classic group rebalances"
