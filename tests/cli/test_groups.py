"""`coordinator groups` as a process, against a real server."""

import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import Record, build_batch
from coordinator.client.streams_tasks import GROUP_RESOURCE
from coordinator.core.assignors.consumer_protocol import encode_assignment, encode_subscription
from coordinator.core.assignors.registry import RANGE
from tests.core.assignors.questions import member
from tests.core.test_connect_protocol import assignment as worker_assignment
from tests.core.test_connect_protocol import tasks
from tests.servers import RunningServer
from tests.streams_members import StreamsMember
from tests.waiting import wait_for
from tests.wire_client import WireClient

_NAMES = (f"what-if-{number}" for number in count(1))


@pytest.fixture
def name(server: RunningServer) -> str:
    """The name of a group, and of a topic with six partitions."""
    name = next(_NAMES)
    with WireClient(server.bootstrap) as client:
        client.create_topic(name, 6)
    return name


def join(client: WireClient, group_id: str, instance_id: str, protocol_type: str = "consumer") -> Any:
    """Join as a static member, and as the only one; the answer."""
    metadata = encode_subscription(RANGE, member("", {group_id}))
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    return client.request(request, 5)


@pytest.fixture
def group(server: RunningServer, name: str) -> Iterator[str]:
    """A stable group of one static member `first`, which has all six partitions but the last."""
    with WireClient(server.bootstrap, "app") as client:
        joined = join(client, name, "first")
        assignments = [
            SyncGroupRequestAssignment(
                member_id=joined.member_id, assignment=encode_assignment({name: [0, 1, 2, 3, 4]})
            )
        ]
        request = SyncGroupRequest(
            group_id=name,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id="first",
            assignments=assignments,
        )
        assert client.request(request, 3).error_code == 0
        yield name


def what_if(bootstrap: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coordinator.cli", "groups", "what-if", *arguments, "--bootstrap", bootstrap]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def printed(bootstrap: str, *arguments: str) -> list[str]:
    """Lines, each with single blanks, a member id without its UUID."""
    run = what_if(bootstrap, *arguments)
    assert run.returncode == 0, run.stderr
    return [re.sub("  +", " ", re.sub("-[0-9a-f]{8}-[0-9a-f-]{27}", "", line)) for line in run.stdout.splitlines()]


def refused(bootstrap: str, *arguments: str) -> str:
    """The one line of a command that fails."""
    run = what_if(bootstrap, *arguments)
    assert (run.returncode, run.stdout) == (1, "")
    (line,) = run.stderr.splitlines()
    return line


def test_it_prints_what_would_move(server, group):
    assert printed(server.bootstrap, group, "--assignor", "cooperative-sticky", "--with", "1") == [
        f"group {group}, assigned by range: 1 member, 6 partitions of 1 topic",
        "member kept gained lost what",
        f"first 3 0 2 - {group}[3-4]",
        f"new-1 0 3 0 + {group}[3-5]",
        "total 3 3 2",
        "2 partitions would move, 1 without owner would be assigned; it takes 2 rebalances",
    ]


def test_it_prints_that_nothing_would_move(server, group):
    lines = printed(server.bootstrap, group, "--assignor", "range")
    assert lines[2] == f"first 5 1 0 + {group}[5]"
    assert lines[-1] == "0 partitions would move, 1 without owner would be assigned; it takes 1 rebalance"


def set_group_configs(client: WireClient, group_id: str, configs: dict[str, str]) -> None:
    altered = [AlterableConfig(name=name, value=value) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configs=altered)
    (answer,) = client.request(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert answer.error_code == 0, answer.error_message


STANDBYS = {"streams.num.standby.replicas": "1", "streams.initial.rebalance.delay.ms": "0"}


def settle(members: list[StreamsMember], counts: list[int]) -> None:
    """Until they have so many active tasks, and are told nothing new."""

    def is_settled() -> bool:
        were_told = [one.beat() for one in members]
        return not any(were_told) and [(one.status, one.task_count()) for one in members] == [([], n) for n in counts]

    wait_for(is_settled, 20, "a stable group")


@pytest.fixture
def streams_members(server: RunningServer, name: str) -> Iterator[list[StreamsMember]]:
    """Those of a stable streams group, which have three tasks and three standby tasks each."""
    with WireClient(server.bootstrap, "app") as client:
        set_group_configs(client, name, STANDBYS)
        members = [StreamsMember(client, name, member_id) for member_id in ("one", "two", "three")]
        for member in members[:2]:
            member.join([name], changelogs=[f"{name}-changelog"])
        settle(members[:2], [3, 3])
        yield members


def test_it_prints_which_tasks_of_a_streams_group_would_move_and_they_do(server, name, streams_members):
    one, two, three = streams_members
    lines = printed(server.bootstrap, name, "--assignor", "sticky", "--with", "1")
    assert lines[0] == f"group {name}, assigned by sticky: 2 members, 6 active tasks of 1 subtopology"
    new = next(line for line in lines if line.startswith("new-1"))
    assert re.fullmatch(r"new-1 0 2 0 \+ 0\[[0-5,-]+\]", new)
    assert "2 active tasks would move; it takes 1 rebalance" in lines
    assert f"group {name}, assigned by sticky: 2 members, 6 standby tasks of 1 subtopology" in lines
    before = {member: member.standby_tasks() for member in streams_members}
    three.join([name], changelogs=[f"{name}-changelog"])
    settle([one, two, three], [2, 2, 2])
    restored = sum(len(member.standby_tasks() - before[member]) for member in streams_members)
    assert lines[-1].startswith(f"{restored} standby tasks would be restored by members that do not have them;")


def test_standby_tasks_that_no_process_can_have_are_not_counted(server, name):
    with WireClient(server.bootstrap, "app") as client:
        set_group_configs(client, name, STANDBYS)
        alone = StreamsMember(client, name, "one")
        alone.join([name], changelogs=[f"{name}-changelog"])
        settle([alone], [6])
        lines = printed(server.bootstrap, name, "--assignor", "sticky", "--with", "1")
    assert f"group {name}, assigned by sticky: 1 member, 0 standby tasks of 1 subtopology" in lines
    assert lines[-1].startswith("6 standby tasks would be restored")


def test_a_streams_group_has_one_assignor(server, name, streams_members):
    assert refused(server.bootstrap, name, "--assignor", "range") == (
        f"Error: group {name} uses the streams protocol; choose one of its assignors: sticky"
    )


def test_it_changes_nothing(server, group):
    before = printed(server.bootstrap, group, "--assignor", "sticky", "--with", "2")
    assert printed(server.bootstrap, group, "--assignor", "sticky", "--with", "2") == before


def consumer_group_heartbeat(client: WireClient, group_id: str, member_id: str, topic: str, epoch: int = 0) -> int:
    """A heartbeat that says all; the epoch of the answer."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[topic],
        topic_partitions=[],
    )
    answer = client.request(request, 1)
    assert answer.error_code == 0, answer
    member_epoch: int = answer.member_epoch
    return member_epoch


def test_it_knows_the_assignors_of_consumer_groups(server, name):
    with WireClient(server.bootstrap, "app") as client:
        consumer_group_heartbeat(client, f"consumers-of-{name}", "only", name)
        assert printed(server.bootstrap, f"consumers-of-{name}", "--assignor", "range", "--with", "1") == [
            f"group consumers-of-{name}, assigned by uniform: 1 member, 6 partitions of 1 topic",
            "member kept gained lost what",
            f"new-1 0 3 0 + {name}[0-2]",
            f"only 3 0 3 - {name}[0-2]",
            "total 3 3 3",
            "3 partitions would move; it takes 1 rebalance",
        ]
        assert printed(server.bootstrap, f"consumers-of-{name}", "--assignor", "uniform")[-1].startswith("0 partitions")
        assert refused(server.bootstrap, f"consumers-of-{name}", "--assignor", "sticky") == (
            f"Error: group consumers-of-{name} uses the consumer protocol; choose one of its assignors: uniform, range"
        )


def test_it_tells_what_uniform_would_give_a_classic_group(server, group):
    lines = printed(server.bootstrap, group, "--assignor", "uniform", "--with", "1")
    assert lines[-1] == "2 partitions would move, 1 without owner would be assigned; it takes 1 rebalance"


def test_errors_are_reported_in_one_line(server, group):
    known = "range, roundrobin, sticky, cooperative-sticky, uniform"
    assert refused(server.bootstrap, group, "--assignor", "fair") == (
        f"Error: there is no assignor fair; choose one of {known}"
    )
    assert refused(server.bootstrap, "nobody", "--assignor", "range").startswith("Error: there is no group nobody")
    assert re.fullmatch(
        f"Error: group {group} has no member second; its members are first-[0-9a-f-]{{36}}",
        refused(server.bootstrap, group, "--assignor", "range", "--without", "second"),
    )
    assert refused(server.bootstrap, group, "--assignor", "range", "--without", "first") == (
        f"Error: first is the only member of group {group}; no member would remain"
    )
    assert refused(server.bootstrap, group, "--assignor", "range", "--without", "first", "--with", "1").startswith(
        "Error: --without and --with cannot be combined"
    )


def test_a_server_that_cannot_be_reached():
    assert refused("127.0.0.1:1", "g", "--assignor", "range").startswith("Error: cannot reach 127.0.0.1:1: ")


def test_a_group_that_is_not_a_consumer_group(server, name):
    with WireClient(server.bootstrap) as client:
        join(client, name, "worker", protocol_type="connect")
        assert refused(server.bootstrap, name, "--assignor", "range") == (
            f"Error: group {name} is not a consumer group: its protocol type is 'connect'"
        )


def test_a_group_that_is_rebalancing(server, name):
    with WireClient(server.bootstrap) as client:
        join(client, name, "first")
        assert refused(server.bootstrap, name, "--assignor", "range") == (
            f"Error: group {name} is rebalancing (CompletingRebalance); retry when it is stable"
        )


def test_a_group_without_members(server, name):
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequestTopic(name=name, partitions=[partition])]
    with WireClient(server.bootstrap) as client:
        client.request(OffsetCommitRequest(group_id=name, topics=topics), 8)
    assert refused(server.bootstrap, name, "--assignor", "range") == (
        f"Error: group {name} has no members; start its consumers and retry"
    )


# ---- list and describe


def groups(bootstrap: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "coordinator.cli", "groups", *arguments, "--bootstrap", bootstrap]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def fill_and_commit(server: RunningServer, name: str, old_ms: int) -> None:
    """Ten records in partitions 0 to 2; committed are 0, 7, 10, and 0 in the empty partition 3."""
    with WireClient(server.bootstrap) as client:
        for partition in range(3):
            records = [Record(offset=offset, timestamp_ms=old_ms, value=b"v") for offset in range(10)]
            client.produce(name, build_batch(records), partition=partition)
        offsets = [
            OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
            for index, offset in enumerate((0, 7, 10, 0))
        ]
        topics = [OffsetCommitRequestTopic(name=name, partitions=offsets)]
        response = client.request(OffsetCommitRequest(group_id=name, topics=topics), 8)
        assert {partition.error_code for topic in response.topics for partition in topic.partitions} == {0}


def hours_ago(hours: int) -> int:
    return time.time_ns() // 1_000_000 - hours * 3_600_000


def test_a_group_without_members_is_described_by_its_lag(server, name):
    fill_and_commit(server, name, hours_ago(2))
    lines = groups(server.bootstrap, "describe", name).splitlines()
    assert lines[0] == f"group {name}: Empty, 0 members, lag 13 in 4 partitions"
    assert [line.split() for line in lines[2:]] == [
        ["topic", "part.", "committed", "log", "end", "lag", "age", "member", "host"],
        [name, "0", "0", "10", "10", "2", "h", "-", "-"],
        [name, "1", "7", "10", "3", "2", "h", "-", "-"],
        [name, "2", "10", "10", "0", "0", "ms", "-", "-"],
        [name, "3", "0", "0", "0", "0", "ms", "-", "-"],
        ["total", "13", "2", "h"],
    ]
    assert max(map(len, lines)) <= 80
    assert [name, "Empty", "13"] in [line.split() for line in groups(server.bootstrap, "list").splitlines()]


def test_the_members_of_partitions_are_named_beside_their_lag(server, group):
    with WireClient(server.bootstrap) as client:
        client.produce(group, build_batch([Record(offset=0, timestamp_ms=hours_ago(3))]), partition=4)
    described = json.loads(groups(server.bootstrap, "describe", group, "--json"))
    assert (described["lag"], described["lag_ms"]) == (None, None)
    *owners, nobody = [each["member_id"] for each in described["partitions"]]
    (member_id,) = set(owners)
    assert member_id.startswith("first-")
    assert nobody is None
    assert [(each["committed_offset"], each["lag"], each["lag_ms"]) for each in described["partitions"]] == [
        (None, None, None)
    ] * 6
    text = groups(server.bootstrap, "describe", group)
    unowned = f"{group}-5: nobody owns what members subscribe to, so nobody reads it"
    assert f"! {unowned}." in text
    assert f"! {unowned}" in groups(server.bootstrap, "why", group)
    table = text.splitlines()[5:]
    assert table[1].split() == [group, "0", "-", "0", "-", "-", "first", "127.0.0.1"]


def test_the_members_of_a_consumer_group_have_epochs_and_targets(server, name):
    group_id = f"consumers-of-{name}"
    with WireClient(server.bootstrap, "has") as one, WireClient(server.bootstrap, "waits") as other:
        consumer_group_heartbeat(one, group_id, "a", name)
        lines = groups(server.bootstrap, "describe", group_id).splitlines()
        assert lines[0] == (
            f"group {group_id}: Stable, group epoch 2, assigned by uniform, 1 member, lag unknown in 6 partitions"
        )
        assert lines[2].split() == ["member", "host", "client", "id", "epoch", "partitions", "assigned"]
        assert lines[3].split() == ["has", "127.0.0.1", "has", "2", "6", f"{name}[0-5]"]
        epoch = consumer_group_heartbeat(other, group_id, "b", name)
        wait_for(lambda: consumer_group_heartbeat(other, group_id, "b", name, epoch) == 3, 10, "a target for both")
        lines = groups(server.bootstrap, "describe", group_id).splitlines()
    assert lines[0].startswith(f"group {group_id}: Reconciling, group epoch 3, ")
    assert [line.split() for line in lines[3:5]] == [
        ["has", "127.0.0.1", "has", "2", "6", f"{name}[0-5]", f"{name}[0-2]"],
        ["waits", "127.0.0.1", "waits", "3", "0", "-", f"{name}[3-5]"],
    ]


def test_the_age_of_lag_is_that_of_the_first_record_that_is_left(server, name):
    fill_and_commit(server, name, hours_ago(5))
    with WireClient(server.bootstrap) as client:
        client.produce(name, build_batch([Record(offset=0, timestamp_ms=hours_ago(1))]), partition=0)
        topics = [DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=0, offset=10)])]
        client.request(DeleteRecordsRequest(topics=topics, timeout_ms=5_000), 2)
    described = json.loads(groups(server.bootstrap, "describe", name, "--json"))
    first = next(each for each in described["partitions"] if each["partition"] == 0)
    assert first["lag"] == 11
    assert 3_600_000 <= first["lag_ms"] < 3_700_000
    assert described["lag_ms"] >= 5 * 3_600_000


def test_a_static_member_that_came_back_elsewhere_is_described_as_the_client_that_it_is_now(server, group):
    with WireClient(server.bootstrap, "app-of-another-pod") as client:
        assert join(client, group, "first").error_code == 0
        text = groups(server.bootstrap, "describe", group, "--utc")
        (member,) = json.loads(groups(server.bootstrap, "describe", group, "--json"))["members"]
    assert text.splitlines()[3].split()[:3] == ["first", "127.0.0.1", "app-of-another-pod"]
    told = "from 127.0.0.1; DescribeGroups, and so other tools, still tell the client before: app (127.0.0.1)."
    assert re.search(r"! first came back at [-0-9]+ [:0-9]+\+00:00 " + re.escape(told), " ".join(text.split()))
    assert member["client_id"] == "app"  # as DescribeGroups tells it, here and on Kafka
    came_back = member["came_back"]
    assert (came_back["client_id"], came_back["client_host"]) == ("app-of-another-pod", "/127.0.0.1")
    assert 0 <= time.time_ns() // 1_000_000 - came_back["since_ms"] < 60_000


def test_a_static_member_that_came_back_as_it_was_is_described_without_more_words(server, group):
    with WireClient(server.bootstrap, "app") as client:
        assert join(client, group, "first").error_code == 0
        assert "came back" not in groups(server.bootstrap, "describe", group)


def sync_alone(client: WireClient, group_id: str, joined: Any, assignment: bytes) -> None:
    request = SyncGroupRequest(
        group_id=group_id,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id="first",
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)],
    )
    assert client.request(request, 3).error_code == 0


def test_the_workers_of_kafka_connect_are_described_by_connectors_and_tasks(server, name):
    with WireClient(server.bootstrap, "worker") as client:
        joined = join(client, name, "first", protocol_type="connect")
        assigned = worker_assignment(
            1, tasks(sink=[-1, 0, 1], source=[2]), tasks(source=[0]), struct.pack(">i", 300_000)
        )
        sync_alone(client, name, joined, assigned)
        lines = groups(server.bootstrap, "describe", name).splitlines()
        why = " ".join(groups(server.bootstrap, "why", name).split())
    assert "1 worker of Kafka Connect runs 1 connector and 3 tasks, by the configurations up to offset 12." in why
    assert "first was to give up source-0, for the next rebalance. Until " in why
    assert lines[2].split() == ["member", "host", "client", "id", "tasks", "assigned"]
    assert " ".join(lines[3].split()) == "first 127.0.0.1 worker 3 connectors: sink; tasks: sink[0-1] source[2]"
    assert lines[4:7] == [
        "Kafka Connect: 1 connector and 3 tasks, by the configurations up to offset 12",
        "1 connector or task to be given up, for the next rebalance",
        "at the last rebalance the leader was to wait 5 min for workers that had gone"
        " (scheduled.rebalance.max.delay.ms)",
    ]


def test_an_assignment_without_user_data_is_cut_short(server, name):
    with WireClient(server.bootstrap, "app") as client:
        joined = join(client, name, "first")
        sync_alone(client, name, joined, encode_assignment({name: [0, 1]})[:-4])
        text = groups(server.bootstrap, "describe", name)
    assert f"{name}[0-1] (cut short: without user data)" in text
    assert "cannot be read" not in text
