"""Which partitions a node leads: what the group of the nodes says, the lease, and fences."""

import pytest

from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.messages import Assignment, NodeAddress

LEASE_MS = 5_900


def address(node_id: int) -> NodeAddress:
    return NodeAddress(node_id=node_id, host="h", port=9000 + node_id, broker_port_base=20_000)


class Served:
    """The leads of node 1, a clock, and what is served."""

    def __init__(self) -> None:
        self.now_ms = 100_000
        self.lease = Lease(LEASE_MS, lambda: self.now_ms)
        self.leads = PartitionLeads(address(1), self.lease, 1, lambda: self.now_ms)
        self.loaded: list[int] = []
        self.unloaded: list[int] = []
        self.rejoins = 0
        self.leads.on_gained(self.loaded.extend)
        self.leads.on_lost(self.unloaded.append)
        self.leads.on_lease_over(self._rejoin)

    def _rejoin(self) -> None:
        self.rejoins += 1

    def assign(self, *partitions: int, others: dict[int, int] | None = None) -> bool:
        """Assign partitions; `others` are those of node 2."""
        leaders = dict.fromkeys(partitions, 1) | (others or {})
        nodes = (address(1), address(2))
        self.lease.renew(self.now_ms)
        return self.leads.assigned(Assignment(leads=partitions, nodes=nodes, leaders=leaders))


@pytest.fixture
def served() -> Served:
    return Served()


def test_what_is_assigned_is_loaded_and_what_is_lost_is_unloaded(served: Served) -> None:
    assert not served.assign(1, 2)
    assert served.assign(2, 3)
    assert (served.loaded, served.unloaded) == ([1, 2, 3], [1])
    assert served.leads.claim().leads == (2, 3)


def test_a_partition_may_be_led_as_long_as_the_lease_holds(served: Served) -> None:
    served.assign(1)
    served.now_ms += LEASE_MS - 1
    assert served.leads.may_lead(1)
    assert not served.leads.may_lead(2)
    served.now_ms += 1
    assert not served.leads.may_lead(1)
    assert served.leads.leader_of(1) is None


def test_the_end_of_the_lease_ends_all_and_has_the_node_join_again(served: Served) -> None:
    served.assign(1, 2)
    served.now_ms += LEASE_MS
    served.leads.check_lease()
    assert (served.unloaded, served.rejoins) == ([1, 2], 1)
    served.leads.check_lease()
    assert served.rejoins == 1


def test_the_lease_counts_from_when_a_heartbeat_was_sent(served: Served) -> None:
    served.assign(1)
    sent_ms = served.now_ms
    served.now_ms += 3_000
    served.lease.renew(sent_ms)
    served.now_ms = sent_ms + LEASE_MS
    assert not served.lease.is_held


def test_a_late_answer_does_not_shorten_the_lease(served: Served) -> None:
    served.lease.renew(served.now_ms)
    served.lease.renew(served.now_ms - 2_000)
    assert served.lease.until_ms == served.now_ms + LEASE_MS


def test_a_fenced_partition_is_taken_over_again_when_a_later_heartbeat_confirms_it(served: Served) -> None:
    served.assign(1)
    served.leads.fenced(1)
    assert served.unloaded == [1]
    served.leads.confirmed(served.now_ms)
    assert served.loaded == [1], "that heartbeat was sent before"
    served.leads.confirmed(served.now_ms + 1)
    assert served.loaded == [1, 1]
    served.leads.confirmed(served.now_ms + 2)
    assert served.loaded == [1, 1]


def test_a_fenced_partition_that_is_another_nodes_by_now_is_left_to_it(served: Served) -> None:
    served.assign(1)
    served.leads.fenced(1)
    served.assign(others={1: 2})
    served.leads.confirmed(served.now_ms + 1)
    assert served.loaded == [1]


def test_the_leaders_of_other_partitions_are_known(served: Served) -> None:
    served.assign(1, others={2: 2, 3: 9})
    assert served.leads.leader_of(1) == address(1)
    assert served.leads.leader_of(2) == address(2)
    assert served.leads.leader_of(3) is None, "node 9 is gone"
    assert served.leads.leader_of(4) is None


def test_a_node_is_not_the_leader_of_what_it_gave_up(served: Served) -> None:
    served.assign(1)
    served.leads.give_up_all("test")
    assert served.leads.leader_of(1) is None
