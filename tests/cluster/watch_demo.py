"""A Kafka, a node that only watches, and consumers of four libraries and both protocols: why each one is gone.

    python -m tests.cluster.watch_demo [--dashboard] [--folder DIR]

Takes about two minutes. The groups stay with Kafka all the time.
"""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self

from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import EARLIEST
from interop.builds import ALL
from interop.driver import Member
from tests.cluster.demos import main, run, show_page, step, told
from tests.cluster.running import RunningNodes
from tests.differential.kafka import RunningKafka
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "orders"
CLASSIC, MODERN = "billing", "reports"
GROUPS: Final = {
    CLASSIC: ("kafka-python", "confluent-kafka", "java", "franz-go"),
    MODERN: ("confluent-kafka-consumer", "java-consumer", "franz-go-consumer"),
}
"""Group → the clients of its members: four libraries, of which kafka-python has one protocol alone."""
PARTITIONS: Final = 8
SECONDS: Final = 60
OPTIONS: Final = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 500, "max_poll_interval_ms": 20_000}
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
        self._members: dict[str, Member] = {}

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        try:
            self._kafka = enter(RunningKafka(self._folder, KAFKA_SETTINGS, threads={}))
            with WireClient(self._kafka.bootstrap) as client:
                client.create_topic(TOPIC, PARTITIONS)
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
            run(self._nodes.bootstrap, "cluster", *arguments)
        for group_id, clients in GROUPS.items():
            for client in clients:
                self._start(group_id, client)
            self._stable_with(group_id, len(clients))
        step("Seven consumers of four libraries have joined", f"{CLASSIC}: classic protocol", f"{MODERN}: KIP-848")

        self._members["java"].driver.kill()
        self._gone(CLASSIC, "java", "A consumer was killed")
        self._members["confluent-kafka"].driver.stop()
        self._gone(CLASSIC, "confluent-kafka", "A consumer was suspended")
        self._members["kafka-python"].pause()
        self._gone(CLASSIC, "kafka-python", "A consumer took longer than max.poll.interval.ms for its records")
        self._members["franz-go-consumer"].driver.kill()
        self._gone(MODERN, "franz-go-consumer", "A consumer of the other protocol was killed")
        self._members["java-consumer"].leave()
        self._gone(MODERN, "java-consumer", "A consumer was closed")

    def tell(self, dashboard: bool) -> None:
        """The history by the CLI, a picture of the page, and the page itself until Ctrl-C if that is wanted."""
        run(self._nodes.bootstrap, "cluster", "status")
        for group_id in GROUPS:
            run(self._nodes.bootstrap, "groups", "why", group_id)
        show_page(self._folder, self._nodes.bootstrap, CLASSIC, is_left_open=dashboard)

    def _start(self, group_id: str, client: str) -> None:
        driver = self._stack.enter_context(ALL[client].built().start())
        options = {**OPTIONS, "client_id": client, "protocol": ALL[client].protocol}
        self._members[client] = driver.start(client, self._nodes.bootstrap, group_id, TOPIC, **options)

    def _stable_with(self, group_id: str, members: int) -> None:
        self._wait(group_id, "generation.stable", lambda event: event["members"] == members)

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


if __name__ == "__main__":
    main("watch_demo", __doc__, WatchDemo)
