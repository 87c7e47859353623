"""One shard and one group on a virtual clock, asked step by step: where scenario tests begin."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.audit import schema
from coordinator.audit.snapshots import CHECKPOINT_RECORDS
from coordinator.config.settings import Config
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.client_connection import ClientConnection
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets.committed_offsets import CommittedOffsets
from coordinator.core.operation import Operation
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.shard import Shard
from coordinator.wall_time import WallTime
from tests.simulation.clients import error_of
from tests.simulation.server import AUDIT, OFFSETS, SimulatedServer

GROUP_ID: Final = "orders"
SESSION_TIMEOUT_MS: Final = 10_000
REBALANCE_TIMEOUT_MS: Final = 60_000
NEWEST_JOIN: Final = 9
BEFORE_MEMBER_ID_REQUIRED: Final = 3


class Sent:
    """One request of a client, and its answer once there is one."""

    def __init__(self) -> None:
        self.responses: list[Any] = []

    def send_response(self, response: Any) -> None:
        assert not self.responses, "a request is answered at most once"
        self.responses.append(response)

    def send_error_response(self, error: ErrorCode) -> None:
        self.send_response(error)

    @property
    def answered(self) -> bool:
        return bool(self.responses)

    @property
    def response(self) -> Any:
        assert self.responses, "not answered"
        return self.responses[0]

    @property
    def error(self) -> ErrorCode:
        """The error of the answer, or the one that all its groups or partitions have."""
        return error_of(self.response)


class RecordingAudit(AuditProjection):
    """The audit of the product; keeps the core's own events beside."""

    def __init__(self, stream: AuditStream, wall: WallTime, history: list[Event], **settings: Any) -> None:
        super().__init__(stream, wall, node_id=1, **settings)
        self._history = history

    def project(self, event: Event, group: Group, state_before: GroupState, generation_before: int) -> None:
        self._history.append(event)
        super().project(event, group, state_before, generation_before)


class Simulation(SimulatedServer):
    """One partition's shard; `restart` is kill -9 and a new start on the same disk."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        fast_path: bool = True,
        checkpoint_records: int = CHECKPOINT_RECORDS,
        log_config: LogConfig | None = None,
    ) -> None:
        self.checkpoint_records = checkpoint_records
        self.connections: dict[str, ClientConnection] = {}
        """Client name → its connection, by which it joins."""
        quick = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}
        super().__init__(Config(quick | dict(settings or {})), fast_path=fast_path, log_config=log_config)

    def start(self, *, clean: bool = False) -> None:
        """A server on whatever is on the disk. `events` are those since this start."""
        self.events: list[Event] = []
        super().start(clean=clean)

    restart = start

    def make_audit(self, stream: AuditStream) -> AuditProjection:
        return RecordingAudit(
            stream,
            self.wall,
            self.events,
            coordinator_epoch=self.starts,
            checkpoint_records=self.checkpoint_records,
        )

    @property
    def shard(self) -> Shard[GroupStateMachine]:
        return self.coordinator.shards[0]

    @property
    def offsets_log(self) -> PartitionLog:
        return self.logs[OFFSETS, 0]

    @property
    def audit_log(self) -> PartitionLog:
        return self.logs[AUDIT, 0]

    @property
    def exists(self) -> bool:
        return GROUP_ID in self.shard.machine.groups

    @property
    def group(self) -> ClassicGroup:
        """An empty one where there is none."""
        group = self.shard.machine.groups.get(GROUP_ID)
        return ClassicGroup(GROUP_ID) if group is None else group.membership

    @property
    def whole_group(self) -> Group:
        """Membership and committed offsets. KeyError where there is no group."""
        return self.shard.machine.groups[GROUP_ID]

    @property
    def offsets(self) -> CommittedOffsets:
        group = self.shard.machine.groups.get(GROUP_ID)
        return CommittedOffsets() if group is None else group.offsets

    # ---- what clients send

    def join(
        self,
        name: str,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        version: int = BEFORE_MEMBER_ID_REQUIRED,
        metadata: bytes = b"",
        protocols: tuple[str, ...] = ("range",),
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
        reason: str | None = None,
        protocol_type: str = "consumer",
    ) -> Sent:
        request = JoinGroupRequest(
            group_id=GROUP_ID,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=protocol, metadata=metadata) for protocol in protocols],
            reason=reason,
        )
        return self._submit(operations.JOIN_GROUP, request, name, version, self._connection_of(name, member_id))

    def sync(
        self, member_id: str, assignments: Mapping[str, bytes] | None = None, *, generation_id: int | None = None
    ) -> Sent:
        request = SyncGroupRequest(
            group_id=GROUP_ID,
            generation_id=self.group.generation_id if generation_id is None else generation_id,
            member_id=member_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ],
        )
        return self._submit(operations.SYNC_GROUP, request, member_id, 3, self._connection_of(member_id, member_id))

    def heartbeat(self, member_id: str, *, generation_id: int | None = None, instance_id: str | None = None) -> Sent:
        request = HeartbeatRequest(
            group_id=GROUP_ID,
            generation_id=self.group.generation_id if generation_id is None else generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
        )
        asked = Sent()
        self.submit_heartbeat(request, asked, member_id, self._connection_of(member_id, member_id))
        return asked

    def leave(
        self, *member_ids: str, instance_id: str | None = None, reason: str = "", client_id: str | None = None
    ) -> Sent:
        """By the first of these members itself, or by another client: an administrator."""
        member = self.group.members.get(member_ids[0]) if client_id is None else None
        request = LeaveGroupRequest(
            group_id=GROUP_ID,
            members=[
                MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=reason)
                for member_id in member_ids
            ],
        )
        name = member.client.client_id if member is not None else client_id or "client"
        return self._submit(operations.LEAVE_GROUP, request, name, 5)

    def commit(
        self,
        member_id: str = "",
        *,
        generation_id: int = -1,
        offset: int = 1,
        version: int = 8,
        metadata: str = "",
        retention_time_ms: int = -1,
    ) -> Sent:
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=metadata
        )
        request = OffsetCommitRequest(
            group_id=GROUP_ID,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            retention_time_ms=retention_time_ms,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        return self._submit(operations.OFFSET_COMMIT, request, "client", version, self.connections.get(member_id))

    def commit_in_transaction(
        self,
        producer: Producer,
        *,
        offset: int = 1,
        generation_id: int = -1,
        member_id: str = "",
        instance_id: str | None = None,
        metadata: str = "",
        group_id: str = GROUP_ID,
        partition: int = 0,
    ) -> Sent:
        asked = TxnOffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=metadata
        )
        request = TxnOffsetCommitRequest(
            group_id=group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[asked])],
        )
        sent = Sent()
        self.submit(operations.TXN_OFFSET_COMMIT, group_id, request, sent, "client", 5)
        return sent

    def end_transaction(self, producer: Producer, committed: bool = True) -> Sent:
        marker = TransactionMarker(producer, committed, coordinator_epoch=0)
        return self._submit(operations.COMPLETE_TRANSACTION, marker, "coordinator", 1)

    def delete_group(self) -> Sent:
        return self._submit(operations.DELETE_GROUPS, DeleteGroupsRequest(groups_names=[GROUP_ID]), "admin", 2)

    def describe(self) -> Sent:
        return self._submit(operations.DESCRIBE_GROUPS, DescribeGroupsRequest(groups=[GROUP_ID]), "admin", 5)

    def _submit(
        self, operation: Operation, request: Any, name: str, version: int, connection: ClientConnection | None = None
    ) -> Sent:
        asked = Sent()
        self.submit(operation, GROUP_ID, request, asked, name, version, connection)
        return asked

    def _connection_of(self, name: str, member_id: str) -> ClientConnection:
        """The one that the member joined by; a new one for a client that has none, or whose last one is closed."""
        member = self.group.members.get(member_id)
        connection = self.connections.get(name) if member is None else getattr(member, "client_connection", None)
        if connection is None or not connection.is_open:
            connection = self.connections[name] = ClientConnection()
        return connection

    def disconnect(self, member_id: str) -> None:
        """The member's process ends, or something else closes its connection."""
        connection = self.group.members[member_id].client_connection
        assert connection is not None
        connection.close(self.now_ms)
        self.sessions.await_clients(connection.members)

    @contextmanager
    def one_turn(self) -> Iterator[None]:
        """What is asked in the block is read in one turn of the loop: drained together, as one batch."""
        self.is_batching = True
        yield
        self.is_batching = False
        self.end_iteration()

    # ---- where tests begin

    def stable_with(self, *names: str) -> list[str]:
        """Member ids of a Stable group of dynamic members, the first one its leader."""
        return self.make_stable([self.join(name) for name in names])

    def make_stable(self, joins: list[Sent]) -> list[str]:
        """Let those who joined rejoin until they are one generation, and sync it."""
        ids = [asked.response.member_id if asked.answered else "" for asked in joins]
        if self.group.state is not GroupState.COMPLETING_REBALANCE or not all(asked.answered for asked in joins):
            known = [member_id for member_id in ids if member_id]
            for member_id in known:
                self.join("again", member_id, instance_id=self.group.members[member_id].group_instance_id)
            ids = list(self.group.members)
        self.sync_all()
        return ids

    def sync_all(self) -> dict[str, Sent]:
        """Every member syncs; the leader gives each `for-<member id>`."""
        ids = list(self.group.members)
        leader = self.group.leader
        followers = [member_id for member_id in ids if member_id != leader]
        asked = {member_id: self.sync(member_id) for member_id in followers}
        assert leader is not None
        asked[leader] = self.sync(leader, {id_: f"for-{id_}".encode() for id_ in ids})
        assert self.group.state is GroupState.STABLE
        return asked

    # ---- the audit

    def audited(self) -> list[schema.AuditEvent]:
        """The audit topic, from its beginning."""
        return [schema.decode_event(value) for key, value, _ in self.replay_audit() if key is not None]

    def kinds(self) -> list[str]:
        """The kinds of the audited events, in order."""
        return [str(type(event).__struct_config__.tag) for event in self.audited()]


def replay(events: list[Event], group_id: str = GROUP_ID) -> Group:
    """The group that the events add up to."""
    group = new_group(group_id)
    for event in events:
        event.apply(group)
    return group
