"""What the members of a share group were given and told, and what must hold of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

DELIVERIES_MAX: Final = 5
"""`group.share.delivery.count.limit`."""
LOCK_MS: Final = 30_000
"""`group.share.record.lock.duration.ms`."""
ACCEPT: Final = 1
REJECT: Final = 3


@dataclass
class Record:
    """A record, as the history knows it."""

    value: bytes
    is_done: bool = False
    """The group was told that it is accepted or rejected."""
    may_be_done: bool = False
    """An acknowledgement of it was lost, or it was delivered as often as may be."""
    holder: str = ""
    """The member that was given it; empty: nobody, or it is not known."""
    until_ms: int = 0
    """The end of its lock."""


@dataclass
class Delivered:
    """The records of one partition by offset. What is appended to without an answer is found when it is delivered."""

    records: dict[int, Record] = field(default_factory=dict)

    def produced(self, base_offset: int, values: Iterable[bytes]) -> None:
        for offset, value in enumerate(values, base_offset):
            known = self.records.setdefault(offset, Record(value))
            assert known.value == value, f"{offset} was {known.value!r}, and {value!r} was appended there"

    def delivered(self, member: str, offset: int, value: bytes, count: int, now_ms: int) -> None:
        """A member was given a record."""
        record = self.records.setdefault(offset, Record(value))
        assert record.value == value, f"{offset} is {value!r} for {member}, and was {record.value!r}"
        assert not record.is_done, f"{offset} was accepted or rejected, and is delivered again to {member}"
        assert 1 <= count <= DELIVERIES_MAX, f"{offset} is delivered for the {count}th time"
        is_held = record.holder not in ("", member) and now_ms < record.until_ms
        assert not is_held, f"{offset} is delivered to {member} while {record.holder} holds it"
        record.holder, record.until_ms = member, now_ms + LOCK_MS
        record.may_be_done |= count == DELIVERIES_MAX

    def held_by(self, member: str) -> list[int]:
        return sorted(offset for offset, record in self.records.items() if record.holder == member)

    def release_all(self, member: str) -> None:
        """What the member holds may be given to others."""
        for offset in self.held_by(member):
            self.records[offset].holder = ""

    def acknowledging(self, offsets: Iterable[int], kind: int, now_ms: int) -> list[int]:
        """A request is sent: what becomes of it is not known before its answer. Those whose locks are held yet.

        As on Kafka there is no error for others that the window has left behind: nothing is stored of them.
        """
        in_time = []
        for offset in offsets:
            record = self.records[offset]
            record.holder = ""
            record.may_be_done |= kind in (ACCEPT, REJECT)
            if now_ms < record.until_ms:
                in_time.append(offset)
        return in_time

    def acknowledged(self, offsets: Iterable[int], kind: int) -> None:
        """The answer says that it is stored."""
        for offset in offsets:
            self.records[offset].is_done |= kind in (ACCEPT, REJECT)

    @property
    def missing(self) -> list[int]:
        """Records that must be delivered still."""
        return [offset for offset, record in self.records.items() if not record.is_done and not record.may_be_done]
