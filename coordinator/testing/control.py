"""What a test asks of its node. All of it runs in the loop of the node."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import build_batch
from coordinator.audit.schema import AuditEvent
from coordinator.broker.configs.group_configs import group_config_change
from coordinator.broker.topics import TopicError
from coordinator.config.settings import Config
from coordinator.core.groups.membership import MemberView
from coordinator.explain.words import counted, plain, were
from coordinator.faults.faults import Faults
from coordinator.faults.request_faults import Surroundings
from coordinator.node.node import Node
from coordinator.runtime.slices import at_once
from coordinator.testing.audit_log import AuditLog
from coordinator.testing.deliveries import Delivered, Deliveries
from coordinator.testing.errors import TestingError, require_seconds, require_whole
from coordinator.testing.partitioner import partition_of_key
from coordinator.testing.presence import Presence
from coordinator.testing.snapshots import STATES, GroupSnapshot, snapshot_of
from coordinator.testing.waiting import Waiters
from coordinator.timers.clock import AdvanceableClock

if TYPE_CHECKING:
    from coordinator.explain.history import GroupHistory

ADVANCE_SECONDS_MAX: Final = 366 * 24 * 3600
DEADLINES_AT_ONCE_MAX: Final = 500_000
"""Deadlines of timers that one jump of the clock may reach; some seconds of work."""
FIRST_TOPIC_ID_VERSION: Final = 13

Records = Sequence[tuple[bytes | None, bytes | None]]
"""Keys and values."""


class Control:
    """Of one started node. Ends with it."""

    def __init__(
        self,
        node: Node,
        config: Config,
        clock: AdvanceableClock,
        faults_before: Faults | None = None,
        deliveries: Deliveries | None = None,
    ) -> None:
        """`faults_before` and `deliveries` are those of the same node before a restart."""
        self._node = node
        self._config = config
        self._clock = clock
        assert node.data_plane is not None
        self._groups = node.groups
        self._storage = node.storage
        self._produce_service = node.data_plane.produce_service
        self._now_ms = node.loop.now_ms
        self._waiters = Waiters()
        self._presence = Presence(node.front.dispatcher.connections)
        self._audit = AuditLog(node.storage.partitions)
        self._unkeyed: defaultdict[str, count[int]] = defaultdict(count)
        around = Surroundings(
            groups=node.groups,
            scheduler=node.loop.scheduler,
            now_ms=node.loop.now_ms,
            runner=node.front.path.runner,
            connections=node.front.dispatcher.connections,
        )
        self._deliveries = deliveries or Deliveries()
        self.faults = Faults(around, node.front.path.chain, faults_before)
        node.front.path.chain.add(self._presence.step)
        node.front.path.chain.add(self._deliveries.step)
        node.loop.scheduler.on_iteration_end(self._waiters.check)

    @property
    def node(self) -> Node:
        return self._node

    async def end(self) -> None:
        """The node stops: who waits for it is told so."""
        await self._waiters.end(TestingError("the coordinator was stopped or restarted meanwhile"))

    # ---- topics

    def create_topic(self, name: str, partitions: int) -> None:
        """Raises TestingError: the name or the number is not allowed, or the topic exists."""
        if not isinstance(name, str):
            raise TestingError(f"the name of a topic is text, not {name!r}")
        require_whole("partitions", partitions, -1)  # as in CreateTopics: `num.partitions`
        try:
            self._storage.topics.create(name, partitions, 1, {}, self._now_ms())
        except TopicError as problem:
            raise TestingError(f"cannot create topic {plain(name)}: {problem}") from None

    def produce(self, topic: str, records: Records, partition: int | None) -> list[tuple[int, int]]:
        """Append records; partition and offset of each. Without a partition, keys choose as in Kafka's producer.

        Raises:
            TestingError: there is no such topic or partition, or a record is too large.
        """
        require_whole("partition", partition)
        existing = self._storage.image.topics.get(topic)
        if existing is None:
            raise TestingError(f"there is no topic {plain(topic)}; create_topic() makes it")
        chosen = [self._choose(topic, key, partition, existing.partitions) for key, _ in records]
        offsets: dict[int, int] = {}
        for index in sorted(set(chosen)):
            own = [(key, value) for (key, value), number in zip(records, chosen, strict=True) if number == index]
            offsets[index] = self._append(topic, index, own)
        placed = []
        for index in chosen:
            placed.append((index, offsets[index]))
            offsets[index] += 1
        return placed

    def _choose(self, topic: str, key: bytes | None, partition: int | None, partitions: int) -> int:
        if partition is not None:
            return partition
        return next(self._unkeyed[topic]) % partitions if key is None else partition_of_key(key, partitions)

    def _append(self, topic: str, partition: int, records: Records) -> int:
        """The offset of the first one."""
        now_ms = self._now_ms()
        batch = build_batch([(key, value, []) for key, value in records], timestamp_ms=now_ms)
        data = TopicProduceData(
            name=topic, partition_data=[PartitionProduceData(index=partition, records=bytes(batch))]
        )
        request = ProduceRequest(acks=-1, timeout_ms=0, topic_data=[data])
        response = at_once(self._produce_service.produce(request, FIRST_TOPIC_ID_VERSION - 1, now_ms))
        (answer,) = response.responses[0].partition_responses
        if answer.error_code:
            why = answer.error_message or f"error {answer.error_code}"
            raise TestingError(f"cannot produce to partition {partition} of {plain(topic)}: {why}")
        offset: int = answer.base_offset
        return offset

    # ---- groups

    def group_ids(self) -> list[str]:
        return sorted(group for shard in self._groups.coordinator.shards for group in shard.machine.groups)

    def group(self, group_id: str) -> GroupSnapshot:
        shard = self._groups.coordinator.shard_of(group_id)
        topic_name = self._groups.environment.topics.topic_name
        return snapshot_of(group_id, shard.machine.groups.get(group_id), topic_name)

    def events(self, group_id: str) -> list[AuditEvent]:
        return self._audit.events(group_id, self._groups.coordinator.partition_of(group_id))

    def history(self, group_id: str) -> "GroupHistory":
        return self._audit.history(group_id, self._groups.coordinator.partition_of(group_id))

    def configure_group(self, group_id: str, configs: Mapping[str, str]) -> None:
        """Set configs of a group, which need not exist.

        Raises:
            TestingError: one is unknown, or its value is not allowed.
        """
        metadata = self._storage.metadata
        try:
            changed = group_config_change(
                metadata.latest_image.group_configs, group_id, lambda current: {**current, **configs}, self._config
            )
        except TopicError as problem:
            raise TestingError(f"cannot configure group {plain(group_id)}: {problem}") from None
        metadata.change_group_configs({group_id: changed}, self._now_ms())

    def deliveries(self, group_id: str) -> list[Delivered]:
        """The records that a share group has delivered so far, by topic, partition and offset."""
        return self._deliveries.of(group_id, self._groups.environment.topics.topic_name)

    async def wait_for_group(
        self,
        group_id: str,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        partitions: int | None = None,
        timeout: float = 10,
    ) -> GroupSnapshot:
        """The group as soon as it has this state, this number of members, and this generation or a later one.

        `partitions` is how many are assigned, over all members. `timeout` is in seconds of real time.

        Raises:
            TestingError: there is no such state, or a number cannot be.
            WaitTimeout: it was not so in time.
        """
        for name, number in (("members", members), ("generation", generation), ("partitions", partitions)):
            require_whole(name, number)
        require_seconds("timeout", timeout)
        if state is not None and state not in STATES:
            raise TestingError(f"there is no state {state!r}; the states are {', '.join(STATES)}")
        found: list[GroupSnapshot] = []

        def is_met() -> bool:
            now = self.group(group_id)
            met = state in (None, now.state) and members in (None, len(now.members))
            met = met and (generation is None or now.generation_id >= generation)
            met = met and partitions in (None, now.partition_count)
            if met:
                found[:] = [now]
            return met

        def complaint() -> str:
            expected = [state or "", "" if members is None else counted(members, "member")]
            expected.append("" if generation is None else f"generation {generation}")
            expected.append("" if partitions is None else f"{counted(partitions, 'partition')} assigned")
            what = ", ".join(filter(None, expected)) or "anything"
            return f"waited {timeout:g} s for group {plain(group_id)} to have {what}; {self.group(group_id).in_words()}"

        await self._waiters.wait(is_met, timeout, complaint)
        return found[0]

    async def wait_for_held(self, fault_id: int, requests: int = 1, timeout: float = 10) -> int:
        """Return how many requests wait at a barrier, as soon as there are so many.

        Raises:
            WaitTimeout: there were not in time.
            FaultError: there is no such fault.
            TestingError: the number of requests is no positive number.
        """
        require_whole("requests", requests, 1)
        require_seconds("timeout", timeout)
        report = self.faults.report(fault_id)

        def complaint() -> str:
            waiting = self.faults.report(fault_id).waiting
            held = counted(requests, "request")
            return f"waited {timeout:g} s for {held} to be held by {report.in_words()}; {waiting} {were(waiting)}"

        await self._waiters.wait(lambda: self.faults.report(fault_id).waiting >= requests, timeout, complaint)
        return self.faults.report(fault_id).waiting

    # ---- time

    def advance(self, seconds: float, silent: Collection[str] = ()) -> None:
        """Let the server's clock jump: all timers up to then fire in order, each at its own time.

        No request is read during the jump. Members count as heard as long as their client is connected, except those
        in `silent`, by member id, client id or instance id.

        Raises:
            TestingError: the time is negative or too long, or `silent` names no member.
        """
        require_seconds("seconds", seconds)
        if not 0 <= seconds <= ADVANCE_SECONDS_MAX:
            raise TestingError(f"cannot advance by {seconds} s: 0 to {ADVANCE_SECONDS_MAX} s (366 days) are possible")
        connected = self._connected(frozenset(silent))
        began_ms = self._clock.now_ms()
        self._clock.stand_at(began_ms)
        try:
            done = self._node.loop.scheduler.run_until(
                began_ms + round(seconds * 1000),
                self._clock.stand_at,
                lambda now_ms: self._keep_sessions(connected, now_ms),
                DEADLINES_AT_ONCE_MAX,
            )
            passed_s = (self._clock.now_ms() - began_ms) / 1000
        finally:
            self._clock.resume()
        self._node.loop.scheduler.request_iteration()
        if not done:
            raise TestingError(
                f"cannot advance by {seconds:g} s at once: more than {DEADLINES_AT_ONCE_MAX} timers are due; the clock"
                f" advanced by {passed_s:g} s. Longer session or rebalance timeouts make fewer"
            )

    def _connected(self, silent: frozenset[str]) -> list[tuple[str, MemberView]]:
        connected, unknown = [], set(silent)
        for shard in self._groups.coordinator.shards:
            for group_id, group in shard.machine.groups.items():
                for member in group.membership.members.values():
                    names = {member.member_id, member.client_id, member.group_instance_id}
                    unknown -= names
                    if not names & silent and self._presence.is_connected(group_id, member):
                        connected.append((group_id, member))
        if unknown:
            raise TestingError(f"no member of any group is named {', '.join(map(plain, sorted(unknown)))}")
        return connected

    def _keep_sessions(self, connected: list[tuple[str, MemberView]], now_ms: int) -> None:
        """Renew the sessions of connected members, all of them when one is over, as their heartbeats would have."""
        sessions = self._groups.coordinator.sessions
        deadlines = [sessions.deadline_ms(group_id, member.member_id) for group_id, member in connected]
        if any(deadline is not None and deadline <= now_ms for deadline in deadlines):
            for (group_id, member), deadline_ms in zip(connected, deadlines, strict=True):
                if deadline_ms is not None:
                    sessions.renew(group_id, member.member_id, member.session_timeout_ms, now_ms)
