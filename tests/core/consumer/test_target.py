"""What a target assignment is computed from."""

from msgspec.structs import replace

from coordinator.core.consumer.assignors.orders import names_in_order
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.target import TargetInput, compute_target, target_steps
from tests.core.consumer.world import FixedTopics

TOPICS = FixedTopics({"t": 3, "u": 2})
T, U = TOPICS.topic_id("t"), TOPICS.topic_id("u")


def test_members_keep_topics_in_the_order_of_a_hash_map_not_in_that_in_which_they_got_them() -> None:
    members = {member_id: MemberMetadata("client", "host", topics=("t", "u")) for member_id in ("a", "b")}
    asked = TargetInput("uniform", members, {"a": {U: (0, 1), T: (0, 1, 2)}}, {}, is_homogeneous=True)
    assert compute_target(asked, TOPICS) == {"a": {T: (0, 1, 2)}, "b": {U: (0, 1)}}


def test_members_keep_partitions_in_the_order_of_a_hash_set() -> None:
    """16 is in the first of 16 buckets, before 1."""
    topics = FixedTopics({"t": 17})
    members = {member_id: MemberMetadata("client", "host", topics=("t",)) for member_id in "abcdefghijklmnopq"}
    asked = TargetInput("uniform", members, {"a": {topics.topic_id("t"): (1, 16)}}, {}, is_homogeneous=True)
    assert compute_target(asked, topics)["a"] == {topics.topic_id("t"): (16,)}


def test_of_topics_in_one_bucket_a_member_keeps_the_one_that_it_got_last() -> None:
    """Kafka gives the first partition of each topic with `computeIfAbsent`, which puts it at the head of its bucket."""
    topics = FixedTopics({"t": 3, **{f"other-{number}": 1 for number in range(15)}, "u": 2})
    t, u = topics.topic_id("t"), topics.topic_id("u")
    members = {"a": MemberMetadata("client", "host", topics=("t", "u"))}
    alone = compute_target(TargetInput("uniform", members, {}, {}, is_homogeneous=True), topics)
    assert alone == {"a": {t: (0, 1, 2), u: (0, 1)}}
    members["b"] = members["a"]
    shared = compute_target(TargetInput("uniform", members, alone, {}, is_homogeneous=True), topics)
    assert shared == {"a": {u: (0, 1), t: (0,)}, "b": {t: (1, 2)}}


def test_range_gives_all_members_the_topics_of_the_first_where_their_subscriptions_count_as_the_same() -> None:
    """Kafka may be wrong about that while a target is due; what a member does not subscribe to it does not get."""
    members = {"a": MemberMetadata("client", "host"), "b": MemberMetadata("client", "host", topics=("t",))}
    asked = TargetInput("range", members, {}, {}, is_homogeneous=True)
    assert compute_target(asked, TOPICS) == {"a": {}, "b": {}}
    members["0"] = members["b"]
    assert compute_target(asked, TOPICS) == {"0": {T: (0,)}, "a": {T: (1,)}, "b": {T: (2,)}}


def test_names_that_no_topic_has_count_for_the_order_of_the_others() -> None:
    """Java's map of the names of a member is larger with them, so two of its topics may change places."""
    names = [f"other-{number}" for number in range(100)]
    for number in range(100):
        every = sorted({"t", "b0", *names[:number]})
        existing = [name for name in names_in_order(every, len(every)) if name in ("t", "b0")]
        assert names_in_order(["b0", "t"], len(every)) == existing


def test_a_member_that_names_very_many_topics_takes_as_long_as_many_members() -> None:
    names = tuple(sorted(f"n{number}" for number in range(100_000)))
    members = {member_id: MemberMetadata("client", "host", topics=names) for member_id in "abcdefgh"}
    asked = TargetInput("uniform", members, {}, {}, is_homogeneous=True)
    few = {member_id: MemberMetadata("client", "host", topics=("t",)) for member_id in "abcdefgh"}
    steps = sum(1 for _ in target_steps(asked, TOPICS))
    assert steps == sum(1 for _ in target_steps(replace(asked, members=few), TOPICS)) + len(members)
