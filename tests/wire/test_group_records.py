"""Batches of `__consumer_offsets`, also such as no broker would write."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from _wire import group_records
from _wire.batch_reader import Record, parse_batch
from _wire.checksums import crc32c
from _wire.compression import COMPRESSIONS
from _wire.errors import MalformedMessage
from _wire.group_records import GroupRecordScan
from _wire.group_table import GroupTable
from _wire.records import build_batch
from tests.observe.records.commits import KeyAndValue, commit, commit_key, generation

NOW_MS = 1_700_000_000_000
BATCH_LENGTH, CRC, ATTRIBUTES = 8, 17, 21
ABORT, COMMIT = b"\0\0\0\0", b"\0\0\0\1"
MARKER_VALUE = b"\0\0\0\0\0\1"


def batch(*records: tuple[bytes | None, bytes | None], base: int = 0, at_ms: int = NOW_MS, **options: Any) -> bytes:
    return build_batch(records, base_offset=base, timestamp_ms=at_ms, **options)


def in_transaction(*records: KeyAndValue, base: int, producer_id: int = 9) -> bytes:
    return batch(*records, base=base, producer_id=producer_id, producer_epoch=1, base_sequence=0, is_transactional=True)


def marker(kind: bytes, base: int, producer_id: int = 9) -> bytes:
    identity = {"producer_id": producer_id, "producer_epoch": 1}
    return batch((kind, MARKER_VALUE), base=base, is_transactional=True, is_control=True, **identity)


def offsets(found: list[Record]) -> list[int]:
    return [each.offset for each in found]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_records_of_one_group(compression):
    records = [commit("billing"), generation("billing", 1), generation("billin", 7), generation("billings", 8)]
    data = batch(*records, compression=compression) + batch(generation("billing", 2), commit("other"), base=4)
    scan = GroupRecordScan(b"billing")
    found, position = scan.scan(data)
    assert (offsets(found), position, scan.next_offset) == ([1, 4], len(data), 6)
    assert [(each.key, each.value) for each in found] == [generation("billing", 1), generation("billing", 2)]
    assert (scan.commits.commits, scan.commits.first_ms, scan.commits.last_ms) == (1, NOW_MS, NOW_MS)
    assert (scan.records, scan.batches, scan.types, scan.types_of_group) == (6, 2, {1: 2, 2: 4}, {1: 1, 2: 2})
    assert scan.problems == []


def test_a_group_whose_id_the_key_of_another_has():
    """The topic follows the group in the key: `a` + `b` of one are not `ab` of the other."""
    scan = GroupRecordScan(b"a")
    scan.scan(batch(commit("ab"), commit("", topic="a"), (b"\0\1\0\1", None), commit("a")))
    assert scan.commits.commits == 1


def test_first_and_last_commit_are_by_time():
    scan = GroupRecordScan(b"billing")
    for base, at_ms in enumerate((NOW_MS + 5, NOW_MS, NOW_MS + 9, NOW_MS + 7)):
        scan.scan(batch(commit("billing"), base=base, at_ms=at_ms))
    assert (scan.commits.commits, scan.commits.first_ms, scan.commits.last_ms) == (4, NOW_MS, NOW_MS + 9)


def test_the_time_of_appending_is_that_of_the_record():
    data = batch(generation("billing", 1), at_ms=NOW_MS + 3, log_append_time=True)
    assert [each.timestamp_ms for each in GroupRecordScan(b"billing").scan(data)[0]] == [NOW_MS + 3]


def test_the_offsets_committed_last():
    scan = GroupRecordScan(b"billing", offsets_max=2)
    scan.scan(batch(*(commit("billing", "t", index, 10 + index) for index in range(3)), commit("billing", "t", 0, 77)))
    rest = commit_key("billing", "t", 0)[2 + 2 + len("billing") :]
    assert scan.offsets == {rest: (77, NOW_MS), rest[:-1] + b"\1": (11, NOW_MS)}
    assert scan.offsets_left_out == 1
    scan.scan(batch((commit_key("billing", "t", 0), None), commit("billing", "t", 2, 5, version=1), base=4))
    assert sorted(offset for offset, _ in scan.offsets.values()) == [5, 11]
    assert (scan.deleted, scan.commits.commits) == (1, 5)


def test_commits_of_a_transaction_count_once_it_is_committed():
    scan = GroupRecordScan(b"billing", offsets_max=10)
    scan.scan(in_transaction(commit("billing", offset=5), commit("other"), base=0))
    assert (scan.commits.commits, scan.pending, scan.offsets) == (0, 1, {})
    scan.scan(in_transaction(commit("billing", offset=8), base=2, producer_id=10))
    scan.scan(marker(ABORT, 3, producer_id=10) + marker(COMMIT, 4))
    assert (scan.commits.commits, scan.pending, scan.aborted, scan.markers) == (1, 0, 1, 2)
    assert [offset for offset, _ in scan.offsets.values()] == [5]


def test_transactions_that_do_not_end_take_bounded_memory():
    scan = GroupRecordScan(b"billing", offsets_max=3)
    many = [in_transaction(commit("billing", partition=each), base=each, producer_id=each) for each in range(10_010)]
    scan.scan(b"".join(many))
    assert scan.pending == group_records.PRODUCERS_MAX
    # Three were kept; of the ten transactions that are forgotten these are the first, so three more found room.
    assert scan.offsets_left_out == 10_010 - 6


def test_tombstones_of_groups_are_found():
    key, _ = generation("billing", 1)
    (found,) = GroupRecordScan(b"billing").scan(batch((key, None)))[0]
    assert (found.key, found.value) == (key, None)


def test_offsets_before_and_after_what_is_wanted():
    data = b"".join(batch(*(generation("g", 1) for _ in range(4)), base=base) for base in (0, 4, 8))
    scan = GroupRecordScan(b"g")
    found, position = scan.scan(data, 0, 2, 6)
    assert (offsets(found), position) == ([2, 3, 4, 5], len(data))
    scan = GroupRecordScan(b"g")
    assert offsets(scan.scan(data, 0, 8)[0]) == [8, 9, 10, 11]
    assert (scan.batches, scan.next_offset) == (1, 12)


def test_a_batch_that_was_compacted_moves_on_to_its_end():
    scan = GroupRecordScan(b"g")
    found, _ = scan.scan(build_batch([Record(offset=3, key=generation("g", 1)[0])], base_offset=0, last_offset=9))
    assert (offsets(found), scan.next_offset) == ([3], 10)


@pytest.mark.parametrize("cut", [1, 11, 12, 60, 61, 80])
def test_a_last_batch_that_is_cut_short(cut):
    whole, last = batch(generation("g", 1)), batch(generation("g", 2), base=1)
    scan = GroupRecordScan(b"g")
    found, position = scan.scan(whole + last[:cut])
    assert (offsets(found), position, scan.next_offset) == ([0], len(whole) + cut, 1)
    assert (scan.problems, scan.is_stuck) == ([], False)


def damaged(data: bytes, at: int, change: bytes) -> bytes:
    return data[:at] + change + data[at + len(change) :]


def checked(data: bytes) -> bytes:
    """With a checksum that is right."""
    return damaged(data, CRC, struct.pack(">I", crc32c(data[ATTRIBUTES:])))


GOOD = batch(generation("g", 1), generation("g", 2), base=10)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (damaged(GOOD, 70, b"\xff"), "the checksum of a batch is wrong"),
        (damaged(GOOD, 16, b"\x07"), "unknown record format"),
        (damaged(GOOD, 0, struct.pack(">q", 1 << 40)), "the partition ends at 100"),
        (damaged(GOOD, 0, struct.pack(">q", -5)), "has offsets -5 to -4"),
        (checked(damaged(GOOD, ATTRIBUTES, b"\0\5")), "compression 5 is unknown"),
        (checked(damaged(GOOD, ATTRIBUTES, b"\0\3")), "LZ4"),
        (checked(damaged(GOOD, 57, struct.pack(">i", -1))), "a batch of -1 records"),
        (checked(damaged(GOOD, 57, struct.pack(">i", 1 << 30))), "record 2 of a batch of 1073741824 cannot be read"),
        (checked(damaged(GOOD, 61, b"\xff\xff\xff\xff\x0f")), "record 0 of a batch of 2 cannot be read"),
    ],
)
def test_a_batch_that_cannot_be_read_is_told_and_passed_over(bad: bytes, why: str):
    before, after = batch(generation("g", 0), base=9), batch(generation("g", 3), base=12)
    scan = GroupRecordScan(b"g")
    found, _ = scan.scan(before + bad + after, 0, 0, 50, 100)
    assert offsets(found)[0] == 9
    assert offsets(found)[-1] == 12
    ((at, told),) = scan.problems
    assert why in told
    assert at == 10
    assert (scan.is_stuck, scan.next_offset) == (False, 13)


@pytest.mark.parametrize(("bad", "skip_to"), [(damaged(GOOD, 70, b"\xff"), 12), (damaged(GOOD, 8, b"\xff" * 4), -1)])
def test_nothing_after_a_batch_that_cannot_be_read(bad: bytes, skip_to: int):
    scan = GroupRecordScan(b"g")
    assert scan.scan(bad, 0, 10) == ([], len(bad))
    assert (scan.is_stuck, scan.skip_to, scan.next_offset) == (True, skip_to, 10)


def test_problems_are_kept_up_to_a_number():
    scan = GroupRecordScan(b"g")
    scan.scan(damaged(GOOD, 70, b"\xff") * 150)
    assert (len(scan.problems), scan.problem_count) == (100, 150)


def test_records_without_a_key_of_a_group_are_counted():
    scan = GroupRecordScan(b"g")
    scan.scan(batch((None, b""), (b"", b""), (b"\0\1\0", b""), (b"\0\2\xff\xffg", b""), commit("g")))
    assert (scan.keyless, scan.records, scan.commits.commits) == (4, 5, 1)


def test_types_that_are_not_known_are_found_and_counted():
    keys = [struct.pack(">hh", number, 1) + b"g" for number in (17, 63, 900, -1)]
    scan = GroupRecordScan(b"g")
    found, _ = scan.scan(batch(*((key, b"") for key in keys)))
    assert [each.key for each in found] == keys
    assert scan.types_of_group == {17: 1, 63: 3}


def test_a_scan_ends_when_it_has_found_much(monkeypatch):
    monkeypatch.setattr(group_records, "FOUND_BYTES_MAX", 100)
    data = b"".join(batch((b"\0\2\0\1g", bytes(60)), base=base) for base in range(5))
    scan, found, position, steps = GroupRecordScan(b"g"), [], 0, 0
    while position < len(data):
        part, position = scan.scan(data, position)
        found += part
        steps += 1
    assert (offsets(found), steps) == ([0, 1, 2, 3, 4], 3)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", [0, 1])
def test_messages_of_old_formats(magic: int, compression: int):
    builder = LegacyRecordBatchBuilder(magic, compression, 1 << 20)
    for offset, (key, value) in enumerate([commit("g"), generation("g", 4), (commit_key("g"), None)]):
        builder.append(offset, timestamp=NOW_MS, key=key, value=value)
    scan = GroupRecordScan(b"g")
    data = bytes(builder.build())
    if compression:  # a broker gives the message with the others the offset of the last one
        data = damaged(data, 0, struct.pack(">q", 2))
    found, _ = scan.scan(data)
    assert [(each.offset, each.value) for each in found] == [(1, generation("g", 4)[1])]
    assert (scan.commits.commits, scan.deleted, scan.next_offset, scan.problems) == (1, 1, 3, [])


def test_the_groups_that_are_wanted_and_the_commits_of_all():
    table = GroupTable(10)
    scan = GroupRecordScan(group_ids={b"a", b"c"}, table=table)
    data = batch(commit("a"), commit("b"), generation("b", 1), generation("c", 2), commit("b"))
    assert offsets(scan.scan(data)[0]) == [3]
    assert list(table) == [(b"a", 1, NOW_MS), (b"b", 2, NOW_MS)]
    scan = GroupRecordScan(table=table)
    assert offsets(scan.scan(data + batch((commit_key("d"), None), base=5, at_ms=NOW_MS + 1))[0]) == [2, 3]
    assert list(table) == [(b"a", 2, NOW_MS), (b"b", 4, NOW_MS), (b"d", 0, -1)]


def test_one_group_or_several():
    with pytest.raises(ValueError, match="one group, or of several"):
        GroupRecordScan(b"g", group_ids={b"g"})


def test_a_position_outside():
    with pytest.raises(ValueError, match="position 5 lies outside"):
        GroupRecordScan(b"g").scan(b"1234", 5)


@given(st.data())
def test_bytes_that_are_changed_anywhere(data):
    """Whatever is in a batch with a right checksum: it ends, and what is found is what the whole batch has."""
    whole = bytearray(batch(generation("g", 1), commit("g"), commit("other"), generation("g", 2), base=10))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(ATTRIBUTES, len(whole) - 1))] = data.draw(st.integers(0, 255))
    changed = checked(bytes(whole))
    scan = GroupRecordScan(b"g", offsets_max=5)
    found, position = scan.scan(changed, 0, 0, 1 << 40, 1 << 40)
    assert position == len(changed)
    try:
        _, records = parse_batch(changed)
    except MalformedMessage:
        return
    known = {(record.offset, record.key) for record in records}
    assert {(each.offset, each.key) for each in found} <= known
