"""Kafka's command line tool for streams groups (KIP-1071), as `kafka_tools.py` runs it."""

from collections.abc import Callable
from typing import Final

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import WireConnection
from tests.streams_members import StreamsMember
from tests.waiting import wait_for
from tests.wire_client import WireClient

STREAMS_GROUPS: Final = "org.apache.kafka.tools.streams.StreamsGroupCommand"
GROUP: Final = "counts"
SECONDS: Final = 60
WITH_EPOCH: Final = 9


def streams_group_commands(server: str) -> list[tuple[str, str, str, str, str, Callable[[str], None]]]:
    """Script, program, arguments, what is found in what it prints, no input, and what is done before.

    `server` is the address. Topic `tool` has 4 partitions. The member sends no heartbeats while the tools run.
    """
    at = f"--bootstrap-server {server}"
    group = f"{at} --group {GROUP}"
    asked: list[tuple[str, str, Callable[[str], None]]] = [
        (f"{at} --list --state", rf"{GROUP}\s+Stable", enter),
        (f"{group} --describe", rf"{GROUP}\s+tool\s+0\s+\d", nothing),
        (f"{group} --describe --members", r"member-1\s+process-member-1\s+tools\s+ACTIVE: 0:\[0,1,2,3\]", nothing),
        (f"{group} --describe --members --verbose", r"streams\s+\d.*TARGET-ACTIVE: 0:\[0,1,2,3\]", nothing),
        (f"{group} --describe --offsets --verbose", rf"{GROUP}\s+tool\s+3\s+0\s", nothing),
        (f"{group} --describe --state --verbose", r"Stable\s+(\d+)\s+\1\s+1", nothing),
        (f"{group} --delete", "is not EMPTY", nothing),
        (f"{group} --describe --state", r"Empty\s+0", leave),
        (f"{group} --reset-offsets --all-input-topics --to-earliest --execute", rf"{GROUP}\s+tool\s+0\s+\d", nothing),
        (f"{group} --delete-offsets --input-topic tool", r"tool\s+0\s+Successful", nothing),
        (f"{group} --delete", "was successful", nothing),
        (f"{group} --describe", f"Group {GROUP} not found", nothing),
    ]
    return [
        ("kafka-streams-groups", STREAMS_GROUPS, arguments, found, "", before) for arguments, found, before in asked
    ]


def nothing(bootstrap: str) -> None:
    """The group is as the command before has left it."""


def enter(bootstrap: str) -> None:
    """A member joins, has all tasks, and commits offset 0 of each partition."""
    with WireClient(_coordinator(bootstrap), "tools") as client:
        member = StreamsMember(client, GROUP, "member-1")
        member.join(["tool"], [f"{GROUP}-changelog"])

        def has_all() -> bool:
            member.beat()
            return not member.status and member.task_count() == 4

        wait_for(has_all, SECONDS, f"a member of {GROUP} with all tasks")
        offsets = [OffsetCommitRequestPartition(partition_index=index, committed_offset=0) for index in range(4)]
        commit = OffsetCommitRequest(
            group_id=GROUP,
            member_id="member-1",
            generation_id_or_member_epoch=member.epoch,
            topics=[OffsetCommitRequestTopic(name="tool", partitions=offsets)],
        )
        (topic,) = client.request(commit, WITH_EPOCH).topics
        assert {partition.error_code for partition in topic.partitions} == {0}, topic


def leave(bootstrap: str) -> None:
    with WireClient(_coordinator(bootstrap), "tools") as client:
        StreamsMember(client, GROUP, "member-1").leave()


def _coordinator(bootstrap: str) -> str:
    with WireConnection(bootstrap, "tools") as anyone:
        return coordinator_of(anyone, GROUP)
