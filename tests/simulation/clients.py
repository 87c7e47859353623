"""Consumers as state machines: what a good client sends next, and what it makes of an answer."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponseMember
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.core.client_connection import ClientConnection
from coordinator.core.topic_partition import TopicPartition
from tests.simulation import consumer_members
from tests.simulation.consumer_members import ConsumerProtocolMember, Owned
from tests.simulation.consumers import PROTOCOLS, SUBSCRIPTIONS, assignment, share_out, subscription
from tests.simulation.history import ClientSetup

TopicNames = Callable[[bytes], str | None]


class Phase(StrEnum):
    """The progress of a client in its group."""

    OUT = "out"
    JOINED = "joined"
    WORKING = "working"


class Request:
    """One request on one connection. `received` is called with its response, which comes at most once.

    `incarnation` is that of the group when it was sent. Before the response the group may be deleted and created again.
    """

    __slots__ = (
        "api", "connection", "group_id", "incarnation", "is_closed", "message", "number", "partition", "received",
        "response", "version",
    )  # fmt: skip

    def __init__(
        self,
        api: str,
        group_id: str,
        incarnation: int,
        message: Any,
        version: int,
        received: Callable[["Request"], None],
    ) -> None:
        self.api = api
        self.group_id = group_id
        self.incarnation = incarnation
        self.message = message
        self.version = version
        self.received = received
        self.number = 0
        self.partition = -1
        self.connection: ClientConnection | None = None
        self.response: Any = None
        self.is_closed = False

    def send_response(self, response: Any) -> None:
        assert self.response is None, f"{self.api} {self.number} is answered twice"
        assert not self.is_closed, f"{self.api} {self.number} is answered on a connection that was closed"
        self.response = response
        self.received(self)

    def send_error_response(self, error: ErrorCode) -> None:
        self.send_response(error)

    @property
    def says_partitions(self) -> bool:
        """Whether it says which partitions its member uses, as a ConsumerGroupHeartbeat may."""
        message = self.message
        return bool(
            self.api == consumer_members.API and (message.topic_partitions is not None or message.member_epoch <= 0)
        )

    @property
    def error(self) -> ErrorCode:
        """Of the whole request; some responses have errors of their parts beside it."""
        return error_of(self.response)


def error_of(response: Any) -> ErrorCode:
    """The error of a response, or the one that all its groups or partitions have."""
    if isinstance(response, ErrorCode):
        return response
    if hasattr(response, "topics") and not hasattr(response, "groups"):
        codes = {partition.error_code for topic in response.topics for partition in topic.partitions}
        return ErrorCode(codes.pop()) if len(codes) == 1 else ErrorCode.NONE
    (part,) = getattr(response, "groups", None) or getattr(response, "results", None) or (response,)
    return ErrorCode(part.error_code)


class Client:
    """One consumer. It sends nothing by itself: it returns its next request, and gets the responses."""

    def __init__(self, number: int, setup: ClientSetup, topic_names: TopicNames) -> None:
        """`topic_names` finds the name of a topic that groups read by its id, None for any other one."""
        self.name = f"c{number}"
        self.setup = setup
        self.group_id = setup.group_id
        self.instance_id = setup.instance_id
        self.topics: tuple[str, ...] = SUBSCRIPTIONS[number % len(SUBSCRIPTIONS)]
        self.pattern = ""
        self.protocol = setup.protocol
        self.topic_names = topic_names
        self._processes = 0
        self.protocols: tuple[str, ...] = PROTOCOLS[0]
        self.deaf_until_ms = 0
        self.connection = ClientConnection()
        self.under_way: list[Request] = []
        """Requests without an answer, one per connection."""
        self.start()

    def start(self) -> None:
        """A new process, without the state of the last one."""
        self.member_id = ""
        self.generation_id = -1
        self.protocol_name = PROTOCOLS[0][0]
        self.phase = Phase.OUT
        self.is_fenced = self.is_refused = False
        self.to_share: list[JoinGroupResponseMember] = []
        self.assigned = b""
        self.assigned_as: tuple[int, str, str | None] = (-1, "", None)
        """Generation, member id and instance id with which it has its assignment: `groupMetadata()` of a consumer."""
        self.last: Request | None = None
        self.last_join = 0
        """The number of its last JoinGroup, which says that it uses no partition any more."""
        self.last_sync = 0
        """That of the SyncGroup that brought its assignment."""
        self._processes += 1
        self.modern: ConsumerProtocolMember | None = None
        """What it is if it speaks the consumer protocol."""
        if self.protocol == "consumer":
            self.modern = ConsumerProtocolMember(
                self.name, self._processes, self.setup, lambda: (self.topics, self.pattern)
            )
            self.member_id = self.modern.member_id

    def next_message(self) -> tuple[str, Any, int]:
        """API, request and version of what a good client sends now."""
        if self.modern is not None:
            message = self.modern.next_message()
            self._follow(self.modern)
            return consumer_members.API, message, self.modern.version
        match self.phase:
            case Phase.OUT:
                return "JoinGroup", self.join_message(), self.setup.join_version
            case Phase.JOINED:
                return "SyncGroup", self.sync_message(), 5
        return "Heartbeat", self.heartbeat_message(), 4

    def join_message(self) -> JoinGroupRequest:
        metadata = subscription(self.topics)
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self.setup.session_timeout_ms,
            rebalance_timeout_ms=self.setup.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in self.protocols],
        )

    def sync_message(self) -> SyncGroupRequest:
        plan = share_out((member.member_id, member.metadata) for member in self.to_share)
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=part) for member_id, part in plan.items()
            ],
        )

    def heartbeat_message(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    # ---- answers

    def read_answers(self) -> None:
        for request in [each for each in self.under_way if each.response is not None]:
            self.under_way.remove(request)
            self._read(request)

    def lose_connections(self, at_ms: int) -> list[Request]:
        """All connections are gone; what was under way on them will not be answered."""
        self.connection.close(at_ms)
        self.connection = ClientConnection()
        if self.modern is not None:
            self.modern.forget_said()
        lost, self.under_way = self.under_way, []
        for request in lost:
            request.is_closed = True
        return lost

    def _read(self, request: Request) -> None:
        if self.modern is not None:
            self._read_as_modern(self.modern, request)
        else:
            self._read_as_classic(request)

    def _read_as_modern(self, modern: ConsumerProtocolMember, request: Request) -> None:
        error = request.error
        if error is ErrorCode.FENCED_INSTANCE_ID:
            modern.lose()
            self.is_fenced = True
        elif request.api == consumer_members.API:
            modern.read(request.message, request.response, error)
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            modern.lose()
        self._follow(modern)

    def _follow(self, modern: ConsumerProtocolMember) -> None:
        """Let what others see of the client follow from the member."""
        self.member_id, self.generation_id = modern.member_id, modern.epoch or -1
        self.phase = Phase.WORKING if modern.epoch else Phase.OUT
        self.is_refused = modern.is_kept_out
        named = ((self.topic_names(topic_id), index) for topic_id, index in modern.owned)
        self.assigned = assignment(tuple(sorted(TopicPartition(name, index) for name, index in named if name)))
        self.assigned_as = self.generation_id, self.member_id, self.instance_id

    def uses(self) -> Owned | None:
        """The partitions that it believes to be its own in a consumer group; None: those of `assigned`."""
        if self.modern is not None:
            return self.modern.owned
        return None if self.phase is Phase.WORKING and self.last_join < self.last_sync else frozenset()

    def _read_as_classic(self, request: Request) -> None:
        error = request.error
        if request.api == "OffsetCommit" and not isinstance(request.response, ErrorCode):
            error = ErrorCode(request.response.topics[0].partitions[0].error_code)
        match error:
            case ErrorCode.NONE:
                self._succeeded(request)
            case ErrorCode.UNKNOWN_MEMBER_ID:
                self.phase, self.member_id, self.generation_id = Phase.OUT, "", -1
            case ErrorCode.FENCED_INSTANCE_ID:
                self.phase, self.is_fenced = Phase.OUT, True
            case ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = request.response.member_id
            case ErrorCode.INCONSISTENT_GROUP_PROTOCOL:
                self.protocols = PROTOCOLS[0]
            case ErrorCode.GROUP_MAX_SIZE_REACHED:
                self.phase, self.member_id, self.is_refused = Phase.OUT, "", True
            case ErrorCode.OFFSET_METADATA_TOO_LARGE | ErrorCode.COORDINATOR_NOT_AVAILABLE:
                pass
            case _:
                self.phase = Phase.OUT

    def _succeeded(self, request: Request) -> None:
        response = request.response
        if request.api == "JoinGroup":
            self.member_id, self.generation_id = response.member_id, response.generation_id
            self.protocol_name = response.protocol_name
            self.to_share = [] if response.skip_assignment else list(response.members)
            self.phase, self.is_refused = Phase.JOINED, False
        elif request.api == "SyncGroup" and request.message.generation_id == self.generation_id:
            self.phase, self.assigned = Phase.WORKING, response.assignment
            self.last_sync = request.number
            self.assigned_as = self.generation_id, self.member_id, self.instance_id
