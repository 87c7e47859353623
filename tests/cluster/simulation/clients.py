"""Consumers of the simulation: they look their coordinator up, join, send heartbeats, commit, and leave.

Each believes a node until that answers NOT_COORDINATOR or does not answer, as Kafka's clients do.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.structs import Message
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.cluster.brokers.connecting import connect
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.core.partitioning import partition_for
from tests.cluster.simulation.brokers import PORT
from tests.cluster.simulation.cluster import PARTITIONS, TOPIC
from tests.cluster.simulation.loop import ProcessLoop
from tests.cluster.simulation.reports import LOADING, Reports, RuleBroken
from tests.simulation.consumers import share_out, subscription

SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 10_000
HEARTBEAT_SECONDS: Final = 0.7
BUSY_SECONDS: Final = 5
"""How long a client sometimes sends nothing, and so goes on believing a node."""
REQUEST_SECONDS: Final = 15
PATIENCE_SECONDS: Final = (2, 15)
"""How long a client waits for the answer to a heartbeat before it looks for another coordinator."""
JOIN_SECONDS: Final = 30
AWAY: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)
GONE: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
REJOINED_AFTER: Final = frozenset(
    {ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}
)


class Refused(Exception):
    """A node has answered with an error."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


class SimulatedClient:
    """One consumer. It runs until it is stopped."""

    def __init__(
        self,
        name: str,
        group_id: str,
        instance_id: str | None,
        loop: ProcessLoop,
        nodes: Callable[[], Sequence[str]],
        reports: Reports,
        chance: random.Random,
        log: Callable[[str], None],
    ) -> None:
        """`nodes` are the hosts of its bootstrap servers."""
        self.name = name
        self.group_id = group_id
        self._instance_id = instance_id
        self._loop = loop
        self._nodes = nodes
        self._reports = reports
        self._random = chance
        self._log = log
        self._who = instance_id or name
        self._patience_seconds = chance.choice(PATIENCE_SECONDS)
        self._connection: BrokerConnection | None = None
        self._member_id = ""
        self.generation = -1
        self.owned: frozenset[int] = frozenset()
        self.last_success_ms = 0
        self.is_leaving = False
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.task = self._loop.create_task(self._run())

    def crash(self) -> None:
        if self.task is not None:
            self.task.cancel()
        self._disconnect()

    @property
    def has_ended(self) -> bool:
        return self.task is not None and self.task.done()

    # ---- what it does

    async def _run(self) -> None:
        while not self.is_leaving:
            try:
                await self._consume()
            except Refused as refused:
                self._refused(refused.error)
            except BrokerError as problem:
                self._log(f"{self.name}: {problem}")
                self._disconnect()
            await asyncio.sleep(self._random.randrange(20, 200) / 1000)
        try:
            await self._leave()
        except (Refused, BrokerError) as problem:
            self._log(f"{self.name} leaves without an answer: {problem}")
        self._disconnect()

    async def _consume(self) -> None:
        if self._connection is None:
            await self._find_coordinator()
        if self.generation < 0:
            await self._join()
        while not self.is_leaving:
            busy = BUSY_SECONDS if self._random.random() < 0.1 else HEARTBEAT_SECONDS
            await asyncio.sleep(busy * self._random.uniform(0.5, 1.5))
            await self._heartbeat()
            if self.owned and self._random.random() < 0.6:
                await self._commit()

    def _refused(self, error: ErrorCode) -> None:
        self._log(f"{self.name}: {error.name}")
        if error not in AWAY | GONE | REJOINED_AFTER:
            raise RuleBroken(f"{self.name} was told {error.name}, which is no error that a consumer goes on after")
        if error in AWAY:
            self._disconnect()
            return
        if error in GONE:
            self._member_id = ""
        self.generation, self.owned = -1, frozenset()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    async def _find_coordinator(self) -> None:
        bootstrap = await self._connect(self._random.choice(self._nodes()), PORT)
        try:
            request = FindCoordinatorRequest(key=self.group_id, key_type=0)
            found = await bootstrap.request(request, 3, REQUEST_SECONDS)
        finally:
            bootstrap.close()
        if found.error_code:
            raise Refused(ErrorCode(found.error_code))
        self._connection = await self._connect(found.host, found.port)
        self._log(f"{self.name} goes to {found.host}")

    async def _connect(self, host: str, port: int) -> BrokerConnection:
        server = Bootstrap(f"{host}:{port}", ClientSecurity({}))
        return await connect(server, self.name, REQUEST_SECONDS, lambda: None)

    # ---- requests

    async def _ask(self, message: Message, version_max: int, seconds: float = REQUEST_SECONDS) -> tuple[Any, int, int]:
        """The response, when it was asked for, and by which leadership it was answered. Raises Refused."""
        connection = self._connection
        assert connection is not None
        sent_ms, end = self._now_ms, connection._transport
        response = await connection.request(message, version_max, seconds)
        error = ErrorCode(getattr(response, "error_code", 0))
        if error is not ErrorCode.NONE:
            if error is ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = response.member_id
            raise Refused(error)
        leadership = end.last_tag[partition_for(self.group_id, PARTITIONS)]
        return response, sent_ms, leadership

    @property
    def _now_ms(self) -> int:
        return self._loop._clock.now_ms()

    def _succeeded(self, sent_ms: int, leadership: int, what: str) -> None:
        now_ms = self._now_ms
        self.last_success_ms = now_ms
        self._reports.succeeded(self.group_id, f"{self.name} ({what})", sent_ms, now_ms, leadership)

    async def _join(self) -> None:
        protocol = JoinGroupRequestProtocol(name="range", metadata=subscription((TOPIC,)))
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined, sent_ms, leadership = await self._ask(request, 7, JOIN_SECONDS)
        self._succeeded(sent_ms, leadership, "JoinGroup")
        self._reports.joined(self.group_id, self.name)
        self._member_id = joined.member_id
        plan: dict[str, bytes] = {}
        if joined.leader == joined.member_id:
            plan = share_out([(member.member_id, member.metadata) for member in joined.members])
        await self._sync(joined.generation_id, plan)

    async def _sync(self, generation: int, plan: dict[str, bytes]) -> None:
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in plan.items()
            ],
        )
        synced, sent_ms, leadership = await self._ask(request, 5)
        self._succeeded(sent_ms, leadership, "SyncGroup")
        self._reports.in_generation(self.group_id, self.name, generation, sent_ms, self._now_ms)
        self.owned = self._reports.assigned(self.group_id, generation, self._who, synced.assignment)
        self.generation = generation
        self._log(f"{self.name} owns {sorted(self.owned)} in generation {generation}")

    async def _heartbeat(self) -> None:
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
        )
        _, sent_ms, leadership = await self._ask(request, 4, self._patience_seconds)
        if leadership == LOADING:
            return  # a coordinator that loads the group, as Kafka's does, takes any heartbeat for good
        self._succeeded(sent_ms, leadership, "Heartbeat")
        self._reports.in_generation(self.group_id, self.name, self.generation, sent_ms, self._now_ms)

    async def _commit(self) -> None:
        await self._commit_in(8)

    async def _commit_in(self, version: int) -> None:
        """One partition at a time: its error is that of the request."""
        partition = self._random.choice(sorted(self.owned))
        commit = self._reports.commits(self.group_id, partition, self.generation, self._who)
        committed = OffsetCommitRequestPartition(partition_index=partition, committed_offset=commit.offset)
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation,
            member_id=self._member_id,
            group_instance_id=self._instance_id,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[committed])],
        )
        response, *_ = await self._ask(request, version)
        error = ErrorCode(response.topics[0].partitions[0].error_code)
        if error is not ErrorCode.NONE:
            raise Refused(error)
        self._reports.acknowledged(commit)

    async def _leave(self) -> None:
        if self._connection is None or not self._member_id:
            return
        members = [MemberIdentity(member_id=self._member_id, group_instance_id=self._instance_id)]
        _, sent_ms, leadership = await self._ask(LeaveGroupRequest(group_id=self.group_id, members=members), 4)
        self._succeeded(sent_ms, leadership, "LeaveGroup")
