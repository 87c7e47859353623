"""ACLs and SCRAM credentials, as a client sees them; what is answered was recorded from Kafka 4.3.1."""

from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_acls import DescribeAclsRequest
from _wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient

DISABLED = ErrorCode.SECURITY_DISABLED
NO_AUTHORIZER = "No Authorizer is configured."


@pytest.fixture(scope="module")
def client() -> Iterator[ConfigClient]:
    with client_of({}) as connected:
        yield connected


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("number", [1, 99, -128])
def test_there_is_no_authorizer_to_describe_acls(client, version, number):
    request = DescribeAclsRequest(
        resource_type_filter=number,
        resource_name_filter=None,
        pattern_type_filter=number,
        principal_filter=None,
        host_filter=None,
        operation=number,
        permission_type=number,
    )
    response = client.request(request, version)
    assert (response.error_code, response.error_message) == (DISABLED, "No Authorizer is configured on the broker")
    assert response.resources == []


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_no_acl_is_created_or_deleted(client, version, count):
    creation = AclCreation(
        resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )
    created = client.request(CreateAclsRequest(creations=[creation] * count), version)
    assert [(result.error_code, result.error_message) for result in created.results] == [
        (DISABLED, NO_AUTHORIZER)
    ] * count
    wanted = DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    deleted = client.request(DeleteAclsRequest(filters=[wanted] * count), version)
    told = [
        (filter_result.error_code, filter_result.error_message, filter_result.matching_acls)
        for filter_result in deleted.filter_results
    ]
    assert told == [(DISABLED, NO_AUTHORIZER, [])] * count


@pytest.mark.parametrize("users", [None, []])
def test_there_are_no_scram_users(client, users):
    response = client.request(DescribeUserScramCredentialsRequest(users=users), 0)
    assert (response.error_code, response.error_message, response.results) == (ErrorCode.NONE, "", [])


def test_each_scram_user_that_is_asked_for_is_unknown(client):
    users = [UserName(name=name) for name in ("a", "b", "a", "")]
    response = client.request(DescribeUserScramCredentialsRequest(users=users), 0)
    unknown = "Attempt to describe a user credential that does not exist: "
    twice = "Cannot describe SCRAM credentials for the same user twice in a single request: a"
    assert [(result.user, result.error_code, result.error_message) for result in response.results] == [
        ("a", ErrorCode.DUPLICATE_RESOURCE, twice),
        ("b", ErrorCode.RESOURCE_NOT_FOUND, unknown + "b"),
        ("", ErrorCode.RESOURCE_NOT_FOUND, unknown),
    ]
