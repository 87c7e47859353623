"""A coordinator in the process of a test, for code that blocks."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self, Unpack

from coordinator.audit.schema import AuditEvent
from coordinator.faults.faults import FaultReport
from coordinator.testing import requests
from coordinator.testing.fault_fields import FaultMethods
from coordinator.testing.node_thread import NodeThread
from coordinator.testing.records import Content
from coordinator.testing.snapshots import GroupSnapshot, MemberSnapshot

WAIT_SECONDS = 10.0


class Coordinator:
    """The real server in a thread of this process, on a free port of 127.0.0.1, with its logs in memory.

    Use it as a context. All methods may be called from any thread; they raise TestingError with one line if the
    coordinator does not run.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None, *, port: int = 0) -> None:
        """`settings` have Kafka's names; `coordinator/testing/defaults.py` has the defaults that differ from Kafka's.

        Raises:
            ConfigError: a setting is unknown, or its value is not allowed.
            TestingError: a setting is the test kit's own (`listeners`, `log.dirs`, `admin.listener`).
        """
        self._node = NodeThread(settings, port)
        self.faults = Faults(self._node)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve when this returns.

        Raises:
            TestingError: it was started before.
            ListenError: the port cannot be bound.
        """
        self._node.start()

    def stop(self) -> None:
        """Stop; clients lose their connections. Nothing is left of it."""
        self._node.stop()

    def restart(self, clean: bool = False) -> None:
        """Start again on the same port and logs: as after `kill -9`, or after a clean stop.

        All faults end, as if each had been removed: their hits are still known, also to `faults.assert_all_hit()`.
        """
        self._node.restart(clean).result()

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return self._node.bootstrap

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Raises TestingError: the name or the number is not allowed, or the topic exists."""
        self._node.ask(lambda control: control.create_topic(name, partitions)).result()

    def produce(
        self,
        topic: str,
        values: Iterable[Content],
        keys: Iterable[Content] | None = None,
        partition: int | None = None,
    ) -> list[tuple[int, int]]:
        """Append records; partition and offset of each.

        Without a `partition`, that of a record follows from its key as in Kafka's producer; those without a key go to
        one partition after the other.

        Raises:
            TestingError: there is no such topic or partition, or a value is neither text nor bytes.
        """
        return self._node.ask(requests.produce(topic, values, keys, partition)).result()

    def group(self, group_id: str) -> "Group":
        """A group, whether it exists or not."""
        return Group(self._node, group_id)

    def events(self, group_id: str) -> list[AuditEvent]:
        """The audit events of a group, in order (coordinator.audit.schema)."""
        return self.group(group_id).events()

    def why(self, group_id: str, generation: int | None = None) -> str:
        """Why a group rebalanced, in words: its newest generation, or another one."""
        return self.group(group_id).why(generation)

    def assert_rebalances(
        self, group_id: str, at_most: int | None = None, **expected: Unpack[requests.Expected]
    ) -> None:
        """As `Group.assert_rebalances`."""
        self.group(group_id).assert_rebalances(at_most, **expected)

    def assert_delivered(
        self, group_id: str, at_most: int | None = None, **expected: Unpack[requests.ExpectedDeliveries]
    ) -> None:
        """As `Group.assert_delivered`."""
        self.group(group_id).assert_delivered(at_most, **expected)

    def advance(self, seconds: float, silent: Collection[str] = ()) -> None:
        """Let the server's clock jump: what is due until then happens at once, in order, each at its own time.

        Members whose clients are connected count as heard meanwhile, except those in `silent`: member ids, client ids
        or instance ids. The clocks of clients do not jump.

        Raises:
            TestingError: the time is negative or above 366 days, or `silent` names no member.
        """
        names = requests.require_silent_names(silent)
        self._node.ask(lambda control: control.advance(seconds, names)).result()


class Group:
    """A group of a coordinator. Each access to a property asks the server."""

    def __init__(self, node: NodeThread, group_id: str) -> None:
        self._node = node
        self.id = requests.require_group_id(group_id)

    def __repr__(self) -> str:
        return f"Group({self.id!r})"

    def describe(self) -> GroupSnapshot:
        """The whole group at one moment."""
        return self._node.ask(requests.group(self.id)).result()

    @property
    def state(self) -> str:
        """Empty, PreparingRebalance, CompletingRebalance, Stable, or Dead: there is no such group.

        A consumer group is Assigning or Reconciling while it rebalances.
        """
        return self.describe().state

    @property
    def kind(self) -> str:
        """`classic`, `consumer` (KIP-848) or `share` (KIP-932); empty: there is no such group."""
        return self.describe().kind

    @property
    def generation(self) -> int:
        """The generation; of a consumer group or a share group the group epoch."""
        return self.describe().generation_id

    @property
    def members(self) -> tuple[MemberSnapshot, ...]:
        return self.describe().members

    @property
    def assignment(self) -> dict[str, dict[str, list[int]]]:
        """Member id → topic → partitions; of members whose assignment can be read. Those that they may use by now."""
        return {member.member_id: member.partitions for member in self.members if member.partitions is not None}

    @property
    def committed_offsets(self) -> Mapping[str, Mapping[int, int]]:
        """Topic → partition → offset."""
        return self.describe().committed_offsets or {}

    def wait_for(
        self,
        state: str | None = None,
        *,
        members: int | None = None,
        generation: int | None = None,
        partitions: int | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> GroupSnapshot:
        """The group as soon as it has this state, this number of members, and this generation or a later one.

        In a consumer group a generation is a group epoch. `partitions` is how many are assigned, over all members.
        `timeout` is in seconds of real time.

        Raises:
            WaitTimeout: it was not so in time; the message tells how it was.
            TestingError: there is no such state.
        """
        return self._node.wait(
            requests.wait_for_group(self.id, state, members, generation, partitions, timeout)
        ).result()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Set configs of the group by Kafka's names, such as `share.auto.offset.reset`; it need not exist yet.

        Raises:
            TestingError: a config is unknown, or its value is not allowed.
        """
        self._node.ask(requests.configure(self.id, configs)).result()

    def events(self) -> list[AuditEvent]:
        """The audit events, in order (coordinator.audit.schema)."""
        return self._node.ask(requests.events(self.id)).result()

    def why(self, generation: int | None = None) -> str:
        """Why the group rebalanced, in words: the newest generation, or another one.

        Raises:
            TestingError: there is no such generation.
        """
        return self._node.ask(requests.story(self.id, generation)).result()

    def assert_rebalances(
        self,
        at_most: int | None = None,
        *,
        at_least: int | None = None,
        causes: Collection[str] | None = None,
        after_generation: int = 0,
    ) -> None:
        """Check how often the group rebalanced after a generation, and that each began for one of the `causes`.

        `causes` are those of `coordinator.core.causes`, such as "new_member".

        Raises:
            AssertionError: otherwise; the message says of each generation why it began.
            TestingError: there is no such cause.
        """
        self._node.ask(requests.rebalances(self.id, at_most, at_least, causes, after_generation)).result()

    def assert_delivered(
        self, at_most: int | None = None, *, at_least: int | None = None, records: int | None = None
    ) -> None:
        """Check how often a share group has delivered its records, by the server's own delivery count.

        None more often than `at_most`; each that was delivered at all at least `at_least` times; `records` different
        ones in all.

        Raises:
            AssertionError: otherwise; the message names records, how often and to which clients they went.
        """
        self._node.ask(requests.deliveries(self.id, at_most, at_least, records)).result()


class Fault:
    """A fault that was injected."""

    def __init__(self, node: NodeThread, fault_id: int) -> None:
        self._node = node
        self.id = fault_id

    @property
    def hits(self) -> int:
        """How often it took effect."""
        return self._report().hits

    def remove(self) -> None:
        """Take it out; requests at a barrier go on, and a partition is led again."""
        self._node.ask(lambda control: control.faults.remove(self.id)).result()

    def _report(self) -> FaultReport:
        return self._node.ask(lambda control: control.faults.report(self.id)).result()


class Barrier(Fault):
    """Requests that are held."""

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return self._report().waiting

    def wait_for(self, requests: int = 1, timeout: float = WAIT_SECONDS) -> int:
        """Return how many wait, as soon as there are so many.

        Raises:
            WaitTimeout: there were not within `timeout` seconds of real time.
        """
        return self._node.wait(lambda control: control.wait_for_held(self.id, requests, timeout)).result()

    def release(self, count: int | None = None) -> int:
        """Let the first `count` go on, or all that wait and all that come; returns how many went on."""
        return self._node.ask(lambda control: control.faults.release(self.id, count)).result()


class Faults(FaultMethods[Fault, Barrier]):
    """Injects faults into one coordinator."""

    def __init__(self, node: NodeThread) -> None:
        self._node = node

    def add(self, fields: dict[str, Any]) -> Fault:
        return Fault(self._node, self._add_fields(fields))

    def add_barrier(self, fields: dict[str, Any]) -> Barrier:
        return Barrier(self._node, self._add_fields(fields))

    def _add_fields(self, fields: dict[str, Any]) -> int:
        return self._node.ask(lambda control: control.faults.add(fields)).result().fault_id

    def assert_all_hit(self) -> None:
        """Raises AssertionError: a fault since the last `clear` never took effect; the message names each."""
        self._node.ask(requests.all_hit()).result()

    def clear(self) -> None:
        """Remove all faults and forget them."""
        self._node.ask(lambda control: control.faults.clear()).result()
