"""What all connections hold is counted, and who holds the most goes when it is too much."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.cluster.relay.held_bytes import HeldBytes


class Holding:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def abort(self, reason: str) -> None:
        self.reasons.append(reason)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 60))))
def test_the_sum_never_exceeds_the_budget(changes):
    held = HeldBytes(100)
    holders = [Holding() for _ in range(5)]
    for number, size_bytes in changes:
        held.hold(holders[number], size_bytes)
        assert 0 <= held.sum_bytes <= 100
    for holder in holders:
        held.hold(holder, 0)
    assert held.sum_bytes == 0


def test_the_one_that_holds_the_most_is_closed():
    held, large, small = HeldBytes(100), Holding(), Holding()
    held.hold(large, 70)
    held.hold(small, 30)
    assert large.reasons == []
    held.hold(small, 31)
    assert (len(large.reasons), small.reasons, held.sum_bytes) == (1, [], 31)
    held.hold(small, 0)
    assert held.sum_bytes == 0
