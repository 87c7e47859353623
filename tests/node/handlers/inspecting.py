"""A client and a server with topics, for the tests of what tools ask."""

from collections.abc import Iterator
from contextlib import contextmanager

from coordinator.testing import Coordinator
from tests.node.handlers.test_configs import ConfigClient


@contextmanager
def client_of(topics: dict[str, int], settings: dict[str, str] | None = None) -> Iterator[ConfigClient]:
    """A client of a server with these topics, by number of partitions."""
    with Coordinator(settings) as server, ConfigClient(server.bootstrap) as connected:
        for name, partitions in topics.items():
            connected.create_topic(name, partitions)
        yield connected
