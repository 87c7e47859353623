"""The segments of one log (LogSegments.java)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from coordinator.log.segments.files import DELETED_SUFFIX
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.transaction_index import AbortedTransaction


class LogSegments(Sequence[Segment]):
    """The segments of a log in the order of their offsets; the last one is the active segment."""

    def __init__(self) -> None:
        self.items: list[Segment] = []
        """To read only."""
        self._base_offsets: list[int] = []
        self._deleted: list[Segment] = []  # renamed, their files still to be removed

    @overload
    def __getitem__(self, index: int) -> Segment: ...

    @overload
    def __getitem__(self, index: slice) -> list[Segment]: ...

    def __getitem__(self, index: int | slice) -> Segment | list[Segment]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.items)

    def add(self, segment: Segment) -> None:
        """Begin a new active segment."""
        self.items.append(segment)
        self._base_offsets.append(segment.base_offset)

    def index_of(self, offset: int) -> int:
        """The index of the segment that holds an offset: the first one for lower offsets, the last one for higher."""
        return max(0, bisect_right(self._base_offsets, offset) - 1)

    def at(self, offset: int) -> Segment | None:
        """The segment that holds an offset, the last one for the end of the log; None if there is none."""
        return self.items[self.index_of(offset)] if self.items else None

    def after(self, offset: int) -> Segment | None:
        """The first segment that ends after an offset; None if there is none."""
        for index in range(self.index_of(offset), len(self.items)):
            if self.items[index].next_offset > offset:
                return self.items[index]
        return None

    def has_aborted_transactions(self, offset: int) -> bool:
        """Whether the segments from the one that holds `offset` on may have aborted transactions."""
        segments = self.items[self.index_of(offset) :]
        return any(segment.transaction_index.entries for segment in segments)

    def aborted_transactions(self, offset: int, end_offset: int) -> Iterator[AbortedTransaction]:
        """Iterate over the aborted transactions with records from `offset` (inclusive) to `end_offset` (exclusive)."""
        for segment in self.items[self.index_of(offset) :]:
            entries = segment.transaction_index.entries
            for position in range(segment.transaction_index.position_of(offset), len(entries)):
                entry = entries[position]
                if entry.first_offset < end_offset:
                    yield entry
                if entry.last_stable_offset >= end_offset:
                    return  # all later ones begin after the end

    def delete_oldest(self) -> None:
        """Rename the files of the oldest segment, which is not the only one; `remove_deleted_files` removes them.

        Raises:
            OSError: the files cannot be renamed.
        """
        oldest = self.items[0]
        oldest.rename_files()
        del self.items[0], self._base_offsets[0]
        self._deleted.append(oldest)

    def index_of_all(self, old: Sequence[Segment]) -> int | None:
        """The index of the first of neighbouring segments, none of them the active one; None if one is not there."""
        first = next((i for i, segment in enumerate(self.items) if segment is old[0]), len(self.items))
        end = first + len(old)
        if end >= len(self.items) or any(a is not b for a, b in zip(self.items[first:end], old, strict=True)):
            return None
        return first

    def replace(self, first: int, count: int, new: Segment) -> None:
        """Replace segments by a cleaned one, whose files have the suffix `.swap`.

        Raises:
            OSError: a file cannot be renamed; the segments stay the old ones.
        """
        end = first + count
        old = self.items[first:end]
        for segment in old:
            segment.change_suffix(DELETED_SUFFIX)
        new.change_suffix("")
        self.items[first:end] = [new]
        self._base_offsets[first:end] = [new.base_offset]
        self._deleted.extend(old)

    def remove_deleted_files(self, count: int) -> Iterator[None]:
        """Remove the files of the `count` segments that were deleted first, in steps.

        Raises:
            OSError: a file cannot be removed; it is removed at the next start.
        """
        for _ in range(count):
            if not self._deleted:  # the log was closed
                return
            segment = self._deleted[0]
            for _ in segment.remove_renamed_files():
                yield
                if not self._deleted:
                    return
            del self._deleted[0]
            yield

    def forget_deleted(self) -> None:
        """Close the files that are still to be removed: the whole folder goes."""
        for segment in self._deleted:
            segment.close()
        self._deleted = []

    def forget(self) -> None:
        """Have no segments, after their files were removed."""
        self.items, self._base_offsets = [], []

    def close(self) -> None:
        """Close the files, also those still to be removed."""
        for segment in (*self.items, *self._deleted):
            segment.close()
        self.items, self._base_offsets, self._deleted = [], [], []
