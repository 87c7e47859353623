"""What of the bronze table is about one group."""

from pathlib import Path
from typing import Any

from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import GroupHeldByCluster, encode_event
from coordinator.cli.bronze_reader import bronze_records
from tests.dashboard.groups import crowd, renamed

Row = tuple[int, int, bytes | None, bytes | None]
"""Partition, offset, key and value."""


def write(tables: Path, rows: list[Row]) -> None:
    kinds = (DataType.int32(), DataType.int64(), DataType.binary(), DataType.binary())
    names = ("partition", "offset", "key", "value")
    columns: dict[str, Any] = {
        name: Array([row[number] for row in rows], kind)
        for number, (name, kind) in enumerate(zip(names, kinds, strict=True))
    }
    write_deltalake(tables / "bronze", Table.from_pydict(columns))


def test_the_events_of_a_group_come_with_those_about_the_coordinator_of_its_partition(tmp_path: Path):
    events = crowd(2, "one")
    rows: list[Row] = [(3, 2 * number, b"one", encode_event(event)) for number, event in enumerate(events)]
    rows += [(5, number, b"two", encode_event(event)) for number, event in enumerate(renamed(events, "two"))]
    about = GroupHeldByCluster(time_ms=0, node_id=1, coordinator_epoch=1, group_id="", members=[], since_ms=7)
    _, value, _ = coordinator_record(about, 7)
    rows += [(3, 5, None, value), (5, 99, None, value)]
    write(tmp_path, rows)

    found = list(bronze_records(tmp_path, "one", with_coordinator=True))
    assert [each.offset for each in found] == sorted([2 * number for number in range(len(events))] + [5])
    assert {each.partition for each in found} == {3}
    assert [each.offset for each in found if each.event is None] == [5]
    assert len(list(bronze_records(tmp_path, "one"))) == len(events)
    assert len(list(bronze_records(tmp_path, None))) == len(rows)
    assert list(bronze_records(tmp_path, "three", with_coordinator=True)) == []
