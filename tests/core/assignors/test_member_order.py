"""The orders are what Java 17 printed for the same strings."""

from coordinator.core.assignors.member_order import hash_map_order, static_first, text_key
from tests.core.assignors.questions import member


def numbers(count: int) -> list[int]:
    names = [f"consumer-{number * 7919}" for number in range(count)]
    return [names.index(name) for name in hash_map_order(names)]


def test_keys_come_as_from_javas_hash_map():
    assert numbers(12) == [9, 11, 4, 3, 7, 6, 1, 10, 0, 2, 5, 8]
    assert numbers(13) == [9, 4, 6, 1, 10, 0, 2, 8, 11, 3, 7, 5, 12], "one more, and it has twice as many buckets"


def test_keys_of_one_bucket_come_sorted():
    """Java has them as they were put in; here that does not matter."""
    same_hash = ["AaAa", "BBBB", "AaBB", "BBAa"]
    assert hash_map_order(same_hash) == hash_map_order(same_hash[::-1]) == sorted(same_hash)


def test_static_members_come_first_by_instance_id_then_the_others_by_member_id():
    members = [
        member("b", ()),
        member("z", (), instance_id="one"),
        member("a", ()),
        member("y", (), instance_id="two"),
    ]
    assert [each.member_id for each in static_first(members)] == ["z", "y", "a", "b"]


def test_texts_are_compared_by_utf_16_code_units():
    """A duck is two surrogates there, and those are less than U+FFFD."""
    assert sorted(["\N{REPLACEMENT CHARACTER}", "\N{DUCK}"], key=text_key) == ["\N{DUCK}", "\N{REPLACEMENT CHARACTER}"]
