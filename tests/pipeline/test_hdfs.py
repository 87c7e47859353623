"""The tables on a real HDFS: the same rows as on the local file system, wherever the job was killed."""

import os
import signal
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from coordinator.pipeline import hadoop_lock
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.hadoop import HadoopError, HadoopFiles
from coordinator.pipeline.hadoop_lock import HadoopLock, LockLost, sole_hadoop_job
from coordinator.pipeline.job import run_available
from coordinator.pipeline.names import BRONZE, OPEN_GENERATIONS, SILVER
from coordinator.pipeline.preflight import LOCK_FILE, NotReady
from coordinator.pipeline.reader import query, read_generations
from coordinator.pipeline.spark_tables import SparkTables
from coordinator.pipeline.tables import Tables
from tests.pipeline.conftest import AuditTopic
from tests.pipeline.hdfs import Hdfs, HdfsMissing
from tests.pipeline.histories import realistic
from tests.pipeline.history import eventful
from tests.pipeline.processes import job_command, running, wait_while_running
from tests.pipeline.records import contents, records

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

EVENTS = 400
JOB_SECONDS = 150
ASKED_MS = 100
"""How often HDFS is asked what the job has written. Each answer takes milliseconds of CPU in several processes."""


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    try:
        cluster = Hdfs(tmp_path_factory.mktemp("hdfs") / "cluster")
    except HdfsMissing as missing:
        pytest.skip(str(missing))
    with cluster:
        yield cluster


@pytest.fixture
def root(hdfs: Hdfs) -> str:
    return f"{hdfs.uri}/{uuid.uuid4().hex}"


def local_contents(folder: Path, values: Sequence[bytes]) -> dict[str, list[str]]:
    local = Tables(folder)
    Batches(local).add_records(records(values), 0)
    return contents(local)


def commits_of(files: HadoopFiles) -> list[str]:
    return [name for name in files.names() if name.endswith(".json")]


@pytest.mark.parametrize(
    "killed_in",
    [pytest.param("the first batch of all tables", marks=pytest.mark.nightly), "a batch that some tables have"],
)
def test_a_killed_job_goes_on_where_it_was(
    spark: SparkSession, root: str, audit_topic: AuditTopic, tmp_path: Path, killed_in: str
):
    values = realistic(EVENTS, prefix="group-")
    audit_topic.append("orders", values[: EVENTS // 2])
    tables, command = SparkTables(spark, root), job_command(audit_topic.bootstrap, audit_topic.name, root)
    with running([*command, "--every-ms", "100"], tmp_path) as job:
        if killed_in.startswith("the first"):
            batches = HadoopFiles(spark, f"{tables.checkpoint('tables')}/offsets")
            wait_while_running(
                lambda: "0" in batches.names(), job, JOB_SECONDS, "the plan of the first batch", ASKED_MS
            )
        else:
            silver = HadoopFiles(spark, f"{tables.path(SILVER)}/_delta_log")
            wait_while_running(lambda: len(commits_of(silver)) > 1, job, JOB_SECONDS, "rows of silver", ASKED_MS)
        os.killpg(job.pid, signal.SIGKILL)
    audit_topic.append("orders", values[EVENTS // 2 :])
    with running(command, tmp_path) as job:
        assert job.wait(JOB_SECONDS) == 0
    assert contents(tables) == local_contents(tmp_path / "local", values)
    offsets = query(root, (BRONZE,), 'SELECT "partition", "offset" FROM bronze')
    assert len({tuple(row.items()) for row in offsets}) == len(offsets) == EVENTS
    assert LOCK_FILE not in HadoopFiles(spark, root).names()


def test_executors_fold_as_the_driver_does(spark: SparkSession, root: str, audit_topic: AuditTopic, tmp_path: Path):
    values, tables = eventful().values(), SparkTables(spark, root)
    source = AuditSource(audit_topic.bootstrap, audit_topic.name)
    for part in (values[:9], values[9:]):
        audit_topic.append("orders", part)
        run_available(spark, source, tables, folds_on_executors=True)
    assert contents(tables) == local_contents(tmp_path / "local", values)
    offsets = query(root, (BRONZE,), 'SELECT "partition", "offset" FROM bronze')
    assert len({tuple(row.items()) for row in offsets}) == len(offsets) == len(values)


def test_batches_that_run_again_double_nothing(spark: SparkSession, root: str, tmp_path: Path):
    values = eventful().values()
    for batches in (Batches(SparkTables(spark, root)), Batches(SparkTables(spark, root))):
        batches.add_records(records(values[:9]), 0)
        batches.add_records(records(values[9:], 9), 1)
    tables = SparkTables(spark, root)
    assert contents(tables) == local_contents(tmp_path / "local", values)
    assert [row["generation_id"] for row in read_generations(root)] == [1, 2, 3, 4, 5]


def test_compaction_joins_the_files_and_leaves_the_rows(spark: SparkSession, root: str):
    tables, values = SparkTables(spark, root), eventful().values()
    batches = Batches(tables)
    for batch_id, value in enumerate(values[:4]):
        batches.add_records(records([value], batch_id), batch_id)
    before = contents(tables)
    for table in (SILVER, OPEN_GENERATIONS):
        tables.compact(table)
    assert contents(tables) == before
    assert len(spark.read.format("delta").load(tables.path(SILVER)).inputFiles()) == 1


def test_the_files_of_a_folder(spark: SparkSession, root: str):
    files = HadoopFiles(spark, root)
    files.write("a", bytes(range(256)) * 1000)
    assert files.read("a") == bytes(range(256)) * 1000
    files.write("a", b"")
    assert (files.read("a"), files.names()) == (b"", ["a"])
    assert (files.create("b", b"1"), files.create("b", b"2"), files.read("b")) == (True, False, b"1")
    files.delete("b")
    files.delete("b")
    with pytest.raises(FileNotFoundError):
        files.read("b")
    assert files.changed_ms("a") is not None
    assert files.changed_ms("b") is None


def test_a_file_system_that_is_not_there_is_named_in_one_line(spark: SparkSession):
    for uri, why in (("nowhere://host/tables", "nowhere"), ("hdfs://127.0.0.1:1/tables", "Connection refused")):
        with pytest.raises(HadoopError, match=why) as raised:
            HadoopFiles(spark, uri).write("a", b"")
        assert "\n" not in str(raised.value)


def test_two_jobs_on_one_folder(spark: SparkSession, root: str):
    files = HadoopFiles(spark, root)
    with sole_hadoop_job(files), pytest.raises(NotReady, match=r"another job writes to hdfs:.* \(process"):
        HadoopLock(files)
    assert files.names() == []


def test_who_lost_the_lock_writes_nothing_more(spark: SparkSession, root: str, monkeypatch: pytest.MonkeyPatch):
    """As after a machine stood still for so long that another job took over."""
    monkeypatch.setattr(hadoop_lock, "RENEWED_SECONDS", 3_600.0)
    files = HadoopFiles(spark, root)
    with sole_hadoop_job(files) as lock:
        tables = SparkTables(spark, f"{root}/tables", lock)
        batches = Batches(tables)
        files.write(LOCK_FILE, b"another-host 1 owner\n7\n")
        with pytest.raises(LockLost, match="another job has taken over"):
            batches.add_records(records(eventful().values()), 0)
        assert contents(tables)[SILVER] == []
    assert files.read(LOCK_FILE) == b"another-host 1 owner\n7\n"
