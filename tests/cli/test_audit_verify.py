"""`coordinator audit verify` beside a real server, whose log is then tampered with."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from crc32c import crc32c

from coordinator.cli.audit import command
from tests.servers import QUICK_GROUPS, RunningServer


def verify(server: RunningServer) -> tuple[int, str]:
    result = CliRunner().invoke(command, ["verify", "--bootstrap", server.bootstrap])
    return result.exit_code, result.output


@pytest.fixture
def server(tmp_path):
    with RunningServer(tmp_path, QUICK_GROUPS | {"audit.chain": "true", "audit.compression.type": "none"}) as running:
        yield running


def test_a_start_and_a_stop_are_chained_and_a_changed_one_is_named(server):
    server.stop()
    server.start()
    code, output = verify(server)
    assert (code, output) == (0, "3 events are as they were written; 0 from before the first hash are not covered\n")
    server.stop()
    log = next(server.data.glob("__group_audit-0/*.log"))
    batch = log.read_bytes()
    assert batch.count(b'"coordinator_epoch":1,') == 2
    rewrite(log, b'"coordinator_epoch":1,', b'"coordinator_epoch":9,')
    server.start()
    code, output = verify(server)
    assert code == 1
    assert 'partition 0, offset 0: nodes/1/1/coordinator.started "was changed"' in output
    assert "1 of 50 partitions are not as they were written" in output


def rewrite(log: Path, old: bytes, new: bytes) -> None:
    """Change the first record, and make the checksum of its batch fit: as one would who wants it to stay unseen."""
    data = bytearray(log.read_bytes())
    at = data.index(old)
    data[at : at + len(old)] = new
    end = 12 + int.from_bytes(data[8:12], "big")
    data[17:21] = crc32c(bytes(data[21:end])).to_bytes(4, "big")
    log.write_bytes(bytes(data))


def test_a_server_without_a_chain_says_so(tmp_path):
    with RunningServer(tmp_path) as server:
        code, output = verify(server)
    assert code == 1
    assert "audit.chain=true" in output
