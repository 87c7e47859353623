"""The metadata log of a server under whose clients topics come and go."""

from typing import Final

from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from coordinator.log.names import METADATA_LOG, folder_name
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

LIMIT_BYTES: Final = 20_000
SETTINGS: Final = QUICK_GROUPS | {"metadata.log.max.record.bytes.between.snapshots": str(LIMIT_BYTES)}


def test_it_stays_small_and_survives_a_kill(tmp_path):
    def log_bytes() -> int:
        while True:
            files = (server.data / folder_name(METADATA_LOG, 0)).glob("*.log")
            try:
                return sum(file.stat().st_size for file in files)
            except FileNotFoundError:
                continue  # a snapshot has just taken its place

    with RunningServer(tmp_path, SETTINGS) as server:
        with WireClient(server.bootstrap) as client:
            kept = {f"kept-{number}": client.create_topic(f"kept-{number}", 3) for number in range(5)}
            for number in range(200):
                client.create_topic(f"topic-{number}")
                deleted = [DeleteTopicState(name=f"topic-{number}")]
                (result,) = client.request(DeleteTopicsRequest(topics=deleted, timeout_ms=1000), 6).responses
                assert result.error_code == 0
                assert log_bytes() < 3 * LIMIT_BYTES, "the old one and the new one, for a moment"
        wait_for(lambda: log_bytes() < 1.5 * LIMIT_BYTES, 10, "the last snapshot")
        assert "the metadata log begins with a snapshot now" in server.log.read_text()
        server.kill()
        server.start()
        with WireClient(server.bootstrap) as client:
            for name in kept:
                assert client.produce(name, None).error_code != 3, "it is known"
            assert [each.name for each in tmp_path.glob("data/*.deleted")] == []
            assert client.create_topic("later") not in kept.values()
        assert server.stop() == 0
        assert "set aside" not in server.log.read_text()
