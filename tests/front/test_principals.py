"""The principal of a client: in the audit, in descriptions of groups, and in quotas."""

from collections.abc import Iterator
from typing import Final

import pytest
from click.testing import CliRunner

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.records import build_batch
from coordinator.audit.schema import MemberJoined, MemberRemoved
from coordinator.cli import main
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from tests.front.quota_client import QuotaClient
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient, produce_request

USERS: Final = ("alice", "bob", "ops")
MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
LEAVE_VERSION: Final = 3
PRODUCE_VERSION: Final = 9
QUOTA: Final = 100.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    users = " ".join(f'user_{name}="{name}-secret"' for name in USERS)
    settings = QUICK_GROUPS | {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{MODULE} required {users};",
    }
    with RunningServer(tmp_path_factory.mktemp("principals"), settings) as running:
        yield running


def as_user(server: RunningServer, user: str) -> Bootstrap:
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} required username="{user}" password="{user}-secret";',
    }
    return Bootstrap(server.bootstrap, ClientSecurity(settings))


def test_the_audit_has_the_principals_of_a_member_and_of_who_removes_it(server, tmp_path):
    with WireClient(as_user(server, "alice"), "billing-1") as alice, WireClient(as_user(server, "ops"), "cli") as ops:
        member_id = alice.join_alone("billing")
        request = LeaveGroupRequest(group_id="billing", members=[MemberIdentity(member_id=member_id)])
        assert ops.request(request, LEAVE_VERSION).error_code == 0
    with AuditTopic(as_user(server, "ops")) as topic:
        events = [record.event for record in topic.tail(100, "billing")[0]]
    (joined,) = (event for event in events if isinstance(event, MemberJoined))
    (removed,) = (event for event in events if isinstance(event, MemberRemoved))
    assert joined.member.principal == "User:alice"
    assert removed.member.principal == "User:alice"
    assert removed.requested_by is not None
    assert removed.requested_by.principal == "User:ops"
    config = tmp_path / "ops.properties"
    settings = as_user(server, "ops").security.settings
    config.write_text("".join(f"{name}={text}\n" for name, text in settings.items()))
    told = CliRunner().invoke(
        main, ["groups", "why", "billing", "--bootstrap", server.bootstrap, "--command-config", str(config)]
    )
    assert "User:ops (cli, 127.0.0.1)" in " ".join(told.output.split()), told.output


def test_a_quota_of_a_user_is_that_of_no_other_one(server):
    with QuotaClient(as_user(server, "ops")) as admin:
        admin.create_topic("limited")
        assert admin.alter({"user": "alice"}, producer_byte_rate=QUOTA).error_code == 0
    batch = build_batch([(None, b"x" * 10_000, ())])
    throttled = {}
    for user in ("bob", "alice"):
        with WireClient(as_user(server, user), "the same client id") as client:
            answer = client.request(produce_request("limited", batch), PRODUCE_VERSION)
            throttled[user] = answer.throttle_time_ms > 0
    assert throttled == {"alice": True, "bob": False}
