"""The real core, shard, leases, wheel and log on a virtual clock, and clients that a test can count on."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.audit import schema
from coordinator.audit.trail import AuditTrail
from coordinator.config import Config
from coordinator.core import joining, members, offsets
from coordinator.core.decision import RequestContext
from coordinator.core.events import Event
from coordinator.core.group import Group
from coordinator.core.states import GroupState
from coordinator.log.config import LogConfig
from coordinator.log.partition_log import PartitionLog
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.groups import Groups
from coordinator.runtime.leases import LeaseTable
from coordinator.runtime.shard import AuditRecord, Shard
from coordinator.runtime.store import LogStore
from coordinator.server.answers import AnswerDesk
from coordinator.timers.clock import VirtualClock
from coordinator.timers.wheel import TimerWheel
from tests.model.memory_files import MemoryFileSystem

GROUP_ID: Final = "orders"
START_MS: Final = 1_700_000_000_000
SESSION_TIMEOUT_MS: Final = 10_000
REBALANCE_TIMEOUT_MS: Final = 60_000
NEWEST_JOIN: Final = 9
BEFORE_MEMBER_ID_REQUIRED: Final = 3


class Asked:
    """One request of a client, and its answer once there is one."""

    def __init__(self) -> None:
        self.responses: list[Any] = []

    def answer(self, response: Any) -> None:
        assert not self.responses, "a request is answered at most once"
        self.responses.append(response)

    def answer_error(self, error: ErrorCode) -> None:
        self.answer(error)

    @property
    def answered(self) -> bool:
        return bool(self.responses)

    @property
    def response(self) -> Any:
        assert self.responses, "not answered"
        return self.responses[0]

    @property
    def error(self) -> ErrorCode:
        """The error code of the answer."""
        response = self.response
        return response if isinstance(response, ErrorCode) else ErrorCode(response.error_code)


class RecordingTrail(AuditTrail):
    """The audit of the product; keeps the core's own events beside."""

    def __init__(self, history: list[Event]) -> None:
        super().__init__(node_id=1)
        self._history = history

    def observe(
        self, event: Event, group: Group, state_before: GroupState, generation_before: int
    ) -> list[AuditRecord]:
        self._history.append(event)
        return super().observe(event, group, state_before, generation_before)


class Simulation:
    """One partition's shard; `restart` is kill -9 and a new start on the same disk."""

    def __init__(self, settings: Mapping[str, str] | None = None, *, fast_path: bool = True) -> None:
        quick = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1"}
        self.config = Config(quick | dict(settings or {}))
        self.fast_path = fast_path
        self.clock = VirtualClock(START_MS)
        self.disk = MemoryFileSystem()
        self.gathering = False
        self._ids = count(1)
        self.start()

    def start(self) -> None:
        """A server on whatever is on the disk. `events` are those since this start."""
        self.events: list[Event] = []
        self.desk = AnswerDesk()
        self.wheel = TimerWheel(self.now_ms)
        self.leases = LeaseTable(self.wheel, seed=1)
        self.timers = GroupTimers(self.wheel)
        self.offsets_log = self._open("__consumer_offsets")
        self.audit_log = self._open("__group_audit")
        store = LogStore(self.offsets_log, self.audit_log, 0, lambda log: None)
        trail = RecordingTrail(self.events)
        self.shard = Shard(0, store, trail, self.desk, self.leases, self.timers, self.config)
        self.groups = Groups([self.shard], self.wheel, self.timers, self.leases, wake=lambda: None)
        self.groups.load(self.now_ms)

    restart = start

    def _open(self, topic: str) -> PartitionLog:
        return PartitionLog.open(self.disk, Path("/data"), topic, 0, LogConfig(), lazy=True)

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    @property
    def group(self) -> Group:
        return self.shard.groups.get(GROUP_ID) or Group(GROUP_ID)

    def advance(self, ms: int) -> None:
        """Let time pass, stopping at each deadline on the way."""
        until_ms = self.now_ms + ms
        while 0 <= self.wheel.next_deadline_ms() <= until_ms:
            self.clock.advance(max(self.wheel.next_deadline_ms() - self.now_ms, 0))
            self._handle_due()
        self.clock.advance(until_ms - self.now_ms)
        self._handle_due()

    def _handle_due(self) -> None:
        for key in self.wheel.advance(self.now_ms):
            self.groups.due(key, self.now_ms)
        self.groups.drain(self.now_ms)

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
    ) -> Asked:
        request = JoinGroupRequest(
            group_id=GROUP_ID,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=each, metadata=metadata) for each in protocols],
            reason=reason,
        )
        return self._ask(
            name, version, lambda context: lambda group, now: joining.join(group, request, context, now, self.config)
        )

    def sync(
        self, member_id: str, assignments: Mapping[str, bytes] | None = None, *, generation_id: int | None = None
    ) -> Asked:
        request = SyncGroupRequest(
            group_id=GROUP_ID,
            generation_id=self.group.generation_id if generation_id is None else generation_id,
            member_id=member_id,
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=assignment)
                for each, assignment in (assignments or {}).items()
            ],
        )
        return self._ask(member_id, 3, lambda context: lambda group, now: members.sync(group, request, context, now))

    def heartbeat(self, member_id: str, *, generation_id: int | None = None, instance_id: str | None = None) -> Asked:
        generation = self.group.generation_id if generation_id is None else generation_id
        if self.fast_path and self.leases.take_heartbeat(GROUP_ID, member_id, instance_id, generation, self.now_ms):
            asked = Asked()
            asked.answer(HeartbeatResponse())
            return asked
        request = HeartbeatRequest(
            group_id=GROUP_ID, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return self._ask(member_id, 4, lambda context: lambda group, now: members.heartbeat(group, request, context))

    def leave(self, *member_ids: str, instance_id: str | None = None, reason: str = "") -> Asked:
        request = LeaveGroupRequest(
            group_id=GROUP_ID,
            members=[
                MemberIdentity(member_id=each, group_instance_id=instance_id, reason=reason) for each in member_ids
            ],
        )
        return self._ask("client", 5, lambda context: lambda group, now: members.leave(group, request, context, now))

    def commit(self, member_id: str = "", *, generation_id: int = -1, offset: int = 1, version: int = 8) -> Asked:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=GROUP_ID,
            generation_id_or_member_epoch=generation_id,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        return self._ask(
            "client",
            version,
            lambda context: lambda group, now: offsets.commit(group, request, context, now, self.config),
        )

    def _ask(self, name: str, version: int, deciding: Callable[[RequestContext], Any]) -> Asked:
        asked = self._queue(name, version, deciding)
        if not self.gathering:
            self.groups.drain(self.now_ms)
        return asked

    def _queue(self, name: str, version: int, deciding: Callable[[RequestContext], Any]) -> Asked:
        asked = Asked()
        request_id = self.desk.number(asked)
        new_id = lambda: f"{next(self._ids):08d}"  # noqa: E731
        context = RequestContext(request_id, version, name, "/127.0.0.1", new_id)
        self.groups.ask(GROUP_ID, deciding(context), request_id)
        return asked

    @contextmanager
    def one_turn(self) -> Iterator[None]:
        """What is asked in the block is read in one turn of the loop: drained together, as one batch."""
        self.gathering = True
        yield
        self.gathering = False
        self._handle_due()

    # ---- where tests begin

    def stable_with(self, *names: str) -> list[str]:
        """Member ids of a Stable group of dynamic members, the first one its leader."""
        return self.make_stable([self.join(name) for name in names])

    def make_stable(self, joins: list[Asked]) -> list[str]:
        """Let those who joined rejoin until they are one generation, and sync it."""
        ids = [asked.response.member_id if asked.answered else "" for asked in joins]
        if self.group.state is not GroupState.COMPLETING_REBALANCE or not all(asked.answered for asked in joins):
            known = [member_id for member_id in ids if member_id]
            for member_id in known:
                self.join("again", member_id, instance_id=self.group.members[member_id].group_instance_id)
            ids = list(self.group.members)
        self.sync_all()
        return ids

    def sync_all(self) -> dict[str, Asked]:
        """Every member syncs; the leader gives each `for-<member id>`."""
        ids = list(self.group.members)
        leader = self.group.leader
        followers = [member_id for member_id in ids if member_id != leader]
        asked = {member_id: self.sync(member_id) for member_id in followers}
        assert leader is not None
        asked[leader] = self.sync(leader, {each: f"for-{each}".encode() for each in ids})
        assert self.group.state is GroupState.STABLE
        return asked

    # ---- what was told

    def audited(self) -> list[schema.AuditEvent]:
        """The audit topic, from its beginning."""
        return [schema.decode_event(value) for _, value, _ in self._replay_audit()]

    def kinds(self) -> list[str]:
        """The kinds of the audited events, in order."""
        return [str(type(event).__struct_config__.tag) for event in self.audited()]

    def _replay_audit(self) -> Iterator[AuditRecord]:
        return LogStore(self.offsets_log, self.audit_log, 0, lambda log: None).replay_audit()


def replay(events: list[Event], group_id: str = GROUP_ID) -> Group:
    """The group that the events add up to."""
    group = Group(group_id)
    for event in events:
        event.apply(group)
    return group
