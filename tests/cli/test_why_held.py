"""What the commands say of a group of which only the cluster has members."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import GroupHeldByCluster, MemberRef
from coordinator.cli import audit, source
from coordinator.cli.groups import command
from coordinator.client.audit_topic import AuditRecord, audit_record

FOUND_MS = 10 * 60_000


def held(*clients: str, time_ms: int = FOUND_MS, partition: int = 0) -> AuditRecord:
    members = [MemberRef(f"{client}-id", client, "/10.0.0.1") for client in clients]
    event = GroupHeldByCluster(
        time_ms=0, node_id=1, coordinator_epoch=1, group_id="web", members=members, since_ms=FOUND_MS
    )
    return audit_record(partition, 0, *coordinator_record(event, time_ms))


def printed(monkeypatch: pytest.MonkeyPatch, verb: str, records: Iterable[AuditRecord], *options: str) -> str:
    """The output in one line."""

    class Topic:
        def events_about(self, group_id: str) -> Iterable[AuditRecord]:
            return records

    @contextmanager
    def connected(bootstrap: object) -> Iterator[Topic]:
        yield Topic()

    monkeypatch.setattr(source, "AuditTopic", connected)
    done = CliRunner().invoke(command, [verb, "web", "--bootstrap", "127.0.0.1:1", "--utc", *options])
    return " ".join(done.output.split())


def test_it_is_told_who_is_in_the_group_at_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed(monkeypatch, "why", [held("a", "b")])
    assert said.startswith(
        "group web: no members at the nodes, 2 at the cluster it has not rebalanced at the nodes"
        " ! the cluster coordinates the group: a (10.0.0.1) and b (10.0.0.1) are in it there"
    )
    assert "try: set bootstrap.servers of all its clients to the nodes" in said


def test_when_it_is_over_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed(monkeypatch, "why", [held("a"), held(time_ms=FOUND_MS + 1)])
    told, _, not_told = said.partition(" what its offsets say is not looked at: ")
    assert told == "group web: no members at the nodes, none at the cluster it has not rebalanced at the nodes"
    assert not_told.startswith("cannot reach 127.0.0.1:1: ")


def test_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    assert '"held_by_cluster"' in printed(monkeypatch, "why", [held("a")], "--json")


def test_the_history_has_it_in_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed(monkeypatch, "history", [held("a"), held(time_ms=FOUND_MS + 60_000)])
    assert said.endswith(
        "the cluster coordinated the group: a (10.0.0.1) was in it there"
        " 1970-01-01 00:11:00+00:00 nobody was in the group at the cluster any more"
    )


def test_a_group_of_which_nothing_is_told_has_no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there are no events of group web" in printed(monkeypatch, "why", [])


def test_the_tail_of_the_audit_has_it_in_whichever_partition_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    audit._print(held("a", partition=3), str, as_json=False)
    assert capsys.readouterr().out.startswith("600000  web  group.held_by_cluster  members=")
