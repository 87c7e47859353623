"""Each assignor that a client has, alone and in groups of several clients."""

from coordinator.core.causes import Cause
from interop.driver import Member
from interop.invariants import taken_and_given_back
from interop.scenarios.scenario import Scenario, all_read, caused, check
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for

COOPERATIVE = "cooperative-sticky"
PARTNERS = ("java", "confluent-kafka", "franz-go", "kafka-python")


def range_assignor(scene: Scene) -> None:
    _eager(scene, "range")


def roundrobin_assignor(scene: Scene) -> None:
    _eager(scene, "roundrobin")


def sticky_assignor(scene: Scene) -> None:
    _eager(scene, "sticky")


def _eager(scene: Scene, assignor: str) -> None:
    scene.produce(5)
    one = scene.member("one", assignors=[assignor])
    scene.steady(one)
    two = scene.member("two", assignors=[assignor])
    scene.steady(one, two)
    assert {len(one.owned), len(two.owned)} == {3}, "the partitions are not shared out evenly"
    all_read(scene, one, two)
    if scene.audited:
        assert scene.history().generations[-1].protocol_name == assignor
    caused(scene, Cause.NEW_MEMBER, "two")
    check(scene, 3)
    one.leave()
    two.leave()


def cooperative_assignor(scene: Scene) -> None:
    """Only what moves is taken from a member."""
    scene.produce(5)
    one = scene.member("one", assignors=[COOPERATIVE])
    scene.steady(one)
    before = len(one.events)
    two = scene.member("two", assignors=[COOPERATIVE])
    scene.steady(one, two)
    assert {len(one.owned), len(two.owned)} == {3}, "the partitions are not shared out evenly"
    taken = taken_and_given_back(one, before)
    assert not taken, f"taken from a member that keeps them: {sorted(taken)}"
    all_read(scene, one, two)
    if scene.audited:
        moved = [generation.partitions_moved for generation in scene.history().generations]
        assert sum(each or 0 for each in moved) == 3, moved
    check(scene, 5)
    one.leave()
    two.leave()


def mixed_range(scene: Scene) -> None:
    _mixed(scene, "range")


def mixed_cooperative(scene: Scene) -> None:
    _mixed(scene, COOPERATIVE)


def _mixed(scene: Scene, assignor: str) -> None:
    """A member of this client and one each of two others, and back to this one alone."""
    scene.produce(5)
    one = scene.member("one", assignors=[assignor])
    scene.steady(one)
    others = [scene.member(client, client=client, assignors=[assignor]) for client in list(scene.others)[:2]]
    scene.steady(one, *others)
    # A member that is about to give up a partition may be the last to tell so, when all others have theirs.
    wait_for(lambda: _is_even(one, *others), SECONDS, "the partitions to be shared out evenly", every_ms=100)
    scene.steady(one, *others)
    for member in others:
        member.leave()
    scene.steady(one)
    all_read(scene, *scene.members)
    check(scene, 9)
    one.leave()


def _is_even(*members: Member) -> bool:
    sizes = sorted(len(member.latest().owned) for member in members)
    return sizes[-1] - sizes[0] <= 1


SCENARIOS = (
    Scenario("Assignor range", range_assignor, ("range",), partitions=6),
    Scenario("Assignor roundrobin", roundrobin_assignor, ("roundrobin",), partitions=6),
    Scenario("Assignor sticky", sticky_assignor, ("sticky",), partitions=6),
    Scenario("Assignor cooperative-sticky", cooperative_assignor, (COOPERATIVE,), partitions=6),
    Scenario("With two other clients: range", mixed_range, ("range",), partitions=6, others=PARTNERS),
    Scenario(
        "With two other clients: cooperative-sticky", mixed_cooperative, (COOPERATIVE,), partitions=6, others=PARTNERS
    ),
)
