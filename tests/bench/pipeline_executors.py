"""The pipeline on a standalone cluster of Spark on this machine: where the CPU time goes, by number of executors."""

import os
import sys
import time
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

from tests.bench.pipeline_end_to_end import job
from tests.pipeline.processes import forked_by
from tests.pipeline.spark_cluster import EXECUTOR_MEMORY, EXECUTOR_OPTIONS, SparkCluster

SAMPLE_SECONDS: Final = 0.2


class Shares(NamedTuple):
    """Of a job: seconds by the clock, and seconds of CPU of the driver's Python, its JVM, and of each executor."""

    seconds: float
    driver_python: float
    driver_jvm: float
    executors: list[float]
    """With their Python workers."""


def cluster_fill(bootstrap: str, topic: str, folder: Path, executors: int, *options: str) -> Shares:
    """One pass with so many executors of one core each. Raises RuntimeError when the job fails."""
    with SparkCluster(folder / "cluster", executors) as cluster:
        conf = [f"spark.executor.memory={EXECUTOR_MEMORY}", EXECUTOR_OPTIONS, f"spark.pyspark.python={sys.executable}"]
        settings = [argument for setting in conf for argument in ("--conf", setting)]
        before, started = os.times(), perf_counter()
        executors_used: dict[int, float] = {}
        jvms_used: dict[int, float] = {}
        command = ("--topic", topic, "--master", cluster.master, *settings, *options)
        with job(bootstrap, folder / "tables", *command) as process:
            while process.poll() is None:
                note_cpu(executors_used, [worker.pid for worker in cluster.workers])
                note_cpu(jvms_used, [process.pid])
                time.sleep(SAMPLE_SECONDS)
        after = os.times()
        if process.returncode:
            raise RuntimeError("the job failed")
    driver_jvm = sum(jvms_used.values())
    total = after.children_user + after.children_system - before.children_user - before.children_system
    return Shares(perf_counter() - started, total - driver_jvm, driver_jvm, sorted(executors_used.values()))


def note_cpu(used: dict[int, float], parents: list[int]) -> None:
    """Note, per child of these processes, the seconds of CPU that it and its own children have used."""
    for parent in parents:
        for pid in forked_by(parent):
            used[pid] = max(used.get(pid, 0.0), cpu_of_tree(pid))


def cpu_of_tree(pid: int) -> float:
    """Seconds of CPU of a process, of its children, and of those that have ended; 0 if it has ended itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    own = sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
    return own + sum(map(cpu_of_tree, forked_by(pid)))
