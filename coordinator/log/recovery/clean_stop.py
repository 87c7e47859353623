"""What makes the logs of a directory safe at a clean stop, so that the next start need not recover them."""

from collections.abc import Iterable

from coordinator.log.disk_threads import Run
from coordinator.log.partition.flush import Finish, work_of
from coordinator.log.partition.partition_log import PartitionLog


def finish_logs(logs: Iterable[PartitionLog], run: Run) -> None:
    """Finish all logs that can be, also if another one cannot. `run` waits for the disk.

    Raises:
        LogFlushError: an fsync failed.
        OSError: a log could not be finished.
    """
    finishes: list[tuple[PartitionLog, Finish]] = []
    problem: OSError | None = None
    for log in logs:
        try:
            finish = log.start_finish()
        except OSError as failed:
            problem = problem or failed
            finish = Finish(flush, ()) if (flush := log.start_flush()) else None
        if finish is not None:
            finishes.append((log, finish))
    run(work_of((finish.run, finish.flush) for _, finish in finishes))
    for log, finish in finishes:
        log.end_finish(finish)
    if problem is not None:
        raise problem
