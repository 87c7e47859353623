"""The timer that is due when the lease is over."""

from coordinator.cluster.lease_timer import LeaseKey, LeaseTimer
from tests.cluster.test_leads import LEASE_MS, Served


class Timers:
    """Remembers the deadlines."""

    def __init__(self) -> None:
        self.deadlines: list[int] = []

    def start(self, key: object, deadline_ms: int) -> int:
        self.deadlines.append(deadline_ms)
        return len(self.deadlines)


def test_a_timer_is_due_when_the_lease_is_over_or_before() -> None:
    served, timers = Served(), Timers()
    began_ms = served.now_ms
    timer = LeaseTimer(served.lease, timers)
    served.leads.on_gained(timer.gained)
    served.assign(1)
    served.now_ms += 3_000
    served.lease.renew(served.now_ms)
    served.assign(1, 2)
    assert timers.deadlines == [began_ms + LEASE_MS]
    served.now_ms = began_ms + LEASE_MS
    timer.due(LeaseKey(), served.now_ms)
    assert timers.deadlines == [began_ms + LEASE_MS, began_ms + 3_000 + LEASE_MS]


def test_the_timer_ends_with_the_lease_and_begins_with_the_next_one() -> None:
    served, timers = Served(), Timers()
    began_ms = served.now_ms
    timer = LeaseTimer(served.lease, timers)
    served.leads.on_gained(timer.gained)
    served.assign(1)
    served.now_ms = began_ms + 9_000
    timer.due(LeaseKey(), served.now_ms)
    served.leads.check_lease()
    assert timers.deadlines == [began_ms + LEASE_MS]
    served.assign(1)
    assert timers.deadlines == [began_ms + LEASE_MS, began_ms + 9_000 + LEASE_MS]
