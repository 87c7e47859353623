"""Lag: how far the committed offset of a group is behind the end of a partition's log, in records and in time.

This is the one definition for the audit, the metrics, the commands and the live page. Records are counted up to the log
end offset, as a consumer with the isolation level read_uncommitted reads them.
"""


def lag_of(committed_offset: int, log_end_offset: int) -> int:
    """The offsets from the committed offset to the end of the log.

    Below 0, as Kafka's tool tells it, if the committed offset is after the end: a log was cut, its topic was created
    again, or a client committed any number. A negative one counts as the first offset.
    """
    return log_end_offset - max(committed_offset, 0)


def lag_ms(lag: int, oldest_ms: int | None, now_ms: int) -> int | None:
    """How old the oldest record is that is not consumed yet: 0 without lag, None if its timestamp is unknown.

    `oldest_ms` is the timestamp of the record at the committed offset. One in the future counts as new. After the end
    of the log there is no record, and no age.
    """
    if lag <= 0:
        return 0 if lag == 0 else None
    return None if oldest_ms is None else max(0, now_ms - oldest_ms)
