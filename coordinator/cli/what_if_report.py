"""Formats the result of `what_if` as lines of text."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from coordinator.client.groups import DescribedConsumers, Units
from coordinator.client.what_if import WhatIf
from coordinator.core.assignors.model import Partition
from coordinator.explain.words import counted


def report(group: DescribedConsumers, result: WhatIf) -> Iterator[str]:
    """Yield the current group, one line per member with the partitions kept, gained and lost, and the totals."""
    units = group.units
    divided = sum(topic.partition_count for topic in group.topics.values())
    yield (
        f"group {group.group_id}, assigned by {group.protocol_name}: {counted(len(group.members), 'member')},"
        f" {counted(divided, units.what)} of {counted(len(group.topics), units.of, units.of_plural)}"
    )
    yield from _table(result)
    yield f"{_total(result, units)}; it takes {counted(result.rounds, 'rebalance')}"


def _total(result: WhatIf, units: Units) -> str:
    if units.are_copies:
        restored = sum(len(change.gained) for change in result.changes)
        return f"{counted(restored, units.what)} would be restored by members that do not have them"
    newly_assigned = ""
    if result.newly_assigned:
        newly_assigned = f", {len(result.newly_assigned)} without owner would be assigned"
    return f"{counted(len(result.moved), units.what)} would move{newly_assigned}"


def _table(result: WhatIf) -> Iterator[str]:
    """Yield the rows of the table, with columns as wide as their content."""
    rows = [("member", "kept", "gained", "lost", "what")]
    for change in result.changes:
        what = _what(change.gained, change.lost)
        rows.append((change.member_id, str(len(change.kept)), str(len(change.gained)), str(len(change.lost)), what))
    kept = sum(len(change.kept) for change in result.changes)
    gained = sum(len(change.gained) for change in result.changes)
    lost = sum(len(change.lost) for change in result.changes)
    rows.append(("total", str(kept), str(gained), str(lost), ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *numbers, what in rows:
        columns = [number.rjust(width) for number, width in zip(numbers, widths[1:-1], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *columns, what)).rstrip()


def _what(gained: Iterable[Partition], lost: Iterable[Partition]) -> str:
    signed = (("+", gained), ("-", lost))
    return "  ".join(f"{sign} {' '.join(runs(partitions))}" for sign, partitions in signed if partitions)


def runs(partitions: Iterable[Partition]) -> Iterator[str]:
    """Yield the partitions of each topic in the form `orders[0-2,5]`."""
    for name, of_topic in groupby(sorted(partitions), key=lambda partition: partition[0]):
        numbers = [number for _, number in of_topic]
        # For consecutive numbers, the difference between number and index is the same.
        runs = groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0])
        yield f"{name}[{','.join(_run([number for _, number in run]) for _, run in runs)}]"


def _run(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
