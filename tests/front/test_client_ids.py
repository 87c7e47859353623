"""Client ids may have 32 KiB. What the server keeps of them is bounded; the answers are as with any other."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.front.request_serving import CLIENT_ID_CHARACTERS_MAX
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient, join_request

LONGEST = 32_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("data"), QUICK_GROUPS) as running:
        yield running


@pytest.mark.parametrize("client_id", ["short", "x" * CLIENT_ID_CHARACTERS_MAX, "y" * LONGEST, "ü" * (LONGEST // 2)])
def test_a_member_joins_with_any_client_id(server, client_id):
    kept = client_id[:CLIENT_ID_CHARACTERS_MAX]
    group_id = f"group-{client_id[0]}"
    with WireClient(server.bootstrap, client_id) as client:
        first = client.request(join_request(group_id), 5)
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert first.member_id.startswith(f"{kept}-") and len(first.member_id) == len(kept) + 37
        joined = client.request(join_request(group_id, first.member_id), 5)
        assert (joined.error_code, joined.member_id) == (ErrorCode.NONE, first.member_id)
        group = client.request(DescribeGroupsRequest(groups=[group_id]), 5).groups[0]
        assert [(member.member_id, member.client_id) for member in group.members] == [(first.member_id, kept)]
