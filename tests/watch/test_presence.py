"""From when to when a node saw nothing is told of the groups whose members came by way of it, once."""

from typing import Any, Final

from coordinator.audit.schema import GroupUnseen, MemberRemoved, decode_observed
from coordinator.audit.schema.sighted import AnySighting, ClientSighted, Heard, Silent, Watches
from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.observe.group_stream import LoggedStatement
from coordinator.observe.logs.statements import Sighted
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import ClassicGroup, ClassicMember
from coordinator.watch.partition import PartitionWatch
from coordinator.watch.positions import Restored, read_position
from coordinator.watch.presence import LATE_MS, NODES_MAX, Presence

GROUP: Final = "orders"
AT_MS: Final = 1_700_000_000_000
CLIENT: Final = ClientSighted("billing-1", "10.0.0.1", "lib 1")


def watches(at_ms: int, run_ms: int, node_id: int = 1, **fields: Any) -> Watches:
    return Watches("", AT_MS + at_ms, node_id, AT_MS + run_ms, AT_MS + run_ms, **fields)


def gaps(presence: Presence, *said: tuple[int, Watches]) -> list[tuple[int, int, str]]:
    found = [gap for offset, each in said for gap in presence.apply(each, offset)]
    return [(gap.from_ms - AT_MS, gap.at_ms - AT_MS, gap.because) for gap in found]


def test_a_node_that_was_away_has_a_gap_from_its_last_word_to_its_next_run():
    said = [(0, watches(2_000, 0)), (1, watches(4_000, 0)), (2, watches(31_000, 30_000)), (3, watches(33_000, 30_000))]
    assert gaps(Presence(), *said) == [(4_000, 30_000, "node_away")]


def test_a_node_that_says_nothing_for_long_and_goes_on_has_seen_all_meanwhile():
    assert gaps(Presence(), (0, watches(2_000, 0)), (1, watches(90_000, 0))) == []


def test_what_was_dropped_is_a_gap():
    dropped = watches(9_000, 0, lost_from_ms=AT_MS + 5_000, lost_until_ms=AT_MS + 8_000)
    assert gaps(Presence(), (0, watches(2_000, 0)), (1, dropped)) == [(5_000, 8_000, "facts_dropped")]


def test_who_reads_the_begin_of_a_run_again_finds_the_gap_again():
    presence = Presence()
    begin = (2, watches(31_000, 30_000))
    gaps(presence, (0, watches(4_000, 0)), begin, (3, watches(33_000, 30_000)))
    assert gaps(presence, begin) == [(4_000, 30_000, "node_away")]
    assert gaps(presence, (0, watches(4_000, 0)), (3, watches(33_000, 30_000))) == []


def test_a_node_vouches_for_what_it_would_have_seen_until_its_last_word():
    presence = Presence()
    assert presence.vouches(1, AT_MS), "of a node that says nothing it is not known that it is away"
    gaps(presence, (0, watches(2_000, 0)))
    assert presence.vouches(1, AT_MS + 2_000 + LATE_MS)
    assert not presence.vouches(1, AT_MS + 2_001 + LATE_MS)


def test_nodes_are_bounded():
    presence = Presence()
    for node_id in range(NODES_MAX + 5):
        gaps(presence, (node_id, watches(node_id, 0, node_id)))
    assert len(presence.nodes) == NODES_MAX
    assert 0 not in presence.nodes


class Partition:
    def __init__(self) -> None:
        self.watch = PartitionWatch(0, str, has_records=True)
        self._offset = 0

    def sees(self, at_ms: int, sighting: AnySighting) -> None:
        place = Place(Source.NODE, "node 1", AT_MS + at_ms)
        statement = Sighted(place=place, group_id=sighting.group_id, sighting=sighting)
        self._offset += 1
        self.watch.put_lines([LoggedStatement(statement, "log", (self._offset, 0), AT_MS + at_ms)], None, 0)

    def says(self, at_ms: int, run_ms: int = 0, **fields: Any) -> None:
        self.sees(at_ms, watches(at_ms, run_ms, **fields))

    def record(self, at_ms: int, generation_id: int, *member_ids: str) -> None:
        members = [
            ClassicMember(each, f"client-{each}", "/h", None, ["t"], b"", {}, 0, 6_000, 6_000) for each in member_ids
        ]
        record = ClassicGroup(GROUP, generation_id, "consumer", "range", next(iter(member_ids), None), AT_MS, members)
        self._offset += 1
        self.watch.put_record(Place(Source.RECORD, "r-0", AT_MS + at_ms, self._offset), record, 0)

    def events(self) -> list[Any]:
        self.watch.emit(lambda waiting: True, 0, 0)
        found = self.watch.pop_records(self._offset + 1, {}, 0, AT_MS, refresh=True)
        events = [decode_observed(value) for key, value, _ in found if key is not None]
        return [observed.event for observed in events if observed is not None]


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if type(event) is kind]


def running() -> Partition:
    """A node that has looked for a while, and a member that comes by way of it."""
    partition = Partition()
    partition.says(1_000)
    partition.says(9_000)
    partition.sees(9_500, Heard(GROUP, AT_MS + 9_500, 1, "a", CLIENT))
    partition.record(10_000, 1, "a")
    partition.says(10_000)
    return partition


def test_groups_whose_members_came_by_way_of_a_node_have_its_gap():
    partition = running()
    assert of(GroupUnseen, partition.events()) == []
    partition.says(41_000, 40_000)
    (unseen,) = of(GroupUnseen, partition.events())
    assert (unseen.because, unseen.by_node) == (UnseenBecause.NODE_AWAY, 1)
    assert (unseen.from_ms, unseen.until_ms) == (AT_MS + 10_000, AT_MS + 40_000)
    partition.says(43_000, 40_000)
    assert partition.events() == []


def test_groups_of_other_nodes_have_none():
    partition = running()
    partition.events()
    partition.sees(20_000, watches(20_000, 0, node_id=2))
    partition.sees(60_000, watches(60_000, 50_000, node_id=2))
    assert of(GroupUnseen, partition.events()) == []


def test_a_member_whose_node_was_away_is_not_said_to_have_been_silent():
    partition = running()
    partition.sees(13_000, Silent(GROUP, AT_MS + 13_000, 1, "a", AT_MS + 9_500))
    partition.says(41_000, 40_000)
    partition.record(42_000, 2)
    (removed,) = of(MemberRemoved, partition.events())
    assert removed.cause == "member_left_or_expired"
    assert removed.last_heard_ms is None


def test_nor_one_whose_node_is_still_away():
    partition = running()
    partition.sees(13_000, Silent(GROUP, AT_MS + 13_000, 1, "a", AT_MS + 9_500))
    partition.record(42_000, 2)
    (removed,) = of(MemberRemoved, partition.events())
    assert removed.cause == "member_left_or_expired"


def test_one_whose_node_looked_all_the_time_is():
    partition = running()
    partition.sees(13_000, Silent(GROUP, AT_MS + 13_000, 1, "a", AT_MS + 9_500))
    partition.says(16_000)
    partition.record(16_000, 2)
    (removed,) = of(MemberRemoved, partition.events())
    assert (removed.cause, removed.last_heard_ms) == ("session_expired", AT_MS + 9_500)


def test_a_member_that_is_heard_after_the_gap_is_certain_again():
    partition = running()
    partition.says(41_000, 40_000)
    partition.sees(42_000, Heard(GROUP, AT_MS + 42_000, 1, "a", CLIENT))
    partition.sees(47_000, Silent(GROUP, AT_MS + 47_000, 1, "a", AT_MS + 42_000))
    partition.says(49_000, 40_000)
    partition.record(49_000, 2)
    (removed,) = of(MemberRemoved, partition.events())
    assert removed.cause == "session_expired"


def test_a_client_that_bypasses_the_nodes_is_told_when_records_have_it():
    partition = running()
    partition.record(11_000, 2, "a", "b")
    found = partition.events()
    (unseen,) = of(GroupUnseen, found)
    assert (unseen.because, unseen.member.client_id) == (UnseenBecause.NOT_THROUGH_NODES, "client-b")
    assert [event.seq for event in found] == sorted({event.seq for event in found})


def test_what_was_there_before_a_node_looked_bypasses_nobody():
    partition = Partition()
    partition.record(0, 1, "a")
    partition.says(2_000)
    assert of(GroupUnseen, partition.events()) == []


def test_what_nodes_said_is_in_the_position():
    partition = running()
    partition.events()
    found = partition.watch.pop_records(99, {}, 0, AT_MS, refresh=True)
    restored = Restored()
    restored.put(found[-1][1])
    _, checkpoint = read_position(found[-1][1])
    other = Partition()
    other.watch.restore(restored, checkpoint, 0)
    assert other.watch.presence.nodes == partition.watch.presence.nodes
