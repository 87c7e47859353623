"""`make cluster-demo`: the job on a standalone cluster of Spark on this machine, beside the local mode.

On the cluster it runs twice: with the fold in the driver, and on the executors.

Everything is started for it, on free ports and in a temporary folder, and has ended when it ends.
"""

import contextlib
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.columns import TABLES
from coordinator.pipeline.java import JavaMissing, require_java
from coordinator.pipeline.tables import Tables
from tests.pipeline.processes import job_command, running
from tests.pipeline.rebalances import make_history
from tests.pipeline.records import contents
from tests.pipeline.spark_cluster import EXECUTOR_MEMORY, WORKER_MEMORY, SparkCluster
from tests.servers import RunningServer

GROUPS: Final = 50
REBALANCES: Final = 20
JOB_SECONDS: Final = 100


class DemoFailed(RuntimeError):
    """What was to be shown did not happen. The message says why."""


def run_job(folder: Path, bootstrap: str, name: str, *options: str) -> dict[str, list[str]]:
    """One pass into tables of that name; what they hold. Raises DemoFailed if it fails or takes too long."""
    started = perf_counter()
    command = job_command(bootstrap, AUDIT_TOPIC, folder / name, *options)
    errors = folder / f"{name}.log"
    with errors.open("wb") as file, running(command, folder, file, stdout=subprocess.DEVNULL) as job:
        try:
            failed = job.wait(JOB_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise DemoFailed(f"the {name} job is not done after {JOB_SECONDS} s: this machine is too slow") from late
        if failed:
            raise DemoFailed(f"the {name} job failed: {errors.read_text().strip()}")
    print(f"  done in {perf_counter() - started:.1f} s, tables in {folder / name}", flush=True)
    return contents(Tables(folder / name))


def show(folder: Path) -> bool:
    """Run the demonstration; return whether the tables of both modes are equal."""
    (folder / "server").mkdir()
    with RunningServer(folder / "server") as server:
        generations = make_history(server.bootstrap, GROUPS, REBALANCES)
        print(f"coordinator  {server.bootstrap}, process {server.pid}: {GROUPS} groups, {generations:,} generations")
        print("local job    --master local[2]", flush=True)
        local = run_job(folder, server.bootstrap, "local")
        with SparkCluster(folder / "cluster") as cluster:
            print(f"Spark master {cluster.master}")
            for worker in cluster.workers:
                print(f"Spark worker process {worker.pid}, 1 core, {WORKER_MEMORY}")
            options = ("--master", cluster.master, "--conf", f"spark.executor.memory={EXECUTOR_MEMORY}")
            print(f"cluster job  {' '.join(options)}", flush=True)
            distributed = run_job(folder, server.bootstrap, "cluster", *options)
            more = (*options, "--conf", f"spark.pyspark.python={sys.executable}", "--fold-on-executors")
            print(f"cluster job  {' '.join(more)}", flush=True)
            folded = run_job(folder, server.bootstrap, "executors", *more)
            for executor in cluster.executors():
                print(f"  executor   {executor.relative_to(folder)}")
    print(f"\n{'table':<18}{'rows, local':>14}{'cluster':>12}{'executors':>12}  equal")
    for table in TABLES:
        rows = local[table], distributed[table], folded[table]
        is_equal = "yes" if rows[0] == rows[1] == rows[2] else "NO"
        print(f"{table:<18}{len(rows[0]):>14,}{len(rows[1]):>12,}{len(rows[2]):>12,}  {is_equal}")
    return local == distributed == folded


def main() -> int:
    try:
        require_java()
    except JavaMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves the contexts, which end what they started
    started = perf_counter()
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="cluster-demo-") as folder:
        try:
            is_equal = show(Path(folder))
        except (DemoFailed, AssertionError) as failed:  # AssertionError: `wait_for` names what did not come in time
            print(f"cluster-demo: {failed}", file=sys.stderr)
            return 1
        print(f"\n{perf_counter() - started:.0f} s; all processes have ended, the folder is deleted")
        return 0 if is_equal else 1
    return 130


if __name__ == "__main__":
    sys.exit(main())
