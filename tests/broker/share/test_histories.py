"""Random histories of a share partition with restarts and failing writes: what was accepted does not come again."""

from collections.abc import Sequence
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from _wire.errors import ErrorCode
from coordinator.broker.share.share_states import BY_STRATEGY, StateBatch
from coordinator.runtime.slices import Steps
from tests.broker.share.memory_states import MemoryStates, StoredState
from tests.broker.share.virtual_shares import VirtualShares
from tests.broker.virtual_broker import batch
from tests.examples import examples

DELIVERIES = 4
LOCK_MS = 30_000
LOCKS_MAX = 100
MEMBERS = st.sampled_from(["a", "b", "c"])
ACKNOWLEDGED, ARCHIVED = 2, 4
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("produce"), st.lists(st.integers(1, 5), min_size=1, max_size=3)),
        st.tuples(st.just("fetch"), MEMBERS, st.integers(1, 8), st.booleans()),
        st.tuples(st.just("fetch"), MEMBERS, st.integers(1, 8), st.booleans()),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 5), st.integers(1, 3)),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 5), st.integers(1, 3)),
        st.tuples(st.just("acknowledge"), MEMBERS, st.integers(0, 5), st.just(1)),
        st.tuples(st.just("leave"), MEMBERS),
        st.tuples(st.just("advance"), st.integers(1, 2 * LOCK_MS)),
        st.tuples(st.just("hold")),
        st.tuples(st.just("answer"), st.integers(1, 3)),
        st.tuples(st.just("refuse"), st.booleans()),
        st.tuples(st.just("late"), st.booleans()),
        st.tuples(st.just("restart")),
    ),
    max_size=40,
)


class KeptStates(MemoryStates):
    """States that are kept record by record, as the share coordinator merges them: the higher count and state wins."""

    def __init__(self) -> None:
        super().__init__()
        self.start_offset = BY_STRATEGY
        self.records: dict[int, tuple[int, int]] = {}
        """Offset → delivery count and state."""
        self.is_late = False
        """Whether writes are stored when they are answered, as those that are tried again, rather than at once."""

    def read(self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int) -> Steps[StoredState]:
        yield from ()
        batches = [(offset, offset, state, count) for offset, (count, state) in sorted(self.records.items())]
        return StoredState(2, self.start_offset, batches)

    def _store(
        self, partition: int, start_offset: int, delivery_complete_count: int, batches: Sequence[StateBatch]
    ) -> Steps[ErrorCode]:
        if self.answer is not ErrorCode.NONE:
            yield from self._hold()
            return self.answer
        is_late = self.is_late
        if is_late:
            yield from self._hold()
        # It is stored now; the answer may come later, or never.
        self.start_offset = start_offset
        for first, last, state, count in batches:
            for offset in range(first, last + 1):
                self.records[offset] = max(self.records.get(offset, (0, 0)), (count, state))
        self.records = {offset: each for offset, each in self.records.items() if offset >= start_offset}
        if not is_late:
            yield from self._hold()
        return ErrorCode.NONE


class History:
    """What members did and were told."""

    def __init__(self) -> None:
        self.shares = VirtualShares(configs={"share.delivery.count.limit": str(DELIVERIES)})
        self.shares.create_topic("orders")
        self.states = KeptStates()
        self.shares.use_states(self.states)
        self.held: dict[str, list[int]] = {}
        """Member → offsets that it was given."""
        self.accepted: set[int] = set()
        """What was answered with NONE."""
        self.may_be_done: set[int] = set()
        """Accepted or rejected without an answer, or rejected, or delivered as often as may be."""
        self.end_offset = 0

    def produce(self, sizes: list[int]) -> None:
        for size in sizes:
            self.shares.produce("orders", batch(*[b"v"] * size))
            self.end_offset += size
        self.shares.end_iteration()

    def fetch(self, member: str, most: int, is_record_limit: bool) -> int:
        fetched = self.shares.share_fetch("orders", member_id=member, max_records=most, is_record_limit=is_record_limit)
        count = 0
        for _, first, last, deliveries in fetched.acquired:
            assert deliveries <= DELIVERIES + 1, "one more only after a load"
            for offset in range(first, last + 1):
                assert offset not in self.accepted, f"{offset} was accepted, and is delivered again"
                for others in self.held.values():
                    if offset in others:
                        others.remove(offset)
                self.held.setdefault(member, []).append(offset)
                count += 1
                if deliveries >= DELIVERIES:
                    self.may_be_done.add(offset)
        event("delivered" if count else "nothing to deliver")
        return count

    def acknowledge(self, member: str, position: int, kind: int) -> None:
        mine = self.held.get(member, [])
        if not mine:
            return
        offset = mine[position % len(mine)]
        answered = self.shares.acknowledge("orders", (offset, offset, [kind]), member=member)
        if answered == [ErrorCode.NONE] and kind == 1:
            self.accepted.add(offset)
            mine.remove(offset)
        elif not answered or (answered == [ErrorCode.NONE] and kind == 3):
            if kind in (1, 3):
                self.may_be_done.add(offset)
            mine.remove(offset)

    def restart(self) -> None:
        """What is in memory is gone, with answers that were under way."""
        self.states.forget_answers()
        self.shares.share_partitions.drop_all()
        self.shares.use_states(self.states)
        self.held = {}

    def finish(self) -> None:
        """Deliver and accept everything that is left."""
        self.states.answer = ErrorCode.NONE
        self.states.let_go()
        self.shares.run()
        self.shares.advance(2 * LOCK_MS)
        for _ in range(20 * DELIVERIES + 2 * self.end_offset):
            before = self.shares.share_fetch("orders", member_id="last", max_records=50)
            if not before.acquired:
                break
            for _, first, last, _ in before.acquired:
                assert self.accepted.isdisjoint(range(first, last + 1)), "accepted, and delivered again"
                assert self.shares.acknowledge("orders", (first, last, [1]), member="last") == [ErrorCode.NONE]
                self.accepted.update(range(first, last + 1))
        missing = set(range(self.end_offset)) - self.accepted - self.may_be_done
        assert not missing, f"never delivered: {missing}"


@settings(max_examples=examples(150), deadline=None)
@given(STEPS)
def test_nothing_accepted_comes_again_and_nothing_is_lost(steps: list[tuple[Any, ...]]) -> None:
    history = History()
    for step in steps:
        match step:
            case ("produce", sizes):
                history.produce(sizes)
            case ("fetch", member, most, is_record_limit):
                history.fetch(member, most, is_record_limit)
            case ("acknowledge", member, position, kind):
                history.acknowledge(member, position, kind)
            case ("leave", member):
                history.shares.leave("orders", member)
                history.held.pop(member, None)
            case ("advance", ms):
                history.shares.advance(ms)
            case ("hold",):
                history.states.is_held = True
            case ("answer", count):
                history.states.answer_held(count)
                history.shares.run()
            case ("refuse", is_refused):
                history.states.answer = ErrorCode.COORDINATOR_NOT_AVAILABLE if is_refused else ErrorCode.NONE
            case ("late", is_late):
                history.states.is_late = is_late
            case ("restart",):
                history.restart()
    history.finish()
