"""`ulimit -n 1024`, 10,000 partitions and a flood of connections: clients that are connected are served."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.records import build_batch
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

LIMIT: Final = 1024
CONNECTIONS_MIN: Final = 650
"""What `ulimit -n 1024` has room for, beside the files of the logs and the last tenth, which is for other addresses."""
FLOOD: Final = 1200
PARTITIONS: Final = 10_000
WRITTEN: Final = 300
"""Partitions with records: more than the logs may have files open."""
RECORD: Final = build_batch([(None, b"value", ())])


class Victim(WireClient):
    """A client whose writes have to succeed."""

    def commit(self, offset: int) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name="many", partitions=[partition])
        for group in range(20):
            answer = self.request(OffsetCommitRequest(group_id=f"group-{group}", topics=[topic]), 5)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE

    def write(self) -> None:
        for partition in range(WRITTEN):
            assert self.produce("many", RECORD, partition=partition).error_code == ErrorCode.NONE

    def read_all(self) -> int:
        """Fetch from all partitions; how many have records."""
        wanted = [FetchPartition(partition=each, partition_max_bytes=100) for each in range(PARTITIONS)]
        topic = FetchTopic(topic="many", partitions=wanted)
        answers = self.request(FetchRequest(max_bytes=1 << 30, topics=[topic]), 11).responses[0].partitions
        assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
        return sum(1 for answer in answers if answer.records)


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Enough for the clients, which are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard > 2 * FLOOD, "the flood needs `ulimit -Hn 4096`"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * FLOOD), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_descriptors(server: RunningServer, what: str) -> int:
    """How many descriptors of the server begin with this."""
    folder = Path(f"/proc/{server.pid}/fd")
    found = 0
    for each in folder.iterdir():
        try:
            found += os.readlink(each).startswith(what)
        except FileNotFoundError:
            continue  # closed meanwhile
    return found


def test_a_flood_of_connections_and_ten_thousand_partitions(tmp_path, many_descriptors):
    server = RunningServer(tmp_path, QUICK_GROUPS, open_files_max=(LIMIT, LIMIT))
    with server, ExitStack() as flood, Victim(server.bootstrap) as victim:
        victim.create_topic("many", PARTITIONS)
        assert victim.read_all() == 0
        assert not [each for each in server.data.iterdir() if each.name.startswith("many-")], "a read makes no files"
        victim.write()
        before = open_descriptors(server, "socket:")
        host, port = server.bootstrap.split(":")
        for _ in range(FLOOD):
            flood.enter_context(socket.create_connection((host, int(port)), timeout=10))
        wait_for(lambda: "the last tenth" in server.log.read_text(), 10, "the server to have no more room for it")
        assert open_descriptors(server, "socket:") >= CONNECTIONS_MIN
        for offset in range(3):
            victim.write()
            victim.commit(offset)
            assert victim.read_all() == WRITTEN
        flood.pop_all().close()
        wait_for(lambda: open_descriptors(server, "socket:") <= before, 10, "the descriptors to come back")
        with Victim(server.bootstrap) as other:
            other.commit(3)
        assert "Too many open files" not in server.log.read_text()
        assert server.stop() == 0
