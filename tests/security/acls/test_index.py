"""The index has nothing left of ACLs that were removed, and finds patterns among very many."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.acls.index import AclIndex
from coordinator.security.acls.model import Acl, ResourceType
from tests.security.acls import random_acls


@given(st.lists(random_acls.acls, max_size=30), st.randoms())
def test_an_index_whose_acls_were_removed_is_as_a_new_one(acls, chance):
    index = AclIndex()
    for each in acls:
        index.add(each)
    assert len(index) == len(set(acls))
    assert all(each in index for each in acls)
    left = list(dict.fromkeys(acls))
    chance.shuffle(left)
    for each in left:
        index.remove(each)
        index.remove(each)
    assert not index._acls
    assert not index._patterns
    assert not any(index._prefix_lengths.values())
    assert not index._by_principal


@given(st.lists(random_acls.acls, max_size=30), random_acls.NAMES)
def test_the_patterns_of_a_resource_are_those_that_match_its_name(acls, name):
    index = AclIndex()
    for each in acls:
        index.add(each)
    for resource_type in map(ResourceType, random_acls.TYPES):
        expected = {
            each[:3]
            for each in acls
            if each.resource_type == resource_type
            and (name.startswith(each.resource_name) if each.pattern_type == 4 else each.resource_name in (name, "*"))
        }
        found = list(index.patterns_of(resource_type, name))
        assert set(found) == expected
        assert len(found) == len(expected), "each once"


def test_few_patterns_are_looked_at_among_many():
    index = AclIndex()
    for number in range(10_000):
        index.add(Acl(2, f"team-{number:04}.", 4, "User:alice", "*", 3, 3))
    assert list(index.patterns_of(ResourceType.TOPIC, "team-0042.orders")) == [(2, "team-0042.", 4)]
    assert index._prefix_lengths[2] == {10: 10_000}
