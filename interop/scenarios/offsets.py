"""Committed offsets: a member goes on where the last one stopped."""

from kafka.structs import OffsetAndMetadata, TopicPartition

from coordinator.audit import schema
from interop.invariants import reads
from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import Scene


def commit_and_resume(scene: Scene) -> None:
    """What was read after the last commit is read again, and no more."""
    scene.produce(5)
    one = scene.member("one")
    scene.steady(one)
    all_read(scene, one)
    answer = one.commit()
    assert answer["event"] == "committed", answer
    assert set(scene.committed().values()) == {5}, scene.committed()
    scene.produce(3)
    all_read(scene, one)
    one.driver.kill()
    two = scene.member("two")
    scene.steady(two)
    scene.produce(2)
    all_read(scene, one, two)
    first = {partition: min(run.first for run in runs) for partition, runs in reads([two]).items()}
    assert set(first.values()) == {5}, f"it does not go on at the committed offset: {first}"
    for partition, runs in reads([two]).items():
        position = 5
        for run in runs:
            assert run.first == position, f"{partition}: read {run.first} after {position}"
            position = run.next
    check(scene, 2)
    two.leave()


def reset_while_empty(scene: Scene) -> None:
    """An administrator sets the offsets of an empty group; the next member begins there."""
    scene.produce(6)
    one = scene.member("one")
    scene.steady(one)
    all_read(scene, one)
    assert one.commit()["event"] == "committed"
    one.leave()
    scene.wait_for_state("Empty")
    wanted = {TopicPartition(scene.topic, index): OffsetAndMetadata(2, "", -1) for index in range(scene.partitions)}
    scene.admin().alter_group_offsets(scene.group, wanted)
    two = scene.member("two")
    scene.steady(two)
    scene.produce(1)
    all_read(scene, one, two)
    first = {partition: min(run.first for run in runs) for partition, runs in reads([two]).items()}
    assert set(first.values()) == {2}, f"it does not begin at the offsets that were set: {first}"
    if scene.audited and scene.audits_offsets:
        reset = scene.one_of_kind(schema.OffsetsReset)
        assert reset.requested_by.client_id == "ops"
    check(scene, 2)
    two.leave()


SCENARIOS = (
    Scenario("Commit and resume", commit_and_resume, ("commit",)),
    Scenario("Offsets are reset while the group is empty", reset_while_empty, ("commit",)),
)
