"""What the invariants find in reports of members."""

from typing import Any

from interop.driver import Member
from interop.invariants import lost, owned_by_two, ownership, rebalances, taken_and_given_back

NOBODY: Any = None
"""The driver of a member whose events are given."""


def member(name: str, *events: tuple[str, int, list[int]]) -> Member:
    made = Member(NOBODY, name)
    for kind, time_ms, indexes in events:
        made.apply({"event": kind, "member": name, "partitions": {"t": indexes}, "time_ms": time_ms})
    return made


def read(reader: Member, *runs: tuple[int, int, int]) -> Member:
    for index, first, following in runs:
        positions, start = {"t": {str(index): following}}, {"t": {str(index): first}}
        reader.apply({"event": "records", "member": reader.name, "positions": positions, "from": start, "count": 1})
    return reader


def test_a_partition_that_goes_from_one_to_another_has_one_owner_at_a_time():
    one = member("one", ("assigned", 10, [0, 1]), ("revoked", 20, [0, 1]), ("assigned", 30, [0]))
    two = member("two", ("assigned", 30, [1]))
    assert owned_by_two([one, two]) == []
    assert [tuple(each)[:2] for each in ownership([one, two])["t", 1]] == [("one", 10), ("two", 30)]


def test_two_owners_are_found():
    one = member("one", ("assigned", 10, [0]), ("revoked", 25, [0]))
    two = member("two", ("assigned", 20, [0]))
    assert owned_by_two([one, two]) == ["t-0: one and two for 5 ms"]
    three = member("three", ("assigned", 30, [0]))
    assert owned_by_two([two, three]) == ["t-0: two and three to the end"]


def test_who_cannot_tell_owns_nothing_from_then_on():
    one = member("one", ("assigned", 10, [0]), ("lost", 90, [0]))
    one.silences.append(15)
    two = member("two", ("assigned", 20, [0]))
    assert owned_by_two([one, two]) == []


def test_a_member_that_is_closing_owns_nothing_new():
    one = member("one", ("assigned", 10, [0]), ("assigned", 30, [1]))
    one.silences.append(20)
    one.closed_ms = 20
    two = member("two", ("assigned", 40, [0, 1]))
    assert owned_by_two([one, two]) == []


def test_records_that_nobody_read_are_lost():
    one, two = read(member("one"), (0, 0, 5), (1, 0, 2)), read(member("two"), (0, 3, 8))
    produced = {("t", 0): 8, ("t", 1): 2}
    assert lost([one, two], produced) == []
    assert lost([one], produced) == ["t-0: read up to 5 of 8"]
    assert lost([two], produced) == ["t-0: read up to 0 of 8", "t-1: read up to 0 of 2"]


def test_what_is_taken_and_given_back():
    one = member("one", ("assigned", 1, [0, 1]), ("revoked", 2, [0, 1]), ("assigned", 3, [0]))
    assert taken_and_given_back(one) == {("t", 0)}
    other = member("other", ("assigned", 1, [0, 1]), ("revoked", 2, [1]))
    assert taken_and_given_back(other) == set()


def test_assignments_of_nothing_at_the_beginning_do_not_count():
    one = member("one", ("assigned", 1, []), ("assigned", 2, [0]), ("revoked", 3, [0]), ("assigned", 4, []))
    assert rebalances([one, member("two")]) == 2
