from coordinator.log.partition.log_end import LogEnd

def view_on(log: LogEnd, offset: int, max_bytes: int, limit: int) -> bytes | memoryview | None:
    """As `PartitionLog.view`, of batches before `limit` in the active segment, where an earlier read has ended.

    None: that is not so, or the batches are not whole, or something about them is damaged.

    Raises:
        OSError: the file cannot be read.
    """
