"""`coordinator watch` polls a real Kafka: groups whose records say nothing, and the lag of all."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from coordinator.pipeline.java import require_java
from tests.differential.kafka import VERSION, KafkaMissing, RunningKafka, kafka_jars
from tests.eos.java_programs import ProgramsMissing, streams_member
from tests.pipeline.rdkafka_member import RdkafkaMember
from tests.waiting import wait_for
from tests.watch.load import make_topic
from tests.watch.rounds import make_offsets_topic
from tests.watch.watching import Watching, into

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(300)]

SECONDS: Final = 90
PARTITIONS: Final = 4
RECORDS: Final = 40
SHARE_CONSUMER: Final = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "0",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.num.partitions": "4",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Everybody may do everything with what has no ACL."""


@pytest.fixture(scope="module", params=[VERSION, "3.9.1"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningKafka]:
    settings = dict(SETTINGS)
    if request.param != VERSION:
        settings = {name: value for name, value in settings.items() if ".streams." not in name}
        settings["group.coordinator.rebalance.protocols"] = "classic,consumer"
    try:
        running = RunningKafka(tmp_path_factory.mktemp("kafka"), settings, {}, version=request.param)
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with running:
        make_offsets_topic(running.bootstrap)
        for each in ("orders", "copies"):
            make_topic(running.bootstrap, each, PARTITIONS)
        produce(running, RECORDS)
        yield running


def produce(kafka: RunningKafka, count: int) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(count):
        producer.produce("orders", b"v", partition=number % PARTITIONS)
    producer.flush(30)


def told(watch: Watching, group: str, kind: str, number: int = 1) -> list[dict[str, Any]]:
    """The events of a group, once there are so many of a kind."""
    found: list[dict[str, Any]] = []

    def is_reported() -> bool:
        found[:] = watch.events().get(group, [])
        return len([each for each in found if each["kind"] == kind]) >= number

    wait_for(is_reported, SECONDS, f"{number} × {kind} of {group}", every_ms=300)
    return found


def sources_of(events: Sequence[dict[str, Any]]) -> set[str]:
    return {place["source"] for event in events for place in event["places"]}


def wait_for_metrics(watch: Watching, *samples: str) -> None:
    page = f"http://{watch.wait()['admin']}/metrics"

    def are_there() -> bool:
        lines = str(urlopen(page).read(), "utf-8").splitlines()
        return all(sample in lines for sample in samples)

    wait_for(are_there, SECONDS, f"{samples}", every_ms=300)


def joined(folder: Path, kafka: RunningKafka, group: str, name: str, **more: Any) -> RdkafkaMember:
    settings = {"client.id": name, "session.timeout.ms": 6_000, "heartbeat.interval.ms": 300, **more}
    return RdkafkaMember(folder, kafka.bootstrap, group, ["orders"], **settings)


def java(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_share_group_and_a_streams_group_are_told_by_polls(
    kafka: RunningKafka, tmp_path: Path, request: pytest.FixtureRequest
):
    if request.node.callspec.params["kafka"] != VERSION:
        pytest.skip("3.9 has no such groups")
    try:
        streams = streams_member()
    except ProgramsMissing as missing:
        pytest.skip(str(missing))
    share = [str(require_java()), "-cp", f"{kafka_jars()}/*", SHARE_CONSUMER, "--bootstrap-server", kafka.bootstrap]
    share += ["--topic", "orders", "--group", "shared"]
    arguments = ("--poll-every-ms", "500", "--admin", "127.0.0.1:0")
    with into(tmp_path / "watch", kafka.bootstrap, *arguments) as watch, ExitStack() as running:
        first, copier = (
            java(*share),
            java(*streams, kafka.bootstrap, "copying", str(tmp_path / "state"), "orders", "copies"),
        )
        running.callback(first.kill)
        running.callback(copier.kill)
        shared = told(watch, "shared", "generation.stable")
        copying = told(watch, "copying", "generation.stable")
        assert sources_of(shared) == sources_of(copying) == {"poll"}
        assert {place["name"] for each in shared for place in each["places"]} <= {"ListGroups", "ShareGroupDescribe"}
        assert {place["name"] for each in copying for place in each["places"]} <= {"ListGroups", "StreamsGroupDescribe"}
        owned = [each["partitions"] for each in copying if each["kind"] == "member.assigned"]
        assert owned[-1] == {"orders": [0, 1, 2, 3]}
        page = f"http://{watch.wait()['admin']}/metrics"

        def have_lag() -> bool:
            """Both have read something: a share group begins with what comes after it."""
            produce(kafka, PARTITIONS)
            text = str(urlopen(page).read(), "utf-8")
            return all(f'coordinator_group_lag{{group="{each}"}} ' in text for each in ("shared", "copying"))

        wait_for(have_lag, SECONDS, "the lag of both", every_ms=500)
        second = java(*share)
        running.callback(second.kill)
        joined = [each for each in told(watch, "shared", "member.joined", 2) if each["kind"] == "member.joined"]
        assert all(each["is_inferred"] for each in joined)
        second.terminate()
        removed = [each for each in told(watch, "shared", "member.removed") if each["kind"] == "member.removed"]
        assert (removed[0]["cause"], removed[0]["member"]["member_id"]) == (
            "member_left_or_expired",
            joined[1]["member"]["member_id"],
        )
        assert len(removed[0]["places"]) == 2
        assert watch.stop() == 0


def test_the_lag_of_all_groups_is_in_the_metrics(kafka: RunningKafka, tmp_path: Path):
    partition = '{group="lagging",partition="0",topic="orders"}'
    arguments = ("--poll-every-ms", "500", "--admin", "127.0.0.1:0")
    with into(tmp_path / "watch", kafka.bootstrap, *arguments) as watch:
        with joined(tmp_path, kafka, "lagging", "pod-1", **{"enable.auto.commit": True}) as member:
            member.holds(PARTITIONS)
            wait_for_metrics(
                watch,
                'coordinator_group_members{group="lagging"} 1.0',
                'coordinator_group_lag{group="lagging"} 0.0',
                f"coordinator_group_partition_lag{partition} 0.0",
            )
            member.close()
        produce(kafka, PARTITIONS)
        wait_for_metrics(
            watch,
            'coordinator_group_state{group="lagging",state="Empty"} 1.0',
            f'coordinator_group_lag{{group="lagging"}} {PARTITIONS}.0',
            f"coordinator_group_partition_lag{partition} 1.0",
        )
        events = told(watch, "lagging", "group.emptied")
        assert sources_of(events) == {"record"}  # no event twice


def test_without_the_right_to_read_records_polls_are_the_history(kafka: RunningKafka, tmp_path: Path):
    """The last test: the right is not given back."""
    only_for_others = [(ResourceType.TOPIC, "__consumer_offsets"), (ResourceType.GROUP, "lagging")]
    bindings = [
        AclBinding(
            kind, name, ResourcePatternType.LITERAL, "User:somebody", "*", AclOperation.READ, AclPermissionType.ALLOW
        )
        for kind, name in only_for_others
    ]
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    for future in admin.create_acls(bindings).values():
        future.result()
    with joined(tmp_path, kafka, "polled", "pod-1") as first:
        first.holds(PARTITIONS)
        with into(tmp_path / "watch", kafka.bootstrap, "--poll-every-ms", "500") as watch:
            told(watch, "polled", "group.snapshot")
            with joined(tmp_path, kafka, "polled", "pod-2") as second:
                second.holds(PARTITIONS // 2)
                told(watch, "polled", "generation.stable")
                second.close()
            events = told(watch, "polled", "generation.stable", 2)
            assert sources_of(events) == {"poll"}
            kinds = {
                (event["kind"], event["member"]["client_id"]) for event in events if event["kind"].startswith("member.")
            }
            assert kinds >= {
                ("member.joined", "pod-2"),
                ("member.removed", "pod-2"),
            }
            log = watch.log.read_text()
            assert log.count("polls lack a right") == 1, log
            assert "right='DESCRIBE on the group'" in log
            assert "of=lagging" in log
            assert "lagging" not in watch.events()
            assert log.count("records of groups may not be read: logs and polls are watched") == 1
            assert watch.stop() == 0
