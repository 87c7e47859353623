"""What the tables must say of the history of `offsets_history.py`, by what the consumers said themselves."""

from collections.abc import Sequence
from typing import Any

from tests.pipeline.offsets_history import CLASSIC, MODERN, Said

Rows = Sequence[dict[str, Any]]


def assert_told(said: Said, generations: Rows, memberships: Rows, ownership: Rows) -> None:
    """`generations` in the order of their events, the others in that of their `seq`."""
    _assert_classic(said, [row for row in generations if row["group_id"] == CLASSIC], memberships, ownership)
    if said.modern:
        _assert_modern(said, [row for row in generations if row["group_id"] == MODERN], memberships, ownership)
    assert all(row["cause_is_inferred"] for row in generations)


def _assert_classic(said: Said, generations: Rows, memberships: Rows, ownership: Rows) -> None:
    by_number = {row["generation_id"]: row for row in generations}
    assert len(by_number) == len(generations)
    for number, held in said.generations.items():
        row = by_number[number]
        assert (row["outcome"], row["members"], row["partitions"]) == ("stable", len(held), 4)
        assert row["leader"] in held
    first, second = said.static_ids
    for number, held in said.generations.items():
        owners = _owners(ownership, CLASSIC, by_number[number]["last_seq"])
        restarted = {place: second if owner == first else owner for place, owner in owners.items()}
        assert restarted == _flat(held)
    a, b = list(said.generations[2])
    assert {row["cause_member_id"]: row["cause"] for number, row in by_number.items() if number <= 3} == {
        a: "member_left_or_expired",
        b: "new_member",
    }
    assert by_number[1]["cause_member_id"] == a
    killed = [row for row in generations if row["cause_member_id"] == said.killed_id]
    assert [row["cause"] for row in killed][-1] == "member_left_or_expired"
    assert "metadata_changed" in {row["cause"] for row in generations}
    assert generations[-1]["outcome"] == "emptied"
    seen = sum(1 + row["generations_unseen"] for row in generations)
    assert seen == generations[-1]["generation_id"]
    left = {row["member_id"]: row["left_cause"] for row in memberships if _has_left(row) and row["group_id"] == CLASSIC}
    assert left[first] == "static_member_replaced"
    assert left[second] == left[said.killed_id] == left[a] == "member_left_or_expired"
    joined = {row["member_id"] for row in memberships if not _has_left(row) and row["group_id"] == CLASSIC}
    assert joined == set(left)
    assert {member_id for held in said.generations.values() for member_id in held} <= joined


def _assert_modern(said: Said, generations: Rows, memberships: Rows, ownership: Rows) -> None:
    stable = [row for row in generations if row["outcome"] == "stable"]
    rests = [held for place, held in enumerate(said.modern) if place != 5]  # the static restart begins no generation
    assert [row["members"] for row in stable] == [len(held) for held in rests]
    assert [row["partitions"] for row in stable] == [sum(map(len, held.values())) for held in rests]
    assert [row["cause"] for row in stable] == [
        "new_member",
        "new_member",
        "metadata_changed",
        "member_left_or_expired",
        "new_member",
        "member_left_or_expired",
    ]
    assert [row["outcome"] for row in generations][-1] == "emptied"
    assert all(row["generations_unseen"] == 0 for row in generations)
    for row, held in zip(stable, rests, strict=True):
        assert _owners(ownership, MODERN, row["last_seq"]) == _flat(held)
        assert row["rebalance_ms"] is not None
    left = {row["member_id"]: row["left_cause"] for row in memberships if _has_left(row) and row["group_id"] == MODERN}
    (first,) = set(said.modern[4]) - set(said.modern[3])
    assert left.pop(first) == "static_member_replaced"
    assert set(left.values()) == {"member_left_or_expired"}
    assert set(left) | {first} == {member_id for held in said.modern for member_id in held}


def _has_left(row: dict[str, Any]) -> bool:
    return row.get("left_cause") is not None


def _owners(ownership: Rows, group_id: str, seq: int) -> dict[str, str]:
    """Who owned each partition after an event."""
    last: dict[str, str | None] = {}
    for row in ownership:
        if row["group_id"] == group_id and row["seq"] <= seq:
            last[f"{row['topic']}/{row['topic_partition']}"] = row["member_id"]
    return {partition: owner for partition, owner in last.items() if owner is not None}


def _flat(held: dict[str, list[str]]) -> dict[str, str]:
    return {partition: member_id for member_id, partitions in held.items() for partition in partitions}
