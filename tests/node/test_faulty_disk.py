"""A server whose disk fails: what can be served is, the log says why the rest is not, and a stop and a start work."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.records import build_batch, parse_records
from tests.node.faulty_serve import BLOCKED_SUFFIX, CONTROL, EVERYTHING_THAT_WRITES
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient

READ_ONLY: Final = [f"{operation} EROFS /" for operation in EVERYTHING_THAT_WRITES]
TIMES: Final = 20
"""How often a request is repeated: the log may not have a line for each."""


class Client(WireClient):
    def send_value(self, value: bytes, partition: int = 0, *, topic: str = "t") -> ErrorCode:
        return ErrorCode(self.produce(topic, build_batch([(None, value, ())]), partition=partition).error_code)

    def commit(self, offset: int) -> ErrorCode:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        answer = self.request(OffsetCommitRequest(group_id="g", topics=[topic]), 5)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def fetch(self, partition: int = 0, offset: int = 0, *, topic: str = "t") -> tuple[ErrorCode, list[bytes | None]]:
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[wanted])])
        (found,) = self.request(request, 11).responses[0].partitions
        return ErrorCode(found.error_code), [record.value for record in parse_records(found.records or b"")]


class FaultyServer(RunningServer):
    """A server with a topic `t` of 3 partitions, of which the first two have a record, and an empty one `u` of 4."""

    def __init__(self, folder: Path, settings: dict[str, str], log_dirs: Sequence[str] = ("data",)) -> None:
        super().__init__(folder, QUICK_GROUPS | settings, module="tests.node.faulty_serve", log_dirs=log_dirs)
        self._control = folder / "faults"

    def prepare(self) -> None:
        with Client(self.bootstrap) as client:
            client.create_topic("t", 3)
            client.create_topic("u", 4)
            assert (client.send_value(b"before"), client.send_value(b"other", 1)) == (ErrorCode.NONE, ErrorCode.NONE)
            assert client.commit(1) is ErrorCode.NONE

    def fail(self, *faults: str) -> None:
        """Let operations fail from now on; with none, heal."""
        part = self._control.with_suffix(".new")
        part.write_text("".join(f"{fault}\n" for fault in faults))
        part.replace(self._control)

    def wait_until_blocked(self) -> None:
        """Return when an operation that is to block does."""
        wait_for(self._control.with_suffix(BLOCKED_SUFFIX).exists, 10, "the operation to block")

    def lines(self, *levels: str) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if any(f"[{level}" in line for level in levels)]

    def wait_for_end(self) -> int:
        """The exit status of a server that ends by itself."""
        assert self._process is not None
        status = self._process.wait(10)
        self._process = None
        return status


@pytest.fixture
def settings() -> dict[str, str]:
    return {}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> Iterator[FaultyServer]:
    monkeypatch.setenv(CONTROL, str(tmp_path / "faults"))
    with FaultyServer(tmp_path, settings) as server:
        server.prepare()
        yield server
        assert "Traceback" not in server.log.read_text()


@pytest.fixture
def client(server: FaultyServer) -> Iterator[Client]:
    with Client(server.bootstrap) as client:
        yield client


def served_after_a_restart(server: FaultyServer) -> None:
    server.start()
    with Client(server.bootstrap) as again:
        assert again.fetch() == (ErrorCode.NONE, [b"before"])
        assert again.send_value(b"later") is ErrorCode.NONE
        wait_for(lambda: again.commit(2) is ErrorCode.NONE, 10, "the group")
    assert server.stop() == 0


def test_a_disk_that_becomes_read_only(server, client):
    server.fail(*READ_ONLY)
    for _ in range(TIMES):
        assert client.send_value(b"lost") is ErrorCode.KAFKA_STORAGE_ERROR
        assert client.send_value(b"lost", 2) is ErrorCode.KAFKA_STORAGE_ERROR, "it has no directory yet"
        assert client.commit(2) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.fetch() == (ErrorCode.NONE, [b"before"])
    assert server.stop() == 1
    errors = server.lines("error")
    assert 3 <= len(errors) <= 12, errors
    assert all("Read-only file system" in line for line in errors)
    assert any("log=t-0" in line and "t-0/00000000000000000000.log" in line for line in errors)
    last = server.log.read_text().splitlines()[-1]
    assert "stopped: the logs were not closed cleanly, so the next start checks them: " in last
    server.fail()
    served_after_a_restart(server)


def test_a_read_only_disk_at_the_start_is_one_line(server):
    server.stop()
    server.fail(*READ_ONLY)
    command = [sys.executable, "-m", "tests.node.faulty_serve", "serve", "--data-dir", str(server.data)]
    run = subprocess.run([*command, "--listen=127.0.0.1:0"], capture_output=True, text=True, timeout=20, check=False)
    assert run.returncode == 2
    assert run.stderr == f"coordinator: data directory {server.data} is not writable: Read-only file system\n"
    server.fail()
    served_after_a_restart(server)


def test_what_cannot_be_read_is_a_storage_error_and_the_rest_is_served(server, client):
    server.fail("read EIO data/t-0/")
    for _ in range(TIMES):
        assert client.fetch() == (ErrorCode.KAFKA_STORAGE_ERROR, [])
        assert client.fetch(1) == (ErrorCode.NONE, [b"other"])
    server.fail()
    assert client.fetch() == (ErrorCode.NONE, [b"before"])
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert "cannot read a log: look at its disk" in line
    assert "t-0/00000000000000000000.log" in line
    served_after_a_restart(server)


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EIO"])
def test_what_cannot_be_written_is_an_error_until_it_can(server, client, error):
    server.fail(f"write {error} data/t-0/", f"write {error} data/__consumer_offsets-")
    for _ in range(TIMES):
        assert client.send_value(b"lost") is ErrorCode.KAFKA_STORAGE_ERROR
        assert client.commit(2) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.send_value(b"more", 1) is ErrorCode.NONE
    server.fail()
    wait_for(lambda: client.commit(2) is ErrorCode.NONE, 15, "the partition to be loaded again")
    assert server.stop() == 0
    errors = server.lines("error")
    assert 2 <= len(errors) <= 12, errors
    assert any("cannot append to a log; what is stored is still served" in line for line in errors)
    assert any("cannot append; reloading the partition" in line for line in errors)
    served_after_a_restart(server)


@pytest.mark.parametrize(
    "settings", [{"log.flush.policy": "always"}, {"log.flush.interval.messages": "1"}], ids=["always", "in background"]
)
def test_a_failed_fsync_ends_the_process_with_one_line(server, client, settings):
    server.fail("flush EIO data/t-1/")
    if "log.flush.policy" in settings:
        with pytest.raises(ConnectionClosed):
            client.send_value(b"not safe", 1)
    else:
        client.send_value(b"not safe", 1)
    assert server.wait_for_end() == 1
    said = server.log.read_text().splitlines()[-1]
    assert re.search(r"stopping: acknowledged data may be lost: t-1: fsync failed: .*Input/output error", said)
    assert server.lines("error") == []
    server.fail()
    served_after_a_restart(server)


def test_a_file_that_cannot_be_opened_fails_its_partition_alone(server, client):
    server.fail("open EMFILE data/t-2/")
    for _ in range(TIMES):
        assert client.send_value(b"lost", 2) is ErrorCode.KAFKA_STORAGE_ERROR
        assert client.fetch() == (ErrorCode.NONE, [b"before"])
        assert client.commit(2) is ErrorCode.NONE
    server.fail()
    assert client.send_value(b"first", 2) is ErrorCode.NONE
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert "Too many open files" in line
    assert "t-2/" in line


DAMAGES: Final = (
    (".index", b"\xff" * 16, "an index does not fit its log file; the segment is read"),
    (".timeindex", b"\xff" * 12, "an index does not fit its log file; the segment is read"),
    (".txnindex", b"\xff" * 34, "an index does not fit its log file; the segment is read"),
    (".snapshot", b"\xff" * 100, "producer snapshot ignored"),
)
"""For each partition: the file that is damaged, its content then, and what the log says."""


def test_a_damaged_file_beside_a_log_costs_a_line(server, client):
    values = [b"%d" % (number % 10) * 1000 for number in range(30)]
    for partition in range(len(DAMAGES)):
        for value in values:
            assert client.send_value(value, partition, topic="u") is ErrorCode.NONE
    assert server.stop() == 0
    for partition, (suffix, content, _) in enumerate(DAMAGES):
        folder = server.data / f"u-{partition}"
        damaged = [*folder.glob(f"*{suffix}")] or [folder / f"{0:020d}{suffix}"]
        damaged[0].write_bytes(content)
    server.start()
    with Client(server.bootstrap) as again:
        for partition in range(len(DAMAGES)):
            assert again.fetch(partition, topic="u") == (ErrorCode.NONE, values)
            assert again.fetch(partition, 25, topic="u") == (ErrorCode.NONE, values[25:])
            batch = build_batch([(None, b"last", ())], producer_id=7, producer_epoch=0, base_sequence=0)
            assert again.produce("u", batch, partition=partition).error_code == ErrorCode.NONE
    assert server.stop() == 0
    told = server.lines("warning", "error")
    assert len(told) == len(DAMAGES), told
    for partition, (_, _, said) in enumerate(DAMAGES):
        assert any(said in line and f"u-{partition}" in line for line in told), told
    server.start()
    with Client(server.bootstrap) as again:
        for partition in range(len(DAMAGES)):
            assert again.fetch(partition, 29, topic="u") == (ErrorCode.NONE, [values[-1], b"last"])
    assert server.stop() == 0
    assert server.lines("warning", "error") == told, "all is whole again"
