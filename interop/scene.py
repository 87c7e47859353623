"""A group on a server, the members that stock clients run in it, and what the server says of it.

The cases of the audit (tests/e2e/audit_cases.py) and the scenarios of the matrix (interop/scenarios) are played in it.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.audit import schema
from coordinator.cli.source import history_of
from coordinator.client.audit_topic import AuditTopic
from coordinator.client.groups import coordinator_of
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.causes import Cause
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from interop.builds import CLASSIC, CONSUMER, SHARE
from interop.driver import Driver, Member, Partition
from interop.security import Secured
from tests.waiting import wait_for

PARTITIONS: Final = 4
SESSION_MS: Final = 2_000
SECONDS: Final = 30
GROUP_RESOURCE: Final = 32
"""The type of groups as resources with configs."""
E = TypeVar("E", bound=schema.AuditEvent)


class Server(Protocol):
    """A server that can be killed (SIGKILL) and started again on the same port and data."""

    bootstrap: str

    def kill(self) -> int: ...

    def start(self) -> None: ...


class Faults(Protocol):
    """What injects faults into a server; they go by number."""

    def inject(self, do: str, **arguments: Any) -> int: ...

    def hits(self, fault: int) -> int: ...

    def remove(self, fault: int) -> None: ...


@dataclass
class Scene:
    """A server, a client library, and a group of its own."""

    server: Server
    start_driver: Callable[[], Driver]
    name: str
    stack: ExitStack = field(default_factory=ExitStack)
    unknown: str = ""
    """What the protocol does not tell, if the audit says so."""
    audited: bool = True
    """Whether the server has the audit topic; Apache Kafka has not."""
    audits_offsets: bool = True
    """Whether the audit tells of committed offsets, too; in front of a cluster they are the cluster's."""
    is_watched: bool = False
    """Whether the audit is that of nodes that watch: it tells what passed them, and what the group's records have."""
    session_ms: int = SESSION_MS
    partitions: int = PARTITIONS
    protocol: str = CLASSIC
    """The group protocol of the members."""
    others: Mapping[str, Callable[[], Driver]] = field(default_factory=dict)
    """Name of another client → how to start its driver."""
    server_faults: Faults | None = None
    """For scenarios that inject faults."""
    secured: Secured | None = None
    """How members connect, if not as the scenario itself does."""
    members: list[Member] = field(default_factory=list)
    """All that were started, in order."""
    told: list[str] = field(default_factory=list)
    """What a member that was refused was told, without what differs from play to play."""
    produced: dict[Partition, int] = field(default_factory=dict)
    """Partition → its log end offset."""

    def __post_init__(self) -> None:
        self.group = f"{self.name}-group"
        self.topic = f"{self.name}-topic"
        self.create_topic(self.topic, self.partitions)

    @property
    def faults(self) -> Faults:
        assert self.server_faults is not None, "a scenario with faults says so"
        return self.server_faults

    def admin(self) -> KafkaAdminClient:
        admin = KafkaAdminClient(bootstrap_servers=self.server.bootstrap, client_id="ops")
        self.stack.callback(admin.close)
        return admin

    def create_topic(self, name: str, partitions: int) -> None:
        self.admin().create_topics([NewTopic(name, partitions, 1)])
        wait_for(lambda: self.has_topic(name, partitions), SECONDS, f"topic {name} to be there")

    def has_topic(self, name: str, partitions: int) -> bool:
        with WireConnection(self.server.bootstrap, "interop") as connection:
            (topic,) = connection.send_latest(MetadataRequest(topics=[MetadataRequestTopic(name=name)])).topics
        return len(topic.partitions) == partitions and all(partition.leader_id >= 0 for partition in topic.partitions)

    def produce(self, count: int, topic: str = "", partitions: int = 0) -> None:
        """Append so many records to each partition."""
        producer = KafkaProducer(bootstrap_servers=self.server.bootstrap, client_id="interop-producer", linger_ms=5)
        topic = topic or self.topic
        try:
            for index in range(partitions or self.partitions):
                sent = [producer.send(topic, b"%d" % number, partition=index) for number in range(count)]
                self.produced[topic, index] = sent[-1].get(SECONDS).offset + 1
        finally:
            producer.close()

    def driver(self, client: str = "") -> Driver:
        """A driver in a process of its own, of the client that is played or of another one."""
        return self.stack.enter_context(self.others[client]() if client else self.start_driver())

    def member(self, name: str, **options: Any) -> Member:
        """A member in a process of its own; `client` may name another client."""
        driver = self.driver(options.pop("client", ""))
        topics = () if "pattern" in options else options.pop("topics", (self.topic,))
        return self.again(driver, name, topics, **options)

    def again(self, driver: Driver, name: str, topics: tuple[str, ...], **options: Any) -> Member:
        settings = {"session_timeout_ms": self.session_ms, "heartbeat_interval_ms": 200, "client_id": name, **options}
        group = settings.pop("group", self.group)
        if settings.setdefault("protocol", self.protocol) == CONSUMER:
            self._set_session(group, settings["session_timeout_ms"], settings["heartbeat_interval_ms"])
        elif settings["protocol"] == SHARE:
            self.set_group_configs({"share.heartbeat.interval.ms": 500, "share.auto.offset.reset": "earliest"}, group)
        bootstrap = self.server.bootstrap
        if self.secured is not None:
            bootstrap, settings["security"] = self.secured.bootstrap, self.secured.security
        member = driver.start(name, bootstrap, group, *topics, **settings)
        self.members.append(member)
        return member

    def _set_session(self, group: str, session_timeout_ms: int, heartbeat_interval_ms: int) -> None:
        """Of consumer groups, the session timeout is a config of the group."""
        values = {
            "consumer.session.timeout.ms": session_timeout_ms,
            "consumer.heartbeat.interval.ms": heartbeat_interval_ms,
        }
        self.set_group_configs(values, group)

    def set_group_configs(self, values: Mapping[str, object], group: str = "") -> None:
        configs = [AlterableConfig(name=name, value=str(value)) for name, value in values.items()]
        name = group or self.group
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=name, configs=configs)
        with WireConnection(self.server.bootstrap, "interop") as connection:
            (changed,) = connection.send_latest(IncrementalAlterConfigsRequest(resources=[resource])).responses
        assert changed.error_code == 0, changed

    def state(self, group: str = "") -> str:
        """The state of a group, as the server describes it; empty while the server does not answer."""
        group = group or self.group
        try:
            with WireConnection(self.server.bootstrap, "interop") as connection:
                coordinator = coordinator_of(connection, group)
            with WireConnection(coordinator, "interop") as connection:
                described = _described(connection, group)
        except (ClientError, OSError):
            return ""
        return "" if described.error_code else str(described.group_state)

    def steady(self, *members: Member, partitions: int = 0, group: str = "", seconds: float = SECONDS) -> None:
        """Wait until the group is stable and the members' own reports say that each partition has one owner."""
        partitions = partitions or self.partitions

        def is_steady() -> bool:
            for member in members:
                member.driver.take_in_all()
                assert member.failure is None, member.failure
            owned = [partition for member in members for partition in member.owned]
            shared_out = len(owned) == len(set(owned)) == partitions and all(member.owned for member in members)
            return shared_out and self.state(group) == "Stable"

        try:
            wait_for(is_steady, seconds, f"{len(members)} members to share out {partitions} partitions", every_ms=100)
        except AssertionError as problem:
            owned = {member.name: len(member.owned) for member in members}
            failed = [each["message"] for member in members for each in member.of_kind("failed")[-1:]]
            raise AssertionError(f"{problem}; owned: {owned}, group {self.state(group)}, failures: {failed}") from None

    def wait_for_state(self, state: str) -> None:
        wait_for(lambda: self.state() == state, SECONDS, f"the group to be {state}", every_ms=50)

    def committed(self) -> dict[Partition, int]:
        """The committed offsets of the group, by partition."""
        admin = KafkaAdminClient(bootstrap_servers=self.server.bootstrap, client_id="interop")
        try:
            (offsets,) = admin.list_group_offsets([self.group]).values()
        finally:
            admin.close()
        return {(where.topic, where.partition): offset.offset for where, offset in offsets.items()}

    def settle(self) -> None:
        """Wait until the audit tells all that has happened by now: of its own groups a server tells it at once."""

    def events(self) -> list[schema.AuditEvent]:
        """All that happened to the group."""
        self.settle()
        return self.events_so_far()

    def events_so_far(self) -> list[schema.AuditEvent]:
        """What the audit has by now, for those who wait for something."""
        with AuditTopic(self.server.bootstrap) as topic:
            return [record.event for record in topic.group_events(self.group) if record.event is not None]

    def history(self) -> GroupHistory:
        """What the commands know of the group: its events, and those about the coordinator itself."""
        self.settle()
        return self.history_so_far()

    def history_so_far(self) -> GroupHistory:
        with AuditTopic(self.server.bootstrap) as topic:
            return history_of(self.group, topic.events_about(self.group))

    def of_kind(self, kind: type[E]) -> list[E]:
        return [event for event in self.events() if isinstance(event, kind)]

    def of_kind_so_far(self, kind: type[E]) -> list[E]:
        return [event for event in self.events_so_far() if isinstance(event, kind)]

    def one_of_kind(self, kind: type[E]) -> E:
        """The only event of a kind, once it is there."""
        wait_for(lambda: self.of_kind_so_far(kind), SECONDS, kind.__name__, every_ms=100)
        found = self.of_kind(kind)
        assert len(found) == 1, found
        return found[0]

    def stable_with(self, is_wanted: Callable[[Generation], bool], what: str) -> Generation:
        """The first stable generation that is wanted, once it is there: clients may rebalance once more at any time."""

        def found() -> list[Generation]:
            generations = self.history_so_far().generations
            return [
                generation
                for generation in generations
                if generation.outcome is Outcome.STABLE and is_wanted(generation)
            ]

        return wait_for(found, SECONDS, what, every_ms=100)[0]

    def stable_because(self, cause: Cause, client_id: str) -> Generation:
        """The first stable generation with this trigger."""
        return self.stable_with(lambda each: (cause, client_id) in triggers(each), f"{cause} of {client_id}")

    def after(self, generations: int) -> Generation:
        """The newest generation, once it is stable and there are more than so many."""
        is_later: Callable[[Generation], bool] = lambda _: len(self.history_so_far().generations) > generations  # noqa: E731
        self.stable_with(is_later, "the next generation")
        return wait_for(
            lambda: [
                generation
                for generation in list(self.history_so_far().generations)[-1:]
                if generation.outcome is Outcome.STABLE
            ],
            SECONDS,
            "a stable generation",
            every_ms=100,
        )[0]

    def tells(self, generation: Generation, *texts: str) -> None:
        """Assert that the story of a generation, in words, has these texts."""
        told = self.story(generation)
        assert all(text in told for text in texts), told

    def story(self, generation: Generation) -> str:
        """The story of a generation in words, without its advice."""
        story = story_of(self.history(), generation)
        return " ".join([f"{story.headline}.", *story.paragraphs])

    def advises(self, generation: Generation, *texts: str) -> None:
        """Assert that there are as many advices for a generation, each with one of these texts, in this order."""
        advice = story_of(self.history(), generation).advice
        is_same = len(advice) == len(texts) and all(text in each for text, each in zip(texts, advice, strict=True))
        assert is_same, advice

    def never_tells(self, *texts: str) -> None:
        """Assert that no story of the group has one of these texts, also not in its advice."""
        history = self.history()
        for generation in history.generations:
            story = story_of(history, generation)
            told = " ".join([story.headline, *story.paragraphs, *story.advice])
            assert not any(text in told for text in texts), told


def _described(connection: WireConnection, group: str) -> Any:
    """A group of either protocol."""
    if not connection.supports(ConsumerGroupDescribeRequest.API_KEY):
        (found,) = connection.send_latest(DescribeGroupsRequest(groups=[group])).groups
        return found
    (found,) = connection.send_latest(ConsumerGroupDescribeRequest(group_ids=[group])).groups
    # A Kafka whose group.version is 0 offers the API, and has no such groups.
    if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        (found,) = connection.send_latest(DescribeGroupsRequest(groups=[group])).groups
    return found


def triggers(generation: Generation) -> list[tuple[Cause, str]]:
    return [(trigger.cause, trigger.member.client_id if trigger.member else "") for trigger in generation.triggers]
