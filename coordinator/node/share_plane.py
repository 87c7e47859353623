"""Building of what a node needs to let members of share groups fetch and acknowledge records."""

from _wire.errors import ErrorCode
from coordinator.broker.data.fetch import FetchService
from coordinator.broker.share.fetch_service import ShareFetchService
from coordinator.broker.share.record_counts import CLOSED, DISCONNECTED
from coordinator.broker.share.sessions import ShareSession, ShareSessions
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_partition_parts import LockTimeoutKey, ShareKey, SharePartitionParts
from coordinator.broker.share.share_partitions import SharePartitions
from coordinator.broker.share.share_states import ShareStates
from coordinator.broker.share.steady_requests import SteadyShares
from coordinator.broker.share.waiting import ShareFetchTimeoutKey, WaitingFetches
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_ELEMENTS
from coordinator.config.server_keys import FETCH_MAX_BYTES, NODE_ID
from coordinator.config.settings import Config
from coordinator.config.share_group_keys import GROUP_SHARE_MAX_SHARE_SESSIONS
from coordinator.core.client_connection import ClientConnection
from coordinator.front.node_loop import NodeLoop
from coordinator.logger import logger
from coordinator.node.share_reports import Report, ShareReportKey, ShareReports
from coordinator.node.storage import Storage
from coordinator.runtime.slices import Steps

RELEASED_AT_ONCE = 50
"""Share partitions of a session whose records are released in one step."""


class SharePlane:
    """Share sessions, share partitions and the fetches of share groups."""

    timer_keys = (LockTimeoutKey, ShareFetchTimeoutKey, ShareReportKey)

    def __init__(
        self,
        config: Config,
        loop: NodeLoop,
        storage: Storage,
        fetch_service: FetchService,
        states: ShareStates,
        report: Report,
    ) -> None:
        self.settings = ShareRecordSettings(config, storage.image)
        self.reports = ShareReports(config, loop, self.settings, report)
        self.waiting = WaitingFetches(storage.partitions, storage.notifier, loop.scheduler, loop.slices)
        parts = SharePartitionParts(
            partitions=storage.partitions,
            states=states,
            settings=self.settings,
            timers=loop.scheduler,
            slices=loop.slices,
            now_ms=loop.now_ms,
            wall_ms=loop.wall_ms,
            tallies=self.reports.tallies,
        )
        self.share_partitions = SharePartitions(parts, self.waiting)
        self.sessions = ShareSessions(
            config[GROUP_SHARE_MAX_SHARE_SESSIONS], self._release, self.share_partitions.drop_group
        )
        self.fetch_service = ShareFetchService(
            storage.image, self.share_partitions, self.waiting, fetch_service, max_bytes=config[FETCH_MAX_BYTES]
        )
        self.steady = SteadyShares(
            self.sessions,
            self.share_partitions,
            self.waiting,
            storage.image,
            self.settings,
            fetch_service,
            parts.tallies.total,
            node_id=config[NODE_ID],
            max_bytes=config[FETCH_MAX_BYTES],
            elements_max=config[SOCKET_REQUEST_MAX_ELEMENTS],
        )
        """Carries out the requests of steady members before a handler sees them."""
        self._slices = loop.slices

    def is_enabled(self) -> bool:
        """Whether share groups are served. When they are switched off, what is in memory is dropped."""
        is_enabled = self.settings.is_enabled()
        if not is_enabled and (len(self.sessions) or len(self.share_partitions)):
            self.sessions.drop_all()
            self.share_partitions.drop_all()
        return is_enabled

    def open_session(self, group_id: str, member_id: str, connection: ClientConnection) -> ShareSession | ErrorCode:
        """Open a session that ends with its connection."""
        session = self.sessions.open(group_id, member_id, connection)
        if not isinstance(session, ErrorCode):
            connection.when_closed = lambda: self.sessions.connection_closed(connection)
            if not connection.is_open:
                self.sessions.connection_closed(connection)
        return session

    def close_session(self, session: ShareSession) -> None:
        """The member has said that it is gone: what it still holds is released."""
        if self.sessions.remove(session):
            self._release(session, CLOSED)

    def due(self, key: object, now_ms: int) -> None:
        """Do what a timer key asks for, if it is one of share groups."""
        if isinstance(key, LockTimeoutKey):
            key.share_partition.due(now_ms)
        elif isinstance(key, ShareFetchTimeoutKey):
            self.waiting.expire(key.fetch)
        elif isinstance(key, ShareReportKey):
            self.reports.report()

    def _release(self, session: ShareSession, ended_by: int = DISCONNECTED) -> None:
        """Release what a member holds in its partitions; until then its group keeps its share partitions."""
        held = [
            found
            for topic_id, index in session.partitions
            if (found := self.share_partitions.get(ShareKey(session.group_id, topic_id, index))) is not None
        ]

        def release() -> Steps[None]:
            for number, share_partition in enumerate(held, 1):
                share_partition.release(session.member_id, lambda error: None, ended_by)
                self.waiting.wake(share_partition)
                if number % RELEASED_AT_ONCE == 0:
                    yield

        def failed(problem: Exception) -> None:
            logger.error("unhandled exception while records of a share session are released", problem=repr(problem))
            self.sessions.released(session)

        self._slices.start(release(), lambda _: self.sessions.released(session), failed)
