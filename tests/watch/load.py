"""Groups of librdkafka's consumers that come, go, change what they read, and commit all the time."""

import random
import threading
import time
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TOPICS: Final = ("orders", "payments")
PARTITIONS: Final = 4
MEMBERS_MAX: Final = 3


class Load:
    """Each group in a thread of its own. Members that are dropped are not closed: their sessions expire."""

    def __init__(self, bootstrap: str, groups: int, seed: int) -> None:
        self._bootstrap, self._seed = bootstrap, seed
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._play, args=(each,), daemon=True) for each in range(groups)]
        self.changes = 0
        for topic in TOPICS:
            make_topic(bootstrap, topic, PARTITIONS)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Close all, and wait for it."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _consumer(self, number: int, name: str, topics: list[str]) -> Consumer:
        settings: dict[str, Any] = {
            "bootstrap.servers": self._bootstrap,
            "group.id": f"group-{number}",
            "client.id": name,
            "enable.auto.commit": False,
            "group.protocol": "consumer" if number % 3 == 2 else "classic",
        }
        if settings["group.protocol"] == "classic":
            settings |= {"session.timeout.ms": 2_000, "heartbeat.interval.ms": 300}
        consumer = Consumer(settings)
        consumer.subscribe(topics)
        return consumer

    def _play(self, number: int) -> None:
        choice = random.Random(self._seed * 1_000 + number)
        members: list[Consumer] = []
        made = 0
        while not self._stopped.is_set():
            act = choice.random()
            if len(members) < MEMBERS_MAX and (not members or act < 0.4):
                made += 1
                members.append(self._consumer(number, f"member-{number}-{made}", list(TOPICS[: choice.choice([1, 2])])))
                self.changes += 1
            elif act < 0.6:
                members.pop(choice.randrange(len(members))).close()
                self.changes += 1
            elif act < 0.7:
                choice.choice(members).subscribe(list(TOPICS[: choice.choice([1, 2])]))
                self.changes += 1
            until = time.monotonic() + choice.uniform(0.2, 2.5)
            while time.monotonic() < until and not self._stopped.is_set():
                for member in members:
                    member.poll(0.05)
                    _commit(member)
        for member in members:
            member.close()


def _commit(consumer: Consumer) -> None:
    assigned = consumer.assignment()
    for each in assigned:
        each.offset = 0
    if assigned:
        try:
            consumer.commit(offsets=assigned, asynchronous=False)
        except KafkaException:
            return  # a rebalance has begun meanwhile


def make_topic(bootstrap: str, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for create_topic in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        create_topic.result()
