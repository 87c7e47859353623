"""The fold on executors: the tables are those of the driver's fold, row for row, whatever fails in between."""

import os
import random
import signal
import sys
from pathlib import Path
from typing import Any, Final

import py4j
import pyarrow as pa
import pyspark
import pytest
from kafka import KafkaProducer
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.executor_fold import STATE, ExecutorFold, FoldFailed, combine
from coordinator.pipeline.job import run_available
from coordinator.pipeline.names import BRONZE, GENERATIONS, OPEN_GENERATIONS
from coordinator.pipeline.partition_state import PartitionState, encode_state
from coordinator.pipeline.reader import query
from coordinator.pipeline.state_broadcasts import CHAIN_MAX, StateBroadcasts
from coordinator.pipeline.tables import Tables
from tests.pipeline.conftest import PARTITIONS, AuditTopic
from tests.pipeline.history import eventful
from tests.pipeline.processes import running
from tests.pipeline.records import contents
from tests.pipeline.test_job import assert_complete, forget_last_commit, job_process, wait_for
from tests.simulation.generator import history_of
from tests.simulation.playing import play

PARTS: Final = 4
JOB_SECONDS: Final = 120


@pytest.fixture
def source(audit_topic: AuditTopic) -> AuditSource:
    return AuditSource(audit_topic.bootstrap, audit_topic.name)


def random_history(first_seed: int) -> list[list[bytes]]:
    """Per partition, what the real core told of groups and of itself, and of a group that still rebalances in the end.

    The groups of a partition are its own.
    """
    found: list[list[bytes]] = []
    for partition in range(PARTITIONS):
        own = f'"group_id":"{partition}-'.encode()
        histories = [play(history_of(seed)).server.replay_audit() for seed in range(first_seed, first_seed + 3)]
        values = [
            value.replace(b'"group_id":"', own + f"{number}-".encode())
            for number, history in enumerate(histories)
            for _, value, _ in history
        ]
        found.append([*values, *eventful(f"{partition}-open").values()])
        first_seed += len(histories)
    return found


def append(topic: AuditTopic, history: list[list[bytes]], part: int) -> None:
    """One of PARTS of the history, to its partitions."""
    producer = KafkaProducer(bootstrap_servers=topic.bootstrap)
    for partition, values in enumerate(history):
        for value in values[len(values) * part // PARTS : len(values) * (part + 1) // PARTS]:
            producer.send(topic.name, value=value, partition=partition)
    producer.flush()
    producer.close()


class Killed(Exception):
    pass


def killing(write: Any, chance: random.Random) -> Any:
    """Fails before or after it has written."""

    def instead(*args: Any, **options: Any) -> Any:
        if chance.random() < 0.1:
            raise Killed
        result = write(*args, **options)
        if chance.random() < 0.1:
            raise Killed
        return result

    return instead


def driver_tables(spark: SparkSession, source: AuditSource, folder: Path) -> dict[str, list[str]]:
    tables = Tables(folder)
    run_available(spark, source, tables)
    return contents(tables)


@pytest.mark.timeout(300)
def test_the_tables_of_a_random_history_are_those_of_the_driver_whatever_was_killed_between(
    spark: SparkSession,
    tables: Tables,
    audit_topic: AuditTopic,
    source: AuditSource,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    history, chance, kills = random_history(first_seed=0), random.Random(1), 0
    for part in range(PARTS):
        append(audit_topic, history, part)
        with monkeypatch.context() as patched:
            patched.setattr(Tables, "append", killing(Tables.append, chance))
            patched.setattr(Tables, "commit", killing(Tables.commit, chance))
            for _ in range(3):
                try:
                    run_available(spark, source, tables, folds_on_executors=True)
                    break
                except StreamingQueryException as failed:
                    assert "Killed" in str(failed), failed
                    kills += 1
    run_available(spark, source, tables, folds_on_executors=True)
    assert kills > 0
    found = contents(tables)
    assert found == driver_tables(spark, source, tmp_path / "driver")
    assert len(found[GENERATIONS]) > 30 and found[OPEN_GENERATIONS]
    places = query(tables.root, (BRONZE,), 'SELECT "partition", "offset" FROM bronze')
    assert len({tuple(place.items()) for place in places}) == len(places) == sum(map(len, history))


def test_either_goes_on_with_the_state_of_the_other(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource, tmp_path: Path
):
    history = random_history(first_seed=100)
    for part in range(PARTS):
        append(audit_topic, history, part)
        run_available(spark, source, tables, folds_on_executors=part % 2 == 0)
    assert contents(tables) == driver_tables(spark, source, tmp_path / "driver")


def test_a_batch_that_bronze_has_is_read_from_there_though_the_topic_has_deleted_it(
    spark: SparkSession,
    tables: Tables,
    audit_topic: AuditTopic,
    source: AuditSource,
    monkeypatch: pytest.MonkeyPatch,
):
    values = eventful().values()
    audit_topic.append("orders", values[:7])
    run_available(spark, source, tables, folds_on_executors=True)
    audit_topic.append("orders", values[7:])
    with monkeypatch.context() as patched:
        patched.setattr(Batches, "commit", lambda *_: (_ for _ in ()).throw(Killed))
        with pytest.raises(StreamingQueryException, match="Killed"):
            run_available(spark, source, tables, folds_on_executors=True)
    audit_topic.delete_all_records()
    run_available(spark, source, tables, folds_on_executors=True)
    assert_complete(spark, tables, values)


def test_a_batch_that_runs_again_doubles_nothing(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    values = eventful().values()
    audit_topic.append("orders", values[:7])
    run_available(spark, source, tables, folds_on_executors=True)
    forget_last_commit(tables)
    audit_topic.append("orders", values[7:])
    run_available(spark, source, tables, folds_on_executors=True)
    assert_complete(spark, tables, values)


@pytest.mark.timeout(240)
def test_a_killed_job_goes_on_where_it_was(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource
):
    values = eventful().values()
    audit_topic.append("orders", values[:7])
    with job_process(source, tables, "--every-ms", "100", "--fold-on-executors") as job:
        wait_for(tables.root / "bronze/_delta_log/00000000000000000001.json", job, seconds=90)
        os.killpg(job.pid, signal.SIGKILL)
    audit_topic.append("orders", values[7:])
    run_available(spark, source, tables, folds_on_executors=True)
    assert_complete(spark, tables, values)


@pytest.mark.timeout(240)
def test_a_task_that_runs_again_folds_nothing_twice(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource, tmp_path: Path
):
    history, failures = random_history(first_seed=200), tmp_path / "failures"
    failures.mkdir()
    for part in range(PARTS):
        append(audit_topic, history, part)
    command = [sys.executable, "-m", "tests.pipeline.failing_folds", str(source.bootstrap), source.topic]
    with running([*command, str(tables.root), str(failures)], tmp_path) as job:
        assert job.wait(JOB_SECONDS) == 0
    assert len(list(failures.iterdir())) >= 2, "not every task failed once"
    assert contents(tables) == driver_tables(spark, source, tmp_path / "driver")


def test_the_state_is_sent_whole_again_after_some_batches(spark: SparkSession):
    """What a worker puts together of the broadcasts is the state, however many there were."""
    sent, states = StateBroadcasts(spark), dict[int, PartitionState]()
    for batch_id in range(CHAIN_MAX + 2):
        chain = sent.chain(batch_id, states)
        assert len(chain.changes) == batch_id % CHAIN_MAX
        for partition in (0, 1):
            wanted = states.get(partition, PartitionState())
            assert encode_state(chain.before(partition)) == encode_state(wanted)
        changed = PartitionState({f"g-{batch_id % 3}": str(batch_id).encode()})
        changed.read.note(batch_id)
        states.setdefault(batch_id % 2, PartitionState()).update(changed)
        sent.add(batch_id, {batch_id % 2: changed})
    sent.forget()


def results(*rows: tuple[str, int | None, bytes]) -> pa.Table:
    types = (pa.string(), pa.int32(), pa.binary())
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(types)]
    return pa.table(columns, names=["name", "partition", "content"])


def test_a_partition_that_two_tasks_read_stops_the_job():
    state = encode_state(PartitionState())
    with pytest.raises(FoldFailed, match=r"^partition 3 was read by two tasks; its events must come in order$"):
        combine(results((STATE, 3, state), (STATE, 4, state), (STATE, 3, state)))


def test_an_executor_with_another_version_is_named():
    unused: Any = None
    fold = ExecutorFold(unused, unused, unused, returns_bronze=False, version="0.0.1")
    with pytest.raises(FoldFailed, match=r"^an executor has version \S+ of this package, the driver has 0\.0\.1$"):
        list(fold(iter([])))


@pytest.mark.timeout(240)
def test_executors_without_the_package_are_told_of_in_one_line(
    spark: SparkSession, tables: Tables, audit_topic: AuditTopic, source: AuditSource, tmp_path: Path
):
    """Their Python has PySpark alone."""
    audit_topic.append("orders", eventful().values())
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nexec env PYTHONPATH="{pyspark_alone(tmp_path)}" {Path(sys.executable).resolve()} -S "$@"\n'
    )
    python.chmod(0o755)
    options = ("--fold-on-executors", "--conf", f"spark.pyspark.python={python}")
    with (tmp_path / "errors").open("wb") as file, job_process(source, tables, *options, stderr=file) as job:
        assert job.wait(JOB_SECONDS) == 1
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert line.startswith("Error: No module named ")
    assert line.endswith("in the Python of an executor; the fold needs this package there (spark.pyspark.python)")


def pyspark_alone(folder: Path) -> Path:
    """A folder with nothing but PySpark in it, for the path of a Python."""
    alone = folder / "alone"
    alone.mkdir()
    for package in (pyspark, py4j, pa):
        home = Path(package.__file__ or "").parent
        (alone / home.name).symlink_to(home)
    return alone
