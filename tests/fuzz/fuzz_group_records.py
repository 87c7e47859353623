"""Batches of `__consumer_offsets` that are searched for records of a group: found are those that reading all finds.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_group_records

The first byte of an input chooses the compression of what follows a header and whether the batch is sealed, because
hardly any input would get past a checksum or into a compressed block by chance.
"""

from collections.abc import Callable, Iterator

from _wire.batch_reader import Record, parse_batch
from _wire.batches import batch_headers
from _wire.compression import COMPRESSIONS
from _wire.errors import MalformedMessage
from _wire.group_records import GroupRecordScan
from _wire.group_table import GroupTable
from _wire.records import build_batch
from tests.fuzz.fuzz_records import compressed, seal
from tests.fuzz.harness import fuzz
from tests.observe.records.commits import commit, commit_key, generation

GROUP = "g"
COMMIT_TYPES = (0, 1)
SEALED = 1


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    how, batch = (data[0], bytearray(data[1:])) if data else (0, bytearray())
    if compression := how // 2 % len(COMPRESSIONS):
        batch = compressed(batch, COMPRESSIONS[compression])
    if how % 2 == SEALED:
        seal(batch)
    saw(f"{COMPRESSIONS[compression]} {outcome_of(bytes(batch))}")


def outcome_of(data: bytes) -> str:
    """What became of it."""
    table = GroupTable(3)
    one, every = GroupRecordScan(GROUP.encode(), offsets_max=2), GroupRecordScan(table=table)
    found = [scanned(scan, data) for scan in (one, every)]
    assert one.records == every.records
    assert {each.offset for each in found[0]} <= {each.offset for each in found[1]}
    assert len(one.offsets) <= 2
    assert len(table) <= 3
    expected = read(data)
    if expected is not None:
        assert one.problems == []
        assert [(each.offset, each.key, each.value) for each in found[0]] == expected
    problem = one.problems[0][1] if one.problems else ""
    return f"{len(found[0])} {len(found[1])} {one.commits.commits > 0} {one.deleted > 0} {one.is_stuck} {problem}"


def scanned(scan: GroupRecordScan, data: bytes) -> list[Record]:
    found: list[Record] = []
    position = 0
    while position < len(data):
        before = position, scan.next_offset
        part, position = scan.scan(data, position)
        assert position > before[0]
        assert scan.next_offset >= before[1]
        found += part
    return found


def read(data: bytes) -> list[tuple[int, bytes, bytes | None]] | None:
    """The records of the group as the other reader has them; None if it cannot read them, or offsets go back."""
    found: list[tuple[int, bytes, bytes | None]] = []
    next_offset = 0
    prefix = len(GROUP).to_bytes(2, "big") + GROUP.encode()
    try:
        for header in batch_headers(data):
            read_header, records = parse_batch(data, header.position)
            if read_header.base_offset < next_offset:
                return None
            next_offset = read_header.next_offset
            for record in records:
                key = record.key or b""
                is_commit = int.from_bytes(key[:2], "big") in COMMIT_TYPES
                if key.startswith(prefix, 2) and not is_commit and not read_header.is_control:
                    found.append((record.offset, key, record.value))
    except MalformedMessage:
        return None
    return found


def seeds() -> Iterator[bytes]:
    records = [commit("g"), generation("g", 1), generation("h", 2), (commit_key("g"), None), commit("h")]
    producer = {"producer_id": 7, "producer_epoch": 0}
    batches = [
        build_batch(records),
        build_batch(records[:2]) + build_batch(records[1:], base_offset=2),
        build_batch(records, base_sequence=0, is_transactional=True, **producer),  # type: ignore[arg-type]
        build_batch([(b"\0\0\0\1", bytes(6))], is_control=True, is_transactional=True, **producer),  # type: ignore[arg-type]
    ]
    for batch in batches:
        for damaged in (batch, batch[:-9], batch[:70] + b"\xff\x7f" + batch[72:], batch[:57] + bytes(4) + batch[61:]):
            for how in range(2 * len(COMPRESSIONS)):
                yield bytes((how,)) + damaged


if __name__ == "__main__":
    fuzz("group_records", one_input, seeds())
