"""Subscriptions by pattern, and topics that change."""

from kafka.admin import NewPartitions

from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import Scene


def pattern(scene: Scene) -> None:
    """A topic that is created later is found."""
    one = scene.member("one", pattern=f"^{scene.name}-.*", metadata_max_age_ms=500)
    scene.steady(one)
    later = f"{scene.name}-later"
    scene.create_topic(later, 2)
    scene.steady(one, partitions=scene.partitions + 2)
    scene.produce(5)
    scene.produce(5, later, 2)
    all_read(scene, one)
    check(scene, 4)
    one.leave()


def topic_grows(scene: Scene) -> None:
    one = scene.member("one", metadata_max_age_ms=500)
    two = scene.member("two", metadata_max_age_ms=500)
    scene.steady(one, two)
    grown = scene.partitions + 2
    scene.admin().create_partitions({scene.topic: NewPartitions(grown)})
    scene.steady(one, two, partitions=grown)
    scene.produce(5, partitions=grown)
    all_read(scene, one, two)
    if scene.audited and not scene.is_watched:  # neither requests nor records of a group say how large topics are
        changes = {scene.topic: [scene.partitions, grown]}
        scene.stable_with(lambda each: each.topic_changes == changes, "a generation that names the topic")
    check(scene, 5)
    one.leave()
    two.leave()


def subscription_changes(scene: Scene) -> None:
    other = f"{scene.name}-other"
    scene.create_topic(other, 2)
    one = scene.member("one")
    scene.steady(one)
    one.subscribe(scene.topic, other)
    scene.steady(one, partitions=scene.partitions + 2)
    scene.produce(5)
    scene.produce(5, other, 2)
    all_read(scene, one)
    check(scene, 3)
    one.leave()


SCENARIOS = (
    Scenario("Subscription by pattern", pattern, ("pattern",)),
    Scenario("A topic grows", topic_grows),
    Scenario("A subscription changes", subscription_changes, ("subscribe",)),
)
