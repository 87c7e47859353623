"""Each assignor that a client has, alone and in groups of several clients."""

from coordinator.core.causes import Cause
from interop.invariants import taken_and_given_back
from interop.scenarios.scenario import Scenario, all_read, caused, check
from interop.scene import Scene

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
        moved = [each.partitions_moved for each in scene.history().generations]
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
    sizes = sorted(len(member.owned) for member in scene.members)
    assert sizes[-1] - sizes[0] <= 1, f"the partitions are not shared out evenly: {sizes}"
    for member in others:
        member.leave()
    scene.steady(one)
    all_read(scene, *scene.members)
    check(scene, 9)
    one.leave()


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
