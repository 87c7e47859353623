"""The job on a standalone cluster of Spark: the tables are those of the local mode, row for row."""

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import coordinator
from coordinator.cli import submit
from coordinator.internal_topics import AUDIT_TOPIC
from coordinator.pipeline.jvm import EXCLUDED_PACKAGES, PACKAGES, spark_home
from coordinator.pipeline.names import GENERATIONS, SILVER
from coordinator.pipeline.tables import Tables
from tests.pipeline.processes import forked_by, job_command, running, wait_while_running
from tests.pipeline.rebalances import make_history
from tests.pipeline.records import contents
from tests.pipeline.spark_cluster import EXECUTOR_MEMORY, EXECUTOR_OPTIONS, SparkCluster
from tests.servers import RunningServer

GROUPS, REBALANCES = 12, 5
JOB_SECONDS: Final = 120


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a history of its own, in which nothing happens any more."""
    with RunningServer(tmp_path_factory.mktemp("history")) as server:
        make_history(server.bootstrap, GROUPS, REBALANCES)
        yield server.bootstrap


@pytest.fixture(scope="module")
def local(history: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the local mode makes of it."""
    folder = tmp_path_factory.mktemp("local")
    with running(job_command(history, AUDIT_TOPIC, folder / "tables"), folder) as job:
        assert job.wait(JOB_SECONDS) == 0
    rows = contents(Tables(folder / "tables"))
    assert len(rows[GENERATIONS]) == GROUPS * (REBALANCES + 2)
    assert len(rows[SILVER]) > 4 * len(rows[GENERATIONS])
    return rows


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel of this package holds: the modules, the compiled ones too."""
    top = Path(coordinator.__file__).parents[1]
    path = tmp_path_factory.mktemp("archive") / "kafka_group_coordinator.zip"
    with zipfile.ZipFile(path, "w") as file:
        for package in ("coordinator", "_wire"):
            for each in (top / package).rglob("*"):
                if each.suffix in (".py", ".so"):
                    file.write(each, each.relative_to(top))
    return path


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_job_that_starts_its_own_driver(
    cluster: SparkCluster, history: str, local: dict[str, list[str]], tmp_path: Path
):
    before = len(cluster.executors())
    conf = ("--conf", f"spark.executor.memory={EXECUTOR_MEMORY}", "--conf", EXECUTOR_OPTIONS)
    options = ("--master", cluster.master, *conf)
    command = job_command(history, AUDIT_TOPIC, tmp_path / "tables", *options)
    with running(command, tmp_path) as job:
        assert job.wait(JOB_SECONDS) == 0
    assert contents(Tables(tmp_path / "tables")) == local
    assert len(cluster.executors()) == before + 2


@pytest.mark.spark
@pytest.mark.timeout(240)
@pytest.mark.parametrize("is_killed", [False, True], ids=["undisturbed", "one is killed"])
def test_a_fold_on_its_executors(
    cluster: SparkCluster, history: str, local: dict[str, list[str]], tmp_path: Path, is_killed: bool
):
    """An executor is killed when the first batch is planned, and works on it or is about to."""
    conf = (f"spark.executor.memory={EXECUTOR_MEMORY}", EXECUTOR_OPTIONS, f"spark.pyspark.python={sys.executable}")
    options = [argument for setting in conf for argument in ("--conf", setting)]
    command = job_command(history, AUDIT_TOPIC, tmp_path / "tables", "--master", cluster.master, *options)
    worker = cluster.workers[0].pid
    with running([*command, "--fold-on-executors"], tmp_path) as job:
        if is_killed:
            planned = tmp_path / "tables/_checkpoints/tables/offsets/0"
            wait_while_running(
                lambda: planned.exists() and forked_by(worker), job, JOB_SECONDS, "an executor, and the first batch"
            )
            (executor,) = forked_by(worker)
            os.kill(executor, signal.SIGKILL)
        assert job.wait(JOB_SECONDS) == 0
    assert contents(Tables(tmp_path / "tables")) == local


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_job_that_spark_submit_starts(
    cluster: SparkCluster, history: str, local: dict[str, list[str]], archive: Path, tmp_path: Path
):
    """The program lies alone in a folder, and the package comes from --py-files."""
    program = tmp_path / "submit.py"
    shutil.copy(submit.__file__, program)
    before = len(cluster.executors())
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", cluster.master]
    command += ["--packages", ",".join(PACKAGES), "--exclude-packages", ",".join(EXCLUDED_PACKAGES)]
    command += ["--executor-memory", EXECUTOR_MEMORY, "--driver-memory", "512m", "--py-files", str(archive)]
    command += ["--name", "chosen by the user", "--conf", "spark.driver.host=127.0.0.1"]
    command += ["--conf", EXECUTOR_OPTIONS]
    command += [str(program), "--bootstrap", history, "--tables", str(tmp_path / "tables")]
    with (
        (tmp_path / "log").open("wb") as log,
        running(command, tmp_path, log, PYTHONPATH="", PYSPARK_PYTHON=sys.executable) as job,
    ):
        assert job.wait(JOB_SECONDS) == 0, (tmp_path / "log").read_text()
    assert contents(Tables(tmp_path / "tables")) == local
    executors = cluster.executors()[before:]
    assert len(cluster.executors()) == before + 2, executors


@pytest.mark.parametrize(("version", "is_enough"), [("3.5.9", False), ("4.0.5", True), ("4.2.0", True), ("10.0", True)])
def test_an_older_spark_is_refused_in_one_line(version: str, is_enough: bool):
    if is_enough:
        submit.require_spark_4(version)
        return
    with pytest.raises(SystemExit, match=r"^this is Spark 3\.5\.9; the job needs 4\.0 or newer$"):
        submit.require_spark_4(version)


def test_compiled_modules_are_imported_from_an_unpacked_archive(archive: Path, tmp_path: Path):
    program = (
        "import runpy, sys; submit = runpy.run_path(sys.argv[1]); submit['unpack_wheels'](sys.argv[2]);"
        "import _wire.headers, coordinator.pipeline.preflight; print(_wire.headers.__file__)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, submit.__file__, str(tmp_path)],
        env={"PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(shown.stdout.strip()).parent == tmp_path / "_wire"
