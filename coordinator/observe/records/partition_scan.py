"""How far one partition of `__consumer_offsets` has been read, and what becomes of what cannot be."""

from collections.abc import Iterator
from typing import Final

from _wire.batch_reader import Record
from _wire.group_records import GroupRecordScan
from _wire.messages.fetch import PartitionData
from coordinator.internal_topics import OFFSETS_TOPIC

NOTES_MAX: Final = 100
EMPTY_ANSWERS_MAX: Final = 3
NO_END: Final = (1 << 63) - 1


class Notes(list[str]):
    """One line each, of which the first NOTES_MAX are kept; `left_out` counts the others."""

    left_out = 0

    def add(self, note: str) -> None:
        if len(self) < NOTES_MAX:
            self.append(note)
        else:
            self.left_out += 1


class PartitionScan:
    """One partition, from `start` to before `end`."""

    def __init__(self, partition: int, found: GroupRecordScan, notes: Notes, start: int = 0, end: int = NO_END) -> None:
        self.name = f"{OFFSETS_TOPIC}-{partition}"
        self.partition = partition
        self.found = found
        self.start = self.position = start
        """`position`: all before it has been read."""
        self.end = end
        self.empty_answers = 0
        """In a row."""
        self._notes = notes
        self._problems_seen = 0
        self._last_reported: tuple[int, str] | None = None
        self._stuck_at = start
        self._steps = 0
        """That were made since then."""

    @property
    def is_done(self) -> bool:
        return self.position >= self.end

    def parts(self, answer: PartitionData) -> Iterator[list[Record]]:
        """The records of groups that an answer without error has, in parts; `position` is past each that is taken.

        After the last it is further on, unless the answer was empty.
        """
        data, at, before = answer.records or b"", 0, self.position
        end = max(answer.high_watermark, 0) if self.end == NO_END else self.end
        while at < len(data):
            found, at = self.found.scan(data, at, self.position, self.end, max(answer.high_watermark, end))
            self.position = max(self.position, min(self.found.next_offset, self.end))
            if found:
                yield found
        if self._steps == 0 or self.position > before:
            self._report_problems()
        self._problems_seen = len(self.found.problems)
        if self.position > before:
            if self._steps > 1:
                self._notes.add(f"{self.name}: offsets {self._stuck_at} to {before - 1} were passed over")
            self._steps = self.empty_answers = 0
        elif data and self.found.is_stuck:
            self.position = min(self._after_stuck(), end)
            self.empty_answers = 0
        else:
            self.empty_answers += 1

    def go_on_at(self, start: int, end: int) -> None:
        """Go on where the partition begins or ends by now: retention moved its start, or a new leader has less."""
        if start > self.position:
            self._notes.add(f"{self.name}: offsets {self.position} to {start - 1} were removed while it was read")
            self.position = start
        elif end < self.position:
            self._notes.add(f"{self.name} was cut back to offset {end} while it was read up to {self.position}")
            self.end = self.end if self.end == NO_END else end
            self.position = end
            self.found.go_back_to(end)

    def give_up_if_empty(self) -> None:
        """End it if several answers had nothing, although the partition goes on."""
        if self.empty_answers > EMPTY_ANSWERS_MAX:
            self._notes.add(f"{self.name} has nothing to read from offset {self.position} to {self.end - 1}")
            self.end = self.position

    def _after_stuck(self) -> int:
        """Where to go on after a batch that cannot be read: where it says that it ends, or further and further on."""
        believed, steps = self.found.skip_to, self._steps
        if steps == 0:
            self._stuck_at = self.position
        self._steps += 1
        return believed if steps == 0 and believed > self.position else self.position + (1 << steps)

    def _report_problems(self) -> None:
        """A batch that ends one answer and begins the next is told once."""
        for problem in self.found.problems[self._problems_seen :]:
            if problem != self._last_reported:
                self._notes.add(f"{self.name}: what lies at offset {problem[0]} cannot be read: {problem[1]}")
            self._last_reported = problem
