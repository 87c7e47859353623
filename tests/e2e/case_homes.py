"""Where the cases of the audit are played: on a server of this project, or on a Kafka behind a node that watches."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from interop.scene import Scene
from interop.watched_scene import WatchedScene
from tests.cluster.running import WatchedKafka
from tests.differential.kafka import VERSION
from tests.servers import RunningServer

OF_THE_AUDIT: Final = frozenset({"group.audit.linger.ms"})
"""Settings that a Kafka does not have."""
OF_KAFKA: Final = {
    "offsets.topic.num.partitions": "8",
    "transaction.state.log.num.partitions": "4",
    "log.cleaner.enable": "false",
}

StartServer = Callable[[Path, Mapping[str, str]], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Home:
    """`server` makes one with its data in a folder and these settings; it is not started yet."""

    server: StartServer
    scene: type[Scene]


def _watched(version: str, folder: Path, settings: Mapping[str, str]) -> WatchedKafka:
    of_kafka = {name: value for name, value in settings.items() if name not in OF_THE_AUDIT}
    return WatchedKafka(folder, of_kafka | OF_KAFKA, {}, version)


OWN: Final = Home(RunningServer, Scene)


def watched(version: str = VERSION) -> Home:
    """A Kafka of this version behind a node that watches all groups."""
    return Home(partial(_watched, version), WatchedScene)
