"""`--source consumer-offsets` on a real Apache Kafka with real consumers, and on this project's own server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from coordinator.cli import main
from coordinator.pipeline.bronze import ConsumerOffsetsSource
from coordinator.pipeline.cluster import TopicNames, partitions_of
from coordinator.pipeline.job import run_available
from coordinator.pipeline.reader import query
from coordinator.pipeline.source_marker import CONSUMER_OFFSETS, claim
from coordinator.pipeline.tables import LocalFiles, Tables
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.e2e.members import Member, steady
from tests.pipeline.conftest import AuditTopic
from tests.pipeline.offsets_expected import assert_told
from tests.pipeline.offsets_history import KAFKA_SETTINGS, play
from tests.pipeline.test_job import job_process


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[RunningKafka]:
    try:
        running = RunningKafka(tmp_path, KAFKA_SETTINGS, {})
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with running:
        yield running


@pytest.mark.realtime
def test_what_real_consumers_did_on_a_real_kafka_is_in_the_tables(
    spark: SparkSession, kafka: RunningKafka, tables: Tables, tmp_path: Path
):
    said = play(tmp_path, kafka.bootstrap)
    run_available(spark, ConsumerOffsetsSource(kafka.bootstrap), tables)

    def rows(table: str) -> list[dict[str, Any]]:
        return query(tables.root, (table,), f"SELECT * FROM {table} ORDER BY group_id, seq")

    generations = query(tables.root, ("generations",), "SELECT * FROM generations ORDER BY group_id, first_seq")
    assert_told(said, generations, rows("memberships"), rows("ownership"))
    assert query(tables.root, ("rejects",), "SELECT * FROM rejects") == []


@pytest.mark.realtime
@pytest.mark.spark
@pytest.mark.timeout(240)
@pytest.mark.parametrize("options", [(), ("--fold-on-executors",)], ids=["by the driver", "on executors"])
def test_our_own_server_keeps_such_records_too(
    server: Any, tables: Tables, audit_topic: AuditTopic, options: tuple[str, ...]
):
    """By the command, in a process of its own."""
    group_id = f"group-of-{audit_topic.name}"
    member = Member(server.bootstrap, audit_topic.name, group_id, client_id="a")
    generation_id = steady([member], 4, "one member to have all partitions")
    member.stop()
    source = ConsumerOffsetsSource(server.bootstrap)
    with job_process(source, tables, "--source", "consumer-offsets", *options) as job:
        assert job.wait(90) == 0
    rejects = query(tables.root, ("rejects",), "SELECT why FROM rejects")
    assert rejects == []
    of_group = f"WHERE group_id = '{group_id}' ORDER BY generation_id"
    found = query(tables.root, ("generations",), f"SELECT * FROM generations {of_group}")
    assert (found[0]["generation_id"], found[0]["outcome"], found[0]["cause"]) == (1, "stable", "new_member")
    assert [(row["generation_id"], row["outcome"], row["partitions"]) for row in found[-2:]] == [
        (generation_id, "stable", 4),
        (generation_id + 1, "emptied", None),
    ]
    assert found[-1]["cause"] == "member_left_or_expired"
    assert all(row["cause_is_inferred"] for row in found)


def test_such_tables_have_no_story_and_say_so(tmp_path: Path):
    claim(LocalFiles(tmp_path), CONSUMER_OFFSETS)
    done = CliRunner().invoke(main, ["groups", "why", "orders", "--tables", str(tmp_path)])
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert (
        "was made of __consumer_offsets, which has no events: see `coordinator pipeline show --tables`" in done.output
    )


def test_names_of_topics_are_asked_of_the_cluster(server: Any, audit_topic: AuditTopic):
    known = TopicNames(server.bootstrap).read()
    (topic_id,) = [each for each, name in known.items() if name == audit_topic.name]
    names = TopicNames(f"127.0.0.1:1,{server.bootstrap}")
    assert names(topic_id) == audit_topic.name
    assert names("00" * 16) == "00" * 16
    assert TopicNames("127.0.0.1:1")(topic_id) == topic_id
    assert partitions_of(server.bootstrap, audit_topic.name) == [0, 1, 2, 3]


def test_one_folder_holds_one_source(server: Any, tmp_path: Path):
    """Refused before Spark starts."""
    Path(tmp_path, "tables", "bronze").mkdir(parents=True)
    options = ["--bootstrap", server.bootstrap, "--tables", str(tmp_path / "tables"), "--source", "consumer-offsets"]
    done = CliRunner().invoke(main, ["pipeline", "run", *options])
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert "holds tables made of the source audit: give consumer-offsets a directory of its own" in done.output
