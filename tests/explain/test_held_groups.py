"""What is said of groups that nodes in front of a cluster are to coordinate, and that have members at the cluster."""

from typing import Any

import pytest

from coordinator.audit.schema import CoordinatorStarted, GroupHeldByCluster, MemberRef
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import Finding, findings
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import packed, unpacked
from coordinator.explain.notes import notes
from tests.explain.consumers import Consumers, clock
from tests.simulation.simulation import GROUP_ID

FOUND_MS = 10 * 60_000
NOW_MS = FOUND_MS + 5 * 60_000


def held(*clients: str, group_id: str = "web", **fields: Any) -> GroupHeldByCluster:
    members = [MemberRef(f"{client}-id", client, "/10.0.0.1") for client in clients]
    event = {"time_ms": FOUND_MS, "since_ms": FOUND_MS, "node_id": 1, "coordinator_epoch": 1, **fields}
    return GroupHeldByCluster(group_id=group_id, members=members, **event)


def told(*events: GroupHeldByCluster) -> GroupHistory:
    """A group of which there are no other events."""
    history = GroupHistory("web")
    for event in events:
        history.note_coordinator(event)
    return history


def found(history: GroupHistory) -> Finding:
    (finding,) = findings(history, NOW_MS, clock)
    return finding


def test_a_group_that_stays_with_the_cluster_names_the_clients_that_keep_it_there():
    finding = found(told(held("a", "b")))
    assert finding.kind is Kind.HELD_BY_CLUSTER
    assert finding.headline == "the cluster coordinates the group: a (10.0.0.1) and b (10.0.0.1) are in it there"
    assert finding.evidence == ("found at 00:10:00", "2 members at the cluster")
    assert finding.advice.startswith(
        "set bootstrap.servers of all its clients to the nodes; the nodes take the group in"
    )
    assert (finding.from_ms, finding.until_ms) == (FOUND_MS, NOW_MS)


def test_clients_of_the_consumer_protocol_are_told_the_same():
    finding = found(told(held("a", group_type="consumer")))
    assert finding.headline == "the cluster coordinates the group: a (10.0.0.1) is in it there"
    assert finding.advice == found(told(held("a"))).advice


def test_a_group_that_is_coordinated_twice_says_what_that_does():
    group = Consumers().group_of("one", "two")
    history = group.history()
    history.note_coordinator(held("a", group_id=GROUP_ID, is_owned=True))
    (finding,) = [each for each in findings(history, NOW_MS, clock) if each.kind is Kind.COORDINATED_TWICE]
    assert finding.headline == "the nodes and the cluster both coordinate the group: a (10.0.0.1) is in it there"
    assert finding.evidence[1:] == ("1 member at the cluster", "2 members at the nodes")
    assert "a partition may have an owner at each place" in finding.advice


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (held("a", "b", "c", "d", unnamed_members=5), "a (10.0.0.1), b (10.0.0.1), c (10.0.0.1) and 6 more are in it"),
        (held(unnamed_members=1), "1 client is in it"),
        (held(unnamed_members=2), "2 clients are in it"),
        (held("a is in it there"), '"a is in it there" (10.0.0.1) is in it'),
    ],
)
def test_clients_are_counted_and_quoted(event: GroupHeldByCluster, said: str):
    assert said in found(told(event)).headline


def test_what_is_over_is_no_finding():
    history = told(held("a"), held(time_ms=NOW_MS))
    assert findings(history, NOW_MS, clock) == []
    assert history.has_events


def test_it_is_over_as_soon_as_a_node_has_taken_the_group_in():
    history = GroupHistory(GROUP_ID)
    history.note_coordinator(held("x", group_id=GROUP_ID))
    assert found(history).kind is Kind.HELD_BY_CLUSTER
    group = Consumers().group_of("one")
    for event in group.sim.audited():
        history.apply(event)
    assert Kind.HELD_BY_CLUSTER not in {finding.kind for finding in findings(history, NOW_MS, clock)}
    assert history.held_by_cluster is None


def test_members_at_both_places_stay_a_finding_while_members_join_at_the_nodes():
    history = GroupHistory(GROUP_ID)
    history.note_coordinator(held("x", group_id=GROUP_ID, is_owned=True))
    for event in Consumers().group_of("one").sim.audited():
        history.apply(event)
    assert history.held_by_cluster is not None


def test_what_was_told_of_another_group_is_not_said_of_this_one():
    history = told(held("a", group_id="other"))
    assert findings(history, NOW_MS, clock) == []
    assert not history.has_events


def test_a_group_that_was_given_back_and_adopted_again_has_the_finding():
    group = Consumers().group_of("one")
    group.leave("one")
    group.sim.delete_group()
    history = group.history()
    assert not history.exists
    history.note_coordinator(held("a", group_id=GROUP_ID))
    assert found(history).kind is Kind.HELD_BY_CLUSTER


def test_each_change_is_told_in_the_order_of_time():
    history = told(held("a"), held("a", "b", time_ms=FOUND_MS + 1, is_owned=True), held(time_ms=FOUND_MS + 2))
    history.note_coordinator(
        CoordinatorStarted(time_ms=FOUND_MS - 1, node_id=1, coordinator_epoch=1, software_version="1.0.0")
    )
    assert [note.text for note in notes(history)] == [
        "the coordinator started",
        "the cluster coordinated the group: a (10.0.0.1) was in it there",
        "the nodes and the cluster coordinated the group: a (10.0.0.1) and b (10.0.0.1) were in it there",
        "nobody was in the group at the cluster any more",
    ]


def test_what_is_remembered_between_batches_is_enough():
    before = told(held("a"), held("a", "b"))
    expected = findings(before, NOW_MS, clock)
    assert findings(unpacked(packed(before)), NOW_MS, clock) == expected
