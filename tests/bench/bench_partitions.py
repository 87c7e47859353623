"""What many partitions cost: creating, reading, writing, starting, stopping, and memory.

    python tests/bench/bench_partitions.py

Starts `coordinator serve` in a new folder, creates PARTITIONS partitions with one request, fetches from all of them
(which nobody wrote yet), and produces a small record to each. Then it stops and starts the server: at once after the
writes, idle, and killed. Told are the times, the longest wait of a client that sends ApiVersions meanwhile, the
resident memory per partition, and the file descriptors.

Environment:
    PARTITIONS=10000  partitions of one topic
    FOLDER=           where the folder is made; the system's for temporary files by default
    OPEN_FILES=       `ulimit -n` of the server, soft and hard; that of the shell by default
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.messages.api_versions import ApiVersionsRequest  # noqa: E402
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic  # noqa: E402
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData  # noqa: E402
from _wire.records import build_batch  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

PARTITIONS: Final = int(os.environ.get("PARTITIONS", "10_000"))
FOLDER: Final = os.environ.get("FOLDER") or None
OPEN_FILES: Final = os.environ.get("OPEN_FILES", "")
PER_REQUEST: Final = 1000
TOPIC: Final = "many"
POLL_SECONDS: Final = 0.001
READY_SECONDS: Final = 120
API_VERSIONS: Final = 3
FETCH: Final = 11
PRODUCE: Final = 9


class Server:
    """`coordinator serve` on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ready = folder / "ready"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Return the seconds until it serves."""
        self.ready.unlink(missing_ok=True)
        arguments = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(self.folder / "data")]
        command = [sys.executable, "-m", "coordinator.cli", *arguments, "--ready-file", str(self.ready)]
        if OPEN_FILES:
            command = ["/bin/sh", "-c", f'ulimit -n {OPEN_FILES} && exec "$@"', "sh", *command]
        begun = time.perf_counter()
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
        while not self.ready.exists():
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.perf_counter() < begun + READY_SECONDS
            time.sleep(POLL_SECONDS)
        return time.perf_counter() - begun

    @property
    def bootstrap(self) -> str:
        import json

        address: str = json.loads(self.ready.read_text())["bootstrap"]
        return address

    def end(self, number: signal.Signals) -> float:
        """Return the seconds until the process has ended."""
        assert self.process is not None
        begun = time.perf_counter()
        self.process.send_signal(number)
        self.process.wait()
        return time.perf_counter() - begun

    def rss_bytes(self) -> int:
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def descriptors(self) -> int:
        assert self.process is not None
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def folders(self) -> int:
        return sum(1 for each in (self.folder / "data").iterdir() if each.name.startswith(f"{TOPIC}-"))


@contextmanager
def longest_wait(bootstrap: str) -> Iterator[Callable[[], float]]:
    """Ask every 2 ms, within the block, and measure the longest wait in seconds."""
    waits: list[float] = [0.0]
    is_over = threading.Event()

    def ask() -> None:
        with WireClient(bootstrap) as client:
            while not is_over.wait(0.002):
                begun = time.perf_counter()
                client.request(ApiVersionsRequest(client_software_name="bench", client_software_version="1"), 3)
                waits.append(time.perf_counter() - begun)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield lambda: max(waits)
    finally:
        is_over.set()
        thread.join()


def timed(server: Server, what: str, work: Callable[[WireClient], None]) -> None:
    before = server.rss_bytes()
    with WireClient(server.bootstrap) as client, longest_wait(server.bootstrap) as wait:
        begun = time.perf_counter()
        work(client)
        seconds = time.perf_counter() - begun
    grown = (server.rss_bytes() - before) / PARTITIONS
    print(
        f"{what:34} {seconds:7.2f} s   others waited {wait() * 1000:5.0f} ms   {grown:7.0f} bytes/partition more   "
        f"{server.descriptors():5} descriptors   {server.folders():5} folders",
        flush=True,
    )


def create(client: WireClient) -> None:
    client.create_topic(TOPIC, PARTITIONS)


def fetch_all(client: WireClient) -> None:
    for first in range(0, PARTITIONS, PER_REQUEST):
        wanted = [
            FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=100)
            for each in range(first, min(first + PER_REQUEST, PARTITIONS))
        ]
        request = FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(topic=TOPIC, partitions=wanted)])
        answered = client.request(request, FETCH).responses[0].partitions
        assert not any(each.error_code for each in answered)


def produce_all(client: WireClient) -> None:
    batch = build_batch([(b"key", b"value", ())], timestamp_ms=int(time.time() * 1000))
    for first in range(0, PARTITIONS, PER_REQUEST):
        data = [
            PartitionProduceData(index=each, records=batch)
            for each in range(first, min(first + PER_REQUEST, PARTITIONS))
        ]
        request = ProduceRequest(
            acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=data)]
        )
        answered = client.request(request, PRODUCE).responses[0].partition_responses
        assert not any(each.error_code for each in answered), answered[0]


def tell(what: str, seconds: float) -> None:
    print(f"{what:34} {seconds:7.2f} s", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        server = Server(Path(folder))
        tell("start, empty folder", server.start())
        print(f"{'memory of the empty server':34} {server.rss_bytes() >> 20:7} MiB")
        timed(server, f"create {PARTITIONS} partitions", create)
        timed(server, "fetch from all, none written", fetch_all)
        timed(server, "produce one record to each", produce_all)
        timed(server, "produce one record more to each", produce_all)
        tell("stop after the writes", server.end(signal.SIGTERM))
        tell("start", server.start())
        tell("stop, no log opened", server.end(signal.SIGTERM))
        tell("start", server.start())
        timed(server, "fetch from all", fetch_all)
        tell("stop, all logs opened", server.end(signal.SIGTERM))
        tell("start", server.start())
        timed(server, "produce one record to each", produce_all)
        tell("kill", server.end(signal.SIGKILL))
        tell("start after the kill", server.start())
        timed(server, "fetch from all", fetch_all)
        tell("stop", server.end(signal.SIGTERM))


if __name__ == "__main__":
    main()
