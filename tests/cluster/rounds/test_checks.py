"""The checks of the rounds find what they are there for."""

from typing import Any

import msgspec
import pytest

from coordinator.audit import schema
from tests.cluster.rounds.audit import AuditCheck
from tests.cluster.rounds.members import Group


def event(kind: type[schema.AuditEvent], seq: int, generation: int = 0, **fields: Any) -> schema.AuditEvent:
    """An event of the group g; the fields that no check looks at are 0."""
    given = {"group_id": "g", "seq": seq, "created_seq": 0, "generation_id": generation, **fields}
    return kind(**{field.name: given.get(field.name, 0) for field in msgspec.structs.fields(kind)})


def loaded(seq: int, generation: int, void_from_seq: int | None = None, lost: bool = False) -> schema.AuditEvent:
    return event(schema.GroupLoaded, seq, generation, void_from_seq=void_from_seq, lost=lost)


def changed(seq: int, generation: int = 0, created_seq: int = 0) -> schema.AuditEvent:
    return event(schema.GenerationStable, seq, generation, created_seq=created_seq)


def removed(seq: int) -> schema.AuditEvent:
    return event(schema.GroupRemoved, seq)


@pytest.mark.parametrize(
    ("events", "problems"),
    [
        ([changed(0), changed(1, 1), changed(1, 1), changed(2, 2)], 0),
        ([changed(0), changed(2)], 1),
        ([changed(1)], 1),
        ([changed(0, 2), changed(1, 1)], 1),
        ([changed(0, 1), changed(1, 2), loaded(2, 1, void_from_seq=1)], 0),
        ([changed(0, 1), changed(1, 2), loaded(2, 1)], 1),
        ([changed(0, 1), loaded(1, 1, lost=True)], 1),
        ([changed(0, 3), removed(1), changed(2, 0, created_seq=2)], 1),
        ([changed(0, 3), changed(1, 0, created_seq=1)], 1),
    ],
    ids=["whole", "gap", "no beginning", "back", "void", "back after a load", "lost", "removed", "not removed"],
)
def test_the_audit_is_whole(events, problems):
    check = AuditCheck("127.0.0.1:1")
    found = [problem for event in events for problem in check.apply(event)]
    assert len(found) == problems, found


def records(first: int, following: int) -> dict[str, Any]:
    return {"event": "records", "from": {"t": {"0": first}}, "positions": {"t": {"0": following}}}


def test_what_was_not_read_is_told():
    group = Group("g")
    for first, following in ((0, 5), (7, 9), (3, 6)):
        group.take(records(first, following))
    assert group.not_read({("t", 0): 6}) == []
    assert group.not_read({("t", 0): 9}) == ["g: t-0 was read up to 6 of 9"]
    group.take(records(6, 7))
    assert group.not_read({("t", 0): 9}) == []


def test_the_largest_position_that_was_committed_counts():
    group = Group("g")
    for position in (5, 3):
        group.take({"event": "committed", "positions": {"t": {"0": position}}})
    assert group.committed == {("t", 0): 5}
