"""What keeps a group from going on, as `groups why` and `groups describe` tell it of a real server.

The commands run in this process with a clock that is ahead of the server's, so that nobody waits for minutes to pass.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from kafka import KafkaConsumer, TopicPartition

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import Record, build_batch
from coordinator.cli import main
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.core.assignors.consumer_protocol import encode_assignment, encode_subscription
from coordinator.core.assignors.registry import RANGE
from tests.core.assignors.questions import member
from tests.e2e.members import POLL_MS, STEADY_SECONDS
from tests.servers import QUICK_GROUPS, RunningServer
from tests.transactional_client import TransactionalProducer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

SESSION_MS: Final = 60_000
OLD_MS: Final = time.time_ns() // 1_000_000 - 3_600_000
MINUTES_3: Final = 180


class App:
    """The one member of a group, as bytes on a connection."""

    def __init__(self, client: WireClient, group_id: str, topics: dict[str, list[int]], *others: str) -> None:
        self._client, self._group_id = client, group_id
        metadata = encode_subscription(RANGE, member("", {*topics, *others}))
        joined = client.request(join_request(group_id, metadata=metadata, timeout_ms=SESSION_MS), 3)
        self._own = {"generation_id": joined.generation_id, "member_id": joined.member_id}
        given = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=encode_assignment(topics))]
        synced = client.request(SyncGroupRequest(group_id=group_id, assignments=given, **self._own), 3)
        assert synced.error_code == 0

    def commit(self, topic: str, **offsets: int) -> None:
        """Offsets by partition: `p0=5`."""
        partitions = [
            OffsetCommitRequestPartition(partition_index=int(name[1:]), committed_offset=offset)
            for name, offset in offsets.items()
        ]
        request = OffsetCommitRequest(
            group_id=self._group_id,
            generation_id_or_member_epoch=self._own["generation_id"],
            member_id=self._own["member_id"],
            topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
        )
        assert {partition.error_code for partition in self._client.request(request, 7).topics[0].partitions} == {0}


@pytest.fixture
def client(server: RunningServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap, "app") as connected:
        yield connected


def produce(client: WireClient, topic: str, count: int, partition: int = 0) -> None:
    records = build_batch([Record(offset=each, timestamp_ms=OLD_MS) for each in range(count)])
    assert client.produce(topic, records, partition=partition).error_code == 0


def next_ms() -> None:
    """Until the clock of the server tells another time than that of its last commit."""
    since_ms = time.time() * 1_000
    wait_for(lambda: time.time() * 1_000 > since_ms + 1, 5, "the next millisecond")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Moves the clock of the commands so many seconds ahead."""
    now = time.time_ns

    def move(seconds: float) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: now() + int(seconds * 1e9))

    return move


def printed(server: RunningServer, *arguments: str) -> str:
    """What a command about groups prints, in one line."""
    done = CliRunner().invoke(main, ["groups", *arguments, "--utc", "--bootstrap", server.bootstrap])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def kinds(server: RunningServer, group_id: str) -> list[str]:
    done = CliRunner().invoke(main, ["groups", "why", group_id, "--json", "--bootstrap", server.bootstrap])
    assert done.exit_code == 0, done.output
    return [each["kind"] for each in json.loads(done.output)["findings"]]


def test_an_offset_that_stands_still_is_told_with_its_owner(server, client, later):
    client.create_topic("stuck", 2)
    app = App(client, "stands", {"stuck": [0, 1]})
    produce(client, "stuck", 9)
    app.commit("stuck", p0=3)
    app.commit("stuck", p0=4)
    next_ms()
    app.commit("stuck", p0=4)
    later(100)
    assert kinds(server, "stands") == []
    later(125)
    assert kinds(server, "stands") == ["stands_still"]
    why = printed(server, "why", "stands")
    assert "! stuck-0: the committed offset has not moved since " in why
    assert " or before" not in why
    assert "stuck-0: 5 records wait from offset 4 on" in why
    assert "owned by app (127.0.0.1" in why
    assert "which committed the same offset again at" in why
    assert "kcat -C -t stuck -p 0 -o 4 -c 1" in why
    assert "! stuck-0: the committed offset has not moved since" in printed(server, "describe", "stands")
    app.commit("stuck", p0=5)
    later(100)
    assert kinds(server, "stands") == []


def test_an_owner_that_goes_on_with_another_partition_is_told_so(server, client, later):
    client.create_topic("one-bad", 2)
    app = App(client, "goes-on", {"one-bad": [0, 1]})
    for partition in (0, 1):
        produce(client, "one-bad", 9, partition)
    app.commit("one-bad", p0=4, p1=1)
    next_ms()
    app.commit("one-bad", p1=9)
    later(MINUTES_3)
    assert "while records wait, and its owner goes on with other partitions" in printed(server, "why", "goes-on")


def test_an_offset_that_was_committed_before_all_that_is_looked_at_stood_still_before(server, client, later):
    client.create_topic("long-ago")
    app = App(client, "patient", {"long-ago": [0]})
    produce(client, "long-ago", 9)
    app.commit("long-ago", p0=4)
    later(1_800)
    why = printed(server, "why", "patient")
    assert "long-ago-0: the committed offset has not moved since" in why
    assert " or before, while records wait" in why


def test_a_partition_that_a_stock_client_has_paused_stands_still(server, client, later):
    """It commits the same offset again and again, and reads on in another partition."""
    client.create_topic("paused", 2)
    consumer = KafkaConsumer(
        bootstrap_servers=server.bootstrap,
        group_id="pauses",
        client_id="pausing",
        auto_offset_reset="earliest",
        auto_commit_interval_ms=50,
    )
    first, second = TopicPartition("paused", 0), TopicPartition("paused", 1)

    def committed(partition: TopicPartition, offset: int) -> None:
        def is_committed() -> bool:
            consumer.poll(timeout_ms=20)
            return bool(consumer.committed(partition) == offset)

        wait_for(is_committed, 20, f"the commit of {offset}")

    consumer.subscribe(["paused"])

    def owns_both() -> bool:
        consumer.poll(timeout_ms=POLL_MS)
        return len(consumer.assignment()) == 2

    wait_for(owns_both, STEADY_SECONDS, "both partitions")
    produce(client, "paused", 3)
    committed(first, 3)
    consumer.pause(first)
    produce(client, "paused", 4)
    for number in range(1, 4):
        produce(client, "paused", 1, partition=1)
        committed(second, number)
    later(MINUTES_3)
    why = printed(server, "why", "pauses")
    assert "! paused-0: the committed offset has not moved since" in why
    assert "while records wait, and its owner goes on with other partitions" in why
    assert "paused-0: 4 records wait from offset 3 on" in why
    assert "owned by pausing (127.0.0.1, kafka-python" in why
    assert "paused-1" not in why
    later(0)
    consumer.resume(first)
    committed(first, 7)
    assert kinds(server, "pauses") == []
    consumer.close()


def test_a_consumer_of_kip_848_is_an_owner_too(server, client, later):
    client.create_topic("new-protocol")

    def beat(epoch: int, **said: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id="modern", member_id="m" * 22, member_epoch=epoch, **said)
        return client.request(request, 1)

    joining: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "topic_partitions": []}
    joined = beat(0, subscribed_topic_names=["new-protocol", "not-there"], **joining)
    assert joined.error_code == 0
    answers = [joined]

    def is_assigned() -> bool:
        answers.append(beat(answers[-1].member_epoch))
        return any(answer.assignment is not None and answer.assignment.topic_partitions for answer in answers)

    wait_for(is_assigned, 10, "an assignment")
    (given,) = [answer.assignment for answer in answers if answer.assignment and answer.assignment.topic_partitions][
        -1:
    ]
    owned = [
        TopicPartitions(topic_id=topic_partition.topic_id, partitions=topic_partition.partitions)
        for topic_partition in given.topic_partitions
    ]
    epoch = beat(answers[-1].member_epoch, topic_partitions=owned).member_epoch
    produce(client, "new-protocol", 9)
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=2)
    commit = OffsetCommitRequest(
        group_id="modern",
        generation_id_or_member_epoch=epoch,
        member_id="m" * 22,
        topics=[OffsetCommitRequestTopic(name="new-protocol", partitions=[partition])],
    )
    assert client.request(commit, 9).topics[0].partitions[0].error_code == 0
    later(100)
    assert kinds(server, "modern") == ["subscribed_topic_missing"]
    later(MINUTES_3)
    assert kinds(server, "modern") == ["stands_still", "subscribed_topic_missing"]


def test_what_waits_for_a_transaction_is_told_instead(server, client, later):
    client.create_topic("held-up")
    app = App(client, "waits-for-pay", {"held-up": [0]})
    produce(client, "held-up", 4)
    TransactionalProducer(client, "pays-late", timeout_ms=900_000).send("held-up", 2, OLD_MS)
    app.commit("held-up", p0=4)
    later(MINUTES_3)
    assert kinds(server, "waits-for-pay") == ["waits_for_transaction"]
    app.commit("held-up", p0=3)
    assert kinds(server, "waits-for-pay") == ["stands_still"]


def test_a_group_that_has_never_committed_or_has_read_all_does_not_stand_still(server, client, later):
    client.create_topic("elsewhere")
    app = App(client, "keeps-its-own", {"elsewhere": [0]})
    produce(client, "elsewhere", 4)
    later(MINUTES_3)
    assert "stands_still" not in kinds(server, "keeps-its-own")
    app.commit("elsewhere", p0=4)
    assert kinds(server, "keeps-its-own") == []


def test_a_subscribed_topic_that_does_not_exist_is_told(server, client):
    client.create_topic("orders-here")
    App(client, "misspelt", {"orders-here": [0]}, "ordres")
    told = "there is no topic ordres, to which app subscribes: nothing is read of it"
    assert f"! {told} - app (127.0.0.1" in printed(server, "why", "misspelt")
    assert f"! {told}." in printed(server, "describe", "misspelt")
    client.create_topic("ordres")
    assert "ordres" not in printed(server, "why", "misspelt").partition("owns")[2]


# ---- rights

MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS: Final = ("admin", "app")


def security(user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} required username="{user}" password="{user}-secret";',
    }


@pytest.fixture
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    users = " ".join(f'user_{name}="{name}-secret"' for name in USERS)
    settings = QUICK_GROUPS | {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{MODULE} required {users};",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
    }
    with RunningServer(tmp_path_factory.mktemp("guarded"), settings) as running:
        yield running


def as_admin(server: RunningServer, folder: Path, *arguments: str) -> str:
    config = folder / "admin.properties"
    config.write_text("".join(f"{name}={text}\n" for name, text in security("admin").items()))
    done = CliRunner().invoke(main, [*arguments, "--bootstrap", server.bootstrap, "--command-config", str(config)])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_a_right_on_a_topic_that_a_member_loses_is_told_with_the_member(guarded, tmp_path, later):
    for resource in (("--group", "loses"), ("--topic", "secrets")):
        as_admin(guarded, tmp_path, "acls", "add", "--allow", "User:app", "--operation", "read", *resource)
    with (
        WireClient(Bootstrap(guarded.bootstrap, ClientSecurity(security("admin"))), "admin") as admin,
        WireClient(Bootstrap(guarded.bootstrap, ClientSecurity(security("app"))), "app") as client,
    ):
        admin.create_topic("secrets")
        produce(admin, "secrets", 9)
        app = App(client, "loses", {"secrets": [0]})
        app.commit("secrets", p0=2)
        assert "may not READ" not in as_admin(guarded, tmp_path, "groups", "why", "loses")
        as_admin(guarded, tmp_path, "acls", "remove", "--principal", "User:app", "--topic", "secrets")
        refused = client.request(fetch_request("secrets", 2), 12)
        assert refused.responses[0].partitions[0].error_code == 29  # TOPIC_AUTHORIZATION_FAILED

        def told() -> bool:
            return "may not READ" in as_admin(guarded, tmp_path, "groups", "why", "loses")

        wait_for(told, 10, "the denial in the audit")
        later(65)
        why = as_admin(guarded, tmp_path, "groups", "why", "loses")
        assert "! User:app may not READ topic secrets since " in why
        assert ": app gets none of its records - 1 request was refused until " in why
        assert "the last one Fetch (TOPIC_AUTHORIZATION_FAILED) - app (User:app, 127.0.0.1" in why
        assert "it owns 1 partition of the topic" in why
        assert "has not moved" not in why
        assert "! User:app may not READ topic secrets since " in as_admin(
            guarded, tmp_path, "groups", "describe", "loses"
        )
        later(MINUTES_3)
        why = as_admin(guarded, tmp_path, "groups", "why", "loses")
        assert "may not READ" not in why
        assert "secrets-0: the committed offset has not moved" in why
