"""What is counted of the records of a share partition, by member and by what became of them."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.share.record_counts import CLOSED, DISCONNECTED, LOCK_ENDED, REJECTED, RELEASED, RecordCounts
from coordinator.broker.share.tallies import MEMBERS_COUNTED_MAX, OTHERS, TALLIES_MAX, Tallies, Tally
from tests.broker.share.virtual_shares import VirtualShares
from tests.broker.share.windows import LOCK_MS
from tests.broker.virtual_broker import batch

ACCEPT, RELEASE, REJECT, RENEW = [1], [2], [3], [4]
COUNTED = (
    "acquired",
    "delivered_again",
    "accepted",
    "released",
    "rejected",
    "lock_ended",
    "closed",
    "disconnected",
    "archived",
    "late",
)


@pytest.fixture
def shares() -> VirtualShares:
    """Member a has acquired the four records of a topic."""
    shares = VirtualShares(configs={"share.delivery.count.limit": "2"})
    shares.create_topic("orders")
    for _ in range(4):
        shares.produce("orders", batch(b"v"))
    shares.end_iteration()
    shares.share_fetch("orders")
    return shares


def counted(shares: VirtualShares, member: str = "a") -> dict[str, int]:
    """What is not zero."""
    counts = shares.share_partition("orders").tally.of(member)
    return {name: getattr(counts, name) for name in COUNTED if getattr(counts, name)}


def noted(shares: VirtualShares, member: str = "a") -> list[tuple[int, int, int, int]]:
    return shares.share_partition("orders").tally.of(member).noted


def test_what_is_accepted_released_and_rejected(shares):
    assert shares.acknowledge("orders", (0, 3, [1, 2, 3, 3])) == [ErrorCode.NONE]
    assert counted(shares) == {"acquired": 4, "accepted": 1, "released": 1, "rejected": 2}
    assert noted(shares) == [(2, 3, 1, REJECTED)]


def test_gaps_and_renewals_are_not_counted(shares):
    shares.acknowledge("orders", (0, 0, [0]), (1, 1, RENEW))
    assert counted(shares) == {"acquired": 4}
    assert shares.share_partition("orders").tally.of("a").renewed == 1


def test_an_acknowledgement_that_is_undone_is_not_counted(shares):
    assert shares.acknowledge("orders", (0, 0, ACCEPT), (0, 0, REJECT)) == [ErrorCode.INVALID_RECORD_STATE]
    assert counted(shares) == {"acquired": 4, "late": 1}
    assert shares.acknowledge("orders", (0, 9, REJECT)) == [ErrorCode.INVALID_REQUEST]
    assert counted(shares) == {"acquired": 4, "late": 1}


def test_an_acknowledgement_that_is_not_stored_is_not_counted(shares):
    shares.states.is_held = True
    shares.acknowledge("orders", (0, 3, REJECT))
    assert counted(shares) == {"acquired": 4}
    shares.states.let_go()
    shares.run()
    assert counted(shares) == {"acquired": 4, "rejected": 4}


def test_what_could_not_be_stored_is_not_counted(shares):
    shares.states.answer = ErrorCode.COORDINATOR_NOT_AVAILABLE
    shares.acknowledge("orders", (0, 3, REJECT))
    assert counted(shares) == {"acquired": 4}


def test_locks_that_end_are_those_of_their_member_and_who_comes_late_is_counted(shares):
    shares.advance(LOCK_MS)
    assert shares.share_fetch("orders", member_id="b").acquired == [(0, 0, 3, 2)]
    assert shares.acknowledge("orders", (0, 3, ACCEPT)) == [ErrorCode.INVALID_RECORD_STATE]
    assert counted(shares) == {"acquired": 4, "lock_ended": 4, "late": 1}
    assert counted(shares, "b") == {"acquired": 4, "delivered_again": 4}
    shares.advance(LOCK_MS)
    assert counted(shares, "b") == {"acquired": 4, "delivered_again": 4, "lock_ended": 4, "archived": 4}
    assert (noted(shares), noted(shares, "b")) == ([], [(0, 3, 2, LOCK_ENDED)])


def test_locks_of_single_records_that_end(shares):
    shares.acknowledge("orders", (1, 1, RELEASE))
    shares.share_fetch("orders", member_id="b")
    shares.advance(LOCK_MS)
    assert (counted(shares)["lock_ended"], counted(shares, "b")["lock_ended"]) == (3, 1)
    assert noted(shares, "b") == [(1, 1, 2, LOCK_ENDED)]


@pytest.mark.parametrize(("ended_by", "name"), [(CLOSED, "closed"), (DISCONNECTED, "disconnected")])
def test_a_session_that_ends(shares, ended_by, name):
    shares.acknowledge("orders", (0, 0, ACCEPT))
    shares.share_partition("orders").release("a", lambda _: None, ended_by)
    shares.run()
    assert counted(shares) == {"acquired": 4, "accepted": 1, name: 3}


def test_a_release_at_the_limit_archives(shares):
    shares.acknowledge("orders", (0, 3, RELEASE))
    assert noted(shares) == []
    shares.share_fetch("orders")
    shares.acknowledge("orders", (0, 1, RELEASE))
    assert counted(shares) == {"acquired": 8, "delivered_again": 4, "released": 6, "archived": 2}
    assert noted(shares) == [(0, 1, 2, RELEASED)]


def test_a_new_interval_counts_from_nothing(shares):
    tallies = shares.share_partition("orders")._parts.tallies
    (taken,) = tallies.pop_all()
    assert taken.members["a"].acquired == 4
    shares.acknowledge("orders", (0, 3, ACCEPT))
    assert counted(shares) == {"accepted": 4}
    assert taken.members["a"].accepted == 0


def test_ranges_that_are_noted_are_bounded():
    shares = VirtualShares()
    shares.create_topic("orders")
    for _ in range(20):
        shares.produce("orders", batch(b"v"))
    shares.end_iteration()
    shares.share_fetch("orders")
    shares.acknowledge("orders", (0, 19, [1, 3] * 10))
    assert noted(shares) == [(each, each, 1, REJECTED) for each in (1, 3, 5, 7, 9)]
    assert counted(shares) == {"acquired": 20, "accepted": 10, "rejected": 10}


class Known:
    """A share partition as far as tallies know it."""

    def __init__(self, key: object) -> None:
        self.key = key


def some(key: object) -> Any:
    return Known(key)


def test_members_beyond_the_limit_are_counted_together():
    tally = Tally(some("k"))
    for number in range(MEMBERS_COUNTED_MAX + 5):
        tally.of(f"m{number}").late += 1
    assert len(tally.members) == MEMBERS_COUNTED_MAX + 1
    assert (tally.members[OTHERS].late, tally.members["m0"].late) == (5, 1)


def test_share_partitions_beyond_the_limit_are_not_told_until_there_is_room():
    begun: list[None] = []
    tallies = Tallies(lambda: begun.append(None))
    for number in range(TALLIES_MAX):
        tallies.of(some(number))
    assert tallies.of(some("late")).is_over
    assert (len(tallies.pop_all()), len(begun)) == (TALLIES_MAX, 1)
    assert not tallies.of(some("late")).is_over
    assert len(begun) == 2


def test_counts_are_added_with_what_is_noted():
    counts, total = RecordCounts(), RecordCounts()
    counts.deliver([(0, 4, 1), (5, 6, 2)])
    counts.late += 1
    total.add(counts)
    total.add(counts)
    assert (total.acquired, total.delivered_again, total.late) == (14, 4, 2)
