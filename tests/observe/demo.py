"""A real Kafka, consumers that join, leave, crash and stall, and `coordinator groups why` for each of it.

Nothing of this project is between the consumers and their Kafka, and nothing of it runs beside them: each answer comes
from the records of `__consumer_offsets` and the broker's log.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from coordinator.client.group_description import NoSuchGroup
from coordinator.client.wire import ClientError
from coordinator.observe.poll import poll_group
from tests.differential.kafka import VERSION, KafkaMissing
from tests.observe.logged_kafka import LoggedKafka
from tests.waiting import wait_for

TOPIC: Final = "orders"
PARTITIONS: Final = 6
SECONDS: Final = 60
WIDTH: Final = "100"


class Players:
    """The consumers of one group, and the answers about it."""

    def __init__(self, kafka: LoggedKafka, stack: ExitStack, group: str, protocol: str) -> None:
        self._kafka, self._stack, self.group, self._protocol = kafka, stack, group, protocol

    def start(self, client_id: str, library: str) -> "subprocess.Popen[bytes]":
        arguments = (library, self._kafka.bootstrap, TOPIC, self.group, client_id, self._protocol)
        command = [sys.executable, "-m", "tests.observe.demo_member", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._stack.callback(_end, process)
        return process

    def wait_for(self, members: int) -> None:
        """Until the group is stable with so many members."""
        wait_for(lambda: self._is_stable(members), SECONDS, f"{self.group} to be stable with {members} members")

    def _is_stable(self, members: int) -> bool:
        try:
            found = poll_group(self._kafka.bootstrap, self.group)
        except (NoSuchGroup, ClientError):
            return False  # its coordinator is not there yet
        return found.state == "Stable" and len(found.members) == members

    def why(self, *options: str) -> None:
        log = ("--broker-log", str(self._kafka.server_log))
        command = ("groups", "why", self.group, "--bootstrap", self._kafka.bootstrap, *log, *options)
        print(f"$ coordinator groups why {self.group} --bootstrap KAFKA --broker-log server.log", flush=True)
        subprocess.run(
            [sys.executable, "-m", "coordinator.cli", *command], check=True, env={**os.environ, "COLUMNS": WIDTH}
        )
        print(flush=True)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def tell(text: str) -> None:
    print(f"== {text}\n", flush=True)


def play_classic(players: Players) -> None:
    first = players.start("billing-1", "confluent-kafka")
    players.wait_for(1)
    tell("billing-2 joins billing-1 (classic protocol, librdkafka and kafka-python)")
    second = players.start("billing-2", "kafka-python")
    players.wait_for(2)
    players.why()
    tell("billing-2 is killed (kill -9)")
    second.kill()
    players.wait_for(1)
    players.why()
    third = players.start("billing-3", "confluent-kafka")
    players.wait_for(2)
    tell("billing-3 is closed")
    third.terminate()
    players.wait_for(1)
    players.why()
    players.start("billing-4", "confluent-kafka")
    players.wait_for(2)
    tell("billing-1 is stalled (SIGSTOP) for longer than its session")
    first.send_signal(signal.SIGSTOP)
    players.wait_for(1)
    players.why()
    first.send_signal(signal.SIGCONT)


def play_consumer(players: Players) -> None:
    players.start("payments-1", "confluent-kafka")
    players.wait_for(1)
    second = players.start("payments-2", "confluent-kafka")
    players.wait_for(2)
    tell("payments-2 is killed (group.protocol=consumer, KIP-848)")
    second.kill()
    players.wait_for(1)
    players.why()
    players.start("payments-3", "confluent-kafka")
    players.wait_for(2)
    tell("payments-3 joined")
    players.why()


PLAYS: Final[tuple[tuple[str, str, Callable[[Players], None]], ...]] = (
    ("billing", "classic", play_classic),
    ("payments", "consumer", play_consumer),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        version = os.environ.get("KAFKA", VERSION)
        try:
            kafka = stack.enter_context(LoggedKafka(Path(folder), version))
        except KafkaMissing as missing:
            sys.exit(f"left out: {missing}")
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
            future.result()
        print(f"Apache Kafka {version} at {kafka.bootstrap}\n", flush=True)
        for group, protocol, play in PLAYS:
            if protocol == "consumer" and version.startswith("3."):
                continue  # a preview there, which is not on
            play(Players(kafka, stack, group, protocol))


if __name__ == "__main__":
    main()
