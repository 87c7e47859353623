"""Share sessions: the partitions that a member fetches, so that it need not name them each time.

Counterpart in Kafka: `ShareSessionCache` and `ShareSessionContext`. A session does not need a member of the group.
"""

from collections.abc import Callable
from typing import Final

from _wire.errors import ErrorCode

OPENING_EPOCH: Final = 0
CLOSING_EPOCH: Final = -1
EPOCH_MAX: Final = (1 << 31) - 1
UNKNOWN_KEPT_MAX: Final = 1000
"""Partitions that do not exist in a session: of further ones the client gets the error once. Kafka keeps all."""

TopicIdPartition = tuple[bytes, int]


class ShareSession:
    """The session of a member. It belongs to the connection that opened it."""

    __slots__ = ("connection", "epoch", "group_id", "member_id", "partitions", "unknown_count")

    def __init__(self, group_id: str, member_id: str, connection: object) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection
        self.epoch = 1
        """That of the next request."""
        self.partitions: dict[TopicIdPartition, bool] = {}
        """Partition → whether the next response has to mention it even if it has nothing to say."""
        self.unknown_count = 0

    def add(self, partition: TopicIdPartition, exists: bool, *, is_opening: bool) -> bool:
        """Add a partition that a request names; False: it does not exist, as too many that the session has.

        The response to the request that opens the session has all of them anyway.
        """
        if partition in self.partitions:
            return True
        if not exists:
            if self.unknown_count >= UNKNOWN_KEPT_MAX:
                return False
            self.unknown_count += 1
        self.partitions[partition] = not is_opening
        return True

    def forget(self, partition: TopicIdPartition) -> None:
        self.partitions.pop(partition, None)

    def count_up(self) -> None:
        self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1

    def must_respond(self, partition: TopicIdPartition, has_records: bool, error: int) -> bool:
        """Whether the response mentions a partition; those with records come last in the next one."""
        is_new = self.partitions.get(partition)
        if is_new is None:
            return bool(has_records or error)
        if has_records:
            del self.partitions[partition]
        self.partitions[partition] = bool(error)
        return bool(is_new or has_records or error)


class _Opened:
    """What a connection has opened."""

    __slots__ = ("last_group_id", "sessions")

    def __init__(self) -> None:
        self.sessions: dict[ShareSession, None] = {}
        """Those that are not closed."""
        self.last_group_id = ""
        """The group of the last one, also if that is closed."""


class ShareSessions:
    """All sessions of this node, `sessions_max` at most."""

    def __init__(self, sessions_max: int, released: Callable[[ShareSession], None], group_left: Callable[[str], None]):
        """`released` gets a session whose connection has closed; `group_left` a group of which none is left then."""
        self._sessions_max = sessions_max
        self._released = released
        self._group_left = group_left
        self.by_member: Final[dict[tuple[str, str], ShareSession]] = {}
        """Group id and member id → session. To read only."""
        self._counts: dict[str, int] = {}
        """Group id → its sessions."""
        self._opened: dict[object, _Opened] = {}

    def __len__(self) -> int:
        return len(self.by_member)

    @property
    def partition_count(self) -> int:
        """How many partitions all sessions have together."""
        return sum([len(session.partitions) for session in self.by_member.values()])

    def get(self, group_id: str, member_id: str) -> ShareSession | None:
        return self.by_member.get((group_id, member_id))

    def open(self, group_id: str, member_id: str, connection: object) -> ShareSession | ErrorCode:
        """Open a session, in place of one that the member has."""
        old = self.by_member.get((group_id, member_id))
        if old is not None:
            self.remove(old)
        if len(self.by_member) >= self._sessions_max:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = ShareSession(group_id, member_id, connection)
        self.by_member[group_id, member_id] = session
        self._counts[group_id] = self._counts.get(group_id, 0) + 1
        opened = self._opened.get(connection)
        if opened is None:
            opened = self._opened[connection] = _Opened()
        opened.sessions[session] = None
        opened.last_group_id = group_id
        return session

    def check(self, group_id: str, member_id: str, epoch: int) -> ShareSession | ErrorCode:
        """The session of a request that is not its first one."""
        session = self.by_member.get((group_id, member_id))
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch not in (CLOSING_EPOCH, session.epoch):
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        return session

    def remove(self, session: ShareSession) -> bool:
        """Remove a session; False: it was removed before."""
        key = session.group_id, session.member_id
        if self.by_member.get(key) is not session:
            return False
        del self.by_member[key]
        del self._opened[session.connection].sessions[session]
        self._count_down(session.group_id)
        return True

    def connection_closed(self, connection: object) -> None:
        """End the sessions that a connection has opened; Kafka ends the last one alone."""
        opened = self._opened.pop(connection, None)
        if opened is None:
            return
        group_ids = {session.group_id: None for session in opened.sessions} | {opened.last_group_id: None}
        for session in opened.sessions:
            del self.by_member[session.group_id, session.member_id]
            self._count_down(session.group_id)
            self._released(session)
        for group_id in group_ids:
            if group_id not in self._counts:
                self._group_left(group_id)

    def _count_down(self, group_id: str) -> None:
        self._counts[group_id] -= 1
        if not self._counts[group_id]:
            del self._counts[group_id]

    def drop_all(self) -> None:
        """Share groups are switched off."""
        self.by_member.clear()
        self._counts.clear()
        for opened in self._opened.values():
            opened.sessions.clear()
