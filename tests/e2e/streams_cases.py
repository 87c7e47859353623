"""Ways in which a streams group (KIP-1071) rebalances or stands still, and what is told of each.

Kafka Streams plays them, in processes of its own (`tests/eos/java/StreamsCase.java`).
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from coordinator.client.audit_topic import AuditTopic
from coordinator.core.causes import Cause
from coordinator.explain.findings import findings
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.course import HOLD_UP_MS
from coordinator.explain.notes import notes
from coordinator.explain.story import story_of
from interop.builds import CLASSIC
from tests.cluster.running import WatchedKafka
from tests.e2e.case_homes import OWN, Home
from tests.eos.java_programs import streams_case
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for

GROUP: Final = "counts"
CHANGELOG: Final = "counts-counts-changelog"
STREAMS: Final = "streams"
"""The group protocol of KIP-1071."""
SESSION_MS: Final = 3_000
HEARTBEAT_MS: Final = 200
SECONDS: Final = 60
SETTINGS: Final = QUICK_GROUPS | {
    "group.streams.min.session.timeout.ms": str(SESSION_MS),
    "group.streams.session.timeout.ms": str(SESSION_MS),
    "group.streams.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.streams.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}


class StreamsScene:
    """A server, the topic `lines` with two partitions, and instances of one application by name."""

    def __init__(self, server: RunningServer | WatchedKafka, folder: Path, protocol: str = STREAMS) -> None:
        """`protocol` is that of the group: `streams`, or `classic`."""
        self.server = server
        self._protocol = protocol
        self._folder = folder
        self._command = streams_case()
        self._instances: dict[str, subprocess.Popen[bytes]] = {}
        self.create("lines", 2)

    # ---- topics

    def _ask(self, question: Callable[[AdminClient], Mapping[Any, Any]]) -> None:
        """The client is held until the answer is there: one that is collected never answers."""
        admin = AdminClient({"bootstrap.servers": self.server.bootstrap, "log_level": 2})
        for answer in question(admin).values():
            answer.result(SECONDS)

    def create(self, topic: str, partitions: int) -> None:
        self._ask(lambda admin: admin.create_topics([NewTopic(topic, partitions, 1)]))

    def delete(self, topic: str) -> None:
        self._ask(lambda admin: admin.delete_topics([topic]))

    def grow(self, topic: str, partitions: int) -> None:
        self._ask(lambda admin: admin.create_partitions([NewPartitions(topic, partitions)]))

    def configure(self, name: str, value: str) -> None:
        """A config of the group."""
        entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=[entry])
        self._ask(lambda admin: admin.incremental_alter_configs([resource]))

    def produce(self, topic: str, *values: str) -> None:
        producer = Producer({"bootstrap.servers": self.server.bootstrap})
        for number, value in enumerate(values):
            producer.produce(topic, value.encode(), str(number).encode())
        assert producer.flush(SECONDS) == 0

    # ---- instances

    def start(self, name: str, shape: str = "count", **configs: object) -> None:
        given = {config.replace("_", "."): value for config, value in configs.items()}
        given = {"client.id": name, "group.protocol": self._protocol, **given}
        if self._protocol == CLASSIC:
            given |= {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
        arguments = [self.server.bootstrap, GROUP, str(self._folder / f"{name}.state"), shape]
        command = [*self._command, *arguments, *(f"{config}={value}" for config, value in given.items())]
        with (self._folder / f"{name}.log").open("ab") as log:
            self._instances[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def send(self, name: str, number: signal.Signals) -> None:
        os.kill(self._instances[name].pid, number)

    def stop(self, name: str) -> None:
        self.send(name, signal.SIGTERM)
        self._instances.pop(name).wait(SECONDS)

    def kill(self, name: str) -> None:
        self.send(name, signal.SIGKILL)
        self._instances.pop(name).wait(SECONDS)

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def close(self) -> None:
        for process in self._instances.values():
            process.kill()
            process.wait(SECONDS)

    # ---- the group

    def history(self) -> GroupHistory:
        history = GroupHistory(GROUP)
        with AuditTopic(self.server.bootstrap) as topic:
            for record in topic.events_about(GROUP):
                if record.event is not None:
                    history.apply(record.event)
                elif (about := record.coordinator_event) is not None:
                    history.note_coordinator(about)
        return history

    def wait_until(self, holds: Callable[[GroupHistory], bool], what: str) -> None:
        wait_for(lambda: holds(self.history()), SECONDS, what)

    def wait_stable(self, members: int) -> None:
        self.wait_until(
            lambda history: history.state == "Stable" and len(history.members) == members, f"{members} members"
        )

    def wait_not_ready(self) -> None:
        self.wait_until(lambda history: history.topology is not None, "a topology that cannot run")

    def told(self) -> str:
        """What is told of all generations, what is noted beside them, and what is found."""
        history = self.history()
        stories = [line for generation in history.generations for line in _story(history, generation)]
        return "\n".join([*stories, *_beside(history)])

    def told_last(self) -> list[str]:
        """The same of the last generation alone."""
        history = self.history()
        return [*_story(history, history.generations[-1]), *_beside(history)]


def _story(history: GroupHistory, generation: Generation) -> list[str]:
    story = story_of(history, generation)
    return [story.headline, *story.paragraphs]


def _beside(history: GroupHistory) -> Iterator[str]:
    yield from (note.text for note in notes(history))
    for finding in findings(history, history.last_ms or 0):
        yield finding.headline
        yield from finding.evidence


class StreamsCase(NamedTuple):
    """`says`: parts of sentences that are told after it was played."""

    play: Callable[[StreamsScene], None]
    says: tuple[str, ...]


def _first(scene: StreamsScene) -> None:
    scene.start("one")
    scene.wait_stable(1)


def _two(scene: StreamsScene) -> None:
    _first(scene)
    scene.start("two")
    scene.wait_stable(2)


def _closed(scene: StreamsScene) -> None:
    _two(scene)
    scene.stop("two")
    scene.wait_stable(1)


def _killed(scene: StreamsScene) -> None:
    _two(scene)
    scene.kill("two")
    scene.wait_stable(1)


def _suspended(scene: StreamsScene) -> None:
    _two(scene)
    scene.send("two", signal.SIGSTOP)
    scene.wait_stable(1)
    scene.send("two", signal.SIGCONT)
    scene.wait_stable(2)


def _slow_to_give_up(scene: StreamsScene) -> None:
    """Its session is longer than it stands still."""
    _first(scene)
    scene.configure("streams.session.timeout.ms", "60000")
    scene.send("one", signal.SIGSTOP)
    scene.start("two")
    scene.wait_until(_somebody_waits_for_long, "a member that waits for tasks")
    scene.send("one", signal.SIGCONT)
    scene.wait_stable(2)


def _somebody_waits_for_long(history: GroupHistory) -> bool:
    """Longer than what is too short to be told."""
    reconciliations, long_ago_ms = history.generations[-1].reconciliations, time.time() * 1_000 - 2 * HOLD_UP_MS
    return reconciliations is not None and any(
        held.tasks and (held.waited_since_ms or long_ago_ms) < long_ago_ms
        for held in reconciliations.revocations.values()
    )


def _source_missing(scene: StreamsScene) -> None:
    scene.delete("lines")
    scene.start("one", "copy")
    scene.wait_not_ready()


def _source_appears(scene: StreamsScene) -> None:
    _source_missing(scene)
    scene.create("lines", 2)
    scene.wait_stable(1)


def _source_grows(scene: StreamsScene) -> None:
    scene.start("one", "copy")
    scene.wait_stable(1)
    scene.grow("lines", 4)
    scene.wait_until(lambda history: history.generation_id >= 3 and history.state == "Stable", "another epoch")


def _source_of_a_state_grows(scene: StreamsScene) -> None:
    _first(scene)
    scene.grow(CHANGELOG, 3)
    scene.wait_not_ready()


def _changelog_deleted(scene: StreamsScene) -> None:
    _first(scene)
    before = scene.history().generation_id
    scene.delete(CHANGELOG)
    scene.wait_until(
        lambda history: history.generation_id > before and history.state == "Stable", "the topic to be created again"
    )


def _internal_topics_fail(scene: StreamsScene) -> None:
    scene.start("one", replication_factor=3)
    scene.wait_until(
        lambda history: history.topology is not None and bool(history.failed_topics),
        "internal topics that cannot be created",
    )


def _not_copartitioned(scene: StreamsScene) -> None:
    scene.create("left", 2)
    scene.create("right", 3)
    scene.start("one", "join")
    scene.wait_until(lambda history: history.state == "Empty", "an instance that gives up")


def _standby_promoted(scene: StreamsScene) -> None:
    _two(scene)
    scene.configure("streams.num.standby.replicas", "1")
    scene.wait_until(
        lambda history: history.generations[-1].cause is Cause.STANDBY_REPLICAS_CHANGED,
        "the epoch of the standby tasks",
    )
    scene.wait_stable(2)
    scene.kill("two")
    scene.wait_stable(1)


def _shutdown(scene: StreamsScene) -> None:
    _two(scene)
    scene.produce("lines", "all is well", "crash")
    scene.wait_until(lambda history: history.state == "Empty", "an empty group")


def _other_topology(scene: StreamsScene) -> None:
    _first(scene)
    scene.start("two", "copy")
    scene.wait_until(lambda history: bool(history.rejected), "a member that is refused")


def _coordinator_killed(scene: StreamsScene) -> None:
    _two(scene)
    scene.server.kill()
    scene.server.start()
    scene.start("three")
    scene.wait_stable(3)


CASES: Final[dict[str, StreamsCase]] = {
    "the first instance joins": StreamsCase(_first, ("one-StreamThread-1-consumer", "joined")),
    "another instance joins": StreamsCase(_two, ("two-StreamThread-1-consumer", "joined", "got task")),
    "an instance is closed in order": StreamsCase(_closed, ("left", "got task")),
    "an instance is killed": StreamsCase(_killed, ("its session timeout", "got task")),
    "an instance is suspended": StreamsCase(_suspended, ("was silent for 3 s", "stayed open")),
    "an instance is slow to give up tasks": StreamsCase(
        _slow_to_give_up, ("tasks 0_", "one-StreamThread-1-consumer was asked to give up", "took", "waited for it")
    ),
    "the source topic is missing": StreamsCase(_source_missing, ("source topic lines is missing",)),
    "the source topic appears": StreamsCase(_source_appears, ("topic lines appeared with 2 partitions",)),
    "the source topic grows": StreamsCase(_source_grows, ("topic lines grew from 2 to 4 partitions",)),
    "an internal topic has another number of partitions": StreamsCase(
        _source_of_a_state_grows,
        (f"{CHANGELOG} grew from 2 to 3 partitions", f"{CHANGELOG} has another number of partitions than it needs"),
    ),
    "a changelog is deleted": StreamsCase(_changelog_deleted, (f"topic {CHANGELOG}",)),
    "internal topics cannot be created": StreamsCase(
        _internal_topics_fail, ("internal topics", "could not be created")
    ),
    "topics that are joined have different numbers of partitions": StreamsCase(
        _not_copartitioned, ("left and right had other numbers of partitions",)
    ),
    "a standby takes over": StreamsCase(_standby_promoted, ("num.standby.replicas", "had a standby task")),
    "an instance asks all to end": StreamsCase(_shutdown, ("had asked that all members of the application end",)),
    "another topology": StreamsCase(_other_topology, ("two-StreamThread-1-consumer", "INVALID_REQUEST")),
    "the coordinator is killed": StreamsCase(_coordinator_killed, ("the coordinator started again",)),
}


@contextmanager
def played(case: StreamsCase, folder: Path, home: Home = OWN, protocol: str = STREAMS) -> Iterator[StreamsScene]:
    """Raises ProgramsMissing: Java, a compiler or Maven is not there."""
    with home.server(folder, SETTINGS) as server:
        scene = StreamsScene(server, folder, protocol)
        try:
            case.play(scene)
            yield scene
        finally:
            scene.close()
