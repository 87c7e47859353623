"""`coordinator groups` as a process, against a real server."""

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.core.assignors.consumer_protocol import encode_assignment, encode_subscription
from coordinator.core.assignors.registry import RANGE
from tests.core.assignors.questions import member
from tests.servers import RunningServer
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


def test_it_changes_nothing(server, group):
    before = printed(server.bootstrap, group, "--assignor", "sticky", "--with", "2")
    assert printed(server.bootstrap, group, "--assignor", "sticky", "--with", "2") == before


def test_errors_are_reported_in_one_line(server, group):
    known = "range, roundrobin, sticky, cooperative-sticky"
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
