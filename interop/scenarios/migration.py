"""A live group moves from the classic protocol to the new one (KIP-848) and back, one member at a time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event

from kafka import KafkaProducer

from coordinator.audit import schema
from interop.builds import CLASSIC, CONSUMER
from interop.driver import Driver, Member
from interop.scenarios.scenario import Scenario, all_read, check
from interop.scene import SECONDS, Scene

ASSIGNOR = "range"
"""As leader, librdkafka's cooperative-sticky writes user data into assignments: no server upgrades such a group."""
NEEDS = ("consumer-protocol", ASSIGNOR)
PARTNERS = ("java", "confluent-kafka", "franz-go", "rdkafka")
MEMBERS_OF_A_CLIENT = 2
REBALANCES_OF_A_RESTART = 4
"""A member leaves and another comes; with each, a member may first give up partitions and then get others."""
SECONDS_OF_A_STEP = 60
PRODUCED_EACH_SECONDS = 0.2


def rolling_migration(scene: Scene) -> None:
    """Two members each of three client libraries, while records come in: each restarts with the new protocol, then with
    the classic one again."""
    clients = ["", *list(scene.others)[:2]]
    drivers = {client: scene.driver(client) for client in clients}
    members: dict[str, Member] = {}
    with records_coming_in(scene):
        for client in clients:
            for number in range(MEMBERS_OF_A_CLIENT):
                name = f"{client or 'played'}-{number}"
                members[name] = _start(scene, drivers[client], name, CLASSIC, 0)
        _steady(scene, members)
        for turn, protocol in enumerate((CONSUMER, CLASSIC), 1):
            for name, member in list(members.items()):
                member.leave()
                members[name] = _start(scene, member.driver, name, protocol, turn)
                _steady(scene, members)
    all_read(scene, *scene.members)
    check(scene, REBALANCES_OF_A_RESTART * len(scene.members))
    if scene.audited:
        converted = [event.group_type for event in scene.of_kind(schema.GroupConverted)]
        assert converted == [CONSUMER, CLASSIC], converted
    for member in members.values():
        member.leave()


def _start(scene: Scene, driver: Driver, name: str, protocol: str, turn: int) -> Member:
    options = {"assignors": [ASSIGNOR]} if protocol == CLASSIC else {}
    return scene.again(driver, f"{name}-{turn}", (scene.topic,), protocol=protocol, **options)


def _steady(scene: Scene, members: dict[str, Member]) -> None:
    scene.steady(*members.values(), seconds=SECONDS_OF_A_STEP)


@contextmanager
def records_coming_in(scene: Scene) -> Iterator[None]:
    """Append a record to each partition every so often.

    Raises:
        KafkaError: one could not be appended.
    """
    over = Event()

    def produce() -> None:
        with closing(KafkaProducer(bootstrap_servers=scene.server.bootstrap, client_id="interop-producer")) as producer:
            while not over.wait(PRODUCED_EACH_SECONDS):
                sent = [producer.send(scene.topic, b"a record", partition=index) for index in range(scene.partitions)]
                for index, future in enumerate(sent):
                    scene.produced[scene.topic, index] = future.get(SECONDS).offset + 1

    with ThreadPoolExecutor(1) as pool:
        producing = pool.submit(produce)
        try:
            yield
        finally:
            over.set()
        producing.result()


SCENARIOS = (
    Scenario(
        "Six members of three clients change the protocol, and back",
        rolling_migration,
        NEEDS,
        partitions=12,
        is_heavy=True,
        seconds=600,
        others=PARTNERS,
        protocol=CLASSIC,
    ),
)
