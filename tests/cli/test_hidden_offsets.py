"""Who may not look at the offsets of a group is told so, with the right that is missing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.cli import main
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.hidden_offsets import hidden_topics
from coordinator.client.security import ClientSecurity
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.core.assignors.consumer_protocol import encode_assignment, encode_subscription
from coordinator.core.assignors.registry import RANGE
from tests.core.assignors.questions import member
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient, join_request

MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS: Final = ("admin", "reader", "half", "whole")
AUDIT: Final = "__group_audit"
GROUP: Final = "billing"
OUT_OF_RANGE: Final = "the committed offset is beyond the end of the log"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A group that has committed offsets beyond the end of two topics."""
    users = " ".join(f'user_{name}="{name}-secret"' for name in USERS)
    settings = QUICK_GROUPS | {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{MODULE} required {users};",
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
    }
    security = ClientSecurity(settings_of("admin"))
    with (
        RunningServer(tmp_path_factory.mktemp("hidden"), settings) as running,
        WireClient(Bootstrap(running.bootstrap, security), "app") as client,
    ):
        for topic in ("seen", "hidden"):
            client.create_topic(topic)
        commit_beyond_the_end(client)
        yield running


def commit_beyond_the_end(client: WireClient) -> None:
    metadata = encode_subscription(RANGE, member("", {"seen", "hidden"}))
    joined = client.request(join_request(GROUP, metadata=metadata, timeout_ms=60_000), 3)
    assignment = encode_assignment({"seen": [0], "hidden": [0]})
    own = {"generation_id": joined.generation_id, "member_id": joined.member_id}
    assignments = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment)]
    assert client.request(SyncGroupRequest(group_id=GROUP, assignments=assignments, **own), 3).error_code == 0
    offsets = [OffsetCommitRequestPartition(partition_index=0, committed_offset=10)]
    commit = OffsetCommitRequest(
        group_id=GROUP,
        generation_id_or_member_epoch=joined.generation_id,
        member_id=joined.member_id,
        topics=[OffsetCommitRequestTopic(name=each, partitions=offsets) for each in ("seen", "hidden")],
    )
    answers = client.request(commit, 7).topics
    assert [answer.partitions[0].error_code for answer in answers] == [0, 0]


def settings_of(user: str) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} required username="{user}" password="{user}-secret";',
    }


def run(server: RunningServer, folder: Path, user: str, *arguments: str) -> str:
    """What a command prints as this user, in one line."""
    config = folder / f"{user}.properties"
    config.write_text("".join(f"{name}={text}\n" for name, text in settings_of(user).items()))
    done = CliRunner().invoke(main, [*arguments, "--bootstrap", server.bootstrap, "--command-config", str(config)])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def allow(server: RunningServer, folder: Path, user: str, *resource: str) -> None:
    run(server, folder, "admin", "acls", "add", "--allow", f"User:{user}", "--operation", "read", *resource)


def test_without_a_right_on_the_group_why_names_it(server, tmp_path):
    allow(server, tmp_path, "reader", "--topic", AUDIT)
    text = run(server, tmp_path, "reader", "groups", "why", GROUP)
    told = f"what its offsets say is not looked at: the right to DESCRIBE the group {GROUP} is missing"
    assert text.startswith(f"group {GROUP}: Stable")
    assert text.endswith(f"{told}.")
    assert json.loads(run(server, tmp_path, "reader", "groups", "why", GROUP, "--json"))["not_looked_at"] == [told]


def test_topics_that_may_not_be_described_are_named(server, tmp_path):
    for resource in (("--topic", AUDIT), ("--group", GROUP), ("--topic", "seen")):
        allow(server, tmp_path, "half", *resource)
    told = "the offsets in hidden are not looked at: the right to DESCRIBE the topic is missing."
    why = run(server, tmp_path, "half", "groups", "why", GROUP)
    assert f"! seen-0: {OUT_OF_RANGE}" in why
    assert "hidden-0" not in why
    assert why.endswith(told)
    described = run(server, tmp_path, "half", "groups", "describe", GROUP)
    assert f"! {told}" in described
    assert json.loads(run(server, tmp_path, "half", "groups", "describe", GROUP, "--json"))["hidden_topics"] == [
        "hidden"
    ]


def test_who_may_see_all_is_told_of_no_right(server, tmp_path):
    for resource in (("--topic", AUDIT), ("--group", GROUP), ("--topic", "seen"), ("--topic", "hidden")):
        allow(server, tmp_path, "whole", *resource)
    why = run(server, tmp_path, "whole", "groups", "why", GROUP)
    assert f"! hidden-0 and seen-0: {OUT_OF_RANGE}" in why
    assert "not looked at" not in why


def test_many_topics_are_counted():
    (told,) = hidden_topics(["a", "b", "c", "d", "e"])
    assert told == "the offsets in a, b, c and 2 more are not looked at: the right to DESCRIBE the topics is missing"
    assert list(hidden_topics([])) == []
