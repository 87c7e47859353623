"""The table of the tasks of streams groups."""

from typing import Any

from coordinator.audit.schema import encode_event
from coordinator.pipeline.columns import arrow_table
from coordinator.pipeline.names import STREAMS_TASKS
from coordinator.pipeline.partition_state import PartitionState
from tests.core.streams.world import StreamsWorld, named_world, part, topology
from tests.pipeline.records import NamedRows
from tests.pipeline.test_fold import fold


def two_members_with_standbys() -> StreamsWorld:
    world = named_world({"group.streams.num.standby.replicas": "1"}, topics={"t": 2})
    runs = topology(part("0", "t", changelogs=["log"]))
    world.streams_enter("a", runs=runs)
    world.advance(100)
    world.streams_enter("b", runs=runs)
    for _ in range(3):
        for member_id in ("a", "b"):
            current = world.streams.members[member_id].current
            world.streams_beat(member_id, current.epoch, owned=(current.assigned.active, current.assigned.standby))
    return world


def values_of(world: StreamsWorld) -> list[bytes]:
    return [encode_event(event) for event in world.audited()]


def latest(rows: NamedRows) -> dict[tuple[str, int], str]:
    """What a member has of each task after all rows, as a reader of the table finds it."""
    return {(row["member_id"], row["task"]): row["kind"] for row in rows[STREAMS_TASKS]}


def test_the_table_says_who_has_which_task_and_how() -> None:
    world = two_members_with_standbys()
    rows = fold(values_of(world))
    expected: dict[tuple[str, int], str] = {}
    for member_id in ("a", "b"):
        active, standby = world.has(member_id)
        expected |= {(member_id, number): "active" for number in active["0"]}
        expected |= {(member_id, number): "standby" for number in standby["0"]}
    assert latest(rows) == expected


def test_a_member_that_leaves_has_no_task_and_who_takes_over_had_a_standby() -> None:
    world = two_members_with_standbys()
    state, before = PartitionState(), len(world.audited())
    fold(values_of(world), state)
    own, standby = world.has("b")
    world.streams_beat("a", -1)
    for _ in range(3):
        world.streams_beat("b", world.streams.members["b"].current.epoch, owned=(own, {}))
    rows = fold(values_of(world)[before:], state, first_offset=before)
    (number,) = standby["0"]
    assert latest(rows) == {("a", 0): "none", ("a", 1): "none", ("b", number): "active"}
    *_, last = rows[STREAMS_TASKS]
    assert (last["task"], last["before_member_id"], last["was_standby"]) == (number, "a", True)


def test_each_value_has_a_column() -> None:
    rows: list[dict[str, Any]] = fold(values_of(two_members_with_standbys()))[STREAMS_TASKS]
    written = arrow_table(STREAMS_TASKS, rows).to_pylist()
    assert len(written) == len(rows) > 0
    for row, stored in zip(rows, written, strict=True):
        filled = {name.removesuffix("_ms") for name, value in row.items() if value is not None}
        assert {name.removesuffix("_at") for name, value in stored.items() if value is not None} == filled
