"""Committed offsets beside the ends of the logs, in words."""

from collections.abc import Iterator, Sequence
from typing import Final

from coordinator.explain.claims.findings import DeletedUnread, PartitionOffsets, WaitingFor, WaitsForTransaction
from coordinator.explain.words import Clock, counted, listed, plain, were

NAMED: Final = 10
"""Partitions that are named in evidence."""
HEADLINE_NAMED: Final = 3

OUT_OF_RANGE: Final = (
    "the committed offset is beyond the end of the log, so the position of its consumer will be out of range, and it"
    " goes on where auto.offset.reset says"
)
UNOWNED: Final = "nobody owns what members subscribe to, so nobody reads it"


def name(partition: PartitionOffsets) -> str:
    return plain(f"{partition.topic}-{partition.partition}")


def which(partitions: Sequence[PartitionOffsets]) -> str:
    """The first of them, and how many more there are."""
    named = [name(partition) for partition in partitions[:HEADLINE_NAMED]]
    return listed(named, more=max(0, len(partitions) - HEADLINE_NAMED))


def beyond(partition: PartitionOffsets) -> str:
    return f"{name(partition)}: committed {partition.committed_offset:,}, log end {partition.log_end_offset:,}"


def deleted_unread(claim: DeletedUnread) -> str:
    """A clause."""
    return (
        f"{which(claim.partitions)}: {counted(claim.records, 'record')} from the committed offset on"
        f" {were(claim.records)} deleted unread, so a consumer that begins there is out of range, and goes on where"
        " auto.offset.reset says"
    )


def waits(claim: WaitsForTransaction, clock: Clock) -> Iterator[str]:
    """A sentence about each partition that waits, as far as they are named."""
    yield from (f"{wait(waiting, clock)}." for waiting in claim.waits[:NAMED])
    more = len(claim.waits) - NAMED
    if more > 0:
        yield f"{counted(more, 'more partition waits', 'more partitions wait')} for transactions."


def wait(waiting: WaitingFor, clock: Clock) -> str:
    """What a partition waits for."""
    where = name(waiting.partition)
    if waiting.has_pending_commit:
        return f"{where}: a newer offset waits for {_whose(waiting, clock)}; until then it is UNSTABLE_OFFSET_COMMIT"
    upto = f"up to offset {waiting.partition.last_stable_offset:,} of {waiting.partition.log_end_offset:,}"
    return f"{where}: read_committed reads {upto}, and waits for {_whose(waiting, clock)}"


def _whose(waiting: WaitingFor, clock: Clock) -> str:
    if waiting.transactional_id is None:
        return "a transaction that no coordinator tells of"
    since = "" if waiting.started_ms is None else f", open since {clock(waiting.started_ms)}"
    until = "" if waiting.until_ms is None else f", until {clock(waiting.until_ms)} at the latest"
    return f"the transaction of {plain(waiting.transactional_id)}{since}{until}"
