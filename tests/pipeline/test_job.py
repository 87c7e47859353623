"""The job on a topic of a real server: what is in the topic is in the tables, once, however the job was interrupted."""

import os
import signal
import subprocess
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.job import last_line, run_available
from coordinator.pipeline.names import BRONZE, SILVER, TABLES_QUERY
from coordinator.pipeline.tables import Tables
from tests.pipeline.conftest import AuditTopic
from tests.pipeline.history import eventful
from tests.pipeline.processes import job_command, running, wait_while_running
from tests.pipeline.records import contents, records

HALF = 9
"""A place in `eventful()` in the middle of a rebalance."""


@pytest.fixture
def source(audit_topic: AuditTopic) -> AuditSource:
    return AuditSource(audit_topic.bootstrap, audit_topic.name)


def values_in_bronze(spark: SparkSession, tables: Tables) -> list[bytes]:
    rows = spark.read.format("delta").load(tables.path(BRONZE)).sort("partition", "offset").collect()
    positions = [(row["partition"], row["offset"]) for row in rows]
    assert len(set(positions)) == len(positions), "a record lies in bronze twice"
    return [bytes(row["value"]) for row in rows]


def assert_complete(spark: SparkSession, tables: Tables, values: Sequence[bytes]) -> None:
    """Bronze holds each value once, and the other tables equal those made of the values in one batch."""
    assert sorted(values_in_bronze(spark, tables)) == sorted(values)
    fresh = Tables(tables.root.parent / f"fresh-{len(values)}-{uuid.uuid4().hex}")
    Batches(fresh).add_records(records(values), 0)
    assert contents(tables) == contents(fresh)


def forget_last_commit(tables: Tables) -> None:
    """As if the process had died after the batch was written and before that was noted: it will run again."""
    commits = Path(tables.checkpoint(TABLES_QUERY), "commits")
    last = max((entry for entry in commits.iterdir() if entry.name.isdigit()), key=lambda entry: int(entry.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def test_bronze_keeps_a_record_as_it_came(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    values = eventful().values()
    audit_topic.append("orders", values)
    run_available(spark, source, tables)
    rows = spark.read.format("delta").load(tables.path(BRONZE)).sort("offset").collect()
    assert [bytes(row["value"]) for row in rows] == values
    assert [row["offset"] for row in rows] == list(range(len(values)))
    assert {(row["topic"], bytes(row["key"])) for row in rows} == {(audit_topic.name, b"orders")}
    assert [(header["key"], bytes(header["value"])) for header in rows[0]["headers"]] == [("ce_specversion", b"1.0")]


def test_an_empty_topic_makes_empty_tables(spark: SparkSession, tables: Tables, source: AuditSource):
    run_available(spark, source, tables)
    assert_complete(spark, tables, [])


def test_a_second_run_takes_in_what_came_since(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    orders, payments = eventful("orders").values(), eventful("payments").values()
    audit_topic.append("orders", orders[:HALF])
    run_available(spark, source, tables)
    assert_complete(spark, tables, orders[:HALF])
    audit_topic.append("orders", orders[HALF:])
    audit_topic.append("payments", payments)
    run_available(spark, source, tables)
    assert_complete(spark, tables, [*orders, *payments])
    run_available(spark, source, tables)
    assert_complete(spark, tables, [*orders, *payments])


def test_what_bronze_holds_reaches_the_tables_though_the_topic_has_deleted_it(
    spark: SparkSession,
    tables: Tables,
    audit_topic: AuditTopic,
    source: AuditSource,
    monkeypatch: pytest.MonkeyPatch,
):
    """A crash between bronze and the other tables, and a retention time that ends before the next start."""
    values = eventful().values()
    audit_topic.append("orders", values[:HALF])
    run_available(spark, source, tables)
    audit_topic.append("orders", values[HALF:])
    with monkeypatch.context() as patched:
        patched.setattr(Batches, "add_records", crash)
        with pytest.raises(StreamingQueryException, match="killed here"):
            run_available(spark, source, tables)
    assert sorted(values_in_bronze(spark, tables)) == sorted(values)
    assert len(contents(tables)[SILVER]) == HALF
    audit_topic.delete_all_records()
    run_available(spark, source, tables)
    assert_complete(spark, tables, values)


def crash(*_: Any) -> None:
    raise RuntimeError("killed here")


def test_a_batch_that_runs_again_doubles_nothing(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    values = eventful().values()
    audit_topic.append("orders", values[:HALF])
    run_available(spark, source, tables)
    forget_last_commit(tables)
    audit_topic.append("orders", values[HALF:])
    run_available(spark, source, tables)
    assert_complete(spark, tables, values)


def job_process(
    source: AuditSource, tables: Tables, *options: str, stderr: Any = None
) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    command = job_command(str(source.bootstrap), source.topic, tables.root, *options)
    return running(command, tables.root.parent, stderr)


def wait_for(path: Path, process: "subprocess.Popen[Any]", seconds: float) -> None:
    wait_while_running(path.exists, process, seconds, str(path))


@pytest.mark.parametrize(
    "killed_after", ["_checkpoints/tables/offsets/0", "bronze/_delta_log/00000000000000000001.json"]
)
def test_a_killed_job_goes_on_where_it_was(
    spark: SparkSession,
    tables: Tables,
    audit_topic: AuditTopic,
    source: AuditSource,
    killed_after: str,
):
    """SIGKILL in the middle: when the first batch is planned, or while the tables after bronze are written."""
    values = eventful().values()
    audit_topic.append("orders", values[:HALF])
    with job_process(source, tables, "--every-ms", "100") as job:
        wait_for(tables.root / killed_after, job, seconds=90)
        os.killpg(job.pid, signal.SIGKILL)
    audit_topic.append("orders", values[HALF:])
    run_available(spark, source, tables)
    assert_complete(spark, tables, values)


def test_the_command_runs_to_the_end_of_the_topic(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    values = eventful().values()
    audit_topic.append("orders", values)
    with job_process(source, tables) as job:
        assert job.wait(90) == 0
    assert_complete(spark, tables, values)


@pytest.mark.parametrize("stage", ["_job.lock", "_checkpoints/tables/offsets"])
def test_ctrl_c_ends_the_job_without_a_traceback_or_a_jvm(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource, stage: str
):
    """While the JVM starts, and while the query runs."""
    audit_topic.append("orders", eventful().values())
    errors = tables.root.parent / "errors"
    with errors.open("wb") as file, job_process(source, tables, "--every-ms", "100", stderr=file) as job:
        wait_for(tables.root / stage, job, seconds=90)
        os.killpg(job.pid, signal.SIGINT)
        assert job.wait(45) in (0, 130), errors.read_text()
    assert b"Traceback" not in errors.read_bytes()
    scratch = str(tables.root.parent)
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [command for command in commands if b"java" in command and scratch.encode() in command]


STARTED = "[STREAM_FAILED] Query [id = 1] terminated with exception: An error occurred. Return Message: "
RAISED = (
    STARTED
    + """Traceback (most recent call last):
  File "job.py", line 48, in write
    write_batch(raw, batch_id)
{}
 SQLSTATE: 39000
=== Streaming Query ===
Identifier: tables [id = 1]
"""
)
OF_JAVA = """py4j.protocol.Py4JJavaError: An error occurred while calling o191.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat java.base/java.lang.Thread.run(Thread.java:1583)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure
Caused by: java.io.IOException: Cannot run program "/python": error=2, No such file
Caused by: java.io.IOException: error=2, No such file"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (RAISED.format("coordinator.pipeline.state.StateMissing: no 3.part"), "no 3.part"),
        (RAISED.format("OSError: [Errno 28] No space left"), "OSError: [Errno 28] No space left"),
        (RAISED.format(OF_JAVA), 'Cannot run program "/python": error=2, No such file'),
        ("Query failed\n\tat a.b(C.java:1)\nCaused by: java.io.IOException: no disk", "Query failed: no disk"),
        ("Query failed", "Query failed"),
    ],
)
def test_a_failed_query_is_told_in_one_line_that_says_why(text: str, line: str):
    assert last_line(PySparkException(text)) == line
