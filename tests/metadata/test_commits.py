"""A change of the metadata is durable before anybody sees it; changes keep their order, and share flushes."""

from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.log.errors import LogAppendError, LogFlushError
from coordinator.metadata import commits
from coordinator.metadata.compaction import AtOnce, MetadataCompaction
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import QuotaRecord
from coordinator.metadata.store import NewTopic
from tests.captured_logs import capture_logs
from tests.metadata.held_threads import HeldThreads
from tests.metadata.test_store import NOW_MS, Disk

QUOTA: Final = QuotaRecord({"client-id": "a"}, "producer_byte_rate", "5.0")


class Running:
    """A store whose flushes end when the test says so."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()
        self.threads = HeldThreads()
        self.soon: list[Callable[[], None]] = []
        self.failures: list[LogFlushError] = []
        self.calls: list[str] = []
        self.store = self.disk.start()
        self.store.commit_in(self.threads.as_threads, self.soon.append, self.failures.append)

    def create(self, *names: str) -> None:
        self.store.create_topics([NewTopic(name, 1, {}) for name in names], NOW_MS)

    def note(self, call: str) -> Callable[[], None]:
        """A call that is noted, with the topics that are there at that time."""
        return lambda: self.calls.append(f"{call}: {','.join(self.store.image.topics)}")

    def turn(self) -> None:
        """The next iteration of the event loop."""
        calls, self.soon[:] = list(self.soon), []
        for call in calls:
            call()

    def found(self) -> list[str]:
        """The topics of a start after a kill."""
        return list(self.disk.start().image.topics)


@pytest.fixture
def running() -> Running:
    return Running()


def names(image: MetadataImage) -> list[str]:
    return list(image.topics)


# ---- one change


def test_a_change_is_seen_when_it_is_durable(running):
    running.create("orders")
    assert names(running.store.image) == []
    assert names(running.store.latest_image) == ["orders"]
    assert running.store.is_pending
    running.threads.end()
    assert names(running.store.image) == ["orders"]
    assert not running.store.is_pending


def test_who_waits_is_called_when_the_changes_before_are_in_the_image(running):
    running.create("orders")
    running.store.when_committed(running.note("first"))
    running.create("payments")
    running.store.when_committed(running.note("second"))
    assert running.calls == []
    running.threads.end()
    assert running.calls == ["first: orders"]
    running.threads.end()
    assert running.calls == ["first: orders", "second: orders,payments"]


def test_who_listens_to_records_knows_before_anybody_is_answered(running):
    running.store.add_record_listener(running.note("changed"))
    running.create("orders", "payments")
    running.store.when_committed(running.note("answered"))
    running.threads.end()
    assert running.calls == ["changed: orders", "changed: orders,payments", "answered: orders,payments"]


def test_who_has_nothing_to_wait_for_is_called_at_once(running):
    running.store.when_committed(running.note("at once"))
    assert running.calls == ["at once: "]
    assert running.threads.begun == 0


def test_who_waits_costs_no_flush(running):
    running.create("orders")
    running.store.when_committed(running.note("waited"))
    running.threads.end()
    assert running.calls == ["waited: orders"]
    assert running.threads.begun == 1


def test_each_change_is_reported_before_the_next_one_is_applied(running):
    """What is done with the logs of a deleted topic must not hit a new topic of that name."""
    running.create("orders")
    running.store.remove_topics(["orders"], NOW_MS, running.note("removed"))
    running.create("orders")
    running.store.change_topic_configs({"orders": {"retention.ms": "5"}}, NOW_MS, running.note("changed"))
    running.threads.end_all()
    assert running.calls == ["removed: ", "changed: orders"]
    assert running.store.image.topics["orders"].topic_id == bytes(15) + b"\x02"


# ---- the next changes


def test_a_change_is_checked_against_the_changes_before_it(running):
    running.create("orders")
    with pytest.raises(AssertionError, match="orders"):
        running.create("orders")
    running.store.add_partitions("orders", 3, NOW_MS)
    running.store.remove_topics(["orders"], NOW_MS)
    running.create("orders")
    running.threads.end_all()
    assert running.store.image.topics == running.store.latest_image.topics == running.disk.start().image.topics


def test_changes_that_come_during_a_flush_share_the_next_one(running):
    for number in range(100):
        running.create(f"topic-{number}")
    assert running.threads.begun == 1
    running.threads.end()
    assert len(names(running.store.image)) == 1
    running.threads.end()
    assert len(names(running.store.image)) == 100
    assert (running.threads.begun, running.threads.rounds) == (2, [])


def test_very_many_changes_are_applied_in_several_iterations(running, monkeypatch):
    monkeypatch.setattr(commits, "RECORDS_AT_ONCE", 10)
    running.create("first")
    for number in range(8):
        running.create(*(f"topic-{number}-{each}" for each in range(4)))
    running.store.when_committed(running.note("all"))
    running.threads.end()
    running.threads.end()
    sizes = [len(names(running.store.image))]
    while running.soon:
        running.create(f"later-{len(sizes)}")
        running.turn()
        sizes.append(len(names(running.store.image)))
    assert sizes == [13, 25, 33]
    assert len(running.calls) == 1
    assert len(running.threads.rounds) == 1, "what came meanwhile"
    running.threads.end()
    assert names(running.store.image) == names(running.store.latest_image) == running.found()


def test_one_change_with_very_many_records_is_applied_in_several_iterations(running, monkeypatch):
    monkeypatch.setattr(commits, "RECORDS_AT_ONCE", 10)
    names_of_25 = [f"topic-{number}" for number in range(25)]
    running.create("first")
    running.store.create_topics([NewTopic(name, 1, {}) for name in names_of_25], NOW_MS)
    running.store.remove_topics(names_of_25, NOW_MS, running.note("removed"))
    running.threads.end()
    running.threads.end()
    sizes = [len(names(running.store.image))]
    while running.soon:
        running.turn()
        sizes.append(len(names(running.store.image)))
    assert sizes == [11, 21, 16, 6, 1], "the last five and the first ten of the next change go together"
    assert running.calls == ["removed: first"]


def test_changes_of_changes_do_not_nest_without_threads():
    store, made = Disk().start(), 0

    def change() -> None:
        nonlocal made
        made += 1
        if made < 5_000:
            store.change_quotas([QUOTA], NOW_MS, change)

    change()
    assert made == 5_000
    assert not store.is_pending


def test_a_call_that_fails_does_not_stop_the_others(running):
    def fail() -> None:
        raise RuntimeError("a defect")

    running.store.change_quotas([QUOTA], NOW_MS, fail)
    running.store.when_committed(running.note("next"))
    with capture_logs() as lines:
        running.threads.end()
    assert running.calls == ["next: "]
    assert [line["event"] for line in lines] == [
        "unhandled exception after a change of the metadata; continuing with the next change"
    ]


# ---- the disk fails


def test_a_change_that_cannot_be_appended_changes_nothing_while_others_are_pending(running):
    running.create("before")
    running.disk.files.is_full = True
    with pytest.raises(LogAppendError):
        running.create("lost")
    running.disk.files.is_full = False
    assert names(running.store.latest_image) == ["before"]
    running.create("after")
    running.threads.end_all()
    assert names(running.store.image) == ["before", "after"] == running.found()


def test_after_a_failed_flush_nobody_is_answered_and_nothing_is_flushed_again(running):
    """A later fsync may report success for pages that were lost."""
    running.create("first")
    running.store.when_committed(running.note("first"))
    running.create("second")
    running.store.when_committed(running.note("second"))
    running.threads.end(LogFlushError("the medium is gone"))
    assert [str(failure) for failure in running.failures] == ["the medium is gone"]
    running.create("third")
    running.store.when_committed(running.note("third"))
    running.store.finish()
    assert (running.calls, running.threads.begun, names(running.store.image)) == ([], 1, [])


def test_an_unexpected_error_in_the_thread_is_a_failed_flush(running):
    running.create("first")
    running.threads.end(RuntimeError("no thread"))
    assert [(type(failure), str(failure)) for failure in running.failures] == [(LogFlushError, "no thread")]


def test_without_threads_a_failed_flush_is_raised(monkeypatch):
    def fail(flush: object) -> None:
        raise LogFlushError("the medium is gone")

    store = Disk().start()
    monkeypatch.setattr("coordinator.log.partition.flush.Flush.run", fail)
    with pytest.raises(LogFlushError):
        store.create_topic("orders", 1, {}, NOW_MS)
    assert names(store.image) == []


# ---- the end


def test_a_clean_stop_commits_what_is_under_way(running):
    running.create("flushing")
    running.create("appended")
    running.store.when_committed(running.note("waited"))
    running.threads.work()
    running.store.finish()
    assert names(running.store.image) == ["flushing", "appended"]
    assert running.calls == ["waited: flushing,appended"]
    running.disk.files.lose_power(lambda count: 0)
    assert running.found() == ["flushing", "appended"]
    running.threads.end()  # the thread reports late
    assert (running.calls, running.threads.begun) == (["waited: flushing,appended"], 1)


def test_a_stop_is_not_clean_when_a_flush_has_failed_that_was_not_reported_yet(running, monkeypatch):
    def fail(flush: object) -> None:
        raise LogFlushError("the medium is gone")

    running.create("orders")
    with monkeypatch.context() as context, pytest.raises(LogFlushError):
        context.setattr("coordinator.log.partition.flush.Flush.run", fail)
        running.threads.work()
    with pytest.raises(LogFlushError, match="the medium is gone"):
        running.store.finish()


def test_nothing_happens_after_a_kill(running):
    running.create("orders")
    running.store.when_committed(running.note("waited"))
    running.store.abandon()
    running.threads.end()
    running.store.finish()
    assert (running.calls, names(running.store.image)) == ([], [])


def test_a_kill_while_changes_are_applied_ends_it(running, monkeypatch):
    monkeypatch.setattr(commits, "RECORDS_AT_ONCE", 1)
    running.create("first")
    running.create("second")
    running.create("third")
    running.threads.end()
    running.threads.end()
    running.store.abandon()
    running.turn()
    assert names(running.store.image) == ["first", "second"]


Step = st.one_of(
    st.tuples(st.just("create"), st.integers(1, 5)),
    st.sampled_from([("remove", 0), ("grow", 0), ("flush", 0), ("kill", 0), ("power", 0)]),
)


@given(st.lists(Step, max_size=25), st.randoms(use_true_random=False))
def test_a_crash_at_any_time_leaves_whole_changes_and_all_that_were_committed(history, random):
    disk = Disk()
    running = Running(disk)
    states = [dict(running.store.image.topics)]
    committed = made = 0

    def noting(position: int) -> Callable[[], None]:
        def note() -> None:
            nonlocal committed
            committed = position

        return note

    def changed() -> None:
        states.append(dict(running.store.latest_image.topics))
        running.store.when_committed(noting(len(states) - 1))

    for step, count in history:
        topics = list(running.store.latest_image.topics.values())
        if step == "create":
            running.create(*(f"t{made}-{each}" for each in range(count)))
            made += 1
            changed()
        elif step == "remove" and topics:
            running.store.remove_topics([topic.name for topic in topics[:2]], NOW_MS)
            changed()
        elif step == "grow" and topics:
            running.store.add_partitions(topics[0].name, topics[0].partitions + 1, NOW_MS)
            changed()
        elif step == "flush" and running.threads.rounds:
            running.threads.end()
        elif step in ("kill", "power"):
            if step == "power":
                disk.files.lose_power(lambda size: random.randint(0, size))
            running = Running(disk)
            found = dict(running.store.image.topics)
            assert found in states[committed:], "whole changes, and no committed one is missing"
            states, committed = [found], 0
        assert dict(running.store.image.topics) == states[committed]


# ---- the snapshot


def test_a_snapshot_has_the_changes_that_are_not_committed_yet():
    """It takes the place of all that was appended when it was begun."""
    disk = Disk()
    running = Running(disk)
    for number in range(50):
        running.create(f"topic-{number}")
        running.threads.end_all()
        running.store.remove_topics([f"topic-{number}"], NOW_MS)
        running.threads.end_all()
    snapshots = HeldThreads()
    compaction = MetadataCompaction(running.store, disk.files, 1, AtOnce(), snapshots.as_threads, lambda: NOW_MS)
    running.create("in-flight")
    compaction.check()
    running.create("after")
    snapshots.end()
    assert running.store.log.size_bytes < 1000, "it has taken their place"
    assert running.found() == ["in-flight", "after"]
    running.threads.end_all()
    disk.files.lose_power(lambda count: 0)
    assert running.found() == ["in-flight", "after"]
