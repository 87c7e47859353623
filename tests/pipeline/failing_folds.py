"""The job with tasks that fail: each has made all its rows, and its state, when its first attempt is thrown away.

    python -m tests.pipeline.failing_folds BOOTSTRAP TOPIC TABLES FAILURES

FAILURES is a folder, in which each attempt that failed leaves a file. It is a program of its own, because a local
session of Spark repeats no tasks unless its master says so.
"""

import sys
import uuid
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from pyspark import TaskContext

from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.fold import Fold
from coordinator.pipeline.job import run_available
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.reading import AUDIT_READING, Reading
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.session import spark_session
from coordinator.pipeline.tables import Tables

MASTER: Final = "local[2,4]"
"""Two cores, four attempts."""


class FailsFirst(Fold):
    def __init__(self, failures: str, before: PartitionState, rows: NewRows) -> None:
        super().__init__(before, rows)
        self._failures = failures

    def finish(self) -> PartitionState:
        changes = super().finish()
        context = TaskContext.get()
        assert context is not None, "not in a task"
        if context.attemptNumber() == 0:
            Path(self._failures, uuid.uuid4().hex).touch()
            raise RuntimeError("the first attempt fails")
        return changes


@dataclass(frozen=True, slots=True)
class FailingSource(AuditSource):
    failures: str = ""

    def reading(self) -> Reading:
        return replace(AUDIT_READING, make_fold=partial(FailsFirst, self.failures))


def main(bootstrap: str, topic: str, folder: str, failures: str) -> None:
    with spark_session(master=MASTER) as spark:
        source = FailingSource(bootstrap, topic, failures=failures)
        run_available(spark, source, Tables(Path(folder)), folds_on_executors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
