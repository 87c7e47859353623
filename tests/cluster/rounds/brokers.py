"""A Kafka of three brokers, and a controller in a process of its own."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.differential.kafka import RunningKafka, free_port
from tests.waiting import wait_for

BROKER_IDS: Final = (1, 2, 3)
CONTROLLER_ID: Final = 100
REPLICAS: Final = 3
MIN_IN_SYNC: Final = 2
SECONDS: Final = 120
ANSWER_SECONDS: Final = 10
SMALL_HEAP: Final = ("-Xmx224m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LISTENER_PROTOCOLS: Final = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
BROKER_SETTINGS: Final = {
    "process.roles": "broker",
    "min.insync.replicas": str(MIN_IN_SYNC),
    "default.replication.factor": str(REPLICAS),
    "offsets.topic.replication.factor": str(REPLICAS),
    "offsets.topic.num.partitions": "12",
    "transaction.state.log.replication.factor": str(REPLICAS),
    "transaction.state.log.min.isr": str(MIN_IN_SYNC),
    "transaction.state.log.num.partitions": "6",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": str(16 << 20),
}


class ThreeBrokers:
    """Leaving its context ends all processes."""

    def __init__(self, folder: Path) -> None:
        controller_port = free_port()
        shared = {
            "controller.quorum.voters": f"{CONTROLLER_ID}@127.0.0.1:{controller_port}",
            "listener.security.protocol.map": LISTENER_PROTOCOLS,
        }
        controller = {
            "process.roles": "controller",
            "node.id": str(CONTROLLER_ID),
            "listeners": f"CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"CONTROLLER://127.0.0.1:{controller_port}",
        }
        self.folders = [folder / "controller", *(folder / f"broker-{number}" for number in BROKER_IDS)]
        self._controller = _process(self.folders[0], shared | controller, controller_port)
        self.brokers = []
        for broker_id, own in zip(BROKER_IDS, self.folders[1:], strict=True):
            port = free_port()
            listener = f"PLAINTEXT://127.0.0.1:{port}"
            settings = {"node.id": str(broker_id), "listeners": listener, "advertised.listeners": listener}
            self.brokers.append(_process(own, shared | BROKER_SETTINGS | settings, port))
        self._stack = ExitStack()

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def __enter__(self) -> Self:
        processes = [self._controller, *self.brokers]
        for process in processes:
            self._stack.push(process.__exit__)
        try:
            with ThreadPoolExecutor(len(processes)) as together:
                for started in [together.submit(process.__enter__) for process in processes]:
                    started.result()
            wait_for(lambda: len(self._leaders_and_replicas()[0]) == len(BROKER_IDS), SECONDS, "three brokers", 200)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def create_topic(self, name: str, partitions: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        (created,) = admin.create_topics([NewTopic(name, partitions, REPLICAS)]).values()
        created.result(SECONDS)

    def are_in_sync(self) -> bool:
        """Whether all brokers are there, and all replicas of all partitions in sync."""
        brokers, in_sync = self._leaders_and_replicas()
        return len(brokers) == len(BROKER_IDS) and all(count == REPLICAS for count in in_sync)

    def _leaders_and_replicas(self) -> tuple[list[int], list[int]]:
        """The ids of the brokers, and the number of replicas in sync of each partition."""
        try:
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
            metadata = admin.list_topics(timeout=ANSWER_SECONDS)
        except KafkaException:
            return [], []
        partitions = [partition for topic in metadata.topics.values() for partition in topic.partitions.values()]
        return list(metadata.brokers), [len(partition.isrs) if partition.leader >= 0 else 0 for partition in partitions]


def _process(folder: Path, settings: dict[str, str], port: int) -> RunningKafka:
    folder.mkdir(parents=True)
    process = RunningKafka(folder, settings, threads={}, port=port, jvm_options=SMALL_HEAP)
    process.bootstrap = f"127.0.0.1:{port}"
    return process
