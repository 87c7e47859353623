"""The states of records, merged. Counterpart in Kafka: `PersisterStateBatchCombiner`."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Final

from coordinator.core.share_states import BY_STRATEGY, StateBatch

BATCHES_MAX: Final = 20_000
"""Batches of a share partition: twice as many as records that may be in flight, each with a state of its own
(`group.share.partition.max.record.locks` is 10,000 at most)."""


def merged(known: Sequence[StateBatch], new: Iterable[StateBatch], start_offset: int) -> tuple[StateBatch, ...]:
    """Both together as batches that do not overlap, in order, without what lies below `start_offset` (-1: all of it).

    Where two overlap, the one with the higher delivery count wins, then the one with the higher state. It is Kafka's
    result, also where that leaves two equal neighbours apart: those that were apart when a third one between them lost.
    """
    batches = _from(start_offset, [*known, *new])
    if len(batches) < 2:
        return tuple(batches)
    batches.sort(key=_place)
    # What the merging makes is taken up again at its place; most of it is in `batches`, which is sorted already.
    made: list[tuple[int, int, int, int]] = []
    result: list[StateBatch] = []
    before, position, count = batches[0], 1, len(batches)
    while position < count or made:
        if made and (position == count or made[0] <= _place(batches[position])):
            after = _batch(heappop(made))
        else:
            after = batches[position]
            position += 1
        is_equal = before[2:] == after[2:]
        if after.first_offset > before.last_offset + is_equal:
            result.append(before)
            before = after
            continue
        first, *rest = _combined(before, after, is_equal=is_equal)
        for piece in rest:
            heappush(made, _place(piece))
        before = first
    result.append(before)
    return tuple(result)


def _from(start_offset: int, batches: list[StateBatch]) -> list[StateBatch]:
    if start_offset == BY_STRATEGY:
        return batches
    return [
        batch if batch.first_offset >= start_offset else batch._replace(first_offset=start_offset)
        for batch in batches
        if batch.last_offset >= start_offset
    ]


def _place(batch: StateBatch) -> tuple[int, int, int, int]:
    first, last, state, count = batch
    return first, last, count, state


def _batch(place: tuple[int, int, int, int]) -> StateBatch:
    first, last, count, state = place
    return StateBatch(first, last, state, count)


def _combined(before: StateBatch, after: StateBatch, *, is_equal: bool) -> list[StateBatch]:
    """Two batches that overlap, or touch and are equal, as one to three in order; `after` begins no earlier."""
    if is_equal:
        return [before._replace(last_offset=max(before.last_offset, after.last_offset))]
    if (after.delivery_count, after.delivery_state) < (before.delivery_count, before.delivery_state):
        if after.last_offset <= before.last_offset:
            return [before]
        return [before, after._replace(first_offset=before.last_offset + 1)]
    pieces = [after]
    if before.first_offset < after.first_offset:
        pieces.insert(0, before._replace(last_offset=after.first_offset - 1))
    if before.last_offset > after.last_offset:
        pieces.append(before._replace(first_offset=after.last_offset + 1))
    return pieces
