"""The slow twin of the window of a share partition: a state for each offset, and nothing else."""

from dataclasses import dataclass

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = 0, 1, 2, 4
STATE_OF_TYPE = {0: ARCHIVED, 1: ACKNOWLEDGED, 2: AVAILABLE, 3: ARCHIVED}


@dataclass
class Record:
    state: int = AVAILABLE
    count: int = 0
    member: str | None = None
    lock_ms: int = 0
    is_writing: bool = False
    is_lost: bool = False
    """Archived because the log begins after it."""


class ModelWindow:
    """Offset → record, of all that were ever acquired; the window is what lies at `start_offset` or after it."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.known: dict[int, Record] = {}

    @property
    def next_new(self) -> int:
        return max(self.known, default=self.start_offset - 1) + 1

    def may_be_acquired(self, offset: int) -> bool:
        record = self.known.get(offset)
        return record is None or (record.state == AVAILABLE and not record.is_writing)

    def next_fetch_offset(self) -> int:
        free = [offset for offset, record in self.known.items() if offset >= self.start_offset]
        return next((offset for offset in sorted(free) if self.may_be_acquired(offset)), self.next_new)

    def acquire(self, first: int, last: int, count: int, member: str, lock_ms: int) -> None:
        """What the window says that it gave: check that it may, and do it."""
        for offset in range(first, last + 1):
            assert offset >= self.start_offset, "acquired what is done"
            assert self.may_be_acquired(offset), f"acquired {offset} twice"
            record = self.known.setdefault(offset, Record())
            assert count == record.count + 1, f"the delivery count of {offset}"
            record.state, record.count, record.member, record.lock_ms = ACQUIRED, count, member, lock_ms

    def know(self, last: int) -> None:
        """The window keeps records up to here, the ones that were not acquired at count 0."""
        for offset in range(self.next_new, last + 1):
            self.known[offset] = Record()

    def can_acknowledge(self, first: int, last: int, member: str) -> bool:
        if last < self.start_offset:
            return True
        held = [self.known.get(offset) for offset in range(max(first, self.start_offset), last + 1)]
        return all(each and each.state == ACQUIRED and not each.is_writing and each.member == member for each in held)

    def end(self, offset: int, state: int, limit: int) -> tuple[int, int, int]:
        """Give an acquired record another state; return what is stored of it."""
        record = self.known[offset]
        record.state = ARCHIVED if state == AVAILABLE and record.count >= limit else state
        return offset, record.state, record.count

    def acknowledge(self, first: int, last: int, types: list[int], limit: int) -> list[tuple[int, int, int]]:
        stored = []
        for offset in range(max(first, self.start_offset), last + 1):
            kind = types[0] if len(types) == 1 else types[offset - first]
            stored.append(self.end(offset, STATE_OF_TYPE[kind], limit))
            self.known[offset].is_writing = True
        return stored

    def release(self, member: str, limit: int) -> list[tuple[int, int, int]]:
        stored = []
        for offset, record in sorted(self.known.items()):
            if record.state == ACQUIRED and record.member == member:
                stored.append(self.end(offset, ARCHIVED if offset < self.start_offset else AVAILABLE, limit))
                record.is_writing = True
        return stored

    def expire(self, now_ms: int, limit: int) -> list[tuple[int, int, int]]:
        return [
            self.end(offset, ARCHIVED if offset < self.start_offset else AVAILABLE, limit)
            for offset, record in sorted(self.known.items())
            if record.state == ACQUIRED and record.lock_ms <= now_ms
        ]

    def complete(self, offsets: list[int], is_stored: bool, now_ms: int, limit: int) -> None:
        for offset in offsets:
            record = self.known[offset]
            record.is_writing = False
            if not is_stored and not record.is_lost:
                record.state = ACQUIRED
                if record.lock_ms <= now_ms:
                    self.end(offset, AVAILABLE, limit)

    def move_start(self, log_start_offset: int) -> None:
        for offset, record in self.known.items():
            if self.start_offset <= offset < log_start_offset and record.state == AVAILABLE:
                record.state, record.is_lost = ARCHIVED, True
        self.start_offset = max(self.start_offset, log_start_offset)

    def advance(self) -> None:
        """As on Kafka, a record that is held below the start of the log keeps the start where it is."""
        if any(offset < self.start_offset and not self._is_done(record) for offset, record in self.known.items()):
            return
        while (record := self.known.get(self.start_offset)) and self._is_done(record):
            self.start_offset += 1

    def complete_count(self) -> int:
        return sum(
            record.state in (ACKNOWLEDGED, ARCHIVED)
            for offset, record in self.known.items()
            if offset >= self.start_offset
        )

    def _is_done(self, record: Record) -> bool:
        return record.state in (ACKNOWLEDGED, ARCHIVED) and not record.is_writing
