"""Stock kafka-python consumers, each on a thread of its own."""

import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import Any, Final, NamedTuple

from kafka import ConsumerRebalanceListener, KafkaConsumer, OffsetAndMetadata
from kafka.errors import CommitFailedError, KafkaConnectionError
from kafka.structs import MemberState

from tests.waiting import wait_for

POLL_MS: Final = 1000
"""Longer than a rebalance takes: kafka-python 3.0.12 loses an assignment that comes after its poll has given up."""
HEARTBEAT_MS: Final = 100
STEADY_SECONDS: Final = 20


class Membership(NamedTuple):
    """What a member works on. `partitions` are indexes."""

    generation_id: int
    partitions: frozenset[int]


class Member(threading.Thread):
    """Reads, and commits what it has read, until it is stopped. `problem` is what ended it otherwise."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        group_id: str,
        *,
        instance_id: str | None = None,
        session_ms: int = 10_000,
        listener: ConsumerRebalanceListener | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(daemon=True)
        self.values: list[int] = []
        self.committed: dict[int, int] = {}
        self.membership: Membership | None = None
        self.generations: list[int] = []
        self.problem: Exception | None = None
        self._uncommitted: dict[Any, OffsetAndMetadata] = {}
        self._stopping = threading.Event()
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group_id,
            group_instance_id=instance_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            retry_backoff_ms=50,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=100,
            **settings,
        )
        self._consumer.subscribe([topic], listener=listener)
        self.start()

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                with suppress(KafkaConnectionError):  # the server is away: again
                    self._turn()
            self._consumer.close()
        except Exception as problem:
            self.problem = problem

    def _turn(self) -> None:
        for partition, records in self._consumer.poll(timeout_ms=POLL_MS).items():
            self.values += [int(record.value) for record in records]
            self._uncommitted[partition] = OffsetAndMetadata(records[-1].offset + 1, "", -1)
        self._note_membership()
        if self._uncommitted:
            self._commit()

    def _note_membership(self) -> None:
        metadata = self._consumer.group_metadata()
        if metadata.state is not MemberState.STABLE:
            self.membership = None
            return
        if metadata.generation_id not in self.generations:
            self.generations.append(metadata.generation_id)
        partitions = frozenset(each.partition for each in self._consumer.assignment())
        self.membership = Membership(metadata.generation_id, partitions)

    def _commit(self) -> None:
        try:
            self._consumer.commit(self._uncommitted)
        except CommitFailedError:
            self._uncommitted = {}  # somebody else has the partitions now
        self.committed |= {each.partition: offset.offset for each, offset in self._uncommitted.items()}
        self._uncommitted = {}

    def stop(self) -> None:
        """Close the consumer: a dynamic member leaves the group, a static one stays."""
        self._stopping.set()
        self.join(STEADY_SECONDS)
        assert not self.is_alive()
        assert self.problem is None, self.problem


def stop_all(members: Iterable[Member]) -> None:
    """Stop each, in order, whatever becomes of another one."""
    with ExitStack() as stops:
        for member in reversed(list(members)):
            stops.callback(member.stop)


def steady(members: list[Member], partitions: int, what: str) -> int:
    """Wait until the members share all partitions in one generation; the generation's id."""

    def shared() -> int | None:
        for member in members:
            assert member.problem is None, member.problem
        memberships = [member.membership for member in members]
        known = [membership for membership in memberships if membership is not None]
        if len(known) < len(members) or len({each.generation_id for each in known}) != 1:
            return None
        owned = sorted(index for each in known for index in each.partitions)
        evenly = max(len(each.partitions) for each in known) - min(len(each.partitions) for each in known) <= 1
        return known[0].generation_id if owned == list(range(partitions)) and evenly else None

    generation_id = wait_for(shared, STEADY_SECONDS, what)
    assert generation_id is not None
    return generation_id
