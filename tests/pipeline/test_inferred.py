"""What records of `__consumer_offsets` stand for; golden records are those of a real Kafka and real consumers."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from coordinator.observe.classic import classic_events
from coordinator.observe.consumer import consumer_events
from coordinator.observe.group_so_far import EventEmitter, GroupSoFar
from coordinator.observe.records.stored import (
    ClassicGroup,
    ClassicMember,
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    MatchedTopics,
    TargetEpoch,
    decode,
)
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.fold import Position
from coordinator.pipeline.names import COMMITS, GENERATIONS, MEMBERSHIPS, OWNERSHIP, REBALANCE_RATES, REJECTS, SKIPPED
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.stored_batches import SCHEMA
from coordinator.pipeline.stored_fold import StoredFold
from coordinator.pipeline.tables import Tables
from tests.examples import examples
from tests.pipeline.offsets_expected import assert_told
from tests.pipeline.offsets_golden import StoredRecord, decoded, folded, golden
from tests.pipeline.records import NamedRows, contents, named

TABLES = (GENERATIONS, MEMBERSHIPS, OWNERSHIP)
T0 = 1_700_000_000_000
KEY = encode_versioned(GroupMetadataKey(group="g"), 2)


def member(name: str, partitions: list[int], *, instance: str | None = None, topics: tuple[str, ...] = ("t",)) -> Any:
    subscription = encode_versioned(ConsumerProtocolSubscription(topics=topics), 1)
    assigned = [TopicPartition(topic="t", partitions=partitions)] if partitions else []
    assignment = encode_versioned(ConsumerProtocolAssignment(assigned_partitions=assigned), 1)
    who: dict[str, Any] = {
        "member_id": f"{name}-id",
        "client_id": name,
        "client_host": "/10.0.0.1",
        "group_instance_id": instance,
    }
    return MemberMetadata(**who, subscription=subscription, assignment=assignment, session_timeout=9)


def group(generation: int, *members: Any, leader: str | None = None) -> bytes:
    value = GroupMetadataValue(protocol_type="consumer", generation=generation, protocol="range", members=members)
    value.leader = leader or (members[0].member_id if members else None)
    return encode_versioned(value, 3)


def records(*values: bytes | None, key: bytes = KEY, first: int = 0) -> list[StoredRecord]:
    return [StoredRecord(0, first + place, T0 + place * 1_000, key, value) for place, value in enumerate(values)]


def told(rows: NamedRows) -> list[tuple[Any, ...]]:
    return [(row["generation_id"], row["outcome"], row.get("cause")) for row in rows[GENERATIONS]]


def triggers(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(load["cause"], load["member"] and load["member"]["client_id"]) for load in json.loads(row["triggers"])]


def test_what_real_consumers_did_is_told():
    found = golden()
    rows = folded(found.records, topic_ids=found.topic_ids)
    assert_told(found.said, rows[GENERATIONS], rows[MEMBERSHIPS], rows[OWNERSHIP])
    assert not rows[REJECTS]


@pytest.mark.parametrize("step", [1, 2, 5, 13])
def test_rows_do_not_depend_on_where_a_batch_ends(step: int):
    found, state = golden(), PartitionState()
    whole = folded(found.records, topic_ids=found.topic_ids)
    cuts = [found.records[first : first + step] for first in range(0, len(found.records), step)]
    parts = [folded(cut, state, found.topic_ids) for cut in cuts]
    for table in TABLES:
        assert [row for part in parts for row in part[table]] == whole[table]


def test_several_things_at_once_are_all_triggers():
    a, b, c = member("a", [0]), member("b", [1], instance="i"), member("c", [2])
    wider = member("a", [0], topics=("t", "u"))
    rows = folded(records(group(1, a, b, c), group(2, wider, member("b2", [1], instance="i"), member("d", [2]))))
    assert triggers(rows[GENERATIONS][1]) == [
        ("static_replaced_or_new_member", "b2"),
        ("new_member", "d"),
        ("member_left_or_expired", "c"),
        ("metadata_changed", "a"),
    ]
    assert rows[GENERATIONS][1]["partitions_moved"] == 1  # c's: the restarted static member kept its own


def test_a_static_restart_in_a_stable_generation_is_no_generation():
    a, b = member("a", [0]), member("b", [1], instance="i")
    rows = folded(records(group(1, a, b), group(1, a, member("b2", [1], instance="i"))))
    assert told(rows) == [(1, "stable", "new_member")]
    left = [(row["member_id"], row["left_cause"]) for row in rows[MEMBERSHIPS] if "left_ms" in row]
    assert left == [("b-id", "static_member_replaced")]
    assert {row["topic_partition"]: row["member_id"] for row in rows[OWNERSHIP]} == {0: "a-id", 1: "b2-id"}


def test_the_same_members_again_leave_open_what_happened():
    """A leader that joins again makes the others join with what they own by now, so their metadata differs too."""
    a, b = member("a", [0]), member("b", [1])
    owning = member("b", [1])
    owning.subscription = encode_versioned(ConsumerProtocolSubscription(topics=["t"], user_data=b"holds 1"), 1)
    rows = folded(records(group(1, a, b), group(2, a, b), group(3, a, owning)))
    assert told(rows)[1:] == [(2, "stable", "no_change_seen"), (3, "stable", "no_change_seen")]
    assert [row["cause_client_id"] for row in rows[GENERATIONS][1:]] == [None, None]


def test_generations_without_a_record_are_counted():
    rows = folded(records(group(1, member("a", [0])), group(4, member("a", [0]), member("b", []))))
    assert [row["generations_unseen"] for row in rows[GENERATIONS]] == [0, 2]


def test_a_group_whose_early_records_were_compacted_away_begins_without_a_cause():
    rows = folded(records(group(7, member("a", [0])), group(8)))
    assert told(rows) == [(7, "stable", None), (8, "emptied", "member_left_or_expired")]
    assert rows[GENERATIONS][0]["generations_unseen"] == 6
    assert {row["cause"] for row in rows[REBALANCE_RATES]} == {"unknown", "member_left_or_expired"}


@pytest.mark.parametrize("tombstone", [True, False], ids=["tombstone", "tombstone compacted away"])
def test_a_group_that_was_deleted_and_made_again_is_another_one(tombstone: bool):
    first = [group(5, member("a", [0])), group(6)]
    rows = folded(records(*first, *([None] if tombstone else []), group(1, member("b", [0]))))
    assert told(rows)[-1] == (1, "stable", "new_member")
    assert len({row["created_seq"] for row in rows[GENERATIONS]}) == 2


def test_a_group_that_is_removed_with_members_lets_them_go():
    rows = folded(records(group(1, member("a", [0])), None, None))
    assert [row["left_cause"] for row in rows[MEMBERSHIPS] if "left_ms" in row] == ["group_removed"]
    assert [row["member_id"] for row in rows[OWNERSHIP]] == ["a-id", None]


def test_a_classic_group_that_follows_the_removal_of_one_with_members_is_another_one():
    rows = folded(records(group(1, member("a", [0])), None, group(1, member("b", [0]))))
    assert [row["left_cause"] for row in rows[MEMBERSHIPS] if "left_ms" in row] == ["group_removed"]
    assert [row["created_seq"] for row in rows[GENERATIONS]] == [1, 8]


def test_subscriptions_that_are_none_of_the_consumer_protocol_damage_nothing():
    odd = member("a", [0])
    odd.subscription, odd.assignment = b"\x00", b"\xff\xff\xff"
    rows = folded(records(group(1, odd)))
    assert told(rows) == [(1, "stable", "new_member")]
    assert not rows[OWNERSHIP] and not rows[REJECTS]


def events(*records: Any) -> list[dict[str, Any]]:
    """Of a consumer group (KIP-848), one record a second."""
    so_far, found = GroupSoFar(), []
    for place, record in enumerate(records):
        emitter = EventEmitter("g", so_far, T0 + place * 1_000)
        consumer_events(emitter, record, {"id-t": "t"}.__getitem__)
        so_far = emitter.so_far
        found += emitter.events
    return found


def rows_of(*records: Any) -> NamedRows:
    """Of records of a consumer group (KIP-848), one a second."""
    rows = NewRows()
    fold = StoredFold(PartitionState(), rows, {"id-t": "t"}.__getitem__)
    for place, record in enumerate(records):
        fold.add_record(record, Position(0, place, T0 + place * 1_000))
    fold.finish()
    return named(rows)


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in found]


@pytest.mark.parametrize("has_members", [True, False])
def test_a_group_whose_records_are_removed_goes_on_with_the_other_protocol_if_it_has_members(has_members: bool):
    members = [ClassicMember("a-id", "a", "/h", None, ["t"], b"1", {"t": [0]})] if has_members else []
    emitter = EventEmitter("g", GroupSoFar(), T0)
    classic_events(emitter, ClassicGroup("g", generation_id=1, protocol_type="consumer", members=members))
    classic_events(emitter, ClassicGroup("g"))
    removed, emitter.events = kinds(emitter.events), []
    consumer_events(emitter, ConsumerMember("g", "a-id", ["t"], "a", "/h", digest=b"1"), {"id-t": "t"}.__getitem__)
    assert (removed[-1] == "group.removed") is not has_members
    assert kinds(emitter.events)[0] == ("group.converted" if has_members else "group.created")
    assert emitter.so_far.members.keys() == {"a-id"}


def test_an_epoch_that_is_raised_before_all_members_are_there_is_superseded():
    a = ConsumerMember("g", "a-id", ["t"], "a", "/h", digest=b"1")
    found = events(a, GroupEpoch("g", 1), TargetEpoch("g", 1), GroupEpoch("g", 2), TargetEpoch("g", 2))
    assert kinds(found)[2:] == [
        "rebalance.started",
        "generation.started",
        "rebalance.superseded",
        "rebalance.started",
        "generation.started",
    ]
    assert found[4]["rebalance_ms"] == 2_000


def test_a_generation_is_stable_when_the_last_member_is_at_its_epoch_and_holds_what_it_shall():
    a, b = (ConsumerMember("g", f"{name}-id", ["t"], name, "/h", digest=b"1") for name in "ab")
    at = [
        CurrentAssignment("g", "a-id", 1, True, {"id-t": [0]}),
        CurrentAssignment("g", "b-id", 1, False, {}),
        CurrentAssignment("g", "b-id", 1, True, {"id-t": [1]}),
    ]
    found = events(a, b, GroupEpoch("g", 1), TargetEpoch("g", 1), *at)
    assert [event["kind"] for event in found].index("generation.stable") == len(found) - 1
    stable = found[-1]
    assert (stable["slowest_member"]["member_id"], stable["rebalance_ms"], stable["partitions"]) == ("b-id", 4_000, 2)
    assert found[-2]["gained"] == {"t": [1]}


def test_a_partition_that_changes_hands_through_an_epoch_that_is_superseded_moved():
    """Its owner gave it up in epoch 2, which epoch 3 superseded before another member got it."""
    a, b = (ConsumerMember("g", f"{name}-id", ["t"], name, "/h", digest=b"1") for name in "ab")
    at = partial(CurrentAssignment, "g")
    rows = rows_of(
        *(a, GroupEpoch("g", 1), TargetEpoch("g", 1), at("a-id", 1, True, {"id-t": [0, 1]})),
        *(b, GroupEpoch("g", 2), TargetEpoch("g", 2), at("a-id", 2, True, {"id-t": [0]})),
        *(
            GroupEpoch("g", 3),
            TargetEpoch("g", 3),
            at("a-id", 3, True, {"id-t": [0]}),
            at("b-id", 3, True, {"id-t": [1]}),
        ),
    )
    assert [(row["generation_id"], row["outcome"], row["partitions_moved"]) for row in rows[GENERATIONS]] == [
        (1, "stable", 0),
        (2, "superseded", None),
        (3, "stable", 1),
    ]


def test_what_a_member_holds_may_change_while_the_generation_is_stable():
    a = ConsumerMember("g", "a-id", ["t"], "a", "/h", digest=b"1")
    at = partial(CurrentAssignment, "g", "a-id")
    start = (a, at(0, True, {"id-t": [7]}), GroupEpoch("g", 1), TargetEpoch("g", 1), at(1, True, {"id-t": [0, 1]}))
    rows = rows_of(*start, at(1, True, {"id-t": [0]}))
    assert told(rows) == [(1, "stable", "new_member")]
    assert [(row["topic_partition"], row["member_id"]) for row in rows[OWNERSHIP]][-1] == (1, None)


def test_what_the_records_do_not_tell_is_null():
    (row,) = folded(records(group(1, member("a", [0]))))[GENERATIONS]
    unknown = {"rebalance_started_ms", "rebalance_ms", "join_ms", "sync_ms", "coordinator_epoch", "sentence"}
    unknown |= {"unowned_partition_ms", "silent_partition_ms", "commits_rejected", "partitions_moved_needed"}
    assert {row[name] for name in unknown} == {None}
    assert row["cause_is_inferred"] is True


@pytest.mark.parametrize("what", [GroupEpoch("g", 2, 8), MatchedTopics("g")], ids=["hash", "regular expression"])
def test_changed_topics_raise_the_epoch(what: Any):
    a = ConsumerMember("g", "a-id", ["t"], "a", "/h", digest=b"1")
    found = events(a, GroupEpoch("g", 1, 7), what, GroupEpoch("g", 2, 8))
    assert [event["cause"] for event in found if event["kind"] == "rebalance.started"] == [
        "new_member",
        "topics_changed",
    ]


def test_records_of_a_group_that_is_gone_make_none():
    assert events(ConsumerMember("g", "a-id"), GroupEpoch("g", None)) == []


def test_committed_offsets_are_counted_per_minute_and_group():
    keys = [encode_versioned(OffsetCommitKey(group="g", topic="t", partition=place % 3), 1) for place in range(100)]
    value = encode_versioned(OffsetCommitValue(offset=7), 3)
    made = [StoredRecord(0, place, T0 + place * 1_000, key, value) for place, key in enumerate(keys)]
    rows = folded([*made, StoredRecord(0, 100, T0 + 100_000, keys[0], None)])
    assert [row["commits"] for row in rows[COMMITS]] == [40, 60]  # T0 is 20 s before the end of a minute
    assert {row["partitions"] for row in rows[COMMITS]} == {3}


def test_types_of_other_groups_are_counted_and_skipped():
    rows = folded(records(b"x", b"y", key=b"\x00\x0b rest") + records(None, key=b"\x00\x15 rest", first=2))
    assert [(row["record_type"], row["records"]) for row in rows[SKIPPED]] == [(11, 2), (21, 1)]
    assert not rows[REJECTS]


@pytest.mark.parametrize("key", [None, b"", b"\x00", KEY[:-1], b"\x00\x02\xff\xff"])
def test_a_damaged_key_is_rejected_with_its_offset(key: bytes | None):
    rows = folded([StoredRecord(0, 5, T0, key, b"v"), *records(group(1, member("a", [0])), first=6)])
    assert [(row["offset"], row["value"]) for row in rows[REJECTS]] == [(5, b"v")]
    assert told(rows) == [(1, "stable", "new_member")]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_bytes_stop_nothing(data: st.DataObject):
    """Any record of the golden history with any bytes changed, cut or added, and all others after it."""
    found = golden().records
    place = data.draw(st.integers(0, len(found) - 1))
    record = found[place]
    is_key = data.draw(st.booleans()) or record.value is None
    whole = bytearray((record.key if is_key else record.value) or b"")
    for _ in range(data.draw(st.integers(1, 4))):
        if whole:
            whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(whole[: data.draw(st.integers(0, len(whole)))]) + data.draw(st.binary(max_size=4))
    changed = record._replace(key=damaged) if is_key else record._replace(value=damaged)
    rows = folded([*found[:place], changed, *found[place + 1 :]])
    assert len(rows[REJECTS]) <= 1
    for row in rows[GENERATIONS]:
        assert row["outcome"] in {"stable", "emptied", "superseded", "in_progress", "cut_short"}


def test_what_goes_to_the_driver_is_small():
    """Records of a million offsets must not all go through the driver."""
    key = encode_versioned(OffsetCommitKey(group="g", topic="t", partition=0), 1)
    value = encode_versioned(OffsetCommitValue(offset=7, metadata="m" * 100), 3)
    ((encoded, _),) = decoded([StoredRecord(0, place, T0, key, value) for place in range(5_000)])
    assert decode(encoded).commits == 5_000
    assert len(encoded) < 100


def test_a_job_that_starts_again_for_each_batch_makes_the_same_tables(tables: Tables, tmp_path: Path):
    """What is known of a group goes through the files of the state."""
    found = golden()

    def add_records(folder: Path, records: list[StoredRecord], batch_id: int) -> None:
        rows = decoded(records)
        columns = [[value for value, _ in rows]]
        columns += ([getattr(at, name) for _, at in rows] for name in ("partition", "offset", "timestamp_ms"))
        data = pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
        make_fold = partial(StoredFold, name_of=found.topic_ids.__getitem__)
        Batches(Tables(folder), make_fold).add_records(data, batch_id)

    for batch_id, first in enumerate(range(0, len(found.records), 11)):
        part = found.records[first : first + 11]
        add_records(tables.root, part, batch_id)
        add_records(tables.root, part, batch_id)  # as if it had been killed before it was noted
    add_records(tmp_path / "whole", found.records, 0)
    assert contents(tables) == contents(Tables(tmp_path / "whole"))
    assert contents(tables)[GENERATIONS]
