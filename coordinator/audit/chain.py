"""Tamper evidence: each record of a partition carries the hash of the one before it (`audit.chain`).

A record that is changed, left out or moved no longer fits those after it, unless all of them are rewritten. Nothing
follows the last record: keep its hash elsewhere if that matters.
Kafka has no counterpart, because it has no audit topic.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from coordinator.audit.schema import Record

HEADER: Final = "previous_hash"
"""The name of the header: the SHA-256 of the record before, as 64 hexadecimal digits."""

FIRST: Final = b"0" * 64
"""The value for the first record of a partition."""


def record_hash(record: Record) -> bytes:
    """The hash of a record with all its headers, so also of all records before it."""
    key, value, headers = record
    digest = sha256()
    for part in (key, value, *(text for name, content in headers for text in (name.encode(), content))):
        size = -1 if part is None else len(part)
        digest.update(size.to_bytes(8, "big", signed=True))
        digest.update(part or b"")
    return digest.hexdigest().encode()


def chained(records: Iterable[Record], previous: bytes) -> tuple[list[Record], bytes]:
    """The records with their headers, the first after one with the hash `previous`; and the hash of the last."""
    done: list[Record] = []
    for key, value, headers in records:
        record = key, value, (*headers, (HEADER, previous))
        done.append(record)
        previous = record_hash(record)
    return done, previous


class Break(NamedTuple):
    """The first place of a partition where the chain does not hold."""

    offset: int
    """Of the record that does not follow from the one before it."""
    event: str
    """What to look at, as `ce_id` names it."""
    problem: str


class Verified(msgspec.Struct, frozen=True):
    """What a partition is worth as evidence."""

    chained: int
    """Records that the chain covers."""
    unchained: int
    """Records before the first one with a hash: written while `audit.chain` was off."""
    broken: Break | None


def verify(records: Iterable[tuple[int, Record]]) -> Verified:
    """Check records with their offsets, from the first one that is left in the partition on.

    An event that was changed is the one before the record whose hash does not fit; of one that was left out only its
    neighbours are there; one that was moved is found by its hash, which some other record follows.
    """
    kept = list(records)
    start = next((at for at, (_, record) in enumerate(kept) if _previous_of(record) is not None), len(kept))
    for at in range(start + 1, len(kept)):
        if _previous_of(kept[at][1]) != record_hash(kept[at - 1][1]):
            return Verified(at - start, start, _diagnosed(kept, at))
    return Verified(len(kept) - start, start, None)


def _diagnosed(kept: list[tuple[int, Record]], at: int) -> Break:
    offset, record = kept[at]
    expected = _previous_of(record)
    before_offset, before = kept[at - 1]
    if expected is None:
        return Break(offset, _name_of(record), "carries no hash, although the event before it does")
    for other_offset, other in kept:
        if record_hash(other) == expected:
            return Break(offset, _name_of(record), f"was moved: it followed the event that is now at {other_offset}")
    follower = next((_name_of(other) for _, other in kept if _previous_of(other) == record_hash(before)), None)
    if follower is not None:
        return Break(offset, _name_of(record), f"stands where {follower} was")
    if offset == before_offset + 1 and _continues(kept, at):
        return Break(before_offset, _name_of(before), "was changed")
    return Break(offset, _name_of(record), f"does not follow {_name_of(before)}: an event between them was left out")


def _continues(kept: list[tuple[int, Record]], at: int) -> bool:
    """Whether the numbers of the events of each group go on around a place as if none were missing there."""
    key, seq = _numbered(kept[at][1])
    if not seq:
        return True
    for _, record in reversed(kept[:at]):
        other_key, other_seq = _numbered(record)
        if other_key == key:
            return seq == other_seq + 1
    return True


def _numbered(record: Record) -> tuple[str, int]:
    """Group and `seq`; a record that is no event of a group has the number 0."""
    group_id, _, seq = _name_of(record).rpartition("/")
    return group_id, int(seq) if seq.isdigit() else 0


def _name_of(record: Record) -> str:
    return next((content.decode(errors="replace") for name, content in record[2] if name == "ce_id" and content), "?")


def _previous_of(record: Record) -> bytes | None:
    return next((content for name, content in record[2] if name == HEADER), None)
