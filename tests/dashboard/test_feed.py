import asyncio
from collections.abc import Iterator
from typing import Any, Final

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import GroupHeldByCluster, LeadershipTaken, Record
from coordinator.client import audit_topic
from coordinator.client.audit_topic import AuditRecord, audit_record
from coordinator.dashboard import feed as module
from coordinator.dashboard.board import Board
from coordinator.dashboard.feed import EventQueue, Feed
from tests.dashboard.groups import GROUP_ID, renamed, story

NO_RECORD: Final[Record] = (b"", b"", ())


def records(*groups: str) -> list[AuditRecord]:
    events = [event for group_id in groups for event in renamed(story(), group_id)]
    return [AuditRecord(0, offset, event.group_id, b"", event, NO_RECORD) for offset, event in enumerate(events)]


def fed(stored) -> Board:
    """The board when all stored records have been read, or a problem ended that."""
    board = Board()

    async def run() -> None:
        is_over = asyncio.Event()
        board.listen(lambda _: is_over.set() if board.progress.is_live or board.progress.problem else None)
        feed = Feed(EventQueue(board, asyncio.get_running_loop()), stored, None)
        feed.start()
        await asyncio.wait_for(is_over.wait(), 20)
        feed.stop()

    asyncio.run(run())
    return board


def test_all_events_arrive_in_order_and_then_the_board_is_live(monkeypatch):
    monkeypatch.setattr(module, "APPLIED_AT_ONCE", 3)
    monkeypatch.setattr(module, "QUEUED_MAX", 5)
    stored = records(GROUP_ID, "other")
    board = fed(stored)
    assert (board.progress.read, board.progress.is_live, board.progress.is_following) == (len(stored), True, False)
    assert {group_id: history.state for group_id, history in board.groups.items()} == {
        GROUP_ID: "Stable",
        "other": "Stable",
    }
    assert not any(history.gaps for history in board.groups.values())


def test_a_server_without_an_audit_topic_is_followed_for_lag_alone(server, monkeypatch):
    monkeypatch.setattr(audit_topic, "AUDIT_TOPIC", "not-the-audit-topic")
    board = Board()

    async def run() -> None:
        is_over = asyncio.Event()
        board.listen(lambda _: is_over.set() if board.progress.is_live else None)
        feed = Feed(EventQueue(board, asyncio.get_running_loop()), (), server.bootstrap)
        feed.start()
        await asyncio.wait_for(is_over.wait(), 20)
        feed.stop()

    asyncio.run(run())
    progress = board.progress
    assert (progress.is_following, progress.has_events, progress.problem) == (True, False, "")


def test_of_the_events_about_the_coordinator_those_about_a_group_arrive():
    about: dict[str, Any] = {"time_ms": 0, "node_id": 1, "coordinator_epoch": 1}
    held = GroupHeldByCluster(group_id="web", members=[], unnamed_members=1, since_ms=9, **about)
    taken = LeadershipTaken(partition=0, producer_id=1, producer_epoch=2, **about)
    board = fed([audit_record(0, offset, *coordinator_record(each, 9)) for offset, each in enumerate((taken, held))])
    assert set(board.groups) == {"web"}


def test_records_that_cannot_be_decoded_are_passed_over():
    stored = records(GROUP_ID)
    board = fed([AuditRecord(0, 0, "", b"?", None, NO_RECORD), *stored])
    assert board.progress.read == len(stored)


def test_tables_that_cannot_be_read_are_said_on_the_page():
    def broken() -> Iterator[AuditRecord]:
        yield from records(GROUP_ID)
        raise OSError("the disk is gone")

    board = fed(broken())
    assert board.progress.problem == "the tables cannot be read: the disk is gone"
    assert not board.progress.is_live
