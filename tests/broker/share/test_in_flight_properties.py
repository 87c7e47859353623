"""Random histories of a window beside its slow twin, which has a state for each offset."""

from itertools import pairwise
from typing import Any

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from _wire.messages.share_acknowledge import AcknowledgementBatch
from coordinator.broker.share.acquisition import acquire
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.release import acknowledge, complete, expire, release
from coordinator.broker.share.share_states import StateBatch
from tests.broker.share.windows import batches, limits
from tests.examples import examples
from tests.model.in_flight import ModelWindow

MEMBERS = st.sampled_from(["a", "b", "c"])
RECORDS = 40
DELIVERIES = 3
LOCK_MS = 10
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("acquire"), MEMBERS, st.integers(1, 12), st.booleans(), st.integers(1, 5)),
        st.tuples(st.just("acquire"), MEMBERS, st.integers(1, 12), st.booleans(), st.integers(1, 5)),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 12), st.integers(0, 8), st.integers(0, 3)),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 12), st.integers(0, 8), st.integers(0, 3)),
        st.tuples(st.just("each"), MEMBERS, st.integers(0, 12), st.lists(st.integers(0, 3), min_size=2, max_size=9)),
        st.tuples(st.just("release"), MEMBERS),
        st.tuples(st.just("expire"), st.integers(1, 12)),
        st.tuples(st.just("complete"), st.booleans()),
        st.tuples(st.just("complete"), st.just(True)),
        st.tuples(st.just("move start"), st.integers(0, 6)),
    ),
    max_size=40,
)


class Twins:
    """A window and its twin."""

    def __init__(self, batch_records: int, record_locks_max: int) -> None:
        self.window = InFlightWindow(0)
        self.model = ModelWindow()
        self.record_locks_max = record_locks_max
        self.batches = [(first, min(first + batch_records, RECORDS) - 1) for first in range(0, RECORDS, batch_records)]
        self.now_ms = 0
        self.writes: list[list[StateBatch]] = []

    def acquire(self, member: str, most: int, is_record_limit: bool, batches_read: int) -> None:
        window, model = self.window, self.model
        fetch_offset = window.next_fetch_offset()
        assert fetch_offset == model.next_fetch_offset()
        read = [each for each in self.batches if each[1] >= fetch_offset][:batches_read]
        if not read or not window.can_acquire(self.record_locks_max):
            return
        before = window.record_count
        acquired, count = acquire(
            window,
            member,
            limits(
                most,
                batch_size=3,
                is_record_limit=is_record_limit,
                delivery_count_limit=DELIVERIES,
                record_locks_max=self.record_locks_max,
            ),
            fetch_offset,
            batches(*read),
            self.now_ms + LOCK_MS,
        )
        event(f"acquired {'some' if acquired else 'nothing'}")
        assert count == sum(last - first + 1 for first, last, _ in acquired)
        if is_record_limit:
            assert count <= most
        for first, last, deliveries in acquired:
            assert read[0][0] <= first and last <= read[-1][1], "what was not read cannot be delivered"
            model.acquire(first, last, deliveries, member, self.now_ms + LOCK_MS)
        if window.record_count:
            model.know(window.end_offset)
        longest = max(last - first + 1 for first, last in self.batches)
        assert window.record_count <= max(before, self.record_locks_max + longest)

    def acknowledge(self, member: str, first: int, types: list[int], last: int) -> None:
        first, last = self.model.start_offset - 3 + first, self.model.start_offset - 3 + last
        changes: list[StateBatch] = []
        batch = AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
        error = acknowledge(self.window, member, [batch], changes, DELIVERIES, None)
        assert (error == 0) == self.model.can_acknowledge(first, last, member)
        event("acknowledged" if not error else "refused")
        if error:
            complete(self.window, changes, False, self.now_ms, DELIVERIES)
            self.undo_of_ended_locks(changes)
        elif last >= self.model.start_offset:
            self.write(changes, self.model.acknowledge(first, last, types, DELIVERIES))

    def undo_of_ended_locks(self, changes: list[StateBatch]) -> None:
        """What was undone after the end of its lock is available, as `expire` would have made it."""
        undone = [offset for first, last, _, _ in changes for offset in range(first, last + 1)]
        for offset in undone:
            if self.model.known[offset].lock_ms <= self.now_ms:
                self.model.end(offset, 0, DELIVERIES)

    def write(self, changes: list[StateBatch], expected: list[tuple[int, int, int]]) -> None:
        assert expanded(changes) == expected
        self.writes.append(changes)

    def release(self, member: str) -> None:
        self.write(release(self.window, member, DELIVERIES), self.model.release(member, DELIVERIES))

    def expire(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        if self.now_ms < self.window.deadline_ms:
            assert not self.model.expire(self.now_ms, DELIVERIES)
            return
        changes = expire(self.window, self.now_ms, DELIVERIES)
        assert expanded(changes) == self.model.expire(self.now_ms, DELIVERIES)
        assert self.window.deadline_ms > self.now_ms

    def complete(self, is_stored: bool) -> None:
        if self.writes:
            changes = self.writes.pop(0)
            complete(self.window, changes, is_stored, self.now_ms, DELIVERIES)
            offsets = [offset for offset, _, _ in expanded(changes)]
            self.model.complete(offsets, is_stored, self.now_ms, DELIVERIES)
        self.window.advance()
        self.model.advance()

    def move_start(self, by: int) -> None:
        """The log now begins later."""
        to = self.model.start_offset + by
        if to > self.model.next_new or to == self.model.start_offset:
            return
        self.window.move_start(to)
        self.model.move_start(to)

    def compare(self) -> None:
        model, window = self.model, self.window
        expected = {
            offset: (record.state, record.count, record.member if record.state == 1 else None)
            for offset, record in model.known.items()
        }
        found = {offset: (state, count, member) for offset, state, count, member in window.records()}
        done = {offset for offset in expected if offset < model.start_offset}
        assert window.start_offset == model.start_offset
        assert {offset: each for offset, each in found.items() if offset not in done} == {
            offset: each for offset, each in expected.items() if offset not in done
        }
        assert all(found[offset] == expected[offset] for offset in found)
        assert window.complete_count == model.complete_count()
        assert window.next_fetch_offset() == model.next_fetch_offset()


def expanded(changes: list[StateBatch]) -> list[tuple[int, int, int]]:
    assert all(before[1] < after[0] for before, after in pairwise(changes)), "in order"
    return [(offset, state, count) for first, last, state, count in changes for offset in range(first, last + 1)]


# A write fails after the log has lost what it was about: that is not fetched again.
@example(
    [
        *[("acquire", "a", 1, False, 1)] * 5,
        ("each", "a", 0, [0, 0, 0, 0]),
        ("expire", 10),
        ("move start", 1),
        ("acquire", "a", 1, False, 1),
        ("complete", False),
    ],
    1,
    6,
)
@settings(max_examples=examples(300), deadline=None)
@given(STEPS, st.integers(1, 7), st.sampled_from([6, 15, 100]))
def test_the_window_does_what_its_twin_does(
    steps: list[tuple[Any, ...]], batch_records: int, record_locks_max: int
) -> None:
    twins = Twins(batch_records, record_locks_max)
    for step in steps:
        match step:
            case ("acquire", member, most, is_record_limit, batches_read):
                twins.acquire(member, most, is_record_limit, batches_read)
            case ("acknowledge", member, first, more, kind):
                twins.acknowledge(member, first, [kind], first + more)
            case ("each", member, first, types):
                twins.acknowledge(member, first, types, first + len(types) - 1)
            case ("release", member):
                twins.release(member)
            case ("expire", passed_ms):
                twins.expire(passed_ms)
            case ("complete", is_stored):
                twins.complete(is_stored)
            case ("move start", by):
                twins.move_start(by)
        twins.compare()
