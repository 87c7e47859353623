"""Filters and the checks of new ACLs, value by value."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.security.acls.filters import (
    ANY,
    MATCH,
    AclFilter,
    InvalidAcl,
    check_filter,
    check_new,
    has_unknown,
    is_for_filters_only,
)
from coordinator.security.acls.model import Acl
from tests.security.acls import random_acls

EVERYTHING = AclFilter(ANY, None, ANY, None, None, ANY, ANY)
ACL = Acl(2, "t", 3, "User:alice", "*", 3, 3)


@given(random_acls.acls)
def test_an_acl_matches_the_filter_with_its_own_fields_and_the_one_for_all(acl):
    assert EVERYTHING.matches(acl)
    assert AclFilter(*acl).matches(acl)
    own = AclFilter(*acl)
    for other in (
        msgspec.structs.replace(own, principal="User:x"),
        msgspec.structs.replace(own, host="1.1.1.1"),
        msgspec.structs.replace(own, operation=15),
    ):
        assert not other.matches(acl)
    assert not msgspec.structs.replace(own, resource_name="none").matches(acl)


@given(random_acls.acls, random_acls.NAMES)
def test_match_finds_what_applies_to_the_name(acl, name):
    applies = name.startswith(acl.resource_name) if acl.pattern_type == 4 else acl.resource_name in (name, "*")
    assert msgspec.structs.replace(EVERYTHING, pattern_type=MATCH, resource_name=name).matches(acl) is applies


@given(st.tuples(*[st.integers(-128, 127)] * 4))
def test_each_number_is_taken_or_refused_with_a_message(numbers):
    resource_type, pattern_type, operation, permission_type = numbers
    acl = Acl(resource_type, "kafka-cluster", pattern_type, "User:a", "*", operation, permission_type)
    is_known = (
        resource_type in range(2, 8)
        and pattern_type in (3, 4)
        and operation in range(2, 16)
        and permission_type in (2, 3)
    )
    if has_unknown(acl) or is_for_filters_only(acl):
        assert not is_known
    elif is_known:
        check_new(acl)
    else:
        with pytest.raises(InvalidAcl, match="UNKNOWN"):
            check_new(acl)


@pytest.mark.parametrize("field", ["resource_type", "pattern_type", "operation", "permission_type"])
@pytest.mark.parametrize("value", [-128, -1, 16, 127])
def test_a_filter_with_a_number_of_a_later_version_is_refused(field, value):
    check_filter(EVERYTHING)
    with pytest.raises(InvalidAcl, match=r"^Unknown (patternFilter|entryFilter)\.$"):
        check_filter(msgspec.structs.replace(EVERYTHING, **{field: value}))
