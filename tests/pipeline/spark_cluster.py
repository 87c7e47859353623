"""A standalone cluster of Spark on this machine: a master and workers of the pyspark wheel, on free ports."""

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from coordinator.pipeline.jvm import spark_home
from tests.pipeline.jvm_process import QUICK_TO_START, JvmProcess

START_SECONDS: Final = 60
WORKER_MEMORY: Final = "640m"
EXECUTOR_MEMORY: Final = "512m"
EXECUTOR_OPTIONS: Final = f"spark.executor.extraJavaOptions={' '.join(QUICK_TO_START)}"
"""For `--conf`."""


class SparkCluster:
    """Leaving its context ends all its processes, the executors of applications too."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._workers = workers
        self._held = ExitStack()
        self.master = ""
        self.workers: list[JvmProcess] = []

    def __enter__(self) -> Self:
        with ExitStack() as started:
            deploy, host = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            classpath = [str(spark_home() / "jars" / "*")]
            master = started.enter_context(
                JvmProcess(self._folder / "master", classpath, "128m", f"{deploy}.master.Master", *host)
            )
            logged = master.wait_for_text(master.log, "New state: ALIVE", START_SECONDS)
            (self.master,) = re.findall(r"Starting Spark master at (spark://\S+)", logged)
            limits = ("--cores", "1", "--memory", WORKER_MEMORY)
            for number in range(1, self._workers + 1):
                folder = self._folder / f"worker-{number}"
                own = (*host, *limits, "--work-dir", str(folder / "work"), self.master)
                worker = JvmProcess(folder, classpath, "128m", f"{deploy}.worker.Worker", *own)
                self.workers.append(started.enter_context(worker))
            for worker in self.workers:
                worker.wait_for_text(worker.log, "Successfully registered with master", START_SECONDS)
            self._held = started.pop_all()
        return self

    def __exit__(self, *problem: object) -> None:
        self._held.close()

    def executors(self) -> list[Path]:
        """The folders of the executors that the workers have started, one per executor."""
        return sorted(path.parent for path in self._folder.glob("worker-*/work/app-*/*/stderr"))
