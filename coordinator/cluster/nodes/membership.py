"""This node as a member of the nodes' group: it joins, sends heartbeats, and learns what it leads.

The heartbeats have a connection of their own, and go on while a JoinGroup waits for the other nodes: the lease is
renewed by them alone.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.cluster.brokers.backoff import Backoff
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.messages import (
    PROTOCOL,
    PROTOCOL_TYPE,
    Assignment,
    Claim,
)
from coordinator.cluster.nodes.seals import NotOfNodes, Seals
from coordinator.cluster.nodes.sharing import share_out
from coordinator.logger import logger
from coordinator.printable import printable

GROUP_KEY: Final = 0
"""The type of key that FindCoordinator has for groups."""
SESSION_MS: Final = 6_000
"""Kafka's smallest by default (`group.min.session.timeout.ms`)."""
REBALANCE_MS: Final = 2 * SESSION_MS
"""A node that does not join again within it is removed, though its heartbeats are answered. One that is gone is removed
at the end of its session, in half of it."""
LEASE_MS: Final = SESSION_MS - 100
HEARTBEAT_SECONDS: Final = 0.2
"""How soon a node notices that another one has come or gone."""
JOIN_TIMEOUT_SECONDS: Final = 30
HEARTBEAT_TIMEOUT_SECONDS: Final = SESSION_MS / 1000
JOIN_VERSION_MAX: Final = 7
"""From version 5 on members have an instance id, from 4 on a first join is asked to repeat itself with its id."""
MEMBER_CHARACTERS_LOGGED: Final = 100
EVICTION_SECONDS: Final = 60
"""A node has the leader of the group removed at most so often: nodes that do not share a secret must not do it all the
time."""
STILL_MEMBER: Final = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


class Leads(Protocol):
    """The partitions that this node leads."""

    def claim(self) -> Claim:
        """What this node says of itself, and what it leads now."""

    def assigned(self, assignment: Assignment) -> bool:
        """Lead what is assigned, give up the rest; return whether anything was given up."""

    def confirmed(self, sent_ms: int) -> None:
        """The group has answered a heartbeat that was sent then: the assignment was still valid."""

    def give_up_all(self, reason: str) -> None:
        """Lead nothing any more; `reason` is for the log."""


class NotMember(Exception):
    """The group does not know this member any more, or its coordinator has moved."""


class NodesGroupMember:
    """Runs until it is stopped."""

    def __init__(
        self,
        brokers: Brokers,
        group_id: str,
        partition_count: int,
        leads: Leads,
        lease: Lease,
        now_ms: Callable[[], int],
        seals: Seals,
    ) -> None:
        self._brokers = brokers
        self._seals = seals
        self._may_evict_ms = 0
        self._group_id = group_id
        self._partition_count = partition_count
        self._leads = leads
        self._lease = lease
        self._now_ms = now_ms
        self._member_id = ""
        self._generation = -1
        self._coordinator_id: int | None = None
        self._is_joining = False
        self._is_unheard = False
        self._settled_ms = 0
        """When something was sent that was answered while the group did not rebalance."""
        self._rejoin = asyncio.Event()
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.start(self._run())
        self._tasks.every(HEARTBEAT_SECONDS, self._keep_alive)

    async def stop(self) -> None:
        """Leave the group, so that the others take over at once. What is led has to be given up before."""
        await self._tasks.stop()
        self._lease.end()
        if not self._member_id:
            return
        try:
            # Not over the connection of the joins: the broker answers it when the join before is answered.
            connection = await self._connection("nodes heartbeat")
            members = [MemberIdentity(member_id=self._member_id)]
            request = LeaveGroupRequest(group_id=self._group_id, member_id=self._member_id, members=members)
            await connection.request(request, 4, timeout_seconds=2)
        except BrokerError as problem:
            logger.warning("cannot leave the group of the nodes; they notice it later", problem=str(problem))

    def rejoin(self) -> None:
        """Join again, as what this node leads has changed."""
        self._rejoin.set()

    # ---- joining

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            try:
                self._rejoin.clear()
                gave_up = await self._join()
                backoff = Backoff()
                if not gave_up:
                    await self._rejoin.wait()
                continue
            except NotMember as problem:
                logger.info("joining the group of the nodes again", reason=str(problem))
            except BrokerError as problem:
                logger.warning("the group of the nodes cannot be reached", problem=str(problem))
                self._coordinator_id = None
            except Exception:
                logger.exception("unhandled exception in the group of the nodes; it is tried again")
            await asyncio.sleep(backoff.next_seconds())

    async def _join(self) -> bool:
        """Join and sync once; return whether anything was given up, so that it has to be done again."""
        self._is_joining = True
        try:
            connection = await self._connection("nodes")
            joined = await connection.request(self._join_request(), JOIN_VERSION_MAX, JOIN_TIMEOUT_SECONDS)
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._member_id = joined.member_id
                joined = await connection.request(self._join_request(), JOIN_VERSION_MAX, JOIN_TIMEOUT_SECONDS)
            self._check(joined.error_code)
            self._member_id, self._generation = joined.member_id, joined.generation_id
            shares = self._shares(joined) if joined.leader == joined.member_id else []
            sent_ms = self._now_ms()
            synced = await connection.request(self._sync_request(shares), 5)
            if synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                return True
            self._check(synced.error_code)
            self._renew(sent_ms, ErrorCode.NONE)
            try:
                assignment = self._seals.read_assignment(synced.assignment, self._member_id, self._generation)
            except NotOfNodes as problem:
                await self._evict(joined.leader, connection, str(problem))
                raise NotMember("its leader is no node") from None
        finally:
            self._is_joining = False
        return self._leads.assigned(assignment)

    async def _evict(self, leader: str, connection: BrokerConnection, problem: str) -> None:
        """Have the leader of the group removed, who has told this node nothing that a node would."""
        self._leads.give_up_all("the leader of the group of the nodes is no node")
        logger.error(
            "the leader of the group of the nodes is no node, or has another secret (cluster.nodes.secret)",
            member=printable(leader)[:MEMBER_CHARACTERS_LOGGED],
            problem=problem,
        )
        if leader == self._member_id or self._now_ms() < self._may_evict_ms:
            return
        self._may_evict_ms = self._now_ms() + EVICTION_SECONDS * 1000
        members = [MemberIdentity(member_id=leader)]
        await connection.request(LeaveGroupRequest(group_id=self._group_id, member_id=leader, members=members), 4)

    def _join_request(self) -> JoinGroupRequest:
        metadata = self._seals.claim(self._leads.claim(), self._member_id)
        return JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=metadata)],
        )

    def _shares(self, joined: Any) -> list[SyncGroupRequestAssignment]:
        """As the leader of the group: what each member leads."""
        claims = {}
        for member in joined.members:
            try:
                claims[member.member_id] = self._seals.read_claim(member.metadata, member.member_id)
            except NotOfNodes as problem:
                shown = printable(member.member_id)[:MEMBER_CHARACTERS_LOGGED]
                logger.warning("a member of the group of the nodes is no node", member=shown, problem=str(problem))
        return [
            SyncGroupRequestAssignment(
                member_id=member_id, assignment=self._seals.assignment(assignment, member_id, self._generation)
            )
            for member_id, assignment in share_out(claims, self._partition_count).items()
        ]

    def _sync_request(self, shares: list[SyncGroupRequestAssignment]) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self._generation,
            member_id=self._member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=shares,
        )

    def _check(self, error_code: int) -> None:
        error = ErrorCode(error_code)
        if error is ErrorCode.NONE:
            return
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID):
            self._removed(error)
        elif error is ErrorCode.NOT_COORDINATOR:
            self._coordinator_id = None
        elif not error.retriable:
            logger.error("the cluster refuses this node in the group of the nodes", error=error.name)
        raise NotMember(error.name)

    def _removed(self, error: ErrorCode) -> None:
        """The group has removed this member: others may lead its partitions by now."""
        self._member_id, self._generation = "", -1
        self._lease.end()
        self._leads.give_up_all(f"the group of the nodes answers {error.name}")

    async def _connection(self, purpose: str) -> BrokerConnection:
        if self._coordinator_id is None:
            self._coordinator_id = await self._brokers.coordinator_of(self._group_id, GROUP_KEY)
        return await self._brokers.connection(self._coordinator_id, purpose)

    # ---- heartbeats

    async def _keep_alive(self) -> None:
        if self._generation < 0:
            return
        try:
            await self._heartbeat()
            self._is_unheard = False
        except BrokerError as problem:
            self._coordinator_id = None
            self._log_unheard(problem)
        except Exception:
            logger.exception("unhandled exception in a heartbeat to the group of the nodes; it is tried again")

    def _log_unheard(self, problem: BrokerError) -> None:
        """Once until a heartbeat is answered: while a broker is away, several in a second fail."""
        if not self._is_unheard:
            logger.warning("heartbeat to the group of the nodes failed; it is sent again", problem=str(problem))
        self._is_unheard = True

    async def _heartbeat(self) -> None:
        connection = await self._connection("nodes heartbeat")
        member_id, generation, sent_ms = self._member_id, self._generation, self._now_ms()
        request = HeartbeatRequest(group_id=self._group_id, generation_id=generation, member_id=member_id)
        response = await connection.request(request, 3, HEARTBEAT_TIMEOUT_SECONDS)
        if (member_id, generation) != (self._member_id, self._generation):
            return  # it joined meanwhile
        error = ErrorCode(response.error_code)
        if error in STILL_MEMBER:
            self._renew(sent_ms, error)
            self._leads.confirmed(sent_ms)
        if error is ErrorCode.REBALANCE_IN_PROGRESS and not self._is_joining:
            self._rejoin.set()
        elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION) and not self._is_joining:
            self._removed(error)
            self._rejoin.set()
        elif error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            self._coordinator_id = None

    def _renew(self, sent_ms: int, error: ErrorCode) -> None:
        """The group has answered what was sent then. In a rebalance that does not prove that it got the JoinGroup.

        Then it may remove this node as soon as the rebalance times out, which began after the last other answer.
        """
        if error is ErrorCode.NONE:
            self._settled_ms = max(self._settled_ms, sent_ms)
        self._lease.renew(min(sent_ms, self._settled_ms + REBALANCE_MS - SESSION_MS))
