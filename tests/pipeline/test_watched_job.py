"""The job on what `coordinator watch` appends, in its folder or in a topic of the cluster: all tables are filled."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.client.wire import ClientError
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.job import run_available
from coordinator.pipeline.names import GENERATIONS, MEMBERSHIPS, REBALANCE_RATES, REJECTS, SILVER
from coordinator.pipeline.reader import query
from coordinator.pipeline.tables import Tables
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.watch.watching import Watching, into, to_topic
from tests.wire_client import WireClient

PARTITIONS = 4
SECONDS = 60
TOPIC = "seen"


@pytest.mark.parametrize("is_topic", [False, True])
def test_what_a_watcher_saw_is_in_all_tables(spark: SparkSession, tables: Tables, tmp_path: Path, is_topic: bool):
    folder = tmp_path / "watched"
    folder.mkdir()
    settings = {**QUICK_GROUPS, "offsets.topic.num.partitions": str(PARTITIONS)}
    with RunningServer(folder, settings) as watched, WireClient(watched.bootstrap, "billing") as client:
        if is_topic:
            client.create_topic(TOPIC, PARTITIONS)
        make = (
            to_topic(tmp_path / "watch", watched.bootstrap, TOPIC)
            if is_topic
            else into(tmp_path / "watch", watched.bootstrap)
        )
        with make as watch:
            member_id = client.join_alone("orders")
            wait_until_told(watch, "generation.stable")
            bootstrap = watch.wait()["bootstrap"]
            source = AuditSource(bootstrap, TOPIC if is_topic else "__group_audit")
            run_available(spark, source, tables)
            client.request(LeaveGroupRequest(group_id="orders", members=[MemberIdentity(member_id=member_id)]), 5)
            wait_until_told(watch, "group.emptied")
            run_available(spark, source, tables)
            told = watch.events()["orders"]

    def rows(table: str, columns: str, order: str) -> list[tuple[object, ...]]:
        found = query(tables.root, (table,), f"SELECT {columns} FROM {table} ORDER BY {order}")
        return [tuple(each.values()) for each in found]

    assert rows(REJECTS, "why", "why") == []
    silver = rows(SILVER, "group_id, seq", "seq")
    assert [seq for group_id, seq in silver if group_id == "orders"] == [line["seq"] for line in told]
    columns = "generation_id, outcome, cause, cause_is_inferred, cause_client_id, sentence"
    assert rows(GENERATIONS, columns, "generation_id") == [
        (1, "stable", "new_member", True, "billing", None),
        (2, "emptied", "member_left_or_expired", True, "billing", None),
    ]
    assert rows(MEMBERSHIPS, "client_id, left_cause", "seq") == [
        ("billing", None),
        ("billing", "member_left_or_expired"),
    ]
    assert rows(REBALANCE_RATES, "sum(rebalances)", "1") == [(2,)]


def wait_until_told(watch: Watching, kind: str) -> None:
    def is_reported() -> bool:
        try:
            return any(event["kind"] == kind for event in watch.events().get("orders", []))
        except ClientError:
            return False

    wait_for(is_reported, SECONDS, kind, every_ms=200)
