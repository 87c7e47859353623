"""Records of share groups and streams groups, and the events that they become with what passed."""

from typing import Any, Final

import pytest

from _wire.embedded import encode_versioned
from _wire.errors import MalformedMessage
from _wire.messages import share_group_current_member_assignment_record as share_current
from _wire.messages import streams_group_current_member_assignment_record as streams_current
from _wire.messages import streams_group_topology_record as topology
from _wire.messages.share_group_member_metadata_record import ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
from _wire.messages.share_group_metadata_record import ShareGroupMetadataKey, ShareGroupMetadataValue
from _wire.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from _wire.messages.streams_group_member_metadata_record import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from _wire.messages.streams_group_metadata_record import StreamsGroupMetadataKey, StreamsGroupMetadataValue
from _wire.messages.streams_group_target_assignment_metadata_record import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from coordinator.audit.schema.sighted import AnySighting, Beat, ClientSighted, Silent
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from coordinator.explain.words import utc_clock
from coordinator.observe.group_stream import GroupStream, LoggedStatement
from coordinator.observe.kept_group import decode_group, encode_group
from coordinator.observe.logs.statements import Sighted
from coordinator.observe.places import Place, Source
from coordinator.observe.records.other_kinds import record_of_any_kind
from coordinator.observe.records.stored import ClassicGroup, group_record

GROUP: Final = "work"
AT_MS: Final = 1_700_000_000_000
TOPIC_ID: Final = bytes(range(16))
CLIENT: Final = ClientSighted("worker", "10.0.0.1", "lib 1")


class Records:
    """A group as the cluster writes it."""

    def __init__(self) -> None:
        self.stream = GroupStream(GROUP, lambda topic_id: "orders", has_records=True)
        self._offset = 0

    def write(self, at_ms: int, record_type: int, key: Any, value: Any = None) -> None:
        self._offset += 1
        encoded = None if value is None else encode_versioned(value, 0)
        record = record_of_any_kind(record_type, encode_versioned(key, record_type), encoded)
        if record is not None:
            place = Place(Source.RECORD, "__consumer_offsets-0", AT_MS + at_ms, self._offset)
            self.stream.put_record(place, record, 0)

    def see(self, at_ms: int, sighting: AnySighting) -> None:
        self._offset += 1
        statement = Sighted(place=Place(Source.NODE, "node 1", AT_MS + at_ms), group_id=GROUP, sighting=sighting)
        self.stream.put_line(LoggedStatement(statement, "log", (self._offset, 0), AT_MS + at_ms), 0)

    def events(self) -> list[Any]:
        return [observed.event for observed in self.stream.emit(lambda waiting: True, 0)]


class Share(Records):
    def member(self, at_ms: int, name: str, *, is_gone: bool = False) -> None:
        value = ShareGroupMemberMetadataValue(
            rack_id=None, client_id=f"client-{name}", client_host="/h", subscribed_topic_names=["orders"]
        )
        self.write(at_ms, 10, ShareGroupMemberMetadataKey(group_id=GROUP, member_id=name), None if is_gone else value)

    def epoch(self, at_ms: int, epoch: int) -> None:
        value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=1)
        self.write(at_ms, 11, ShareGroupMetadataKey(group_id=GROUP), value)

    def target(self, at_ms: int, epoch: int) -> None:
        value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        self.write(at_ms, 12, ShareGroupTargetAssignmentMetadataKey(group_id=GROUP), value)

    def current(self, at_ms: int, name: str, epoch: int) -> None:
        partitions = [share_current.TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 1])]
        value = share_current.ShareGroupCurrentMemberAssignmentValue(
            member_epoch=epoch, previous_member_epoch=epoch - 1, state=0, assigned_partitions=partitions
        )
        key = share_current.ShareGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=name)
        self.write(at_ms, 14, key, value)

    def stable(self, at_ms: int, epoch: int, *names: str) -> None:
        self.epoch(at_ms, epoch)
        self.target(at_ms + 1, epoch)
        for name in names:
            self.current(at_ms + 2, name, epoch)


def shared() -> Share:
    group = Share()
    group.member(0, "a")
    group.member(0, "b")
    group.stable(0, 1, "a", "b")
    return group


def kinds(events: list[Any]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_share_group_has_the_events_of_one_that_is_coordinated_here():
    events = shared().events()
    assert kinds(events) == [
        "GroupCreated",
        "MemberJoined",
        "MemberJoined",
        "RebalanceStarted",
        "GenerationStarted",
        "MemberAssigned",
        "MemberAssigned",
        "GenerationStable",
    ]
    assert {event.state for event in events[4:]} == {"Stable"}, "a share group has no other state with members"
    assert events[0].group_type == "share"
    assert events[5].partitions == {"orders": [0, 1]}


@pytest.mark.parametrize(
    ("sighting", "cause"),
    [
        (Beat(GROUP, AT_MS + 9_990, 1, "b", AT_MS + 9_990, "ShareGroupHeartbeat", -1, 0, -1, CLIENT), "member_left"),
        (Silent(GROUP, AT_MS + 8_000, 1, "b", AT_MS + 3_000), "session_expired"),
        (None, "member_left_or_expired"),
    ],
)
def test_why_a_member_of_a_share_group_is_gone_is_what_passed(sighting, cause):
    group = shared()
    group.see(10, Beat(GROUP, AT_MS + 10, 1, "b", AT_MS + 10, "ShareGroupHeartbeat", 0, 0, 1, CLIENT))
    if sighting is not None:
        group.see(sighting.at_ms - AT_MS, sighting)
    group.member(10_000, "b", is_gone=True)
    group.stable(10_000, 2, "a")
    events = group.events()
    (removed,) = [event for event in events if type(event).__name__ == "MemberRemoved"]
    assert (removed.member.member_id, removed.cause) == ("b", cause)
    history = GroupHistory.of(GROUP, events)
    assert history.state == "Stable"
    assert story_of(history, history.generations[-1], utc_clock)


def test_a_share_group_that_is_deleted_is_gone():
    group = shared()
    group.write(20_000, 11, ShareGroupMetadataKey(group_id=GROUP))
    assert kinds(group.events())[-1] == "GroupRemoved"
    assert group.stream.is_gone


def test_a_share_group_goes_on_from_what_was_kept():
    group, other = shared(), Share()
    group.events()
    other.stream.go_on(decode_group(encode_group(group.stream.kept)), 0)
    other._offset = 100
    other.member(10_000, "c")
    other.stable(10_000, 2, "a", "b", "c")
    assert kinds(other.events())[0] == "MemberJoined"


class Streams(Records):
    def member(self, at_ms: int, name: str, process: str = "p") -> None:
        value = StreamsGroupMemberMetadataValue(
            instance_id=None,
            rack_id=None,
            client_id=f"client-{name}",
            client_host="/h",
            rebalance_timeout_ms=1,
            topology_epoch=0,
            process_id=process,
            user_endpoint=None,
            client_tags=[],
        )
        self.write(at_ms, 19, StreamsGroupMemberMetadataKey(group_id=GROUP, member_id=name), value)

    def reads(self, *topics: str) -> None:
        part = topology.Subtopology(
            subtopology_id="0",
            source_topics=list(topics),
            source_topic_regex=[],
            state_changelog_topics=[],
            repartition_sink_topics=[],
            repartition_source_topics=[],
            copartition_groups=[],
        )
        value = topology.StreamsGroupTopologyValue(epoch=0, subtopologies=[part])
        self.write(0, 23, topology.StreamsGroupTopologyKey(group_id=GROUP), value)

    def epoch(self, at_ms: int, epoch: int) -> None:
        value = StreamsGroupMetadataValue(epoch=epoch, metadata_hash=1)
        self.write(at_ms, 17, StreamsGroupMetadataKey(group_id=GROUP), value)

    def current(
        self, at_ms: int, name: str, epoch: int, state: int, *tasks: int, gives_up: tuple[int, ...] = ()
    ) -> None:
        def active(numbers: tuple[int, ...]) -> list[Any]:
            return [streams_current.TaskIds(subtopology_id="0", partitions=list(numbers))] if numbers else []

        value = streams_current.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=epoch,
            previous_member_epoch=epoch - 1,
            state=state,
            active_tasks=active(tasks),
            standby_tasks=[],
            warmup_tasks=[],
            active_tasks_pending_revocation=active(gives_up),
            standby_tasks_pending_revocation=[],
            warmup_tasks_pending_revocation=[],
        )
        key = streams_current.StreamsGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id=name)
        self.write(at_ms, 22, key, value)

    def target(self, at_ms: int, epoch: int) -> None:
        value = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        self.write(at_ms, 20, StreamsGroupTargetAssignmentMetadataKey(group_id=GROUP), value)


def test_tasks_of_a_streams_group_are_told_by_what_they_read():
    group = Streams()
    group.reads("orders", "payments")
    group.member(0, "a")
    group.epoch(0, 1)
    group.target(1, 1)
    group.current(2, "a", 1, 1, 0, 1)
    events = group.events()
    assert events[0].group_type == "streams"
    (assigned,) = [event for event in events if type(event).__name__ == "MemberAssigned"]
    assert assigned.partitions == {"orders": [0, 1], "payments": [0, 1]}
    assert kinds(events)[-1] == "GenerationStable"


def test_a_streams_group_is_not_stable_while_a_member_gives_up_tasks():
    group = Streams()
    group.reads("orders")
    group.member(0, "a")
    group.member(0, "b")
    group.epoch(0, 1)
    group.target(1, 1)
    group.current(2, "a", 1, 2, 0, gives_up=(1,))
    group.current(2, "b", 1, 1)
    assert "GenerationStable" not in kinds(group.events())
    group.current(3, "a", 1, 1, 0)
    assert kinds(group.events())[-1] == "GenerationStable"


def test_a_member_of_a_streams_group_that_changes_its_process_is_a_trigger():
    group = Streams()
    group.member(0, "a")
    group.epoch(0, 1)
    group.member(1_000, "a", process="another")
    group.epoch(1_000, 2)
    started = [event for event in group.events() if type(event).__name__ == "RebalanceStarted"]
    assert started[-1].cause == "metadata_changed"


def test_what_is_damaged_is_not_taken_for_a_record():
    key = encode_versioned(ShareGroupMetadataKey(group_id=GROUP), 11)
    with pytest.raises(MalformedMessage):
        record_of_any_kind(11, key, b"\x00")


def test_records_of_the_kinds_that_are_read_everywhere_are_read_as_there():
    key = bytes.fromhex("0002") + len(GROUP).to_bytes(2, "big") + GROUP.encode()
    assert record_of_any_kind(2, key, None) == group_record(2, key, None) == ClassicGroup(GROUP)
    with pytest.raises(KeyError):
        record_of_any_kind(99, b"", None)
