"""Groups that stay with a real Kafka, watched by nodes through which their members reach it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, ShareConsumer

from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST
from tests.cluster.running import RunningNodes
from tests.cluster.test_other_kinds_of_groups import ask, coordinator_of
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.waiting import wait_for
from tests.wire_client import WireClient

# A group whose members starve for six seconds on a busy machine loses them rightly.
pytestmark = [pytest.mark.realtime, pytest.mark.nightly, pytest.mark.timeout(240)]

TOPIC: Final = "orders"
PARTITIONS: Final = 4
SECONDS: Final = 25
SESSION_MS: Final = 6_000
NODES: Final = 2
KAFKA_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.num.partitions": "4",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "6000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.streams.min.session.timeout.ms": "3000",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "500",
}

Event = dict[str, Any]


class MemberProcess:
    """A consumer of kafka-python in a process of its own."""

    def __init__(self, bootstrap: str, folder: Path, group_id: str, name: str, *options: str) -> None:
        self._output = folder / f"{group_id}-{name}.out"
        command = [sys.executable, "-m", "tests.cluster.watched_member", bootstrap, group_id, name, TOPIC]
        with self._output.open("ab") as output:
            self.process = subprocess.Popen([*command, *options], stdout=output, stderr=subprocess.STDOUT)

    @property
    def output(self) -> str:
        return self._output.read_text("utf-8")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def __enter__(self) -> "MemberProcess":
        return self

    def __exit__(self, *problem: object) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


class Watched:
    """Two nodes that watch the groups `watched-*` of one Kafka."""

    def __init__(self, kafka: RunningKafka, nodes: RunningNodes, folder: Path) -> None:
        self.kafka, self.nodes, self.folder = kafka, nodes, folder

    def member(self, group_id: str, name: str, *options: str) -> MemberProcess:
        return MemberProcess(self.nodes.bootstrap, self.folder, group_id, name, *options)

    def direct_member(self, group_id: str, name: str) -> MemberProcess:
        """One that knows no node."""
        return MemberProcess(self.kafka.bootstrap, self.folder, group_id, name)

    def events(self, group_id: str) -> list[Event]:
        """Each is there once and in order, or it is an AssertionError."""
        with AuditTopic(self.kafka.bootstrap) as audit:
            partition = audit.partition_of(group_id)
            records = audit.records(audit.offsets([partition], EARLIEST), lambda key: key == group_id.encode())
            found = [json.loads(record.value) for record in records]
        numbers = [event["seq"] for event in found]
        assert numbers == sorted(set(numbers)), found
        for before, event in pairwise(found):
            begins = event["seq"] == event["created_seq"] and before["state"] == "Dead"
            assert begins or event["seq"] == before["seq"] + 1, (before, event)
        return found

    def wait_for(self, group_id: str, kind: str, count: int = 1, **fields: Any) -> Event:
        """The last of `count` events of a kind with these fields; `client_id` is that of its member."""
        found: list[Event] = []

        def is_there() -> bool:
            found[:] = [event for event in self.events(group_id) if event["kind"] == kind and _has(event, fields)]
            return len(found) >= count

        try:
            wait_for(is_there, SECONDS, f"{kind} of {group_id}", every_ms=250)
        except AssertionError:
            told = [(event["kind"], event.get("cause"), _client(event)) for event in self.events(group_id)]
            raise AssertionError(f"{count} times {kind} {fields} of {group_id}; told is {told}") from None
        return found[-1]

    def stable_with(self, group_id: str, members: int) -> Event:
        return self.wait_for(group_id, "generation.stable", members=members)

    def why(self, group_id: str) -> str:
        command = [sys.executable, "-m", "coordinator.cli", "groups", "why", group_id]
        command += ["--bootstrap", self.nodes.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
        return " ".join(done.stdout.split())


def _client(event: Event) -> str:
    return str((event.get("member") or {}).get("client_id", ""))


def _has(event: Event, fields: dict[str, Any]) -> bool:
    own = {**event, "client_id": _client(event)}
    return all(own.get(name) == value for name, value in fields.items())


def sources(event: Event) -> set[str]:
    return {place["source"] for place in event["places"]}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder: Path = tmp_path_factory.mktemp("watched")
    try:
        kafka = RunningKafka(folder, KAFKA_SETTINGS, threads={})
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    settings = {"cluster.watch": "watched-*", "cluster.adopt": ""}
    with kafka, RunningNodes(folder, kafka.bootstrap, NODES, settings) as nodes:
        with WireClient(kafka.bootstrap) as client:
            client.create_topic(TOPIC, PARTITIONS)
        yield Watched(kafka, nodes, folder)


def test_a_member_that_was_killed_and_one_that_is_suspended_are_told_apart(watched: Watched):
    group_id = "watched-silent"
    with (
        watched.member(group_id, "a"),
        watched.member(group_id, "b") as killed,
        watched.member(group_id, "c") as frozen,
    ):
        watched.stable_with(group_id, 3)
        killed.send(signal.SIGKILL)
        removed = watched.wait_for(group_id, "member.removed", client_id="b")
        assert (removed["cause"], removed["is_inferred"], removed["connection_open"]) == (
            "session_expired",
            False,
            False,
        )
        assert removed["connection_closed_ms"] >= removed["last_heard_ms"]
        assert SESSION_MS - 500 <= removed["time_ms"] - removed["last_heard_ms"] <= SESSION_MS + 3_000
        assert "node" in sources(removed)
        why = watched.why(group_id)
        assert "because b (127.0.0.1, kafka-python" in why and "The connection of b closed at" in why, why

        watched.stable_with(group_id, 2)
        frozen.send(signal.SIGSTOP)
        removed = watched.wait_for(group_id, "member.removed", client_id="c")
        assert (removed["cause"], removed["connection_open"]) == ("session_expired", True)
        assert removed["connection_closed_ms"] is None
        watched.stable_with(group_id, 1)
        why = watched.why(group_id)
        assert "because c (127.0.0.1, kafka-python" in why and "was silent for 6 s" in why, why

        frozen.send(signal.SIGCONT)
        back = watched.wait_for(group_id, "member.joined", count=2, client_id="c")
        assert back["member"]["client_software_name"] == "kafka-python"
        began = [event for event in watched.events(group_id) if event["kind"] == "rebalance.started"][-1]
        assert (began["cause"], _client(began)) == ("new_member", "c")


def test_a_member_that_leaves_gives_its_reason(watched: Watched):
    group_id = "watched-leaving"
    with watched.member(group_id, "stays"):
        watched.stable_with(group_id, 1)
        with watched.member(group_id, "goes", "close") as goes:
            assert goes.process.wait(SECONDS) == 0
        removed = watched.wait_for(group_id, "member.removed", client_id="goes")
        assert (removed["cause"], removed["is_inferred"]) == ("member_left", False)
        stable = watched.wait_for(group_id, "generation.stable", count=2, members=1)
        assert stable["rebalance_ms"] is not None


def test_members_of_the_consumer_protocol_are_watched_too(watched: Watched):
    group_id = "watched-modern"
    settings = {
        "bootstrap.servers": watched.nodes.bootstrap,
        "group.id": group_id,
        "group.protocol": "consumer",
        "log_level": 3,
    }
    stays = Consumer({**settings, "client.id": "stays"})
    leaves = Consumer({**settings, "client.id": "leaves"})
    for consumer in (stays, leaves):
        consumer.subscribe([TOPIC])

    def both_own() -> bool:
        for consumer in (stays, leaves):
            consumer.poll(0.1)
        return [len(consumer.assignment()) for consumer in (stays, leaves)] == [2, 2]

    wait_for(both_own, SECONDS, "both members to own partitions", every_ms=10)
    leaves.close()
    removed = watched.wait_for(group_id, "member.removed", client_id="leaves")
    assert (removed["cause"], removed["is_inferred"]) == ("member_left", False)
    assert removed["member"]["client_software_name"] == "confluent-kafka-python"
    stays.close()


def test_nodes_may_go_in_any_order_and_the_history_goes_on(watched: Watched):
    """The one that tells of the group is killed, and started again: nothing is told twice or left out."""
    group_id = "watched-moving"
    with watched.member(group_id, "a"):
        watched.stable_with(group_id, 1)
        for node in watched.nodes.nodes:
            before = len(watched.events(group_id))
            node.kill()
            with watched.member(group_id, f"with-{node.node_id}-away"):
                watched.wait_for(group_id, "member.joined", client_id=f"with-{node.node_id}-away")
            assert len(watched.events(group_id)) > before
            node.start()
            watched.nodes.wait_until_served()
    joined = [_client(event) for event in watched.events(group_id) if event["kind"] == "member.joined"]
    away: Sequence[str] = [name for name in joined if name.endswith("-away")]
    assert sorted(set(away)) == ["with-1-away", "with-2-away"]
    assert "group.removed" not in [event["kind"] for event in watched.events(group_id)], "a load tells nothing of it"


def cluster(nodes: RunningNodes, *arguments: str) -> str:
    command = [sys.executable, "-m", "coordinator.cli", "cluster", *arguments, "--bootstrap", nodes.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_groups_are_watched_by_a_command_by_all_nodes_and_after_a_restart(watched: Watched):
    group_id, other = "later-orders", "later-payments"
    with watched.member(group_id, "a") as first, watched.member(other, "b"):
        wait_for(lambda: "assigned" in first.output, SECONDS, "the group to be stable", every_ms=100)
        assert f"{group_id} would be watched" in cluster(watched.nodes, "watch", "later-*", "--dry-run")
        assert watched.events(group_id) == []
        assert f"{group_id} is watched" in cluster(watched.nodes, "watch", "later-*")
        # What it was before is in its records, of which none has to come for that.
        watched.stable_with(group_id, 1)
        assert "later-* watched" in cluster(watched.nodes, "status")
        for node in watched.nodes.nodes:
            node.kill()
            node.start()
            watched.nodes.wait_until_served()
        with watched.member(group_id, "c"):
            watched.wait_for(group_id, "member.joined", client_id="c")
        assert f"{other} is watched by this no more" in cluster(watched.nodes, "unwatch", "later-*")
        assert "later-* not watched" in cluster(watched.nodes, "status")
        with watched.member(group_id, "d") as unseen:
            wait_for(lambda: "assigned" in unseen.output, SECONDS, "the member to be in", every_ms=100)
        assert "d" not in map(_client, watched.events(group_id))
        cluster(watched.nodes, "watch", "later-*")
        gap = watched.wait_for(group_id, "group.unseen", because="not_watched")
        assert 0 < gap["until_ms"] - gap["from_ms"] < 60_000
        assert "no rule watched the group from here on" in watched.why(group_id)


def test_a_group_is_adopted_and_given_back_and_no_number_is_there_twice(watched: Watched):
    group_id = "watched-both"
    for number in range(2):
        with watched.member(group_id, f"watched-{number}"):
            watched.wait_for(group_id, "member.joined", client_id=f"watched-{number}")
        cluster(watched.nodes, "adopt", group_id, "--wait", str(SECONDS))
        assert watched.wait_for(group_id, "group.removed", count=number + 1, cause="adopted")["places"]
        watched.wait_for(group_id, "member.removed", client_id=f"watched-{number}", cause="session_expired")
        with watched.member(group_id, f"own-{number}"):
            watched.wait_for(group_id, "member.joined", client_id=f"own-{number}")
        watched.wait_for(group_id, "member.removed", client_id=f"own-{number}")
        cluster(watched.nodes, "release", group_id)
        watched.wait_for(group_id, "group.removed", count=number + 1, cause="released")
    with watched.member(group_id, "again"):
        watched.wait_for(group_id, "member.joined", client_id="again")
    joined = [_client(event) for event in watched.events(group_id) if event["kind"] == "member.joined"]
    assert joined == ["watched-0", "own-0", "watched-1", "own-1", "again"]
    assert "missing" not in watched.why(group_id)


def test_a_client_that_comes_to_the_brokers_directly_is_noticed(watched: Watched):
    group_id = "watched-direct"
    with watched.member(group_id, "a"):
        watched.stable_with(group_id, 1)
    with watched.member(group_id, "c"), watched.direct_member(group_id, "b") as direct:
        watched.wait_for(group_id, "member.joined", client_id="c")
        unseen = watched.wait_for(group_id, "group.unseen", because="not_through_nodes", client_id="b")
        assert unseen["by_node"] is None
        direct.send(signal.SIGKILL)
        removed = watched.wait_for(group_id, "member.removed", client_id="b")
        assert removed["cause"] == "member_left_or_expired"
        assert "no node saw b (127.0.0.1) come: it came to the brokers directly" in watched.why(group_id)
    assert [_client(event) for event in watched.events(group_id) if event["kind"] == "group.unseen"] == ["b"]


def test_from_when_to_when_a_node_saw_nothing_is_told_of_the_groups_whose_members_it_had(watched: Watched):
    group_id = "watched-gap"
    with watched.member(group_id, "a"):
        watched.stable_with(group_id, 1)
        heard_by: set[int] = set()
        for node in watched.nodes.nodes:
            node.kill()
            node.start()
            watched.nodes.wait_until_served()
            heard_by.add(node.node_id)
        unseen = watched.wait_for(group_id, "group.unseen", because="node_away")
        assert unseen["by_node"] in heard_by
        assert 0 < unseen["until_ms"] - unseen["from_ms"] < 60_000
        assert f"node {unseen['by_node']} saw nothing, as it was away, for" in watched.why(group_id)


def test_members_of_a_share_group_that_leave_and_that_are_killed_are_told_apart(watched: Watched):
    group_id = "watched-shared"
    settings = {"bootstrap.servers": watched.nodes.bootstrap, "group.id": group_id, "log_level": 3}
    stays = ShareConsumer({**settings, "client.id": "stays"})
    leaves = ShareConsumer({**settings, "client.id": "leaves"})
    for consumer in (stays, leaves):
        consumer.subscribe([TOPIC])

    def is_told() -> bool:
        for consumer in (stays, leaves):
            consumer.poll(0.1)
        stable = [event for event in watched.events(group_id) if event["kind"] == "generation.stable"]
        return bool(stable) and stable[-1]["members"] == 2

    wait_for(is_told, SECONDS, "a share group of two members to be told", every_ms=200)
    leaves.close()
    removed = watched.wait_for(group_id, "member.removed", client_id="leaves")
    assert (removed["cause"], removed["is_inferred"]) == ("member_left", False)
    joining = ShareGroupHeartbeatRequest(
        group_id=group_id, member_id="m" * 22, member_epoch=0, subscribed_topic_names=[TOPIC]
    )
    # One heartbeat, and nothing more.
    assert ask(coordinator_of(watched.nodes, group_id), joining).error_code == 0
    removed = watched.wait_for(group_id, "member.removed", cause="session_expired")
    assert removed["member"]["member_id"] == "m" * 22
    assert (removed["is_inferred"], removed["connection_open"]) == (False, False)
    assert "group.unseen" not in [event["kind"] for event in watched.events(group_id)]
    stays.close()


def test_members_of_a_streams_group_are_told(watched: Watched):
    group_id = "watched-streams"
    topology = Topology(epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=[TOPIC])])
    joining = StreamsGroupHeartbeatRequest(
        group_id=group_id,
        member_id="s" * 22,
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        topology=topology,
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
        client_tags=[],
    )
    broker = coordinator_of(watched.nodes, group_id)

    def has_joined() -> bool:
        return bool(ask(broker, joining).error_code == 0)

    wait_for(has_joined, SECONDS, "the member to join", every_ms=100)
    assert watched.wait_for(group_id, "group.created")["group_type"] == "streams"
    removed = watched.wait_for(group_id, "member.removed", cause="session_expired")
    assert removed["member"]["member_id"] == "s" * 22
