"""How many groups and pending members the clients of one address may have."""

import pytest

from coordinator.config.settings import Config
from coordinator.core.address_limits import ADDRESSES_MAX, AddressLimits, PendingMember

LIMITS = {"max.groups.per.ip": "2", "max.transactional.ids.per.ip": "2", "max.pending.members.per.ip": "3"}


@pytest.fixture
def limits():
    return AddressLimits(Config(LIMITS))


def pending(number, group_id="g"):
    return PendingMember(group_id, f"m{number}")


def test_an_address_may_create_so_many_groups_and_another_one_when_one_is_removed(limits):
    for group_id in ("a", "b"):
        assert limits.may_create_group("/1.1.1.1")
        limits.group_created(group_id, "/1.1.1.1")
    assert not limits.may_create_group("/1.1.1.1")
    assert limits.may_create_group("/2.2.2.2")
    limits.group_removed("a")
    assert limits.may_create_group("/1.1.1.1")


def test_transactional_ids_are_counted_beside_groups(limits):
    limits.group_created("a", "/1.1.1.1")
    ids = limits.transactional_ids
    for transactional_id in ("a", "b"):
        assert ids.is_allowed("/1.1.1.1")
        ids.add(transactional_id, "/1.1.1.1")
    assert not ids.is_allowed("/1.1.1.1")
    assert ids.is_allowed("/2.2.2.2")
    ids.remove("loaded")
    assert not ids.is_allowed("/1.1.1.1")
    ids.remove("a")
    assert ids.is_allowed("/1.1.1.1")


def test_a_group_that_was_loaded_counts_for_nobody(limits):
    limits.group_removed("loaded")
    assert limits.may_create_group("/1.1.1.1")


def test_the_oldest_pending_member_of_an_address_is_given_up(limits):
    for number in range(4):
        limits.member_pending(pending(number), "/1.1.1.1")
    limits.member_pending(pending(9), "/2.2.2.2")
    assert limits.pop_excess() == [pending(0)]
    assert limits.pop_excess() == []


def test_no_more_than_so_many_addresses_are_remembered(limits):
    for number in range(ADDRESSES_MAX + 1):
        limits.member_pending(pending(number), f"/{number}")
    assert limits.pop_excess() == [pending(0)]
