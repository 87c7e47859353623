"""A scene at a Kafka behind nodes that watch: what they tell of a group comes some seconds later."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeVar

from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.cluster import LATEST
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.partitioning import partition_for
from interop.scene import SECONDS, Scene
from tests.waiting import wait_for
from tests.wire_client import WireClient

T = TypeVar("T")

SAME_MOMENT_SECONDS: Final = 0.5
"""Assertions that follow each other so soon are about the same moment."""
LEAVE_VERSION: Final = 5
markers: Final = count()


def _when_there(ask: Callable[[], T]) -> T:
    """What is answered, once it is: a broker that has just started leads nothing, and names no coordinator yet."""
    answers: list[T] = []

    def is_answered() -> bool:
        with suppress(ClientError):
            answers.append(ask())
        return bool(answers)

    wait_for(is_answered, SECONDS, "the brokers to answer", every_ms=100)
    return answers[0]


@dataclass
class WatchedScene(Scene):
    """A group that a Kafka coordinates, and the audit of a node that watches: it tells some seconds later."""

    audits_offsets: bool = False
    is_watched: bool = True
    _settled_at: float = field(default=float("-inf"), init=False)

    def again(self, *arguments: Any, **options: Any) -> Any:
        self._settled_at = float("-inf")
        return super().again(*arguments, **options)

    def steady(self, *arguments: Any, **options: Any) -> None:
        super().steady(*arguments, **options)
        self._settled_at = float("-inf")

    def settle(self) -> None:
        """A group of the same partition that forms now is told of after all that has happened by now."""
        if time.monotonic() - self._settled_at < SAME_MOMENT_SECONDS:
            return
        with AuditTopic(self.server.bootstrap) as audit:
            partition = audit.partition_of(self.group)
            group_id = self._marker(partition, len(audit.partitions))
            ends = _when_there(lambda: audit.offsets([partition], LATEST))
            _when_there(lambda: self._form(group_id))

            def is_told() -> bool:
                records = audit.records(ends, lambda key: key == group_id.encode())
                return any(isinstance(record.event, schema.GenerationStable) for record in records)

            wait_for(is_told, SECONDS, f"{group_id} to be told of", every_ms=100)
        self._settled_at = time.monotonic()

    def _form(self, group_id: str) -> None:
        with WireConnection(self.server.bootstrap, "marker") as connection:
            coordinator = coordinator_of(connection, group_id)
        with WireClient(coordinator, "marker") as client:
            member = MemberIdentity(member_id=client.join_alone(group_id))
            left = client.request(LeaveGroupRequest(group_id=group_id, members=[member]), LEAVE_VERSION)
            assert left.error_code == 0, left

    def _marker(self, partition: int, partition_count: int) -> str:
        """A new group id whose events are in a partition."""
        names = (f"{self.name}-marker-{number}" for number in markers)
        return next(name for name in names if partition_for(name, partition_count) == partition)
