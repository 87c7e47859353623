"""What is due is done before a request that comes then: Kafka's group is empty at the deadline of its last session."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.front.loop_scheduler import STALL_MS
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.node.disk_host import host_in_memory
from coordinator.node.node import Node
from coordinator.testing.defaults import config_of
from coordinator.timers import VirtualClock
from tests.wire_client import WireClient

SESSION_MS = 30_000


def play(story: Callable[[Node, VirtualClock, WireClient, str], Any]) -> None:
    """Run a story in a thread beside a node on a virtual clock, which has one group `g` of one member."""

    def in_thread(node: Node, clock: VirtualClock) -> None:
        with WireClient(node.bootstrap) as client:
            member_id = client.join_alone("g", session_timeout_ms=SESSION_MS)
            story(node, clock, client, member_id)

    async def main() -> None:
        clock = VirtualClock(1_000_000)
        node = Node(config_of({}, 0, None), host=host_in_memory(clock, MemoryFileSystem()))
        await node.start()
        try:
            await asyncio.get_running_loop().run_in_executor(None, in_thread, node, clock)
        finally:
            node.kill()

    asyncio.run(main())


def deleted(client: WireClient) -> int:
    return int(client.request(DeleteGroupsRequest(groups_names=["g"]), 2).results[0].error_code)


@pytest.mark.parametrize(
    ("late_ms", "expected"),
    [
        (-1, ErrorCode.NON_EMPTY_GROUP),
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
        # The loop was blocked: the member's heartbeat may lie in its socket, so data is read before timers fire.
        (STALL_MS + 1, ErrorCode.NON_EMPTY_GROUP),
    ],
)
def test_a_group_is_empty_at_the_deadline_of_its_last_session(late_ms, expected):
    def story(node, clock, client, member_id):
        deadline_ms = node.groups.coordinator.sessions.deadline_ms("g", member_id)
        with WireClient(node.bootstrap) as other:
            clock.advance(deadline_ms + late_ms - clock.now_ms())
            assert deleted(other) == expected

    play(story)


def test_a_heartbeat_after_the_deadline_is_of_an_unknown_member():
    def story(node, clock, client, member_id):
        clock.advance(SESSION_MS)
        beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
        assert client.request(beat, 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID

    play(story)
