"""Who cannot join a group now, why, and until when that is said."""

from coordinator.audit.schema import REJECTION_APART_MS
from coordinator.explain.claims.findings import Kind
from coordinator.explain.findings import findings
from coordinator.explain.makers.findings.clients import SLACK_MS
from coordinator.explain.memory import packed, unpacked
from tests.explain.consumers import Consumers, clock
from tests.simulation.simulation import Simulation


def refused(*protocols: str) -> Consumers:
    group = Consumers().group_of("a")
    group.sim.join("b", protocols=protocols or ("roundrobin",))
    return group


def test_colliding_assignors_are_named_with_who_offers_them():
    found = refused("roundrobin", "sticky").findings()[Kind.REJECTED_CLIENT]
    assert found.headline == (
        "b (127.0.0.1) cannot join: it offers roundrobin and sticky, and what all members have is range"
    )
    assert found.evidence == ("refused at 22:13:20 with INCONSISTENT_GROUP_PROTOCOL", "a offers range")
    assert found.advice.startswith("give all members an assignor in common")


def test_a_client_that_has_joined_since_is_refused_no_more():
    group = refused()
    group.quiet(1_000)
    group.join("b")
    group.settle()
    assert Kind.REJECTED_CLIENT not in group.findings()


def test_a_client_that_has_given_up_is_not_said_to_be_refused_now():
    group = refused()
    group.quiet(REJECTION_APART_MS + SLACK_MS + 1)
    assert Kind.REJECTED_CLIENT not in group.findings()


def test_a_client_that_goes_on_is_refused_now_however_long_it_does():
    group = refused()
    for _ in range(9):
        group.quiet(REJECTION_APART_MS // 2)
        group.sim.join("b", protocols=("roundrobin",))
    found = group.findings()[Kind.REJECTED_CLIENT]
    assert found.evidence[0].endswith(", 10 times so far, since 22:13:20")


def test_a_group_without_members_refuses_nobody():
    group = refused()
    group.leave("a")
    assert Kind.REJECTED_CLIENT not in group.findings()


def test_a_group_that_is_full_says_so():
    group = Consumers()
    group.sim = Simulation({"group.max.size": "1"})
    group.group_of("a")
    group.sim.join("b")
    found = group.findings()[Kind.REJECTED_CLIENT]
    assert found.headline == "b (127.0.0.1) cannot join: the group is full (group.max.size)"


def test_what_is_remembered_between_batches_is_enough():
    group = refused()
    before = group.history()
    now_ms = before.last_ms or 0
    expected = findings(before, now_ms, clock)
    assert findings(unpacked(packed(before)), now_ms, clock) == expected
