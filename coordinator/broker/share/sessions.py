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

    def __init__(self, sessions_max: int, release: Callable[[ShareSession], None], group_left: Callable[[str], None]):
        """`release` gets a session whose connection has closed, and calls `released` at once or later.

        `group_left` gets a group of which nobody is left when a connection has closed and all is released.
        """
        self._sessions_max = sessions_max
        self._release = release
        self._group_left = group_left
        self.by_member: Final[dict[tuple[str, str], ShareSession]] = {}
        """Group id and member id → session. To read only."""
        self._by_group: dict[str, dict[ShareSession, None]] = {}
        """Group id → its sessions, and those that were removed and are not released yet."""
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
            self._forget(old)
        if len(self.by_member) >= self._sessions_max:
            return ErrorCode.SHARE_SESSION_LIMIT_REACHED
        session = ShareSession(group_id, member_id, connection)
        self.by_member[group_id, member_id] = session
        self._by_group.setdefault(group_id, {})[session] = None
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
        """Remove a session that is to be released; False: it was removed before."""
        key = session.group_id, session.member_id
        if self.by_member.get(key) is not session:
            return False
        del self.by_member[key]
        del self._opened[session.connection].sessions[session]
        return True

    def released(self, session: ShareSession) -> None:
        """Nothing more is to be released of a session that was removed."""
        self._forget(session)
        if session.connection not in self._opened:
            self._check_left(session.group_id)

    def connection_closed(self, connection: object) -> None:
        """End the sessions that a connection has opened; Kafka ends the last one alone."""
        opened = self._opened.pop(connection, None)
        if opened is None:
            return
        for session in opened.sessions:
            del self.by_member[session.group_id, session.member_id]
        for session in opened.sessions:
            self._release(session)
        if opened.last_group_id not in {session.group_id for session in opened.sessions}:
            self._check_left(opened.last_group_id)

    def _check_left(self, group_id: str) -> None:
        if group_id not in self._by_group:
            self._group_left(group_id)

    def _forget(self, session: ShareSession) -> None:
        sessions = self._by_group.get(session.group_id)
        if sessions is None:
            return
        sessions.pop(session, None)
        if not sessions:
            del self._by_group[session.group_id]

    def drop_all(self) -> None:
        """Share groups are switched off."""
        self.by_member.clear()
        self._by_group.clear()
        for opened in self._opened.values():
            opened.sessions.clear()
