"""The tables of share groups: who has which partition, and what became of the records."""

from typing import Any

import msgspec
import pytest

from coordinator.audit.schema import (
    AuditEvent,
    EndedRecords,
    FirstRecord,
    MemberRef,
    ShareMemberRecords,
    SharePartitionRecords,
    ShareRecordCounts,
    ShareRecords,
    encode_event,
)
from coordinator.pipeline.columns import arrow_table
from coordinator.pipeline.names import (
    MEMBERSHIPS,
    OWNERSHIP,
    SHARE_ASSIGNMENTS,
    SHARE_ENDED_RECORDS,
    SHARE_MEMBERS,
    SHARE_PARTITIONS,
    SHARE_RECORDS,
)
from coordinator.pipeline.partition_state import PartitionState
from tests.audit.consumer_stories import named
from tests.core.share.world import ShareWorld
from tests.pipeline.records import NamedRows
from tests.pipeline.test_fold import fold

SUMS = ShareRecordCounts(acquired=7, delivered_again=2, accepted=4, rejected=1, archived=2)
OF_PARTITION = ShareRecordCounts(acquired=5, delivered_again=2, accepted=2, rejected=1, archived=2)


def two_members_share_a_partition() -> ShareWorld:
    world = ShareWorld(topics={"t": 1})
    named(world)
    world.share_enter("a", "t")
    world.share_enter("b", "t")
    for _ in range(2):
        for member_id in ("a", "b"):
            world.share_beat(member_id, world.share.members[member_id].current.epoch)
    return world


def assigned(rows: NamedRows) -> dict[tuple[str, str, int], bool]:
    """Whether a member has a partition after all rows, as a reader of the table finds it."""
    return {
        (row["member_id"], row["topic"], row["topic_partition"]): row["is_assigned"] for row in rows[SHARE_ASSIGNMENTS]
    }


def encoded(events: list[AuditEvent]) -> list[bytes]:
    return [encode_event(event) for event in events]


def records_of(world: ShareWorld) -> ShareRecords:
    """An interval after the last event of a group: `a` holds the record at the start offset, `b` rejected two."""
    last = list(world.audited())[-1]
    fields: dict[str, Any] = {name: getattr(last, name) for name in AuditEvent.__struct_fields__}
    fields |= {"seq": last.seq + 1, "time_ms": last.time_ms + 60_000}
    holder, other = MemberRef("a", "client-a"), MemberRef("b", "client-b")
    partition = SharePartitionRecords(
        topic="t",
        partition=0,
        counts=OF_PARTITION,
        start_offset=17,
        in_flight=3,
        lag=9,
        first=FirstRecord(since_ms=last.time_ms - 5, delivery_count=4, member=holder),
        records=[EndedRecords(20, 21, 1, "rejected", other)],
    )
    return ShareRecords(
        **fields,
        interval_ms=60_000,
        lock_duration_ms=30_000,
        delivery_count_limit=5,
        counts=SUMS,
        partitions=[partition],
        unnamed_partitions=2,
        members=[ShareMemberRecords(holder, SUMS)],
        unnamed_members=1,
    )


def test_a_partition_that_two_members_have_is_told_of_both() -> None:
    world = two_members_share_a_partition()
    state = PartitionState()
    rows = fold(encoded(world.audited()), state)
    assert assigned(rows) == {("a", "t", 0): True, ("b", "t", 0): True}
    assert not rows.get(OWNERSHIP)
    before = len(list(world.audited()))
    world.share_beat("a", -1)
    left = fold(encoded(list(world.audited())[before:]), state, first_offset=before)
    assert assigned(left) == {("a", "t", 0): False}
    assert [row["member_id"] for row in left[MEMBERSHIPS] if row.get("left_ms")] == ["a"]


def test_a_load_tells_no_assignment_again() -> None:
    world = two_members_share_a_partition()
    before = len(list(world.audited()))
    state = PartitionState()
    fold(encoded(world.audited()), state)
    world.restart()
    world.share_beat("a", -1)
    after = encoded(list(world.audited())[before:])
    rows = fold(after, state, first_offset=before)[SHARE_ASSIGNMENTS]
    assert [(row["member_id"], row["is_assigned"]) for row in rows] == [("a", False)]


def test_an_interval_is_a_row_of_the_group_and_of_what_it_names() -> None:
    world = two_members_share_a_partition()
    values = encoded([*world.audited(), records_of(world)])
    rows = fold(values)
    (group,), (partition,), (member,), (ended,) = (
        rows[table] for table in (SHARE_RECORDS, SHARE_PARTITIONS, SHARE_MEMBERS, SHARE_ENDED_RECORDS)
    )
    assert [group[name] for name in ShareRecordCounts.__struct_fields__] == list(msgspec.structs.astuple(SUMS))
    assert (group["lock_duration_ms"], group["delivery_count_limit"], group["unnamed_partitions"]) == (30_000, 5, 2)
    assert (partition["topic"], partition["start_offset"], partition["in_flight"], partition["lag"]) == ("t", 17, 3, 9)
    assert (partition["first_delivery_count"], partition["held_by_client_id"]) == (4, "client-a")
    assert (partition["accepted"], partition["archived"]) == (2, 2)
    assert (member["member_id"], member["acquired"]) == ("a", 7)
    assert (ended["first_offset"], ended["last_offset"], ended["ended_by"]) == (20, 21, "rejected")
    assert (ended["client_id"], ended["topic_partition"]) == ("client-b", 0)


@pytest.mark.parametrize(
    "table", [SHARE_ASSIGNMENTS, SHARE_RECORDS, SHARE_PARTITIONS, SHARE_MEMBERS, SHARE_ENDED_RECORDS]
)
def test_each_value_has_a_column(table: str) -> None:
    world = two_members_share_a_partition()
    rows = fold(encoded([*world.audited(), records_of(world)]))[table]
    written = arrow_table(table, rows).to_pylist()
    assert len(written) == len(rows) > 0
    for row, stored in zip(rows, written, strict=True):
        filled = {name.removesuffix("_ms") for name, value in row.items() if value is not None}
        assert {
            name.removesuffix("_at").removesuffix("_ms") for name, value in stored.items() if value is not None
        } == filled
