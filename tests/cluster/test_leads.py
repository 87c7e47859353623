"""Which partitions a node leads, when it is fenced, and when its lease is over."""

from collections.abc import Iterable

import pytest

from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.lease_timer import LeaseKey, LeaseTimer
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.messages import Assignment, NodeAddress

HERE = NodeAddress(node_id=1, host="h", port=1, broker_port_base=2)
LEASE_MS = 5_900


class Leading:
    """The leads of a node, on a clock that the test sets."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.lease = Lease(LEASE_MS, lambda: self.now_ms)
        self.leads = PartitionLeads(HERE, self.lease, 0, lambda: self.now_ms)
        self.served: set[int] = set()
        self.rejoins = 0
        self.leads.on_gained(self._gained)
        self.leads.on_lost(self.served.discard)
        self.leads.on_lease_over(self._rejoin)

    def _gained(self, partitions: Iterable[int]) -> None:
        self.served.update(partitions)

    def _rejoin(self) -> None:
        self.rejoins += 1

    def assigned(self, *partitions: int) -> bool:
        self.lease.renew(self.now_ms)
        return self.leads.assigned(Assignment(leads=partitions, nodes=(HERE,), leaders=dict.fromkeys(partitions, 1)))


@pytest.fixture
def leading() -> Leading:
    return Leading()


def test_a_node_serves_what_it_is_assigned_and_says_when_it_gave_something_up(leading: Leading) -> None:
    assert not leading.assigned(1, 2)
    assert leading.served == {1, 2}
    assert leading.assigned(2, 3)
    assert leading.served == {2, 3}


def test_after_its_lease_a_node_leads_nothing_and_joins_again(leading: Leading) -> None:
    leading.assigned(1)
    leading.now_ms = LEASE_MS - 1
    leading.leads.check_lease()
    assert leading.leads.may_lead(1)
    leading.now_ms = LEASE_MS
    assert not leading.leads.may_lead(1)
    assert leading.leads.leader_of(1) is None
    leading.leads.check_lease()
    assert leading.served == set()
    assert leading.rejoins == 1


def test_a_node_that_was_fenced_serves_the_partition_no_more(leading: Leading) -> None:
    leading.assigned(1, 2)
    leading.leads.fenced(1)
    assert leading.served == {2}


def test_it_is_taken_over_again_when_a_later_heartbeat_is_answered(leading: Leading) -> None:
    leading.assigned(1)
    leading.now_ms = 500
    leading.leads.fenced(1)
    leading.leads.confirmed(sent_ms=500)
    assert leading.served == set()
    leading.leads.confirmed(sent_ms=501)
    assert leading.served == {1}


class Timers:
    """Remembers the deadlines."""

    def __init__(self) -> None:
        self.deadlines: list[int] = []

    def start(self, key: object, deadline_ms: int) -> int:
        self.deadlines.append(deadline_ms)
        return len(self.deadlines)


def test_a_timer_is_due_when_the_lease_is_over_or_before(leading: Leading) -> None:
    timers = Timers()
    timer = LeaseTimer(leading.lease, timers)
    leading.leads.on_gained(timer.gained)
    leading.assigned(1)
    leading.now_ms = 3_000
    leading.lease.renew(3_000)
    leading.assigned(1, 2)
    assert timers.deadlines == [LEASE_MS]
    leading.now_ms = LEASE_MS
    timer.due(LeaseKey(), LEASE_MS)
    assert timers.deadlines == [LEASE_MS, 3_000 + LEASE_MS]


def test_the_timer_ends_with_the_lease_and_begins_with_the_next_one(leading: Leading) -> None:
    timers = Timers()
    timer = LeaseTimer(leading.lease, timers)
    leading.leads.on_gained(timer.gained)
    leading.assigned(1)
    leading.now_ms = 9_000
    timer.due(LeaseKey(), 9_000)
    leading.leads.check_lease()
    assert timers.deadlines == [LEASE_MS]
    leading.assigned(1)
    assert timers.deadlines == [LEASE_MS, 9_000 + LEASE_MS]
