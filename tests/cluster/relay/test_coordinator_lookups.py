"""A client that asks again and again who the coordinator is does not get there, and is told once to ask later."""

from coordinator.cluster.relay.coordinator_lookups import ASKED_MAX, KEYS_MAX, WITHIN_SECONDS, CoordinatorLookups
from coordinator.cluster.relay.responses import ForwardedRequest

FIND_COORDINATOR = 10
TRANSACTION = 1


class Client:
    def __init__(self, software: bytes = b"client librdkafka 2.16.1") -> None:
        self.now = 0.0
        self.lookups = CoordinatorLookups(lambda: self.now)
        self.lookups.note_software(software)

    def reaches(self, *keys: str, key_type: int = 0) -> bool:
        return self.lookups.note(ForwardedRequest(FIND_COORDINATOR, 4, keys, key_type)).is_reached


def test_who_asks_often_is_told_once_and_then_answered_again():
    client = Client()
    for _ in range(3):
        assert [client.reaches("g") for _ in range(ASKED_MAX + 1)] == [True] * ASKED_MAX + [False]


def test_clients_that_are_not_librdkafka_are_always_answered():
    """kafka-python passes the error on to its user."""
    for software in (b"", b"kafka-python 3.0.12", b"apache-kafka-java 4.3.1"):
        client = Client(software)
        assert all(client.reaches("g") for _ in range(2 * ASKED_MAX))
    client = Client(b"confluent-kafka-python 2.16.1")
    assert not all(client.reaches("g") for _ in range(ASKED_MAX + 1))


def test_who_asks_now_and_then_is_always_answered():
    client = Client()
    for _ in range(10):
        assert client.reaches("g")
        client.now += WITHIN_SECONDS / ASKED_MAX + 0.1


def test_groups_and_transactional_ids_are_counted_apart():
    client = Client()
    assert all(
        client.reaches("g") and client.reaches("h") and client.reaches("g", key_type=1) for _ in range(ASKED_MAX)
    )
    assert not client.reaches("g", key_type=TRANSACTION)
    assert not client.reaches("h")


def test_admin_clients_that_ask_for_many_are_not_counted():
    client = Client()
    assert all(client.reaches("g", "h") for _ in range(ASKED_MAX + 1))
    assert all(client.reaches(f"g{number}") for _ in range(ASKED_MAX + 1) for number in range(KEYS_MAX + 1))
