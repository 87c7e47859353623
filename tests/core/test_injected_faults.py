"""What a fault asks of the core: the same decisions as for real causes, with the cause of the fault."""

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.core.causes import Cause
from coordinator.core.classic.events import MemberRemoved, PendingMemberRemoved, RebalanceStarted
from coordinator.core.classic.members import expire_session
from coordinator.core.classic.rebalance import force_rebalance
from coordinator.core.decision import NOTHING
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.rejections import RejectedRequest, report
from coordinator.core.groups.requests import ForcedRebalance, SessionExpired
from tests.core.deciding import context, group_with
from tests.simulation.simulation import Simulation


def test_a_member_whose_session_goes_on_is_removed_for_another_cause_only():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    asked = context(sim.now_ms)

    class Alive:
        def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
            return False

        def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
            return None

        def timeout_ms(self, group_id: str, member_id: str) -> int | None:
            return None

    asked.environment = msgspec.structs.replace(asked.environment, sessions=Alive())
    group = group_with("orders")
    group.membership = sim.group
    assert expire_session(group, SessionExpired(a), asked) is NOTHING
    (removed,) = expire_session(group, SessionExpired(a, Cause.FAULT, "expire"), asked).events
    assert isinstance(removed, MemberRemoved)
    assert (removed.cause, removed.reason, removed.member_id) == (Cause.FAULT, "expire", a)
    assert expire_session(None, SessionExpired(a, Cause.FAULT), asked) is NOTHING
    assert expire_session(group, SessionExpired("b", Cause.FAULT), asked) is NOTHING


def test_a_pending_member_id_is_removed_with_the_cause():
    group = group_with(pending_members={"p": 10_000})
    (removed,) = expire_session(group, SessionExpired("p", Cause.FAULT), context()).events
    assert isinstance(removed, PendingMemberRemoved) and removed.cause is Cause.FAULT


def test_only_a_group_with_a_generation_can_be_made_to_rebalance():
    sim = Simulation()
    sim.stable_with("a", "b")
    group = group_with("orders")
    forced = ForcedRebalance(Cause.FAULT, "drill")
    assert force_rebalance(group, forced, context()) is NOTHING
    assert force_rebalance(None, forced, context()) is NOTHING
    group.membership = sim.group
    (started,) = force_rebalance(group, forced, context(sim.now_ms)).events
    assert isinstance(started, RebalanceStarted)
    assert (started.rebalance_reason.cause, started.rebalance_reason.reason) == (Cause.FAULT, "drill")


def test_an_injected_error_is_told_whatever_it_is():
    request = HeartbeatRequest(group_id="g", member_id="m")
    for error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID):
        rejected = RejectedRequest("Heartbeat", request, error, injected=True)
        decision = report(group_with(), rejected, context())
        (told,) = decision.events
        assert isinstance(told, RequestRejected) and told.injected and decision.no_step_follows
        assert report(None, rejected, context()) is NOTHING
    real = RejectedRequest("Heartbeat", request, ErrorCode.REBALANCE_IN_PROGRESS)
    assert report(group_with(), real, context()).events == ()
