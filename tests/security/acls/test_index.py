"""The index has nothing left of ACLs that were removed, and finds patterns among very many."""

from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.acls.index import AclIndex
from coordinator.security.acls.model import Acl, ResourceType
from tests.security.acls import random_acls


@given(st.lists(random_acls.acls, max_size=30), st.randoms())
def test_an_index_whose_acls_were_removed_is_as_a_new_one(acls, chance):
    index = AclIndex()
    for acl in acls:
        index.add(acl)
    assert len(index) == len(set(acls))
    assert all(acl in index for acl in acls)
    left = list(dict.fromkeys(acls))
    chance.shuffle(left)
    for each in left:
        index.remove(each)
        index.remove(each)
    assert vars(index) == vars(AclIndex())


@given(st.lists(random_acls.acls, max_size=30), random_acls.NAMES)
def test_what_is_found_of_a_resource_is_what_matches_its_name(acls, name):
    index = AclIndex()
    for acl in acls:
        index.add(acl)
    for resource_type in map(ResourceType, random_acls.TYPES):
        matching = {
            acl
            for acl in acls
            if acl.resource_type == resource_type
            and (name.startswith(acl.resource_name) if acl.pattern_type == 4 else acl.resource_name in (name, "*"))
        }
        assert index.has_any(resource_type, name) is bool(matching)
        for principal in random_acls.PRINCIPALS:
            found = index.find(resource_type, name, principal)
            login_failure = [Acl(*each.pattern, each.principal, *entry) for each in found for entry in each.entries]
            assert set(login_failure) == {each for each in matching if each.principal in (principal, "User:*")}
            assert len(login_failure) == len(set(login_failure)), "each once"


def test_few_patterns_are_looked_at_among_many():
    index = AclIndex()
    for number in range(10_000):
        index.add(Acl(2, f"team-{number:04}.", 4, f"User:u{number % 10}", "*", 3, 3))
    (found,) = index.find(ResourceType.TOPIC, "team-0042.orders", "User:u2")
    assert found.pattern == (2, "team-0042.", 4)
    assert index.find(ResourceType.TOPIC, "team-0042.orders", "User:u3") == []
    assert list(index._possible_patterns(2, "team-0042.orders", "User:u3")) == [
        (2, "team-0042.orders", 3),
        (2, "*", 3),
        (2, "team-0042.", 4),
    ]
