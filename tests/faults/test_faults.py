"""The list of faults: numbers, reports, and what a restart of the server leaves of them."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.faults.faults import FAULTS_MAX
from coordinator.faults.specs import FaultError
from coordinator.testing import Coordinator, TestingError
from coordinator.testing.control import Control
from tests.wire_client import WireClient, join_request


@pytest.mark.parametrize("clean", [False, True])
def test_a_restart_ends_all_faults_and_their_hits_are_still_known(server: Coordinator, clean: bool) -> None:
    with WireClient(server.bootstrap) as client:
        member_id = client.join_alone("g")
        hit = server.faults.answer("Heartbeat", "ILLEGAL_GENERATION")
        unhit = server.faults.answer("SyncGroup", "ILLEGAL_GENERATION", group="g")
        assert client.heartbeat_error("g", member_id) == ErrorCode.ILLEGAL_GENERATION
    server.restart(clean)
    with WireClient(server.bootstrap) as client:
        assert client.heartbeat_error("g", member_id) == ErrorCode.NONE
    assert (hit.hits, unhit.hits) == (1, 0)
    with pytest.raises(AssertionError, match=r"^1 fault was never hit: answer api=SyncGroup group=g error=ILLEGAL_GEN"):
        server.faults.assert_all_hit()
    unhit.remove()
    server.faults.clear()
    server.faults.assert_all_hit()


def test_a_fault_after_a_restart_is_not_taken_for_one_before_it(server: Coordinator) -> None:
    before = server.faults.answer("Heartbeat", "ILLEGAL_GENERATION")
    server.faults.clear()
    server.restart()
    after = server.faults.answer("Heartbeat", "UNKNOWN_MEMBER_ID")
    assert after.id != before.id
    with pytest.raises(FaultError, match=rf"^there is no fault {before.id}$"):
        before.remove()
    with WireClient(server.bootstrap) as client:
        assert client.heartbeat_error("g", "m") == ErrorCode.UNKNOWN_MEMBER_ID
    assert after.hits == 1


def test_a_restart_ends_a_barrier_and_an_unavailable_partition(server: Coordinator) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone("g")
        server.faults.unavailable("g")
        barrier = server.faults.hold("JoinGroup")
        client.send(join_request("g"), 3)
        barrier.wait_for(1)
        server.restart()
    assert barrier.waiting == 0
    with pytest.raises(FaultError, match="is no barrier, or it was removed"):
        barrier.release()
    assert server.group("g").wait_for(members=1).state == "Stable"


def test_who_waits_during_a_restart_or_a_stop_is_told_so(server: Coordinator) -> None:
    barrier = server.faults.hold("JoinGroup")
    ends: tuple[Callable[[], None], ...] = (server.restart, server.stop)
    for end in ends:
        waits: list[Future[Any]] = [
            server._node.wait(lambda control: control.wait_for_group("g", "Stable")),
            server._node.wait(lambda control: control.wait_for_held(barrier.id)),
        ]
        end()
        for wait in waits:
            with pytest.raises(TestingError, match=r"^the coordinator was stopped or restarted meanwhile$"):
                wait.result(timeout=5)


def test_faults_are_numbered_and_reported_until_they_are_cleared(server: Coordinator) -> None:
    first, second = server.faults.drop("Fetch"), server.faults.hold("Fetch")
    first.remove()
    reports = server._node.ask(lambda control: control.faults.reports()).result()
    assert [(report.fault_id, report.is_removed, report.waiting) for report in reports] == [
        (first.id, True, 0),
        (second.id, False, 0),
    ]
    server.faults.clear()
    assert server._node.ask(lambda control: control.faults.reports()).result() == []
    assert server.faults.drop("Fetch").id == second.id + 1


def test_the_number_of_faults_is_bounded(server: Coordinator) -> None:
    def fill(control: Control) -> None:
        for _ in range(FAULTS_MAX):
            control.faults.add({"do": "drop", "api": "Fetch"})

    server._node.ask(fill).result()
    with pytest.raises(FaultError, match=r"^there are 10000 faults already: clear them$"):
        server.faults.drop("Fetch")
    server.faults.clear()
    server.faults.drop("Fetch")
