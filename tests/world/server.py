"""The coordinator of the world: the core, sessions, shard, audit and logs of the product, which come and go."""

from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.audit.schema import (
    AuditEvent,
    AuthorizationDenied,
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorStarted,
    CoordinatorStopped,
    LeadershipTaken,
    decode_coordinator_event,
    decode_event,
)
from coordinator.config.settings import Config
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import ClientDetails
from coordinator.core.decision import OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.kinds import operations
from coordinator.core.operation import Answer, Operation
from coordinator.core.pauses import Pauses
from coordinator.core.topic_listing import TopicListing
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.runtime.slices import at_once
from tests.simulation.server import AUDIT, SimulatedServer
from tests.world.history import GROUP_ID, Setup
from tests.world.topics import Topics

if TYPE_CHECKING:
    from tests.world.network import Request

FIRST_NODE_ID: Final = 1
PAUSE_TOLD_MS: Final = 1_000
"""The event loop watches itself, and tells of pauses from this length on."""

OPERATIONS: Final[dict[str, Operation]] = {
    "JoinGroup": operations.JOIN_GROUP,
    "SyncGroup": operations.SYNC_GROUP,
    "Heartbeat": operations.HEARTBEAT,
    "LeaveGroup": operations.LEAVE_GROUP,
    "ConsumerGroupHeartbeat": operations.CONSUMER_GROUP_HEARTBEAT,
    "OffsetCommit": operations.OFFSET_COMMIT,
    "OffsetDelete": operations.OFFSET_DELETE,
    "DeleteGroups": operations.DELETE_GROUPS,
}


class RequestOfClient(OperationContext):
    """The context of a request of a client that has its own host and software."""

    _details: ClientDetails
    _connection: ClientConnection | None

    @property
    def client_connection(self) -> ClientConnection | None:
        return self._connection

    @property
    def client_details(self) -> ClientDetails:
        return self._details


class WorldServer(SimulatedServer):
    """One partition of groups. `kill` and `start`: kill -9 and a new start on the same disk."""

    def __init__(self, setup: Setup) -> None:
        self.world_topics = Topics(lambda: self.now_ms, self._topics_changed)
        self.listing = TopicListing(self.world_topics, lambda: self.world_topics.topics_version)
        self.is_up = False
        self.is_paused = False
        self.node_id = FIRST_NODE_ID
        """The node that leads."""
        self._in_cluster = setup.in_cluster
        self._read_offset = 0
        self._denials = 0
        self._denied: dict[tuple[str, str], AuthorizationDenied] = {}
        super().__init__(_config_of(setup))

    def take_over(self) -> None:
        """Another node leads from now on, as in front of a cluster: it reads what the one before wrote, and goes on."""
        self.node_id += 1
        self.start(clean=False)

    def start(self, *, clean: bool = False) -> None:
        self.topics = self.world_topics  # type: ignore[assignment]
        self.pauses = Pauses()
        self._denials, self._denied = 0, {}
        super().start(clean=clean)
        self.is_up, self.is_paused = True, False
        started = CoordinatorStarted(
            time_ms=0,
            node_id=self.node_id,
            coordinator_epoch=self.starts,
            software_version="simulated",
            after_clean_stop=clean,
        )
        self.coordinator.announce(started)
        if self._in_cluster:
            taken = LeadershipTaken(
                time_ms=0,
                node_id=self.node_id,
                coordinator_epoch=self.starts,
                partition=0,
                producer_id=self.node_id,
                producer_epoch=self.starts,
            )
            self.coordinator.report(taken)  # it is written before the start, as what is reported later goes first
        self.end_iteration()

    def _topics_changed(self) -> None:
        """The next heartbeats are decided, not answered from the session table (`coordinator.node.groups`)."""
        if self.is_up:
            self.sessions.close_all_heartbeats()

    def make_audit(self, stream: AuditStream) -> AuditProjection:
        return AuditProjection(
            stream, self.wall, node_id=self.node_id, coordinator_epoch=self.starts, cluster=self.world_topics
        )

    def kill(self) -> None:
        """Nothing of the process is left; what was written is."""
        self.is_up = False
        for log in self.logs.values():
            log.close()

    def stop(self) -> None:
        event = CoordinatorStopped(time_ms=0, node_id=self.node_id, coordinator_epoch=self.starts)
        self.coordinator.stop(self.now_ms, event)
        self.is_up = False
        for key, log in self.logs.items():
            log.finish()
            self.recovery_points[key] = log.recovery_point
            log.close()

    def resumed(self, from_ms: int, pause_kind: str) -> None:
        """The process ran on after it had stood still: it tells so before it handles what is due."""
        self.is_paused = False
        if self.now_ms - from_ms < PAUSE_TOLD_MS:
            return
        self.pauses.add(from_ms, self.now_ms)
        self.coordinator.report(
            CoordinatorPaused(
                time_ms=0,
                node_id=self.node_id,
                coordinator_epoch=self.starts,
                from_ms=self.wall.at(from_ms),
                until_ms=self.wall.at(self.now_ms),
                pause_kind=pause_kind,
            )
        )

    @property
    def listens(self) -> bool:
        return self.is_up and not self.is_paused

    def next_deadline_ms(self) -> int | None:
        """When the event loop has something to do by itself."""
        deadline_ms = self.wheel.next_deadline_ms() if self.listens else -1
        return deadline_ms if deadline_ms >= 0 else None

    @property
    def group(self) -> Group[Any] | None:
        return self.coordinator.shards[0].machine.groups.get(GROUP_ID) if self.is_up else None

    # ---- requests

    def submit_request(self, request: "Request") -> None:
        """Handle a request, in the product's fast path if it may be answered there."""
        answer = self._answered_by_session(request)
        if answer is not None:
            request.send_response(answer)
            return
        request_id = self.pending.register(request)
        context = RequestOfClient(
            request_id,
            request.version,
            request.client_id,
            request.host,
            self.environment,
            0,
            0,
            request.details,
            request.connection,
        )
        operation = OPERATIONS[request.api]
        prepared = request.message
        if operation.prepare is not None:
            prepared = operation.prepare(prepared, context)
        if isinstance(prepared, GeneratorType):
            prepared = at_once(prepared)
        if isinstance(prepared, Answer):
            if prepared.rejected is not None:
                rejected = RejectedRequest(operation.name, request.message, prepared.rejected)
                self.coordinator.enqueue(operations.REPORT_REJECTION, GROUP_ID, rejected, context)
            self.pending.reply(request_id, prepared.response)
        else:
            self.coordinator.enqueue(operation, GROUP_ID, prepared, context)

    def _answered_by_session(self, request: "Request") -> object:
        message, now_ms = request.message, self.now_ms
        if request.api == "Heartbeat":
            known = message.group_id, message.member_id, message.group_instance_id, message.generation_id
            return HeartbeatResponse() if self.sessions.answer_heartbeat(*known, now_ms) else None
        if request.api != "ConsumerGroupHeartbeat" or not _says_nothing(message):
            return None
        interval_ms = self.sessions.answer_consumer_heartbeat(
            message.group_id,
            message.member_id,
            message.instance_id,
            message.member_epoch,
            request.client_id,
            request.host,
            now_ms,
        )
        if interval_ms < 0:
            return None
        return ConsumerGroupHeartbeatResponse(
            member_id=message.member_id, member_epoch=message.member_epoch, heartbeat_interval_ms=interval_ms
        )

    def deny(self, request: "Request") -> None:
        """Tell of a request without a right as the log of denials does: the first of its kind at once."""
        if request.connection is not None:
            request.connection.deny(request.api, "READ", "GROUP", GROUP_ID, self.now_ms)
        key = request.client_id, request.host
        if key in self._denied:
            return
        self._denials += 1
        self._denied[key] = event = AuthorizationDenied(
            time_ms=0,
            node_id=self.node_id,
            coordinator_epoch=self.starts,
            number=self._denials,
            principal="User:ANONYMOUS",
            client_id=request.client_id,
            client_host=request.host,
            api=request.api,
            operation="READ",
            resource_type="GROUP",
            resource_name=GROUP_ID,
            rule="DefaultDeny",
        )
        self.coordinator.report(event)

    # ---- the audit

    def new_events(self) -> list[AuditEvent | CoordinatorEvent]:
        """What was written to the audit since the last call."""
        if not self.is_up:
            return []
        log, found = self.logs[AUDIT, 0], []
        for records in AuditStream(log, 0).replay(max(self._read_offset, log.log_start_offset)):
            for key, value, _ in records:
                found.append(decode_coordinator_event(value) if key is None else decode_event(value))
        self._read_offset = log.log_end_offset
        return found


def _says_nothing(message: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a heartbeat says no more than that its member is alive."""
    return (
        message.rebalance_timeout_ms == -1
        and message.subscribed_topic_names is None
        and message.subscribed_topic_regex is None
        and message.topic_partitions is None
        and message.server_assignor is None
        and message.rack_id is None
        and message.member_epoch > 0
    )


def _config_of(setup: Setup) -> Config:
    return Config(
        {
            "group.initial.rebalance.delay.ms": str(setup.initial_delay_ms),
            "group.min.session.timeout.ms": "1000",
            "group.max.size": str(setup.max_size),
            "group.consumer.max.size": str(setup.max_size),
            "group.consumer.session.timeout.ms": str(setup.consumer_session_ms),
            "group.consumer.min.session.timeout.ms": "1000",
            "group.consumer.max.session.timeout.ms": "600000",
            "group.consumer.heartbeat.interval.ms": str(setup.consumer_heartbeat_ms),
            "group.consumer.min.heartbeat.interval.ms": "1000",
            "group.consumer.assignment.interval.ms": "0",
        }
    )
