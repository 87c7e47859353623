"""Spark's Kafka source: it shares out partitions by itself and joins no group, so what it reads is all that counts."""

from kafka.admin import NewPartitions

from interop.driver import Member
from interop.scenarios.scenario import Scenario, all_read
from interop.scene import Scene
from interop.security import TITLES

CLIENTS = ("spark",)


def stream_reads_all(scene: Scene) -> None:
    scene.produce(50)
    query = scene.member("query")
    _reads_once(scene, query)
    scene.produce(50)
    _reads_once(scene, query)
    assert scene.state() in ("", "Dead"), "it has joined a group"
    query.leave()


def stream_topic_grows(scene: Scene) -> None:
    scene.produce(5)
    query = scene.member("query", metadata_max_age_ms=500)
    _reads_once(scene, query)
    grown = scene.partitions + 2
    scene.admin().create_partitions({scene.topic: NewPartitions(grown)})
    scene.produce(5, partitions=grown)
    _reads_once(scene, query)
    query.leave()


def stream_pattern(scene: Scene) -> None:
    """A topic that is created later is read, too."""
    scene.produce(5)
    query = scene.member("query", pattern=f"{scene.name}-.*", metadata_max_age_ms=500)
    _reads_once(scene, query)
    later = f"{scene.name}-later"
    scene.create_topic(later, 2)
    scene.produce(5, later, 2)
    _reads_once(scene, query)
    query.leave()


def stream_server_restarts(scene: Scene) -> None:
    """The query goes on without being started again."""
    scene.produce(5)
    query = scene.member("query")
    _reads_once(scene, query)
    scene.server.kill()
    scene.server.start()
    scene.produce(5)
    _reads_once(scene, query)
    query.leave()


def _reads_once(scene: Scene, query: Member) -> None:
    """Wait until all records were read; none is read twice."""
    all_read(scene, query)
    read, produced = sum(event["count"] for event in query.of_kind("records")), sum(scene.produced.values())
    assert read == produced, f"it read {read} records of {produced}"
    assert query.failure is None, query.failure


def _secured(security: str) -> Scenario:
    """All is read over a secured listener."""

    def play(scene: Scene) -> None:
        stream_reads_all(scene)

    play.__name__ = f"stream_over_{security.replace('-', '_')}"
    title = f"Spark's source reads all: {TITLES[security]}"
    return Scenario(title, play, needs=(security,), in_group=False, clients=CLIENTS, is_heavy=True, security=security)


SCENARIOS = (
    *(
        Scenario(title, play, in_group=False, clients=CLIENTS, is_heavy=True, own_server=play is stream_server_restarts)
        for title, play in (
            ("Spark's source reads all", stream_reads_all),
            ("Spark's source: a topic grows", stream_topic_grows),
            ("Spark's source: subscription by pattern", stream_pattern),
            ("Spark's source: the server is killed and restarts", stream_server_restarts),
        )
    ),
    *map(_secured, TITLES),
)
