"""Rows become the columns of Arrow, whatever is in them."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from coordinator.core.causes import Cause
from coordinator.pipeline.row_columns import RowColumns

TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [("name", pa.string()), ("raw", pa.binary()), ("n", pa.int64()), ("small", pa.int32()), ("is_it", pa.bool_())]
)
NOTHING = (None,) * len(SCHEMA)


def column(kind: pa.DataType, values: list[Any]) -> list[Any]:
    """What a column of this type holds after these values."""
    columns = RowColumns(pa.schema([("it", kind)]))
    for value in values:
        columns.append((value,))
    assert len(columns) == len(values)
    table = columns.table()
    table.validate(full=True)
    assert table.schema == pa.schema([("it", kind)])
    found: list[Any] = table.column("it").to_pylist()
    return found


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1_000])
def test_tuples_and_dicts_become_the_same_columns(count: int):
    rows = [(f"n{place}", b"\x00\xff", place, -place, place % 2 == 0) for place in range(count)]
    by_tuple, by_dict = RowColumns(SCHEMA), RowColumns(SCHEMA)
    for row in rows:
        by_tuple.append(row)
        by_dict.append(dict(zip(SCHEMA.names, row, strict=True)))
    assert by_tuple.table() == by_dict.table()
    assert [tuple(row.values()) for row in by_tuple.table().to_pylist()] == rows


@pytest.mark.parametrize("places", [[], [0], [7], [8], [0, 1, 2, 15], range(16)])
def test_nulls_are_where_they_were(places: list[int]):
    columns = RowColumns(SCHEMA)
    for place in range(16):
        columns.append(NOTHING if place in places else ("a", b"b", 1, 2, True))
    for of_column in columns.table().columns:
        assert [place for place, each in enumerate(of_column.to_pylist()) if each is None] == list(places)


def test_what_a_dict_does_not_have_is_null():
    columns = RowColumns(SCHEMA)
    columns.append({"n": 3, "unknown": "x"})
    assert columns.table().to_pylist() == [dict.fromkeys(SCHEMA.names) | {"n": 3}]


def test_a_tuple_of_another_length_is_refused():
    with pytest.raises(ValueError, match="4 values for 5 columns"):
        RowColumns(SCHEMA).append(NOTHING[1:])


def test_numbers_that_do_not_fit_and_what_is_none_are_null():
    limits = [2**63 - 1, -(2**63), 0, -1]
    assert column(pa.int64(), [*limits, 2**63, -(2**63) - 1, "7", 7.0, True]) == [*limits, *[None] * 5]
    limits = [2**31 - 1, -(2**31), 0, -1]
    assert column(pa.int32(), [*limits, 2**31, -(2**31) - 1]) == [*limits, None, None]


def test_times_come_in_milliseconds():
    assert column(TIME, [0, 1_700_000_000_123, None]) == [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC),
        None,
    ]
    columns = RowColumns(pa.schema([("began_at", TIME)]))
    for row in ({"began_ms": 1}, {"began_ms": 2**63 - 1}, {"began_ms": -(2**63)}, {"began_ms": "1"}):
        columns.append(row)
    assert columns.table().column(0).cast(pa.int64()).to_pylist() == [1_000, None, None, None]


def test_text_is_kept_as_far_as_it_is_text():
    said = ["", "ü€𝄞", "a\x00b", b"bytes", Cause.FAULT, ["a", 1], 5]
    assert column(pa.string(), said) == ["", "ü€𝄞", "a\x00b", "bytes", "fault", '["a",1]', "5"]
    assert column(pa.string(), ["half \ud800", b"no \xff UTF-8", None]) == ["half ?", "no � UTF-8", None]


def test_bytes_are_kept_as_they_are():
    said = [b"", b"\xff\x00", bytearray(b"a"), None, "text"]
    assert column(pa.binary(), said) == [b"", b"\xff\x00", b"a", None, b"text"]


def test_truth_is_not_guessed():
    assert column(pa.bool_(), [True, False, None, 1, "yes"]) == [True, False, None, None, None]


def test_columns_of_other_types_are_refused():
    with pytest.raises(TypeError, match="no column of double"):
        RowColumns(pa.schema([("x", pa.float64())]))


def test_nothing_can_be_appended_to_what_arrow_has_read():
    columns = RowColumns(SCHEMA)
    columns.append(NOTHING)
    columns.table()
    with pytest.raises(BufferError, match="Arrow has read"):
        columns.append(NOTHING)


def test_more_text_than_an_array_holds_becomes_several():
    """The limit of Arrow is 2 GB."""
    said = ["a" * 6, None, "b" * 4, "c", "", "d" * 20, "e"]
    columns = RowColumns(pa.schema([("it", pa.string()), ("n", pa.int64())]), array_bytes_max=10)
    for number, text in enumerate(said):
        columns.append((text, number))
    table = columns.table()
    table.validate(full=True)
    assert [chunk.to_pylist() for chunk in table.column("it").chunks] == [said[:3], said[3:5], said[5:6], said[6:]]
    assert table.column("n").to_pylist() == list(range(len(said)))
