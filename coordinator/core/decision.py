"""The result of an operation: events, replies and effects. Making a decision changes nothing."""

from collections.abc import Callable, Collection, Container, Generator, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from coordinator.config.settings import Config
from coordinator.core.address_limits import AddressLimits
from coordinator.core.causes import Requester
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails
from coordinator.core.event import Event
from coordinator.core.group_settings import GroupSettings
from coordinator.core.pauses import NO_PAUSES, Pauses
from coordinator.core.producer_ids import NO_PRODUCER_IDS, ProducerIds
from coordinator.core.sessions import SessionTimeouts
from coordinator.core.share_states import ShareStates
from coordinator.core.stored import TransactionMarker
from coordinator.core.throttled_clients import NO_THROTTLED_CLIENTS, ThrottledClients
from coordinator.core.topic_creation import TopicCreation
from coordinator.core.topic_listing import TopicListing
from coordinator.wall_time import ONE_CLOCK, WallTime


class Topics(Protocol):
    """Read access to the topics of the cluster."""

    def partition_count(self, name: str) -> int:
        """Partitions of the topic, 0 where there is none of that name."""

    def names(self) -> Container[str]:
        """The topics that exist at the time of the call; it does not change afterwards."""

    def existing(self, names: Collection[str]) -> set[str]:
        """Those of the names that topics have. The names of a tuple are in ascending order.

        It takes no longer than there are names, and of a set, or the keys of a dict, than there are topics.
        """

    def topic_id(self, name: str) -> bytes:
        """16 bytes, all zero where there is no topic of that name."""

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with that id (16 bytes), None where there is none."""

    @property
    def topics_version(self) -> int:
        """A number that rises when a topic is created, deleted or gets partitions; it starts again with the process."""

    @property
    def created_version(self) -> int:
        """The `topics_version` at which a topic was last created."""


NO_SETTINGS: Final[Mapping[str, GroupSettings[Any]]] = {}


class Environment(msgspec.Struct, frozen=True):
    """What all operations of a coordinator may read. `new_id` returns a random UUID as text.

    `filled_size` is the most members that a fault of a test allows the group of this operation; None: there is none.
    """

    config: Config
    topics: Topics
    sessions: SessionTimeouts
    new_id: Callable[[], str]
    filled_size: int | None = None
    addresses: AddressLimits | None = None
    """How much the clients of one address may create; None: without a limit."""
    producer_ids: ProducerIds = NO_PRODUCER_IDS
    wall: WallTime = ONE_CLOCK
    """What is stamped on records and events."""
    pauses: Pauses = NO_PAUSES
    """When the coordinator itself stood still."""
    throttled: ThrottledClients = NO_THROTTLED_CLIENTS
    """From whose connections nothing was read lately, because of a quota."""
    settings: Mapping[str, GroupSettings[Any]] = NO_SETTINGS
    """Kind of group → the settings of its groups; those of a kind that is missing are in `config`, for all groups."""
    listing: TopicListing | None = None
    """All topics; None: nobody lists them, and no regular expression matches any."""
    look_up: Callable[[Iterable[Any]], Generator[Any, Any, None]] | None = None
    """Groups that were loaded → steps in which what they compute with becomes known; None: it always is."""
    share_states: ShareStates | None = None
    """The share coordinator; None: there is none, and share groups get no partitions."""
    topic_creation: TopicCreation | None = None
    """Creates the internal topics of streams groups; None: nobody does."""

    def may_create_group(self, client_host: str) -> bool:
        return self.addresses is None or self.addresses.may_create_group(client_host)

    def may_create_transactional_id(self, client_host: str) -> bool:
        return self.addresses is None or self.addresses.transactional_ids.is_allowed(client_host)


class OperationContext(msgspec.Struct):
    """Who asks for an operation, in which version, and when it is decided.

    `request_id` is the address of the reply; None if no reply is needed. `now_ms` is set when the operation is
    taken from its queue: the time of deadlines, in milliseconds. So is `wall_ms`, which is stamped on events,
    offsets and groups: wall-clock milliseconds since the epoch.
    """

    request_id: int | None
    api_version: int
    client_id: str
    client_host: str
    environment: Environment
    now_ms: int
    wall_ms: int

    @property
    def config(self) -> Config:
        return self.environment.config

    @property
    def topics(self) -> Topics:
        return self.environment.topics

    def new_id(self) -> str:
        return self.environment.new_id()

    @property
    def requester(self) -> Requester:
        return Requester(self.client_id, self.client_host, self.client_details.principal)

    @property
    def principal(self) -> object:
        """Who asks, for the authorizer; None: the server itself."""
        return None

    @property
    def client_connection(self) -> ClientConnection | None:
        """The connection that the request came by; None if it came by none."""
        return None

    @property
    def client_details(self) -> ClientDetails:
        """What is known of the client beside its id and its host."""
        return UNKNOWN_CLIENT


class Reply(msgspec.Struct, frozen=True):
    """The response to a request: a message of `_wire.messages`."""

    request_id: int
    response: object


class Effect(Protocol):
    """A change of something beside the state of the key, made when the events have been applied."""

    def apply(self, target: Any, key: str, now_ms: int) -> None:
        """Make the change in `target`, which the state machine of the shard provides."""


class Decision(msgspec.Struct, frozen=True):
    """The result of an operation."""

    events: tuple[Event, ...] = ()
    replies: tuple[Reply, ...] = ()
    effects: tuple[Effect, ...] = ()
    marker: TransactionMarker | None = None
    """Stored after the records of the events."""
    no_step_follows: bool = False
    """The events change nothing from which a further step of the state could follow."""
    is_partial: bool = False
    """Over the whole shard: the operation has more to do, and is decided again before any other one of the shard."""
    keeps_heartbeats: bool = False
    """The events change nothing of what heartbeats of other members are answered that sessions answer."""
    weight: int = 0
    """As how many usual operations its work counts beside the one that it is."""


NOTHING: Final = Decision()


def replying(
    context: OperationContext, response: object, *events: Event, effects: tuple[Effect, ...] = (), weight: int = 0
) -> Decision:
    """A decision that answers the request; without `events` and `effects` it changes nothing."""
    assert context.request_id is not None
    return Decision(events, (Reply(context.request_id, response),), effects, weight=weight)
