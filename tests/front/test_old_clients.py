"""Connections that are closed because their client is too old: whose they are is found, at a bounded cost."""

import socket
import struct
from types import SimpleNamespace
from typing import Any, cast

from click.testing import CliRunner

from coordinator.audit.schema import RequestRejected
from coordinator.cli.groups import command as groups
from coordinator.client.audit_topic import AuditTopic
from coordinator.core.groups.old_clients import OldClient, RefusedVersion
from coordinator.front.old_clients import CLIENTS_OF_ADDRESS_MAX, FIRST_MS, INTERVAL_MS, OldClients
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.runtime.slices import Slices
from tests.front.manual_scheduler import ManualScheduler
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

FETCH: RefusedVersion = RefusedVersion("Fetch", 3, 4)
HOST = "/10.0.0.1"


def member(client_id: str, host: str = HOST, **others: Any) -> SimpleNamespace:
    return SimpleNamespace(client_id=client_id, client_host=host, **others)


class Searching:
    """Two groups of members `a`, `b` and `c`, and what was reported about them."""

    def __init__(self) -> None:
        self.scheduler = ManualScheduler()
        self.reported: list[tuple[str, str]] = []
        one = {"a-1": member("a"), "b-1": member("b")}
        other = {"a-2": member("a"), "c-1": member("first", replaced_by=member("c"))}
        shards = [self._shard(one=one), self._shard(other=other)]
        coordinator = SimpleNamespace(shards=shards, report_old_client=self._report)
        self.clients = OldClients(
            cast(GroupCoordinator, coordinator),
            self.scheduler.as_loop_scheduler,
            Slices(lambda callback: None),
            self.scheduler.now_ms,
        )
        self.scheduler.on_due(self.clients.due)

    @staticmethod
    def _shard(**groups: dict[str, SimpleNamespace]) -> SimpleNamespace:
        found = {
            name: SimpleNamespace(group_id=name, membership=SimpleNamespace(members=members))
            for name, members in groups.items()
        }
        return SimpleNamespace(machine=SimpleNamespace(groups=found))

    def _report(self, group_id: str, old: OldClient) -> None:
        self.reported.append((group_id, old.member_id))

    def refuse(self, client_id: str, host: str = HOST, refused: RefusedVersion = FETCH) -> None:
        self.clients.refused(client_id, host, refused)


def test_all_members_of_the_client_are_reported_after_a_moment():
    searching = Searching()
    searching.refuse("a")
    searching.scheduler.advance(FIRST_MS - 1)
    assert searching.reported == []
    searching.scheduler.advance(1)
    assert searching.reported == [("one", "a-1"), ("other", "a-2")]


def test_a_static_member_is_found_by_the_client_that_it_is_now():
    searching = Searching()
    searching.refuse("first")
    searching.refuse("c")
    searching.scheduler.advance(FIRST_MS)
    assert searching.reported == [("other", "c-1")]


def test_a_client_of_another_host_is_not_the_member():
    searching = Searching()
    searching.refuse("a", "/10.0.0.2")
    searching.scheduler.advance(FIRST_MS)
    assert searching.reported == []


def test_groups_are_searched_once_a_minute_however_often_a_client_comes_back():
    searching = Searching()
    for _ in range(100):
        searching.refuse("b")
    searching.scheduler.advance(FIRST_MS)
    for _ in range(100):
        searching.refuse("b")
    searching.scheduler.advance(INTERVAL_MS - 1)
    assert searching.reported == [("one", "b-1")]
    searching.scheduler.advance(1)
    assert searching.reported == [("one", "b-1")] * 2
    searching.scheduler.advance(10 * INTERVAL_MS)
    assert len(searching.reported) == 2
    assert not searching.scheduler.has_timers


def test_an_address_that_invents_names_leaves_room_for_others():
    searching = Searching()
    for number in range(CLIENTS_OF_ADDRESS_MAX):
        searching.refuse(f"invented-{number}", "/10.0.0.9")
    searching.refuse("a", "/10.0.0.9")
    searching.refuse("b")
    searching.scheduler.advance(FIRST_MS)
    assert searching.reported == [("one", "b-1")]


def test_what_a_consumer_does_not_ask_and_clients_without_a_name_are_not_looked_for():
    searching = Searching()
    searching.refuse("a", refused=RefusedVersion("Produce", 2, 3))
    searching.refuse("")
    assert not searching.scheduler.has_timers


def ask(server: RunningServer, api_key: int, version: int, client_id: bytes) -> bytes:
    """Send the header of a request alone; what comes back until the server closes."""
    host, _, port = server.bootstrap.rpartition(":")
    header = struct.pack(">hhih", api_key, version, 1, len(client_id)) + client_id
    with socket.create_connection((host, int(port)), timeout=10) as client:
        client.sendall(struct.pack(">i", len(header)) + header)
        return client.recv(1)


def test_a_server_tells_it_of_the_group_of_the_client(tmp_path):
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap, "relic") as client:
        member_id = client.join_alone("g")
        assert ask(server, 1, 3, b"relic") == b""
        assert ask(server, 1, 99, b"relic") == b""  # too new: the server is too old, not the client

        def told() -> list[Any]:
            with AuditTopic(server.bootstrap) as topic:
                events = [group_event.event for group_event in topic.group_events("g")]
            return [event for event in events if isinstance(event, RequestRejected)]

        (event,) = wait_for(told, 20, "the event")
        why = CliRunner().invoke(groups, ["why", "g", "--bootstrap", server.bootstrap]).output
        history = CliRunner().invoke(groups, ["history", "g", "--bootstrap", server.bootstrap]).output
    assert "! the client of relic (127.0.0.1) is too old to read: nobody reads" in " ".join(why.split())
    assert "relic (127.0.0.1) is too old to read" in " ".join(history.split())
    assert (event.api, event.error, event.refused_version, event.oldest_version, event.count) == (
        "Fetch", "UNSUPPORTED_VERSION", 3, 4, 1,
    )  # fmt: skip
    assert (event.member.member_id, event.member.client_id) == (member_id, "relic")
