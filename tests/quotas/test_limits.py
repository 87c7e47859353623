"""Which quota applies to whom: the levels of Kafka's DefaultQuotaCallback."""

from typing import Final

import pytest

from coordinator.metadata.image import quota_entity
from coordinator.quotas.limits import AddressLimits, Client, ClientLimits

KEY: Final = "producer_byte_rate"
ALICE: Final = "alice"
LEVELS: Final = (
    ({"user": ALICE, "client-id": "a"}, (ALICE, "a")),
    ({"user": ALICE, "client-id": None}, (ALICE, "a")),
    ({"user": ALICE}, (ALICE, "")),
    ({"user": None, "client-id": "a"}, (ALICE, "a")),
    ({"user": None, "client-id": None}, (ALICE, "a")),
    ({"user": None}, (ALICE, "")),
    ({"client-id": "a"}, ("", "a")),
    ({"client-id": None}, ("", "a")),
)
"""The most specific first, each with who shares its quota."""


def limits_of(*levels: int) -> ClientLimits:
    return ClientLimits({quota_entity(LEVELS[level][0]): {KEY: float(level + 1)} for level in levels}, KEY)


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_the_most_specific_quota_applies(level):
    assert limits_of(*range(level, len(LEVELS))).find(Client(ALICE, "a")) == (level + 1, LEVELS[level][1])


def test_quotas_of_others_do_not_apply():
    quotas = {quota_entity({"client-id": "b"}): {KEY: 1.0}, quota_entity({"user": "somebody"}): {KEY: 1.0}}
    assert ClientLimits(quotas, KEY).find(Client(ALICE, "a")) is None


@pytest.mark.parametrize(("levels", "found"), [((0, 1, 3, 4, 6, 7), None), (range(8), 3), ((5, 7), 6)])
def test_a_client_without_a_client_id_has_the_quotas_of_its_user_alone(levels, found):
    limit = limits_of(*levels).find(Client(ALICE, ""))
    assert (limit and limit.value) == found


def test_users_do_not_share_the_default_quota_of_users():
    limits = limits_of(5)
    assert limits.find(Client(ALICE, "a")) == (6, (ALICE, ""))
    assert limits.find(Client("bob", "a")) == (6, ("bob", ""))


def test_a_user_has_its_own_quota_whatever_the_client_id():
    quotas = {quota_entity({"user": ALICE}): {KEY: 1.0}, quota_entity({"client-id": "a"}): {KEY: 2.0}}
    limits = ClientLimits(quotas, KEY)
    assert limits.find(Client(ALICE, "a")) == (1, (ALICE, ""))
    assert limits.find(Client("bob", "a")) == (2, ("", "a"))


def test_a_quota_of_another_key_is_none():
    quotas = {quota_entity({"client-id": "a"}): {"consumer_byte_rate": 1.0}}
    assert not ClientLimits(quotas, KEY)
    assert ClientLimits(quotas, "consumer_byte_rate")


def test_an_address_has_its_own_quota_or_the_default():
    key = "connection_creation_rate"
    quotas = {quota_entity({"ip": "10.0.0.1"}): {key: 1.0}, quota_entity({"ip": None}): {key: 2.0}}
    limits = AddressLimits(quotas, key)
    assert limits.find("10.0.0.1") == (1, ("10.0.0.1", ""))
    assert limits.find("10.0.0.2") == (2, ("10.0.0.2", ""))
    assert AddressLimits({}, key).find("10.0.0.1") is None


def test_a_long_user_name_is_remembered_by_its_hash():
    limit = limits_of(5).find(Client("x" * 30_000, "a"))
    assert limit is not None
    assert len(limit.shared_by[0]) == 64


def test_a_long_client_id_is_remembered_by_its_hash():
    long, longer = "x" * 30_000, "x" * 30_001
    first, second = (limits_of(7).find(Client(ALICE, each)) for each in (long, longer))
    assert first is not None
    assert second is not None
    assert first.shared_by != second.shared_by
    assert len(first.shared_by[1]) == 64
