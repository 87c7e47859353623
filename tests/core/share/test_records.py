"""The records of share groups: Kafka's bytes, and each is read without those that compaction may have removed."""

from itertools import permutations
from typing import Any

import pytest

from _wire.embedded import prefix_of
from coordinator.core.kinds.stored import RECORD_TYPES
from coordinator.core.share import records
from coordinator.core.share.checks import durable_part
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareAssignment, ShareMember, ShareMemberMetadata
from coordinator.core.share.state_topics import StatePartitions, StateTopic
from coordinator.core.stored import StoredRecord

TOPIC = bytes(range(16))
OTHER = bytes(range(16, 32))
METADATA = ShareMemberMetadata("client", "/127.0.0.1", "rack", ("t", "u"))


def a_group() -> ShareGroup:
    group = ShareGroup("g", epoch=4, metadata_hash=-7)
    current = ShareAssignment(4, 3, {TOPIC: (0, 2)})
    group.set_target_epoch(4, 1_700_000_000_000)
    group.add_member(ShareMember("m", METADATA, current))
    group.set_targets({"m": {TOPIC: (0, 2)}})
    states = StatePartitions(
        {OTHER: StateTopic("u", (0,))}, {TOPIC: StateTopic("t", (0, 1, 2))}, {bytes(16): "deleted"}
    )
    group.set_states(states)
    group.update_state(None)
    return group


def replayed(stored: list[StoredRecord]) -> Any:
    membership = None
    for key, value in stored:
        _, type_ = RECORD_TYPES[prefix_of(key)]
        membership = type_.replay(membership, key, value)
    return membership


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            records.member_record("g", "m", METADATA),
            "000a 0001 67 0001 6d",
            "0000 05 7261636b 07 636c69656e74 0b 2f3132372e302e302e31 03 0274 0275 00",
        ),
        (records.epoch_record("g", 4, -7), "000b 0001 67", "0000 00000004 fffffffffffffff9 00"),
        (records.epoch_record("g", 2, 0), "000b 0001 67", "0000 00000002 0000000000000000 00"),
        (records.target_epoch_record("g", 4, 5), "000c 0001 67", "0000 00000004 01 00 08 0000000000000005"),
        (
            records.target_record("g", "m", {TOPIC: (0, 2)}),
            "000d 0001 67 0001 6d",
            f"0000 02 {TOPIC.hex()} 03 00000000 00000002 00 00",
        ),
        (
            records.current_record("g", "m", ShareAssignment(3, 2, {TOPIC: (1,)})),
            "000e 0001 67 0001 6d",
            f"0000 00000003 00000002 00 02 {TOPIC.hex()} 02 00000001 00 00",
        ),
        (
            records.states_record("g", StatePartitions({TOPIC: StateTopic("t", (0,))})),
            "000f 0001 67",
            f"0000 02 {TOPIC.hex()} 02 74 02 00000000 00 01 01 00",
        ),
    ],
)
def test_the_bytes_are_kafkas(record: StoredRecord, key: str, value: str) -> None:
    assert record == (bytes.fromhex(key), bytes.fromhex(value))


def test_a_group_is_read_as_it_was_in_any_order_of_its_records() -> None:
    group = a_group()
    stored = records.records_of_state(group)
    assert len(stored) == 6
    for order in permutations(stored):
        assert durable_part(replayed(list(order))) == durable_part(group)


def test_a_member_is_gone_with_its_tombstones() -> None:
    group = a_group()
    read = replayed([*records.records_of_state(group), *records.removed_member_records("g", "m")])
    assert (read.members, read.targets, read.epoch) == ({}, {}, 4)


def test_a_group_is_gone_with_its_tombstones() -> None:
    group = a_group()
    group.remove_member("m")
    group.update_state(None)
    removal = records.records_of_removal(group)
    assert [(prefix_of(key), value) for key, value in removal] == [(12, None), (15, None), (11, None)]
    assert replayed([*records.records_of_state(group), *removal]) is None


def test_a_record_of_states_alone_makes_a_group() -> None:
    read = replayed([records.states_record("g", StatePartitions(initialized={TOPIC: StateTopic("t", (0,))}))])
    assert (read.epoch, read.members, read.states.initialized) == (1, {}, {TOPIC: StateTopic("t", (0,))})


def test_tombstones_of_no_group_change_nothing() -> None:
    for key, _ in records.records_of_state(a_group()):
        assert replayed([(key, None)]) is None
