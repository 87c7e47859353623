"""A Kafka, a node that only watches, and consumers of two libraries and both protocols: why each one that goes is gone.

    python -m tests.cluster.watch_demo [--dashboard] [--folder DIR]

Takes about two minutes. The groups stay with Kafka all the time.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Self

from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST
from coordinator.demo.harness import Harness
from coordinator.demo.stories import save_picture, start_page
from tests.cluster.front_demo import step, told
from tests.cluster.running import RunningNodes
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "orders"
CLASSIC, MODERN = "billing", "reports"
SECONDS: Final = 60
KAFKA_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.num.partitions": "4",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}


class WatchDemo:
    """All that takes part. Leaving its context ends it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        try:
            self._kafka = enter(RunningKafka(self._folder, KAFKA_SETTINGS, threads={}))
            with WireClient(self._kafka.bootstrap) as client:
                client.create_topic(TOPIC, 4)
            self._nodes = enter(RunningNodes(self._folder, self._kafka.bootstrap, 1, {"cluster.adopt": ""}))
            told(f"Kafka: {self._kafka.bootstrap}", f"a node in front: {self._nodes.bootstrap}")
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def play(self) -> None:
        for arguments in (("watch", "*", "--dry-run"), ("watch", "*")):
            self._run("cluster", *arguments)
        enter = self._stack.enter_context
        enter(self._member("tests.cluster.watched_member", CLASSIC, "kafka-python-1"))
        killed = enter(self._member("tests.cluster.watched_member", CLASSIC, "kafka-python-2"))
        frozen = enter(self._member("tests.cluster.watched_librdkafka", CLASSIC, "librdkafka-1", "classic"))
        enter(self._member("tests.cluster.watched_librdkafka", MODERN, "librdkafka-2", "consumer"))
        self._wait(CLASSIC, "generation.stable", lambda event: event["members"] == 3)
        self._wait(MODERN, "generation.stable", lambda event: event["members"] == 1)
        step("Four consumers of two libraries have joined", f"{CLASSIC}: classic protocol", f"{MODERN}: KIP-848")

        killed.send_signal(signal.SIGKILL)
        self._gone(CLASSIC, "kafka-python-2", "A consumer was killed")
        frozen.send_signal(signal.SIGSTOP)
        self._gone(CLASSIC, "librdkafka-1", "A consumer was suspended")
        enter(self._member("tests.cluster.watched_librdkafka", MODERN, "librdkafka-3", "consumer", "slow"))
        self._gone(MODERN, "librdkafka-3", "A consumer took longer than max.poll.interval.ms for its records")

    def tell(self, dashboard: bool) -> None:
        """The history by the CLI, a picture of the page, and the page itself until Ctrl-C if that is wanted."""
        self._run("cluster", "status")
        for group_id in (CLASSIC, MODERN):
            self._run("groups", "why", group_id)
        with Harness(self._folder) as harness:
            url = start_page(harness, self._nodes.bootstrap, self._folder)
            print(f"\npicture of the page: {save_picture(url, CLASSIC, self._folder / 'dashboard.png')}", flush=True)
            if dashboard:
                print(f"the page: {url} (Ctrl-C ends it, and all the rest)", flush=True)
                signal.pause()

    def _run(self, *arguments: str) -> None:
        print(f"\n$ coordinator {' '.join(arguments)} --bootstrap {self._nodes.bootstrap}", flush=True)
        command = [sys.executable, "-m", "coordinator.cli", *arguments, "--bootstrap", self._nodes.bootstrap]
        subprocess.run(command, check=True)

    @contextmanager
    def _member(self, module: str, group_id: str, name: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", module, self._nodes.bootstrap, group_id, name, TOPIC, *options]
        with (self._folder / f"{name}.out").open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def _gone(self, group_id: str, name: str, what: str) -> None:
        """Wait until it is told that a member is gone, and say why."""
        removed = self._wait(group_id, "member.removed", lambda event: event["member"]["client_id"] == name)
        seen = sorted({place["source"] for place in removed["places"]})
        lines = [f"{name} is gone from {group_id}: {removed['cause']}, seen by {' and '.join(seen)}"]
        lines += [f"its reason: {removed['reason']}"] if removed["reason"] else []
        step(what, *lines)

    def _wait(self, group_id: str, kind: str, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        found: list[dict[str, Any]] = []

        def is_there() -> bool:
            found[:] = [event for event in self._events(group_id) if event["kind"] == kind and is_it(event)]
            return bool(found)

        wait_for(is_there, SECONDS, f"{kind} of {group_id}; the logs are in {self._folder}", every_ms=250)
        return found[-1]

    def _events(self, group_id: str) -> list[dict[str, Any]]:
        with AuditTopic(self._kafka.bootstrap) as audit:
            start = audit.offsets([audit.partition_of(group_id)], EARLIEST)
            return [json.loads(record.value) for record in audit.records(start, lambda key: key == group_id.encode())]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.watch_demo", description=__doc__)
    parser.add_argument("--dashboard", action="store_true", help="leave the page open until Ctrl-C")
    parser.add_argument("--folder", type=Path, default=None, help="a new folder for data, logs and the picture")
    chosen = parser.parse_args()
    # All processes end also after SIGTERM, and after SIGINT in the background, where a shell ignores it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="cluster-watch-demo-"))
    print(f"data and logs in {folder}", flush=True)
    try:
        with WatchDemo(folder) as demo:
            demo.play()
            demo.tell(chosen.dashboard)
    except (AssertionError, KafkaMissing) as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
