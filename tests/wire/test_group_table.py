"""The table of groups, beside a dict. It is filled by a scan, as outside of tests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire import group_table
from _wire.group_records import GroupRecordScan
from _wire.group_table import GroupTable
from _wire.records import build_batch
from tests.observe.records.commits import commit


def filled(table: GroupTable, group_ids: list[str]) -> None:
    scan = GroupRecordScan(table=table)
    scan.scan(
        b"".join(
            build_batch([commit(group_id)], base_offset=at, timestamp_ms=at) for at, group_id in enumerate(group_ids)
        )
    )
    assert scan.records == len(group_ids)


@given(st.lists(st.text(max_size=6), max_size=60))
def test_as_a_dict(group_ids):
    table = GroupTable(1_000)
    filled(table, group_ids)
    expected: dict[bytes, tuple[int, int]] = {}
    for at, group_id in enumerate(group_ids):
        expected[group_id.encode()] = expected.get(group_id.encode(), (0, 0))[0] + 1, at
    assert [(each, (commits, at_ms)) for each, commits, at_ms in table] == list(expected.items())
    assert len(table) == len(expected)


def test_it_grows():
    table = GroupTable(5_000)
    group_ids = [f"group-{number}-{'x' * (number % 50)}" for number in range(5_000)]
    filled(table, group_ids * 2)
    assert [(each.decode(), commits) for each, commits, _ in table] == [(group_id, 2) for group_id in group_ids]
    assert table.left_out == 0


def test_groups_that_find_no_place():
    table = GroupTable(2)
    filled(table, ["a", "b", "c", "a", "c"])
    assert ([each for each, *_ in table], table.left_out) == ([b"a", b"b"], 2)


def test_long_ids_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(group_table, "IDS_BYTES_MAX", 100)
    table = GroupTable(50)
    filled(table, ["a" * 60, "b" * 60, "c" * 40])
    assert ([commits for _, commits, _ in table], table.left_out) == ([1, 1], 1)


@pytest.mark.parametrize("groups_max", [0, -1, 1 << 30])
def test_how_many(groups_max):
    with pytest.raises(ValueError, match="is not allowed"):
        GroupTable(groups_max)
