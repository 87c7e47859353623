"""After a restart of the server, members go on, and the first request of each tells again what its client is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.audit import schema
from coordinator.cli.groups import command as groups
from coordinator.client.audit_topic import AuditTopic
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

SOFTWARE = ("acme-kafka", "7.1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, QUICK_GROUPS) as running:
        yield running


def client_of(server: RunningServer, client_id: str = "app") -> WireClient:
    """A connection whose client has said what it is."""
    client = WireClient(server.bootstrap, client_id)
    name, version = SOFTWARE
    client.request(ApiVersionsRequest(client_software_name=name, client_software_version=version), 3)
    return client


def restart(server: RunningServer) -> None:
    server.stop()
    server.start()


def removal(server: RunningServer, group_id: str) -> schema.MemberRemoved:
    def found() -> list[Any]:
        with AuditTopic(server.bootstrap) as topic:
            events = [group_event.event for group_event in topic.group_events(group_id)]
        return [event for event in events if isinstance(event, schema.MemberRemoved)]

    first: schema.MemberRemoved = wait_for(found, 20, "the removal")[0]
    return first


def software_of(member: schema.MemberRef) -> tuple[str, str]:
    return member.client_software_name, member.client_software_version


def leave(client: WireClient, group_id: str, member_id: str) -> None:
    request = LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id=member_id)])
    assert client.request(request, 4).error_code == 0


def test_a_heartbeat_after_a_restart_tells_the_software_of_the_client(server):
    with client_of(server) as client:
        member_id = client.join_alone("g")
    restart(server)
    with client_of(server) as client:
        assert [client.heartbeat_error("g", member_id) for _ in range(2)] == [0, 0]
        leave(client, "g", member_id)
    assert software_of(removal(server, "g").member) == SOFTWARE
    told = CliRunner().invoke(groups, ["why", "g", "--bootstrap", server.bootstrap]).output
    assert "whether acme-kafka gives reasons is unknown" in " ".join(told.split())


def test_a_member_that_was_not_heard_since_has_no_software(server):
    with client_of(server) as client:
        member_id = client.join_alone("g")
    restart(server)
    with client_of(server) as client:
        leave(client, "g", member_id)
    assert software_of(removal(server, "g").member) == ("", "")


def test_who_dies_after_a_restart_has_a_connection_that_closed(server):
    with client_of(server) as client:
        member_id = client.join_alone("g", session_timeout_ms=1_000)
    restart(server)
    with client_of(server) as client:
        assert client.heartbeat_error("g", member_id) == 0
    gone = removal(server, "g")
    assert (gone.connection_open, software_of(gone.member)) == (False, SOFTWARE)
    assert gone.connection_closed_ms is not None


def heartbeat(client: WireClient, member_id: str, epoch: int, **changes: Any) -> int:
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id=member_id, member_epoch=epoch, **changes)
    answer = client.request(request, 1)
    assert answer.error_code == 0, answer
    found: int = answer.member_epoch
    return found


def test_a_member_of_a_consumer_group_too(server):
    with client_of(server) as client:
        client.create_topic("t", 1)
        joined = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        epoch = heartbeat(client, "m", 0, **joined)
    restart(server)
    with client_of(server) as client:
        assert heartbeat(client, "m", epoch) == epoch
        assert heartbeat(client, "m", -1) == -1
    assert software_of(removal(server, "g").member) == SOFTWARE
