"""CreateAcls, DescribeAcls and DeleteAcls, as a client sees them; the answers are those of Kafka 4.3.1."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_acls import DescribeAclsRequest
from coordinator.client.wire import ConnectionClosed
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.config.settings import Config
from coordinator.node.handlers.acls import AclHandlers
from coordinator.runtime.slices import Steps, at_once
from coordinator.security.acls.filters import TEXT_CHARACTERS_MAX
from tests.metadata.test_store import Disk
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient
from tests.security.acls.filter_fields import ANY, filter_fields

NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
NUMBERS: Final = ("resource_type", "resource_pattern_type", "operation", "permission_type")
ACLS_MAX: Final = 30


@pytest.fixture
def client() -> Iterator[ConfigClient]:
    settings = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "acls.max": str(ACLS_MAX),
    }
    with client_of({}, settings) as connected:
        yield connected


def creation(**fields: Any) -> AclCreation:
    given: dict[str, Any] = {
        "resource_type": 2,
        "resource_name": "t",
        "principal": "User:alice",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return AclCreation(**(given | fields))


def create(client: ConfigClient, *creations: AclCreation) -> list[tuple[int, str | None]]:
    results = client.request(CreateAclsRequest(creations=list(creations)), 3).results
    return [(result.error_code, result.error_message) for result in results]


def described(client: ConfigClient, **fields: Any) -> set[tuple[str, str]]:
    """The names and principals of the ACLs that match."""
    response = client.request(DescribeAclsRequest(**filter_fields(**fields)), 3)
    assert (response.error_code, response.error_message) == (NONE, "")
    return {(resource.resource_name, acl.principal) for resource in response.resources for acl in resource.acls}


def delete(client: ConfigClient, *filters: dict[str, Any]) -> list[tuple[int, str | None, int]]:
    wanted = [DeleteAclsFilter(**filter_fields(**filter_)) for filter_ in filters]
    results = client.request(DeleteAclsRequest(filters=wanted), 3).filter_results
    return [(result.error_code, result.error_message, len(result.matching_acls)) for result in results]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"resource_type": 4}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        (
            {"resource_type": 4, "resource_name": "kafka", "resource_pattern_type": 4},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_name": "", "resource_pattern_type": 4}, "Invalid empty resource name"),
        ({"resource_type": 8}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": -1}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 5}, "Invalid patternType UNKNOWN"),
        ({"operation": 16}, "Invalid operation UNKNOWN"),
        ({"permission_type": 4}, "Invalid permissionType UNKNOWN"),
        (
            {"principal": "alice"},
            "Could not parse principal from `alice` (no colon is present separating the principal type from the "
            "principal name)",
        ),
    ],
)
def test_an_acl_that_kafka_does_not_take_is_refused_alone(client, fields, message):
    assert create(client, creation(**fields), creation()) == [(INVALID, message), (NONE, "")]
    assert described(client) == {("t", "User:alice")}


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": 6},
        {"resource_type": 7},
        {"resource_type": 4, "resource_name": "kafka-cluster", "resource_pattern_type": 4},
        {"resource_type": 3, "operation": 4},
        {"operation": 15},
        {"principal": ":"},
        {"host": ""},
        {"resource_name": "*", "resource_pattern_type": 4},
    ],
)
def test_an_acl_that_kafka_takes_without_a_word_is_created(client, fields):
    assert create(client, creation(**fields)) == [(NONE, "")]
    assert len(described(client)) == 1


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_for_filters_alone_fails_the_whole_request(client, name):
    assert create(client, creation(), creation(**{name: ANY})) == [(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * 2
    assert described(client) == set()


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_means_unknown_closes_the_connection(client, name):
    with pytest.raises(ConnectionClosed):
        create(client, creation(**{name: 0}))


@pytest.mark.parametrize("name", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
@pytest.mark.parametrize("has_many", [False, True])
def test_so_does_one_of_a_filter(client, name, has_many):
    with pytest.raises(ConnectionClosed):
        if has_many:
            delete(client, {name: 0})
        else:
            described(client, **{name: 0})


def test_the_same_acl_again_is_kept_once(client):
    assert create(client, creation(), creation()) == [(NONE, "")] * 2
    assert create(client, creation()) == [(NONE, "")]
    assert delete(client, {}) == [(NONE, None, 1)]


def test_filters_match_as_on_kafka(client):
    names = {"a": 3, "ab": 4, "abc": 3, "*": 3, "b": 4}
    create(client, *(creation(resource_name=name, resource_pattern_type=kind) for name, kind in names.items()))

    def found(name: str | None, pattern_type: int) -> set[str]:
        return {each for each, _ in described(client, resource_name_filter=name, pattern_type_filter=pattern_type)}

    assert found(None, ANY) == set(names)
    assert found("abc", 2) == {"abc", "ab", "*"}
    assert found("abc", ANY) == {"abc"}
    assert found("ab", 3) == set()
    assert found("ab", 4) == {"ab"}
    assert found(None, 4) == {"ab", "b"}
    assert found("abc", 99) == set()
    assert found("", ANY) == set()


def test_filters_of_principals_hosts_and_operations_match_what_is_written(client):
    create(client, creation(principal="User:*"), creation(principal="User:bob", host="10.0.0.1", operation=4))
    assert described(client, principal_filter="User:bob") == {("t", "User:bob")}
    assert described(client, principal_filter="User:*") == {("t", "User:*")}
    assert described(client, host_filter="10.0.0.1") == {("t", "User:bob")}
    assert described(client, operation=3) == {("t", "User:*")}
    assert described(client, operation=99) == set()
    assert described(client, permission_type=2) == set()
    assert described(client, resource_type_filter=3) == set()


def test_each_filter_of_a_deletion_is_told_what_it_matched(client):
    create(client, creation(), creation(resource_name="u"))
    filters: list[dict[str, Any]] = [
        {"resource_name_filter": "t"},
        {"operation": 33},
        {"resource_type_filter": 33},
        {},
        {"resource_name_filter": "none"},
    ]
    assert delete(client, *filters) == [
        (NONE, None, 1),
        (INVALID, "Unknown entryFilter.", 0),
        (INVALID, "Unknown patternFilter.", 0),
        (NONE, None, 2),
        (NONE, None, 0),
    ]
    assert described(client) == set()


def test_a_deleted_acl_is_told_with_all_of_its_fields(client):
    create(client, creation(resource_type=3, host="10.0.0.1", operation=8, permission_type=2, resource_pattern_type=4))
    wanted = DeleteAclsFilter(**filter_fields())
    (result,) = client.request(DeleteAclsRequest(filters=[wanted]), 3).filter_results
    (acl,) = result.matching_acls
    assert (acl.error_code, acl.error_message) == (NONE, None)
    assert (acl.resource_type, acl.resource_name, acl.pattern_type, acl.principal) == (3, "t", 4, "User:alice")
    assert (acl.host, acl.operation, acl.permission_type) == ("10.0.0.1", 8, 2)


def test_there_are_no_more_acls_than_the_setting_allows(client):
    created = create(client, *(creation(resource_name=f"t{number}") for number in range(ACLS_MAX + 2)))
    assert created[:ACLS_MAX] == [(NONE, "")] * ACLS_MAX
    assert created[ACLS_MAX:] == [(ErrorCode.POLICY_VIOLATION, f"There are {ACLS_MAX} ACLs already (acls.max).")] * 2
    assert create(client, creation(resource_name="t0")) == [(NONE, "")], "it exists"
    assert create(client, creation(resource_name="more"))[0][0] == ErrorCode.POLICY_VIOLATION
    delete(client, {"resource_name_filter": "t1"})
    assert create(client, creation(resource_name="more")) == [(NONE, "")]


@pytest.mark.parametrize("field", ["resource_name", "principal", "host"])
def test_a_text_that_is_too_long_is_not_kept(client, field):
    longest = "User:" + "x" * (TEXT_CHARACTERS_MAX - 5)
    assert create(client, creation(**{field: longest})) == [(NONE, "")]
    assert create(client, creation(**{field: longest + "x"}))[0][0] == ErrorCode.POLICY_VIOLATION


class Handling:
    """The handlers, on a metadata log in memory."""

    def __init__(self) -> None:
        self.store = Disk().start()
        config = Config({"authorizer.class.name": STANDARD_AUTHORIZER, "acls.max": "20000"})
        self._handlers = AclHandlers(config=config, metadata=self.store, now_ms=lambda: 0)
        self._call: Any = SimpleNamespace(api_version=3)

    @property
    def batches(self) -> int:
        return len(list(self.store.log.batches(0)))

    def create(self, creations: list[AclCreation]) -> Steps[Any]:
        return self._handlers.create(CreateAclsRequest(creations=creations), self._call)

    def delete(self, **fields: Any) -> Steps[Any]:
        filters = [DeleteAclsFilter(**filter_fields(**fields))]
        return self._handlers.delete(DeleteAclsRequest(filters=filters), self._call)


def creations(count: int, name: str = "t") -> list[AclCreation]:
    return [creation(resource_name=f"{name}{number}") for number in range(count)]


def test_the_acls_of_a_request_are_one_batch_so_that_a_crash_leaves_all_or_none():
    handling = Handling()
    at_once(handling.create(creations(5_000)))
    assert (handling.batches, len(handling.store.image.acls)) == (1, 5_000)
    at_once(handling.delete())
    assert (handling.batches, len(handling.store.image.acls)) == (2, 0)


def test_of_two_requests_at_a_time_one_creates_and_one_deletes_an_acl():
    handling = Handling()
    slow = handling.create(creations(1_000))
    for _ in range(1_500):  # all are read, and half of them are checked
        next(slow)
    assert handling.store.log.log_end_offset == 0
    at_once(handling.create(creations(700)))
    assert [each.error_code for each in at_once(slow).results] == [NONE] * 1_000
    assert handling.store.log.log_end_offset == 1_000
    slow = handling.delete()
    for _ in range(500):  # all are found
        next(slow)
    at_once(handling.delete(resource_name_filter="t0"))
    (result,) = at_once(slow).filter_results
    assert len(result.matching_acls) == 1_000
    assert (handling.store.log.log_end_offset, handling.store.image.acls) == (2_000, {})


def test_acls_that_are_too_large_together_are_neither_created_nor_deleted_by_one_request():
    handling = Handling()
    large = creations(9_000, "x" * 1_000)
    assert {each.error_code for each in at_once(handling.create(large)).results} == {ErrorCode.POLICY_VIOLATION}
    assert handling.store.log.log_end_offset == 0
    for few in (large[:4_500], large[4_500:]):
        at_once(handling.create(few))
    (result,) = at_once(handling.delete()).filter_results
    message = "Cannot remove acls that are larger than a batch of the metadata log in a single delete operation."
    assert (result.error_code, result.error_message, result.matching_acls) == (INVALID, message, [])
    assert len(handling.store.image.acls) == 9_000


def test_very_many_acls_are_neither_created_nor_deleted_by_one_request():
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with client_of({}, settings) as client:
        creations = [creation(resource_name=f"t{number}") for number in range(10_001)]
        refused = create(client, *creations)
        assert set(refused) == {(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")}
        assert described(client) == set()
        assert set(create(client, *creations[:10_000])) == {(NONE, "")}
        assert create(client, creations[-1]) == [(NONE, "")]
        message = "Cannot remove more than 10000 acls in a single delete operation."
        assert delete(client, {"resource_name_filter": "t0"}, {}) == [(INVALID, message, 0)] * 2
        assert delete(client, {"resource_name_filter": "t0"}) == [(NONE, None, 1)]
        assert delete(client, {}, {}) == [(NONE, None, 10_000)] * 2
        assert described(client) == set()
