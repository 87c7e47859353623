"""The servers that the scenarios are played against: this project's, and Apache Kafka to compare with."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from interop.scene import Server
from tests.differential.kafka import VERSION, RunningKafka
from tests.servers import QUICK_GROUPS, RunningServer

OURS: Final = "ours"
KAFKA: Final = "kafka"
TARGETS: Final = (OURS, KAFKA)
NAMES: Final = {OURS: "this server", KAFKA: f"Apache Kafka {VERSION}"}

KAFKA_SETTINGS: Final = QUICK_GROUPS | {"offsets.topic.num.partitions": "4", "log.cleaner.enable": "false"}


class Target(Server, AbstractContextManager["Target"], Protocol):
    """A server as a process of its own; leaving its context ends it."""


def target(name: str, folder: Path) -> Target:
    """A server with its data in a folder, not started yet.

    Raises:
        KafkaMissing: Java or Kafka's jars are not there; the message is one line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if name == KAFKA:
        return RunningKafka(folder, KAFKA_SETTINGS, threads={})
    return RunningServer(folder, QUICK_GROUPS)
