"""Requests about the committed offsets of groups, sent to the cluster in the name of the node.

A commit is checked by the node and then sent, while Kafka does both at once. So it is sent once, and if nobody knows
what became of it, its sentinel commits nothing more: the next one takes its place, and a commit that is still under way
is refused. Otherwise it could be stored after those of a later generation.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from _wire.structs import Message
from coordinator.cluster.brokers.backoff import tried
from coordinator.cluster.brokers.connection import LongResponse
from coordinator.cluster.brokers.errors import BrokerError, ResponseTooLarge, RetriableAnswer
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.sentinels.membership import INSTANCE_ID, Sentinel
from coordinator.cluster.sentinels.merged_commits import Commit, MergedCommits
from coordinator.cluster.sentinels.sentinels import MOVED, SENTINEL_GONE, Sentinels
from coordinator.logger import logger
from coordinator.runtime.slices import Steps, awaited

TRIED_SECONDS: Final = 10
"""For how long a request is sent again while the group's coordinator at the cluster moves."""
ASKED: Final = "groups asked"
"""The purpose of the connection for requests whose answers may be large: commits and heartbeats go by others, which
such an answer neither delays nor ends."""
MEMBERS_VERSION: Final = 3
"""From this version on TxnOffsetCommit names generation, member and instance."""
MEMBER_EPOCH_VERSION: Final = 9
"""From this version on OffsetFetch names member and epoch."""

Answered: TypeAlias = Callable[[Any], None]
"""Gets the response of the cluster, or an error code."""


class Forwarder:
    """Lives in the running event loop. The result of each request is the response of the cluster, or an error code."""

    def __init__(self, sentinels: Sentinels) -> None:
        self._sentinels = sentinels
        self._tasks = Tasks()
        self._commits = MergedCommits(self._commit)

    def stop(self) -> None:
        self._tasks.cancel()

    def commit(self, sentinel: Sentinel, request: Any, version: int) -> Steps[Any]:
        """Commit offsets as the sentinel; `request` is an OffsetCommit or a TxnOffsetCommit."""
        name_sentinel(request, sentinel, version)
        if not isinstance(request, OffsetCommitRequest):
            return self._tasks.steps(partial(self._commit, sentinel, request, version))
        return awaited(partial(self._merge, sentinel, request, version))

    def _merge(self, sentinel: Sentinel, request: OffsetCommitRequest, version: int, answered: Answered) -> None:
        sending = self._commits.add(Commit(sentinel, request, version, answered))
        if sending is not None:
            self._tasks.start(sending)

    async def _commit(self, sentinel: Sentinel, request: Any, version: int) -> Any:
        group_id = sentinel.group_id
        try:
            connection = await self._sentinels.connection_of(group_id)
            if self._sentinels.get(group_id) is not sentinel:
                return ErrorCode.NOT_COORDINATOR
            if not connection.serves(request, version):
                return ErrorCode.UNSUPPORTED_VERSION
            response = await connection.request_in(request, version)
        except BrokerError as problem:
            logger.debug("a commit was not answered", group=group_id, problem=str(problem))
            self._sentinels.replace(sentinel)
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = _first_error(response)
        if error in SENTINEL_GONE:
            # Another node owns the group by now: the client looks its coordinator up again.
            self._sentinels.replace(sentinel)
            return ErrorCode.NOT_COORDINATOR
        if error in MOVED:
            self._sentinels.moved(group_id)
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return response

    def fetch_offsets(self, group_id: str, request: Any, version: int) -> Steps[Any]:
        """Fetch offsets of one group; the request is in its newest form, whatever the version of the client is.

        The answer may be a `LongResponse`.
        """
        for group in request.groups:
            # They are those of a member here; the cluster knows the sentinel alone.
            group.member_id, group.member_epoch = None, -1
        version = max(version, MEMBER_EPOCH_VERSION - 1)
        return self._tasks.steps(partial(self._asked, group_id, request, version, may_be_long=True))

    def without_sentinel(self, group_id: str, request: Any, version: int) -> Steps[Any]:
        """Have the sentinel leave, and send a request that the cluster refuses for a group with members."""
        error = yield from self._sentinels.leave(group_id)
        if error is not ErrorCode.NONE:
            return error if error.retriable else ErrorCode.COORDINATOR_NOT_AVAILABLE
        return (yield from self._tasks.steps(partial(self._asked, group_id, request, version)))

    async def _asked(self, group_id: str, request: Message, version: int, *, may_be_long: bool = False) -> Any:
        """The response of the group's coordinator at the cluster, which may be moving."""

        async def ask() -> Any:
            connection = await self._sentinels.connection_of(group_id, ASKED)
            if not connection.serves(request, version):
                return ErrorCode.UNSUPPORTED_VERSION
            try:
                response = await connection.request_in(request, version, may_be_long=may_be_long)
            except ResponseTooLarge as problem:
                logger.warning("the cluster's answer about a group is too large", group=group_id, problem=str(problem))
                return ErrorCode.UNKNOWN_SERVER_ERROR
            # That a group has moved is short.
            if not isinstance(response, LongResponse) and (error := _first_error(response)) in MOVED:
                raise RetriableAnswer(error)
            return response

        def failed(problem: BrokerError) -> ErrorCode:
            self._sentinels.moved(group_id)
            if isinstance(problem, RetriableAnswer):
                return problem.error
            logger.debug("asking the cluster again", group=group_id, problem=str(problem))
            return ErrorCode.COORDINATOR_NOT_AVAILABLE

        return await tried(ask, failed, TRIED_SECONDS)


def name_sentinel(request: Any, sentinel: Sentinel, version: int) -> None:
    """Replace the member of a commit, which is one of this node, by the one that the cluster knows."""
    if isinstance(request, OffsetCommitRequest):
        request.generation_id_or_member_epoch = sentinel.generation_id
    elif isinstance(request, TxnOffsetCommitRequest) and version >= MEMBERS_VERSION:
        request.generation_id = sentinel.generation_id
    else:
        return
    request.member_id, request.group_instance_id = sentinel.member_id, INSTANCE_ID


def _first_error(response: Any) -> ErrorCode:
    """The error of a response as a whole, or of its first part."""
    error = getattr(response, "error_code", 0)
    if error:
        return ErrorCode(error)
    for parts in ("groups", "results", "topics"):
        for part in getattr(response, parts, ()) or ():
            if getattr(part, "error_code", 0):
                return ErrorCode(part.error_code)
            for partition in getattr(part, "partitions", ()):
                return ErrorCode(partition.error_code)
    return ErrorCode.NONE
