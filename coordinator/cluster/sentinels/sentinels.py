"""The sentinels of the groups that this node owns: joined when they are needed, kept alive, and left."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar
from zlib import crc32

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.cluster.brokers.backoff import tried
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.errors import BrokerError, RetriableAnswer
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.sentinels import membership
from coordinator.cluster.sentinels.described import DescribedGroup, describe
from coordinator.cluster.sentinels.membership import INSTANCE_ID, Sentinel
from coordinator.logger import logger
from coordinator.runtime.slices import Steps

GROUP_KEY: Final = 0
JOINING_MAX: Final = 16
"""Joins at a time at a broker, each over a connection of its own: a broker handles those of one connection in turn, and
the first join of a group waits."""
CONNECTIONS: Final = 8
"""Over which the requests of sentinels are spread; those of a group always take the same one."""
TRIED_SECONDS: Final = 10
HEARTBEATS_PER_SESSION: Final = 3
SWEEP_SECONDS: Final = 10
"""How often it is looked which sentinels need a heartbeat."""
HELD_BY_CLUSTER: Final = frozenset({ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ErrorCode.GROUP_ID_NOT_FOUND})
"""The group at the cluster has members of its own."""
SENTINEL_GONE: Final = frozenset(
    {ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION}
)
"""Another node has taken its place, or somebody has removed it."""
MOVED: Final = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
)

Opened: TypeAlias = Callable[[Sentinel | ErrorCode], None]

T = TypeVar("T")


class Sentinels:
    """One for each group."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._loop = asyncio.get_running_loop()
        self._open: dict[str, Sentinel] = {}
        self._opening: dict[str, list[Opened]] = {}
        self._coordinators: dict[str, int] = {}
        """Group → its coordinator at the cluster, of groups that have a sentinel."""
        self._last_heartbeat: dict[str, float] = {}
        self._joining: dict[int, asyncio.Semaphore] = {}
        self._join_number = 0
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.every(SWEEP_SECONDS, self._keep_alive)

    def stop(self) -> None:
        self._tasks.cancel()

    # ---- which there are

    def get(self, group_id: str) -> Sentinel | None:
        """The sentinel of a group, if it is a member as far as is known."""
        return self._open.get(group_id)

    def forget(self, group_ids: Iterable[str]) -> None:
        """These groups are another node's: it takes the place of the sentinels by itself."""
        for group_id in group_ids:
            self._open.pop(group_id, None)
            self._coordinators.pop(group_id, None)
            self._last_heartbeat.pop(group_id, None)

    def replace(self, sentinel: Sentinel) -> None:
        """Commit nothing more as this sentinel. Whoever needs one next has another take its place."""
        if self._open.get(sentinel.group_id) is sentinel:
            self.forget([sentinel.group_id])

    def open(self, group_id: str, opened: Opened) -> None:
        """Have the sentinel join, unless it is a member. `opened` may be called at once.

        It gets an error if the group at the cluster has other members (`HELD_BY_CLUSTER`), or if it does not answer.
        """
        sentinel = self._open.get(group_id)
        if sentinel is not None:
            opened(sentinel)
        elif group_id in self._opening:
            self._opening[group_id].append(opened)
        else:
            self._opening[group_id] = [opened]
            self._tasks.start(self._join(group_id))

    async def _join(self, group_id: str) -> None:
        result = await self._tried(lambda: self._join_once(group_id))
        if result is ErrorCode.UNKNOWN_SERVER_ERROR and await self._has_members(group_id):
            result = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if isinstance(result, Sentinel):
            self._open[group_id] = result
            self._coordinators[group_id] = result.broker_id
            self._last_heartbeat[group_id] = self._loop.time()
        elif result not in HELD_BY_CLUSTER:
            logger.warning("sentinel cannot join its group at the cluster", group=group_id, error=result.name)
        for opened in self._opening.pop(group_id, ()):
            opened(result)

    async def _join_once(self, group_id: str) -> Sentinel | ErrorCode:
        broker_id = await self._brokers.coordinator_of(group_id, GROUP_KEY)
        turn = self._joining.setdefault(broker_id, asyncio.Semaphore(JOINING_MAX))
        async with turn:
            self._join_number = (self._join_number + 1) % JOINING_MAX
            connection = await self._brokers.connection(broker_id, f"sentinel joins {self._join_number}")
            return await membership.join(connection, group_id, broker_id)

    async def _has_members(self, group_id: str) -> bool:
        """Kafka 4.3 fails in the join of a sentinel to a group of KIP-848 that takes classic members: it cannot read
        its metadata as a subscription."""
        described = await self._describe(group_id)
        return not isinstance(described, ErrorCode) and described.has_members

    async def _tried(self, ask: Callable[[], Coroutine[Any, Any, T | ErrorCode]]) -> T | ErrorCode:
        """The result of `ask`; it is tried again for a while where that may help."""

        async def ask_once() -> T | ErrorCode:
            result = await ask()
            if isinstance(result, ErrorCode) and result.retriable:
                raise RetriableAnswer(result)
            return result

        return await tried(ask_once, _error_of, TRIED_SECONDS)

    # ---- leaving

    def leave(self, group_id: str) -> Steps[ErrorCode]:
        """Have the sentinel leave; the group at the cluster is Empty then. Also if it is not known to be a member."""
        return self._tasks.steps(partial(self._leave, group_id))

    async def _leave(self, group_id: str) -> ErrorCode:
        async def ask() -> ErrorCode:
            return await membership.leave(await self.connection_of(group_id), group_id)

        error: ErrorCode = await self._tried(ask)
        self.forget([group_id])
        return ErrorCode.NONE if error is ErrorCode.UNKNOWN_MEMBER_ID else error

    # ---- the group at the cluster

    def describe(self, group_id: str) -> Steps[DescribedGroup | ErrorCode]:
        """The group at the cluster, without its sentinel."""
        return self._tasks.steps(partial(self._describe, group_id))

    async def _describe(self, group_id: str) -> DescribedGroup | ErrorCode:
        async def ask() -> DescribedGroup | ErrorCode:
            return await describe(await self.connection_of(group_id), group_id)

        described: DescribedGroup | ErrorCode = await self._tried(ask)
        return described

    async def connection_of(self, group_id: str, purpose: str = "sentinels") -> BrokerConnection:
        """The connection to the group's coordinator at the cluster; that of its sentinel, or one for another purpose.

        Raises:
            BrokerError: there is none.
        """
        broker_id = self._coordinators.get(group_id)
        if broker_id is None:
            broker_id = await self._brokers.coordinator_of(group_id, GROUP_KEY)
            if group_id in self._open:
                self._coordinators[group_id] = broker_id
        return await self._brokers.connection(broker_id, f"{purpose} {crc32(group_id.encode()) % CONNECTIONS}")

    def moved(self, group_id: str) -> None:
        """The coordinator of the group at the cluster is another broker, or cannot be reached."""
        self._coordinators.pop(group_id, None)

    # ---- heartbeats

    async def _keep_alive(self) -> None:
        now = self._loop.time()
        for group_id, sentinel in list(self._open.items()):
            if now - self._last_heartbeat[group_id] >= sentinel.session_ms / 1000 / HEARTBEATS_PER_SESSION:
                self._last_heartbeat[group_id] = now
                await self._heartbeat(sentinel)

    async def _heartbeat(self, sentinel: Sentinel) -> None:
        request = HeartbeatRequest(
            group_id=sentinel.group_id,
            generation_id=sentinel.generation_id,
            member_id=sentinel.member_id,
            group_instance_id=INSTANCE_ID,
        )
        try:
            connection = await self.connection_of(sentinel.group_id)
            response = await connection.request(request, 4)
        except BrokerError as problem:
            logger.warning("no heartbeat of a sentinel", group=sentinel.group_id, problem=str(problem))
            self.forget([sentinel.group_id])
            return
        if response.error_code != ErrorCode.NONE and self._open.get(sentinel.group_id) is sentinel:
            self.forget([sentinel.group_id])
            if ErrorCode(response.error_code) not in SENTINEL_GONE:
                self.open(sentinel.group_id, _ignore)


def _error_of(problem: BrokerError) -> ErrorCode:
    if isinstance(problem, RetriableAnswer):
        return problem.error
    logger.debug("asking the cluster again", problem=str(problem))
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def _ignore(result: Sentinel | ErrorCode) -> None:
    """Whoever needs the sentinel next asks for it."""
