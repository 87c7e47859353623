"""What members subscribe to by name, before a change and after it."""

from collections import Counter
from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer.named_topics import ChangedNames, NamedTopics, Names
from coordinator.core.consumer.subscription import Subscriptions
from tests.core.consumer.world import FixedTopics

NAMES = "abcdef"
TOPICS = FixedTopics({"a": 1, "b": 2, "c": 3, "z": 1})
SUBSCRIPTIONS = st.sets(st.sampled_from(NAMES), max_size=4).map(lambda names: tuple(sorted(names)))
MANY = 20_000


def named(subscriptions: Collection[Names]) -> NamedTopics:
    made = NamedTopics()
    for names in subscriptions:
        made.count_member(names, +1)
    return made


def subscribers(subscriptions: Collection[Names]) -> Counter[str]:
    """Topic → how many members name it."""
    return Counter(name for names in subscriptions for name in names)


class CountingTopics(FixedTopics):
    """Counts the names that it is asked for one by one."""

    asked = 0

    def topic_id(self, name: str) -> bytes:
        self.asked += 1
        return super().topic_id(name)

    def partition_count(self, name: str) -> int:
        self.asked += 1
        return super().partition_count(name)


@given(before=st.lists(SUBSCRIPTIONS, max_size=5), come=st.lists(SUBSCRIPTIONS, max_size=3), data=st.data())
def test_a_change_is_told_before_it_happens(before: list[Names], come: list[Names], data: st.DataObject) -> None:
    gone = data.draw(st.lists(st.sampled_from(before), max_size=3) if before else st.just([]))
    gone = list((Counter(gone) & Counter(before)).elements())
    group = named(before)
    after = group.after(gone, come)
    left = [*(Counter(before) - Counter(gone)).elements(), *come]
    counted = subscribers(left)
    assert {name for name in NAMES if name in after} == counted.keys()
    assert after.existing(TOPICS) == counted.keys() & set("abcz")
    assert after.vanished(TOPICS) == (subscribers(before).keys() - counted.keys()) & set("abcz")
    assert after.is_empty == (not counted)
    assert after.is_one_subscription == all(count == len(left) for count in counted.values())
    for names in gone:
        group.count_member(names, -1)
    for names in come:
        group.count_member(names, +1)
    assert group == named(left)
    assert {name for name in NAMES if name in group} == counted.keys()
    assert ChangedNames(group).existing(TOPICS) == counted.keys() & set("abcz")
    assert group.names_of_members == counted.total()


def test_topics_are_counted_once_for_all_members_that_have_the_same_subscription() -> None:
    group = named([("a", "b"), ("a", "b"), ("b",)])
    assert group.subscriptions == {("a", "b"): 2, ("b",): 1}
    assert group.counts == {"a": 1, "b": 2}


def test_names_that_no_topic_has_are_not_asked_for_one_by_one() -> None:
    topics = CountingTopics({"n7": 1, "n8": 1, "other": 1})
    names = tuple(sorted(f"n{number}" for number in range(MANY)))
    group = named([names, ("n7",)])
    for after in (ChangedNames(group), group.after([names], [names[1:]])):
        assert Subscriptions(after, {}, {}, 2).hash_of_topics(topics)
    assert topics.asked == 2 * 2 * 2
