"""Committed offsets as lines of CSV, as `kafka-consumer-groups.sh --export` writes and `--from-file` reads them.

A line is `group,topic,partition,offset`, or `topic,partition,offset` where all are of one group. There is no head.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.client.cluster import Partition
from coordinator.client.wire import ClientError

OFFSET_MAX: Final = 2**63 - 1
PARTITION_MAX: Final = 2**31 - 1
LINES_MAX: Final = 1_000_000
WITH_GROUP: Final = 4
WITHOUT_GROUP: Final = 3

Offsets = dict[str, dict[Partition, int]]
"""Group → partition → offset."""


def written(offsets: Mapping[str, Mapping[Partition, int]], *, with_group: bool) -> str:
    """The lines for groups, in the order of groups, topics and partitions; `with_group`: each begins with the group."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group_id in sorted(offsets):
        for (topic, partition), offset in sorted(offsets[group_id].items()):
            writer.writerow((*((group_id,) if with_group else ()), topic, partition, offset))
    return text.getvalue()


def read(lines: Iterable[str], group_id: str | None = None) -> Offsets:
    """Read lines. `group_id` is the group of those that do not name one; with it, those of other groups are left out.

    Raises:
        ClientError: a line is no such line, or a partition is there twice.
    """
    found: Offsets = {}
    reader = csv.reader(lines)
    try:
        for row in reader:
            if row:
                _add(found, row, reader.line_num, group_id)
            if reader.line_num > LINES_MAX:
                raise ClientError(f"there are more than {LINES_MAX} lines")
    except csv.Error as problem:
        raise ClientError(f"line {reader.line_num} is no CSV: {problem}") from problem
    return found


def _add(found: Offsets, row: list[str], line: int, group_id: str | None) -> None:
    if len(row) == WITH_GROUP:
        named, *row = row
        if group_id not in (None, named):
            return
    elif len(row) != WITHOUT_GROUP:
        raise ClientError(f"line {line} has {len(row)} values, not group, topic, partition and offset")
    elif group_id is None:
        raise ClientError(f"line {line} names no group: say which one it is about (--group)")
    else:
        named = group_id
    topic, partition, offset = row[0].strip(), _number(row[1], PARTITION_MAX, line), _number(row[2], OFFSET_MAX, line)
    if not topic:
        raise ClientError(f"line {line} has an empty topic")
    of_group = found.setdefault(named, {})
    if (topic, partition) in of_group:
        raise ClientError(f"line {line}: {topic}-{partition} of group {named} is there twice")
    of_group[topic, partition] = offset


def _number(text: str, at_most: int, line: int) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > len(str(at_most)) or int(digits) > at_most:
        raise ClientError(f"line {line}: {text!r} is no number from 0 to {at_most}")
    return int(digits)
