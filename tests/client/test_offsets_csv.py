"""Committed offsets as CSV."""

import pytest

from coordinator.client import offsets_csv
from coordinator.client.wire import ClientError

OFFSETS = {"b": {("orders", 10): 5, ("orders", 2): 0}, 'a,"x"': {("t", 0): 2**63 - 1}}


def test_what_is_written_is_read():
    text = offsets_csv.written(OFFSETS, with_group=True)
    assert text.splitlines()[1:] == ["b,orders,2,0", "b,orders,10,5"]
    assert offsets_csv.read(text.splitlines()) == OFFSETS


def test_without_a_group_the_lines_are_those_of_the_one_that_is_named():
    text = offsets_csv.written({"b": OFFSETS["b"]}, with_group=False)
    assert text == "orders,2,0\norders,10,5\n"
    assert offsets_csv.read(text.splitlines(), "c") == {"c": OFFSETS["b"]}


def test_only_the_group_that_is_named_is_read():
    text = offsets_csv.written(OFFSETS, with_group=True)
    assert offsets_csv.read(text.splitlines(), "b") == {"b": OFFSETS["b"]}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("orders,0,1", "line 1 names no group: say which one it is about"),
        ("a,b", "line 1 has 2 values, not group, topic, partition and offset"),
        ("g,t,0,1,2", "line 1 has 5 values"),
        ("g,t,x,1", "line 1: 'x' is no number from 0 to 2147483647"),
        ("g,t,2147483648,1", "is no number from 0 to 2147483647"),
        ("g,t,0,-1", "line 1: '-1' is no number from 0 to 9223372036854775807"),
        ("g,t,0,9223372036854775808", "is no number from 0 to 9223372036854775807"),
        ("g,t,0," + "9" * 5000, "is no number from 0 to 9223372036854775807"),
        ("g,t,0,١", "is no number"),
        ("g,,0,1", "line 1 has an empty topic"),
        ("g," + "x" * 200_000 + ",0,1", "line 1 is no CSV: field larger than field limit"),
    ],
)
def test_a_line_that_is_none_is_named(line: str, told: str):
    with pytest.raises(ClientError) as problem:
        offsets_csv.read([line])
    assert told in str(problem.value)


def test_a_partition_may_be_there_once():
    with pytest.raises(ClientError, match="line 3: t-0 of group g is there twice"):
        offsets_csv.read(["g,t,0,1", "", "g,t,0,1"])
