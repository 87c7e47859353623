"""Polls of a server of this project in the place of Kafka, where records may not be read."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.client.bootstrap import Bootstrap
from coordinator.core.partitioning import partition_for
from coordinator.observe.polling import GroupPoller, Polled, PollEnd
from coordinator.watch.polls import GroupPolls
from coordinator.watch.watcher import Watcher
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.watch.test_watcher import PARTITIONS, MemorySink
from tests.wire_client import WireClient

SECONDS = 30
GROUPS = 250


@pytest.fixture
def polled(tmp_path: Path) -> Iterator[RunningServer]:
    with RunningServer(tmp_path, QUICK_GROUPS) as server:
        yield server


def slices(poller: GroupPoller) -> tuple[list[Polled], PollEnd]:
    *parts, end = poller.poll()
    assert isinstance(end, PollEnd)
    return [part for part in parts if isinstance(part, Polled)], end


def test_many_groups_are_asked_for_with_few_requests(polled: RunningServer):
    with WireClient(polled.bootstrap) as client:
        for number in range(GROUPS):
            client.join_alone(f"group-{number:03}")
    poller = GroupPoller(polled.bootstrap)
    slices(poller)
    sent = poller.requests
    parts, end = slices(poller)
    assert [len(part.groups) for part in parts] == [100, 100, 50]
    # Metadata and ListGroups; of each slice the description and the offsets.
    assert poller.requests - sent == 2 + 2 * len(parts)
    assert len(end.listed) == GROUPS
    assert (end.gone, end.left_out, end.missing) == ({}, 0, {})
    poller.close()


def test_what_is_new_and_what_is_gone(polled: RunningServer):
    poller = GroupPoller(polled.bootstrap)
    with WireClient(polled.bootstrap) as client:
        member_id = client.join_alone("orders")
        ((first,), _) = slices(poller)
        assert [(group.group.group_id, group.absent_ms) for group in first.groups] == [("orders", None)]
        client.join_alone("payments")
        ((second,), end) = slices(poller)
        new = {group.group.group_id: group.absent_ms is not None for group in second.groups}
        assert new == {"orders": False, "payments": True}
        leave(client, "orders", member_id)
        client.request(DeleteGroupsRequest(groups_names=["orders"]), 2)
        (_, end) = slices(poller)
        assert (list(end.gone), list(end.listed)) == (["orders"], ["payments"])
        assert slices(poller)[1].gone == {}
    poller.close()


def leave(client: WireClient, group: str, member_id: str) -> None:
    client.request(LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member_id)]), 5)


def test_a_group_that_is_not_listed_and_is_there_is_not_gone(polled: RunningServer, monkeypatch: pytest.MonkeyPatch):
    """As while its coordinator moves, when neither of two brokers lists it."""
    poller = GroupPoller(polled.bootstrap)
    with WireClient(polled.bootstrap) as client:
        client.join_alone("orders")
    assert list(slices(poller)[1].listed) == ["orders"]
    with monkeypatch.context() as patch:
        patch.setattr("coordinator.observe.polling.listed_groups", lambda broker: [])
        parts, end = slices(poller)
    assert (parts, end.gone, list(end.listed)) == ([], {}, ["orders"])
    ((part,), _) = slices(poller)
    assert part.groups[0].absent_ms is None
    poller.close()


def test_without_records_polls_are_the_history(polled: RunningServer):
    sink = MemorySink()
    polls = GroupPolls(Bootstrap(polled.bootstrap), 0.1)
    watcher = Watcher(sink, None, [], str, PARTITIONS, {}, polls=polls)
    stopped = threading.Event()
    running = threading.Thread(target=watcher.run, args=(stopped,))
    polls.start()
    running.start()
    try:
        with WireClient(polled.bootstrap) as client:
            wait_for(lambda: polls.now.at_ms, SECONDS, "a poll")
            member_id = client.join_alone("orders")
            wait_for(lambda: "generation.stable" in kinds(sink), SECONDS, "the group to be told")
            leave(client, "orders", member_id)
            wait_for(lambda: "group.emptied" in kinds(sink), SECONDS, "the group to be empty")
            client.request(DeleteGroupsRequest(groups_names=["orders"]), 2)
            wait_for(lambda: "group.removed" in kinds(sink), SECONDS, "the group to be gone")
    finally:
        stopped.set()
        running.join()
        polls.close()
    events = sink.events()["orders"]
    assert kinds(sink)[0] == "group.created"
    assert {place["source"] for event in events for place in event["places"]} == {"poll"}
    removed = next(event for event in events if event["kind"] == "member.removed")
    assert (removed["cause"], removed["is_inferred"], len(removed["places"])) == ("member_left_or_expired", True, 2)
    # A poll that shows nothing new writes nothing.
    log = sink.logs[partition_for("orders", PARTITIONS)]
    assert sum(key is None for key, _, _ in log) <= len(events)


def kinds(sink: MemorySink) -> list[str]:
    return [event["kind"] for event in sink.events().get("orders", [])]


def test_groups_whose_records_are_read_are_told_by_these_alone(polled: RunningServer):
    class NoRecords:
        def __init__(self) -> None:
            self.current_at: dict[int, float] = {}

        def next(self) -> None:
            return None

    sink = MemorySink()
    polls = GroupPolls(Bootstrap(polled.bootstrap), 0.05)
    watcher = Watcher(sink, NoRecords(), [], str, PARTITIONS, {}, polls=polls)
    with WireClient(polled.bootstrap) as client:
        client.join_alone("orders")
    polls.start()
    try:
        wait_for(lambda: "orders" in polls.now.groups, SECONDS, "the group to be polled")
        watcher.step()
    finally:
        polls.close()
    assert (watcher.counted.polls, watcher.waiting, sink.events()) == (0, 0, {})


def test_a_kafka_that_is_away_is_told_once_and_polled_again(polled: RunningServer):
    polls = GroupPolls(Bootstrap(polled.bootstrap), 0.05)
    polls.start()
    try:
        wait_for(lambda: polls.now.at_ms, SECONDS, "a poll")
        polled.stop()
        wait_for(lambda: polls.problem, SECONDS, "the problem")
        at_ms = polls.now.at_ms
        polled.start()
        wait_for(lambda: polls.now.at_ms > at_ms and not polls.problem, SECONDS, "polls to go on")
    finally:
        polls.close()
