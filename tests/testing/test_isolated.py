"""One test's share of a server: prefixed names of topics and groups, and its faults."""

import pytest

from _wire.errors import ErrorCode
from coordinator.testing import Coordinator, TestingError
from coordinator.testing.isolated import IsolatedCoordinator
from tests.wire_client import WireClient


def test_two_tests_of_one_name_share_nothing(server: Coordinator) -> None:
    one, two = (IsolatedCoordinator(server, "tests/test_x.py::test_it[a/b]") for _ in range(2))
    assert one.prefix != two.prefix and one.prefix.startswith("test_it-a-b-")
    assert one.topic("orders") != two.topic("orders")
    assert one.produce("orders", ["a"]) == two.produce("orders", ["b"]) == [(0, 0)]
    with pytest.raises(TestingError, match="already exists"):
        one.topic("orders")


def test_deliveries_of_a_group_are_asked_for_by_its_short_name(server: Coordinator) -> None:
    IsolatedCoordinator(server, "t.py::test_one").assert_delivered("g", records=0)
    with pytest.raises(AssertionError, match=r"group \S*one\S*g delivered no record"):
        IsolatedCoordinator(server, "t.py::test_one").assert_delivered("g", at_least=1)


def test_a_whole_name_stays_as_it_is(server: Coordinator) -> None:
    mine = IsolatedCoordinator(server, "test_it")
    assert mine.group(mine.group("g").id).id == mine.whole_name("g") == f"{mine.prefix}g"


def test_the_name_of_a_test_is_cut_to_what_fits_a_topic(server: Coordinator) -> None:
    mine = IsolatedCoordinator(server, "test_it[" + "x" * 300 + "]")
    assert len(mine.topic("orders")) < 249


def test_faults_are_those_of_the_tests_own_groups(server: Coordinator) -> None:
    one, two = IsolatedCoordinator(server, "test_one"), IsolatedCoordinator(server, "test_two")
    fault = one.faults.answer("Heartbeat", "ILLEGAL_GENERATION", group="g")
    with WireClient(server.bootstrap) as client:
        theirs = client.join_alone(two.group("g").id)
        assert client.heartbeat_error(two.group("g").id, theirs) == ErrorCode.NONE
        assert client.heartbeat_error(one.group("g").id, "m") == ErrorCode.ILLEGAL_GENERATION
        two.faults.expire("g", theirs)
        two.group("g").wait_for("Empty")
    two.assert_rebalances("g", at_most=2, causes={"new_member", "fault"})
    assert "a test injected a fault" in two.why("g", 2)
    assert fault.hits == 1
    one.faults.assert_all_hit()
    one.faults.clear()


def test_a_barrier_and_the_clock_are_those_of_the_server(server: Coordinator) -> None:
    mine = IsolatedCoordinator(server, "test_it")
    client = WireClient(mine.bootstrap)
    client.join_alone(mine.group("g").id)
    client.socket.close()
    barrier = mine.faults.hold("SyncGroup", group="g")
    mine.advance(seconds=60)
    assert mine.group("g").state == "Empty"
    assert mine.events("g")[-1].group_id == mine.group("g").id
    mine.restart()
    assert mine.group("g").state == "Empty" and barrier.hits == 0
