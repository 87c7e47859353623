from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.core.classic.describe import describe
from coordinator.core.groups.admin import ALL_OPERATIONS, NO_AUTHORIZED_OPERATIONS
from tests.core.deciding import context


def described_missing(version):
    request = DescribeGroupsRequest(groups=["unheard-of"], include_authorized_operations=True)
    (reply,) = describe(None, request, context(version=version)).replies
    response: Any = reply.response
    (group,) = response.groups
    return group


def test_an_unknown_group_is_described_as_dead_with_what_may_be_done_with_it():
    missing = described_missing(5)
    assert (missing.error_code, missing.group_state) == (ErrorCode.NONE, "Dead")
    assert missing.authorized_operations == ALL_OPERATIONS


def test_from_v6_on_an_unknown_group_is_an_error_and_nothing_may_be_done_with_it():
    missing = described_missing(6)
    assert (missing.error_code, missing.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert missing.authorized_operations == NO_AUTHORIZED_OPERATIONS
