"""Groups of stock clients: who owns what, what they have read and committed, by their own reports."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Self

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import ClientError, WireConnection
from interop.builds import ALL
from interop.driver import Driver, Event, Member, Partition
from interop.invariants import owned_by_two

CLIENTS: Final = ("kafka-python", "confluent-kafka", "java", "franz-go")
MIXED: Final = "mixed"
CONSUMERS: Final = ("confluent-kafka-consumer", "java-consumer", "franz-go-consumer")
"""The same clients with the protocol of KIP-848."""
GROUPS: Final = {f"of-{client}": (client, client) for client in CLIENTS} | {MIXED: CLIENTS, "of-kip-848": CONSUMERS}
"""Group → the clients of its members: a group of each client, one of all, and one of the other protocol."""
FOLDED: Final = ("records", "committed")
"""Events that are counted and not kept, so that a long run does not grow."""
OPTIONS: Final = {
    "session_timeout_ms": 15_000,
    "heartbeat_interval_ms": 1_000,
    "max_poll_interval_ms": 90_000,
    "metadata_max_age_ms": 5_000,
    "assignors": ["range"],
}


@dataclass
class Group:
    """A group, and what its members have said."""

    name: str
    members: list[Member] = field(default_factory=list)
    read_up_to: dict[Partition, int] = field(default_factory=lambda: defaultdict(int))
    """The offset below which all records were read."""
    committed: dict[Partition, int] = field(default_factory=lambda: defaultdict(int))
    """The largest position whose commit was acknowledged."""
    _ahead: dict[Partition, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Runs of records that were read before some that come before them."""

    def take(self, event: Event) -> None:
        if event["event"] == "committed":
            for topic, positions in event["positions"].items():
                for index, position in positions.items():
                    partition = topic, int(index)
                    self.committed[partition] = max(self.committed[partition], position)
        elif event["event"] == "records":
            for topic, positions in event["positions"].items():
                for index, following in positions.items():
                    self._read((topic, int(index)), event["from"][topic][index], following)

    def _read(self, partition: Partition, first: int, following: int) -> None:
        ahead = sorted([*self._ahead.pop(partition, ()), (first, following)])
        while ahead and ahead[0][0] <= self.read_up_to[partition]:
            self.read_up_to[partition] = max(self.read_up_to[partition], ahead.pop(0)[1])
        if ahead:
            self._ahead[partition] = ahead

    def not_read(self, produced: Mapping[Partition, int]) -> list[str]:
        return [
            f"{self.name}: {topic}-{index} was read up to {self.read_up_to[topic, index]} of {end}"
            for (topic, index), end in sorted(produced.items())
            if self.read_up_to[topic, index] < end
        ]

    def not_shared_out(self, partitions: int) -> str:
        """What keeps the members from owning each partition once; empty if nothing does."""
        owned = [partition for member in self.members for partition in member.owned]
        if len(owned) == len(set(owned)) == partitions and all(member.owned for member in self.members):
            return ""
        return f"{self.name}: owned are { ({member.name: len(member.owned) for member in self.members}) }"


def _described(coordinator: WireConnection, group: str) -> Any:
    """A group of either protocol."""
    (described,) = coordinator.send_latest(ConsumerGroupDescribeRequest(group_ids=[group])).groups
    if described.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        (described,) = coordinator.send_latest(DescribeGroupsRequest(groups=[group])).groups
    return described


class Members:
    """The members of all groups. Leaving its context ends their processes."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int,
        groups: Mapping[str, Sequence[str]] = GROUPS,
        options: Mapping[str, Any] = OPTIONS,
    ) -> None:
        """`options` are those of the command `start` (interop/README.md), for each member."""
        self._options = options
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._clients = groups
        self._stack = ExitStack()
        self._drivers: list[Driver] = []
        self._group_of: dict[str, Group] = {}
        self._committing: set[str] = set()
        self.groups: list[Group] = []
        self.commits: Counter[str] = Counter()
        """Member → how many of its commits were acknowledged."""
        self.failures: dict[str, int] = defaultdict(int)
        """What clients reported and got over: kind → how often."""

    def __enter__(self) -> Self:
        try:
            played = {client for clients in self._clients.values() for client in clients}
            drivers = {client: self._stack.enter_context(ALL[client].built().start()) for client in sorted(played)}
            self._drivers = list(drivers.values())
            for name, clients in self._clients.items():
                group = Group(name)
                self.groups.append(group)
                for number, client in enumerate(clients, 1):
                    self._start(group, drivers[client], f"{name}-{number}-{client}", ALL[client].protocol)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def _start(self, group: Group, driver: Driver, name: str, protocol: str) -> None:
        options = {**self._options, "client_id": name, "protocol": protocol}
        member = driver.start(name, self._bootstrap, group.name, self._topic, **options)
        group.members.append(member)
        self._group_of[name] = group

    def apply(self) -> None:
        """Take in what the clients have said. Raises AssertionError: one of them has ended."""
        for driver in self._drivers:
            assert not driver.has_ended, f"the driver of {driver.client} has ended"
            driver.take_in_all()
            for member in driver.members.values():
                self._fold(member)

    def _fold(self, member: Member) -> None:
        group = self._group_of[member.name]
        kept = []
        for event in member.events:
            group.take(event)
            self.commits[member.name] += event["event"] == "committed"
            if event["event"] == "committed" or (event["event"] == "failed" and event["during"] == "commit"):
                self._committing.discard(member.name)
            if event["event"] == "failed":
                assert not event["fatal"], f"{member!r} failed for good: {event}"
                self.failures[f"{member.driver.client} {event['during']} {event['error']}"] += 1
            elif event["event"] not in FOLDED:
                kept.append(event)
        member.events = kept

    def commit(self) -> None:
        """Have each member commit that has no commit under way."""
        for driver in self._drivers:
            for member in driver.members.values():
                if member.name not in self._committing and member.owned:
                    self._committing.add(member.name)
                    member.send("commit")

    def not_stable(self) -> list[str]:
        """What keeps the groups from being stable, by their members and by the nodes."""
        found = [problem for group in self.groups if (problem := group.not_shared_out(self._partitions))]
        return found or [problem for group in self.groups if (problem := self._not_stable_at_nodes(group.name))]

    def _not_stable_at_nodes(self, group: str) -> str:
        try:
            with WireConnection(self._bootstrap.split(",")[0], "rounds") as anyone:
                address = coordinator_of(anyone, group)
            with WireConnection(address, "rounds") as coordinator:
                described = _described(coordinator, group)
        except (ClientError, OSError) as problem:
            return f"{group}: {problem}"
        state = described.group_state
        return "" if state == "Stable" else f"{group}: its state is {state or described.error_code}"

    def owned_by_two(self) -> list[str]:
        return [f"{group.name}: {each}" for group in self.groups for each in owned_by_two(group.members)]

    def not_read(self, produced: Mapping[Partition, int]) -> list[str]:
        return [each for group in self.groups for each in group.not_read(produced)]
