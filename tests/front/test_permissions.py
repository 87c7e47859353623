"""Who may read what a server stores."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.records import build_batch
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def use(server: RunningServer, group: str) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone(group)
        client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t"]), 4)
        request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
        wait_for(lambda: client.request(request, 4).error_code == ErrorCode.NONE, 10, "the transaction coordinator")
        assert client.produce("orders", build_batch([(None, b"v", ())])).error_code == ErrorCode.NONE


def modes(folder: Path) -> dict[str, int]:
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in paths}


@pytest.mark.parametrize(("mask", "file_mode", "directory_mode"), [(0, 0o640, 0o750), (0o077, 0o600, 0o700)])
def test_others_cannot_read_the_files_of_a_server(tmp_path, mask, file_mode, directory_mode):
    with umask(mask), RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("orders")
        use(server, "group")
        server.stop()
        found = modes(server.data)
    assert set(found) >= {
        ".lock",
        "meta.properties",
        "orders-0",
        "recovery-point-offset-checkpoint",
        "orders-0/partition.metadata",
    }
    assert {name: mode for name, mode in found.items() if (server.data / name).is_file() and mode != file_mode} == {}
    assert {
        name: mode for name, mode in found.items() if (server.data / name).is_dir() and mode != directory_mode
    } == {}


def test_a_folder_with_other_permissions_is_served(tmp_path):
    """As one of an earlier version; what an administrator has set is left."""
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("orders")
        use(server, "group")
        server.stop()
        for path in (server.data, *server.data.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        before = modes(server.data)
        server.start()
        use(server, "other")
        server.stop()
        after = modes(server.data)
    assert after["."] == 0o755
    for name in ("orders-0", "orders-0/00000000000000000000.log", "__cluster_metadata-0"):
        assert after[name] == before[name]
