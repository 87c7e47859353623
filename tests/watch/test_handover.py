"""A group goes from the watcher to the nodes and back: its events have one row of numbers, whoever writes them."""

from typing import Any, Final

import pytest

from coordinator.audit.schema import decode_observed
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import ClassicGroup, ClassicMember
from coordinator.watch.handover import Adopted, Handover, Released
from coordinator.watch.partition import PartitionWatch
from coordinator.watch.positions import Restored, read_position

GROUP: Final = "orders"
AT_MS: Final = 1_700_000_000_000
NODE: Final = Place(Source.NODE, "node 1", AT_MS + 50)


def classic(generation_id: int, *member_ids: str) -> ClassicGroup:
    members = [ClassicMember(member_id, f"client-{member_id}", "/h", None, ["t"], b"", {}) for member_id in member_ids]
    return ClassicGroup(GROUP, generation_id, "consumer", "range", next(iter(member_ids), None), AT_MS, members)


class Partition:
    """One partition of the audit: what a watcher appends."""

    def __init__(self) -> None:
        self.watch = PartitionWatch(0, str, has_records=True)
        self.events: list[Any] = []
        self.positions: list[bytes] = []
        self._offset = 0

    def record(self, record: ClassicGroup) -> None:
        self._offset += 1
        self.watch.put_record(Place(Source.RECORD, "r-0", AT_MS + self._offset, self._offset), record, 0)

    def emit(self) -> None:
        self.watch.emit(lambda waiting: True, 0, 0)

    def append(self) -> list[Any]:
        found = self.watch.pop_records(self._offset + 1, {}, 0, AT_MS, refresh=True)
        events = [decode_observed(value) for key, value, _ in found if key is not None]
        self.positions += [value for key, value, _ in found if key is None]
        self.events += [observed.event for observed in events if observed is not None]
        return [observed.event for observed in events if observed is not None]

    def restored(self, others: dict[str, int], seq_from: int = 0) -> "Partition":
        """The same partition as another node takes it over."""
        restored, found = Restored(), Partition()
        for value in self.positions:
            restored.put(value)
        restored.others, restored.seq_from = others, seq_from
        _, checkpoint = read_position(self.positions[-1])
        found.watch.restore(restored, checkpoint, 0)
        found._offset = self._offset
        return found


def kinds(events: list[Any]) -> list[tuple[str, int]]:
    return [(type(event).__name__, event.seq) for event in events]


def test_what_is_read_of_a_group_that_is_adopted_is_told_and_then_that_others_go_on():
    partition = Partition()
    partition.record(classic(1, "a"))
    partition.emit()
    told = len(partition.append())
    partition.record(classic(2))
    partition.watch.leave(GROUP, NODE, seq_max=100, now=0)
    events = partition.append()
    assert kinds(events)[-1] == ("GroupRemoved", told + len(events))
    assert events[-1].cause == "adopted"
    assert "MemberRemoved" in [name for name, _ in kinds(events)]
    assert partition.watch.groups == 0


def test_who_is_in_a_group_that_is_adopted_is_gone_by_then():
    """The record that it is empty may not be read by then, and is passed over afterwards."""
    partition = Partition()
    partition.record(classic(1, "a", "b"))
    partition.emit()
    partition.append()
    partition.watch.leave(GROUP, NODE, seq_max=100, now=0)
    events = partition.append()
    assert [event.member.member_id for event in events if type(event).__name__ == "MemberRemoved"] == ["a", "b"]
    assert kinds(events)[-1][0] == "GroupRemoved"


def test_no_event_of_the_watcher_has_a_number_that_the_nodes_may_have_given():
    partition = Partition()
    partition.record(classic(1, "a"))
    partition.emit()
    last = partition.append()[-1].seq
    partition.record(classic(2))
    partition.emit()  # made, and not appended when the nodes begin
    partition.record(classic(3, "b"))
    partition.watch.leave(GROUP, NODE, seq_max=last + 1, now=0)
    assert [event.seq for event in partition.append()] == [last + 1]


def test_a_group_that_is_given_back_begins_with_numbers_above_those_of_the_nodes():
    partition = Partition()
    partition.record(classic(1, "a"))
    partition.emit()
    partition.append()
    partition.watch.leave(GROUP, NODE, seq_max=100, now=0)
    partition.append()
    partition.watch.come_back(GROUP, 250)
    partition.record(classic(5, "b"))
    partition.emit()
    assert kinds(partition.append())[0] == ("GroupCreated", 251)


def test_a_node_that_takes_over_reads_from_the_topic_who_has_told_of_a_group_meanwhile():
    partition = Partition()
    partition.record(classic(1, "a"))
    partition.emit()
    partition.append()
    next_node = partition.restored({GROUP: 77})
    next_node.record(classic(9, "b"))
    next_node.emit()
    assert kinds(next_node.append())[0] == ("GroupCreated", 78)


def test_a_node_that_takes_over_goes_on_with_a_group_that_nobody_else_has_told_of():
    partition = Partition()
    partition.record(classic(1, "a"))
    partition.emit()
    last = partition.append()[-1].seq
    next_node = partition.restored({}, seq_from=500)
    next_node.record(classic(2, "a", "b"))
    next_node.emit()
    events = next_node.append()
    assert [event.seq for event in events] == list(range(last + 1, last + 1 + len(events)))
    assert {event.created_seq for event in events} == {1}


def test_a_group_of_which_nothing_is_kept_begins_behind_the_end_of_the_topic():
    partition = Partition()
    restored = Restored()
    restored.seq_from = 40
    partition.watch.restore(restored, None, 0)
    partition.record(classic(1, "a"))
    partition.emit()
    assert kinds(partition.append())[0] == ("GroupCreated", 41)


class Numbers:
    def __init__(self, seq: int, end: int) -> None:
        self.seq, self.end = seq, end

    def seq_of(self, group_id: str) -> int:
        return self.seq

    def end_offset(self, partition: int) -> int:
        return self.end


@pytest.mark.parametrize(("seq", "end", "expected"), [(7, 40, 40), (41, 40, 41)])
def test_nodes_begin_above_what_is_appended_and_what_is_about_to_be(seq, end, expected):
    handover = Handover("node 1", 4, lambda: AT_MS)
    handover.numbers = Numbers(seq, end)
    assert handover.adopted(GROUP) == expected
    assert list(handover.pop()) == [(GROUP, Adopted(expected, AT_MS))]


def test_of_several_moves_of_a_group_the_last_one_counts():
    handover = Handover("node 1", 4, lambda: AT_MS)
    assert handover.adopted(GROUP) == 0
    handover.released(GROUP, 12)
    assert list(handover.pop()) == [(GROUP, Released(12))]
    assert list(handover.pop()) == []
