"""What all records of a cluster tell of its groups."""

from dataclasses import dataclass, field

import pytest

from _wire.batch_reader import Record
from _wire.embedded import encode_versioned
from _wire.group_table import GroupTable
from _wire.messages.consumer_group_current_member_assignment_record import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)
from _wire.messages.consumer_group_member_metadata_record import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from _wire.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from _wire.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from _wire.records import build_batch
from coordinator.observe.records.listing import list_groups_of_records
from coordinator.observe.records.stored_groups import ListedByRecords, StoredGroups
from tests.observe.records.commits import KeyAndValue, commit, generation
from tests.observe.records.scripted import Log, ScriptedBroker
from tests.servers import RunningServer
from tests.wire_client import WireClient

MEMBER_TYPES = {"consumer": 5, "share": 10, "streams": 19}
EPOCH_TYPES = {"consumer": 3, "share": 11, "streams": 17}
TARGET_TYPES = {"consumer": 6, "share": 12, "streams": 20}
CURRENT_TYPES = {"consumer": 8, "share": 14, "streams": 22}


@dataclass
class Taken:
    """Groups of records that are taken one after the other, each 10 ms later."""

    groups: StoredGroups = field(default_factory=lambda: StoredGroups(100))
    at_ms: int = 0

    def apply(self, *records: KeyAndValue) -> ListedByRecords | None:
        """The one group, if it is there."""
        for key, value in records:
            self.at_ms += 10
            self.groups.apply(Record(timestamp_ms=self.at_ms, key=key, value=value))
        return next(iter(self.groups.listed(GroupTable(1))), None)


def epoch(number: int | None, kind: str = "consumer") -> KeyAndValue:
    value = None if number is None else encode_versioned(ConsumerGroupMetadataValue(epoch=number), 0)
    return bytes([0, EPOCH_TYPES[kind]]) + encode_versioned(ConsumerGroupMetadataKey(group_id="g"), 3)[2:], value


def member(member_id: str, is_gone: bool = False, kind: str = "consumer") -> KeyAndValue:
    key = encode_versioned(ConsumerGroupMemberMetadataKey(group_id="g", member_id=member_id), 5)
    value = encode_versioned(ConsumerGroupMemberMetadataValue(client_id="c", client_host="/h"), 0)
    return bytes([0, MEMBER_TYPES[kind]]) + key[2:], None if is_gone else value


def target(number: int, kind: str = "consumer") -> KeyAndValue:
    key = encode_versioned(ConsumerGroupTargetAssignmentMetadataKey(group_id="g"), 6)
    value = encode_versioned(ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=number), 0)
    return bytes([0, TARGET_TYPES[kind]]) + key[2:], value


def current(member_id: str, number: int, state: int = 0, kind: str = "consumer") -> KeyAndValue:
    key = encode_versioned(ConsumerGroupCurrentMemberAssignmentKey(group_id="g", member_id=member_id), 8)
    value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=number, previous_member_epoch=1, state=state)
    return bytes([0, CURRENT_TYPES[kind]]) + key[2:], encode_versioned(value, 0)


def with_members(count: int) -> KeyAndValue:
    members = [MemberMetadata(member_id=str(each), client_id="", client_host="") for each in range(count)]
    value = GroupMetadataValue(protocol_type="connect", generation=9, protocol="x", members=members)
    return encode_versioned(GroupMetadataKey(group="g"), 2), encode_versioned(value, 3)


def test_a_classic_group():
    taken = Taken()
    assert taken.apply(with_members(3)) == ListedByRecords("g", "classic", "Stable", "connect", 9, 3, 10)
    assert taken.apply(generation("g", 10)) == ListedByRecords("g", "classic", "Empty", "consumer", 10, 0, 20)
    assert taken.apply((generation("g", 10)[0], None)) is None


@pytest.mark.parametrize("kind", ["consumer", "streams"])
def test_a_group_of_epochs(kind: str):
    taken = Taken()

    def told(*records: KeyAndValue) -> tuple[str, str, int | None, int | None]:
        group = taken.apply(*records)
        assert group is not None
        return group.type, group.state, group.generation, group.members

    assert told(member("a", kind=kind), epoch(2, kind)) == (kind, "Assigning", 2, 1)
    assert told(target(2, kind)) == (kind, "Reconciling", 2, 1)
    assert told(current("a", 2, kind=kind)) == (kind, "Stable", 2, 1)
    assert told(member("b", kind=kind), epoch(3, kind), target(3, kind), current("b", 3, kind=kind)) == (
        kind,
        "Reconciling",
        3,
        2,
    )
    assert told(current("a", 3, 1, kind)) == (kind, "Reconciling", 3, 2)
    assert told(current("a", 3, 0, kind)) == (kind, "Stable", 3, 2)
    assert told(member("a", True, kind), member("b", True, kind), epoch(4, kind)) == (kind, "Empty", 4, 0)
    assert taken.apply(epoch(None, kind)) is None


def test_a_share_group():
    group = Taken().apply(member("a", kind="share"), epoch(5, "share"))
    assert group is not None
    assert (group.type, group.state, group.generation, group.members) == ("share", "Stable", 5, 1)


@pytest.mark.parametrize("is_up", [True, False])
def test_a_group_that_was_converted(is_up: bool):
    classic, tombstone = with_members(2), (generation("g", 1)[0], None)
    modern = member("a"), epoch(12)
    taken = Taken()
    found = taken.apply(classic, tombstone, *modern) if is_up else taken.apply(*modern, epoch(None), classic)
    assert found is not None
    assert (found.type, found.members) == (("consumer", 1) if is_up else ("classic", 2))


def test_members_are_bounded():
    taken = Taken(StoredGroups(100, members_max=2))
    found = taken.apply(*(member(str(each)) for each in range(3)), epoch(2))
    assert found is not None
    assert found.members is None
    assert taken.apply(epoch(None)) is None
    found = taken.apply(member("x"), epoch(3))
    assert found is not None
    assert found.members == 1


def test_damaged_records_are_counted():
    taken = Taken()
    key = generation("g", 1)[0]
    taken.apply((key, b"\0\3\0"), (epoch(1)[0], b"\0"), (current("a", 1)[0], b""), generation("g", 7))
    assert taken.groups.damaged == 2
    assert taken.apply((current("a", 1)[0], b"\0\0")) is not None


def test_a_whole_cluster():
    first = [generation("a", 1), commit("a"), commit("only commits", offset=7), commit("only commits", offset=8)]
    second = [generation("b", 4), (generation("b", 4)[0], None), commit("c"), generation("c", 2)]
    logs = [Log(build_batch(first, timestamp_ms=5)), Log(), Log(build_batch(second, timestamp_ms=6))]
    steps: list[tuple[int, int]] = []
    with ScriptedBroker(logs) as broker:
        listing = list_groups_of_records(broker.bootstrap, progress=lambda *done: steps.append(done))
    assert listing.groups == [
        ListedByRecords("a", "classic", "Empty", "consumer", 1, 0, 5, 1, 5),
        ListedByRecords("c", "classic", "Empty", "consumer", 2, 0, 6, 1, 6),
        ListedByRecords("only commits", "classic", "Empty", "", None, 0, -1, 2, 5),
    ]
    assert (listing.records, listing.left_out, listing.notes, steps[-1]) == (8, 0, [], (8, 8))


def test_a_group_that_was_deleted_and_committed_again():
    key = generation("g", 1)[0]
    deleted = build_batch([generation("g", 1), commit("g"), (key, None)], timestamp_ms=5)
    with ScriptedBroker([Log(deleted)]) as broker:
        assert list_groups_of_records(broker.bootstrap).groups == []
        broker.logs[0].append(build_batch([commit("g")], base_offset=3, timestamp_ms=9))
        (group,) = list_groups_of_records(broker.bootstrap).groups
    assert (group.generation, group.last_commit_ms) == (None, 9)


def test_groups_are_bounded():
    with ScriptedBroker([Log(build_batch([commit(str(each)) for each in range(9)]))]) as broker:
        listing = list_groups_of_records(broker.bootstrap, groups_max=4)
    assert ([group.group_id for group in listing.groups], listing.left_out) == (["0", "1", "2", "3"], 5)


def test_our_own_server(server: RunningServer):
    with WireClient(server.bootstrap) as client:
        client.join_alone("listed by records")
    listing = list_groups_of_records(server.bootstrap)
    (group,) = (each for each in listing.groups if each.group_id == "listed by records")
    assert (group.type, group.state, group.generation, group.members) == ("classic", "Stable", 1, 1)
    assert listing.notes == []
