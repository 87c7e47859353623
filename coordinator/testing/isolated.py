"""One test's share of a coordinator: the names of its topics and groups begin with a prefix that no other test has."""

import re
from collections.abc import Callable, Collection, Iterable
from itertools import count
from typing import Any, Final, Unpack

from coordinator.audit.schema import AuditEvent
from coordinator.testing import requests
from coordinator.testing.coordinator import Barrier, Coordinator, Fault, Group
from coordinator.testing.fault_fields import FaultMethods
from coordinator.testing.records import Content

PREFIX_CHARACTERS_MAX: Final = 80
"""Of the test's name; the name of a topic has 249 characters at most."""
_numbers = count(1)


class IsolatedCoordinator:
    """A coordinator as one test sees it. A topic or a group is named by its short name or its whole name.

    What concerns the whole server, as `advance` and `restart`, concerns it for all tests of this process, which run one
    after the other.
    """

    def __init__(self, server: Coordinator, test_name: str) -> None:
        self._server = server
        readable = re.sub(r"[^a-zA-Z0-9_-]+", "-", test_name.rpartition("::")[2]).strip("-")[:PREFIX_CHARACTERS_MAX]
        self.prefix = f"{readable}-{next(_numbers)}."
        self.faults = IsolatedFaults(server, self.whole_name)

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return self._server.bootstrap

    def whole_name(self, name: str) -> str:
        """The name of this test's topic or group, as clients must use it."""
        return name if name.startswith(self.prefix) else self.prefix + name

    def topic(self, name: str, partitions: int = 1) -> str:
        """Create a topic; its whole name, for clients. Raises TestingError as `Coordinator.create_topic`."""
        whole = self.whole_name(name)
        self._server.create_topic(whole, partitions)
        return whole

    def produce(
        self,
        topic: str,
        values: Iterable[Content],
        keys: Iterable[Content] | None = None,
        partition: int | None = None,
    ) -> list[tuple[int, int]]:
        """As `Coordinator.produce`."""
        return self._server.produce(self.whole_name(topic), values, keys, partition)

    def group(self, name: str) -> Group:
        """A group; its `id` is the whole name, for clients."""
        return self._server.group(self.whole_name(name))

    def events(self, group: str) -> list[AuditEvent]:
        """As `Coordinator.events`."""
        return self.group(group).events()

    def why(self, group: str, generation: int | None = None) -> str:
        """As `Coordinator.why`."""
        return self.group(group).why(generation)

    def assert_rebalances(self, group: str, at_most: int | None = None, **expected: Unpack[requests.Expected]) -> None:
        """As `Group.assert_rebalances`."""
        self.group(group).assert_rebalances(at_most, **expected)

    def assert_delivered(
        self, group: str, at_most: int | None = None, **expected: Unpack[requests.ExpectedDeliveries]
    ) -> None:
        """As `Group.assert_delivered`."""
        self.group(group).assert_delivered(at_most, **expected)

    def advance(self, seconds: float, silent: Collection[str] = ()) -> None:
        """As `Coordinator.advance`."""
        self._server.advance(seconds, silent)

    def restart(self, clean: bool = False) -> None:
        """As `Coordinator.restart`."""
        self._server.restart(clean)


class IsolatedFaults(FaultMethods[Fault, Barrier]):
    """The faults of one test. One of requests that names no `group` takes those of all groups."""

    def __init__(self, server: Coordinator, whole_name: Callable[[str], str]) -> None:
        self._server = server
        self._whole_name = whole_name

    def add(self, fields: dict[str, Any]) -> Fault:
        return self._server.faults.add(self._named(fields))

    def add_barrier(self, fields: dict[str, Any]) -> Barrier:
        return self._server.faults.add_barrier(self._named(fields))

    def _named(self, fields: dict[str, Any]) -> dict[str, Any]:
        group = fields.get("group")
        return fields | {"group": self._whole_name(group)} if isinstance(group, str) else fields

    def assert_all_hit(self) -> None:
        """As `Faults.assert_all_hit`."""
        self._server.faults.assert_all_hit()

    def clear(self) -> None:
        """As `Faults.clear`."""
        self._server.faults.clear()
