"""The sessions of members: how decisions read them, and the changes that decisions make."""

from typing import Protocol

import msgspec

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.deadlines import FAR_FUTURE_MS


class SessionTimeouts(Protocol):
    """Read access to the sessions of members."""

    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Whether the member's session has run out, or never was."""

    def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
        """When a request of the member last came, in the time of deadlines; None: not since its session began.

        What renews its session, and what says that it lives all the same (`SessionHeard`).
        """

    def timeout_ms(self, group_id: str, member_id: str) -> int | None:
        """How long the member's session lasts from each renewal on; None: it has none."""


class SessionTable(Protocol):
    """Write access to the sessions of members. It keeps deadlines only; the rules are in the decisions."""

    def start(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        first_timeout_ms: int,
        timeout_ms: int,
        may_heartbeat: bool,
        now_ms: int,
        awaits_client: bool = False,
    ) -> None: ...

    def renew(
        self,
        group_id: str,
        member_id: str,
        timeout_ms: int,
        now_ms: int,
        is_answer: bool = False,
        shows_client: bool = True,
    ) -> None: ...

    def hear(self, group_id: str, member_id: str, at_ms: int) -> None: ...

    def open_heartbeats(
        self,
        group_id: str,
        member_id: str,
        member_epoch: int,
        heartbeat_interval_ms: int,
        client_id: str,
        client_host: str,
        until_ms: int,
        api_key: int,
        endpoint_epoch: int,
    ) -> None: ...

    def end(self, group_id: str, member_id: str) -> bool: ...


class HasSessions(Protocol):
    """What effects on sessions change: the groups of a shard."""

    @property
    def sessions(self) -> SessionTable: ...


class SessionStarted(msgspec.Struct, frozen=True):
    """A session begins that ends after `first_timeout_ms`; from its first heartbeat on it lasts `timeout_ms`.

    `may_heartbeat` is false for a pending member id: no heartbeat renews its session. `awaits_client`: its first
    heartbeat is decided like any request, as it tells who the client is.
    """

    member_id: str
    group_instance_id: str | None
    first_timeout_ms: int
    timeout_ms: int
    may_heartbeat: bool = True
    awaits_client: bool = False

    def apply(self, groups: HasSessions, group_id: str, now_ms: int) -> None:
        groups.sessions.start(
            group_id,
            self.member_id,
            self.group_instance_id,
            self.first_timeout_ms,
            self.timeout_ms,
            self.may_heartbeat,
            now_ms,
            self.awaits_client,
        )


class SessionRenewed(msgspec.Struct, frozen=True):
    """The member sent a request: its session ends `timeout_ms` from now, and its heartbeats are closed.

    `is_answer`: it sent none, but gets the answer to one that waited. `shows_client`: the request tells who its client
    is, as that of a commit does not, which may come by another connection.
    """

    member_id: str
    timeout_ms: int
    is_answer: bool = False
    shows_client: bool = True

    def apply(self, groups: HasSessions, group_id: str, now_ms: int) -> None:
        groups.sessions.renew(
            group_id, self.member_id, self.timeout_ms, now_ms, self.is_answer, self.shows_client and not self.is_answer
        )


class SessionHeard(msgspec.Struct, frozen=True):
    """The member sent a request that does not renew its session: it lived then, at a time of deadlines; None: now."""

    member_id: str
    at_ms: int | None = None

    def apply(self, groups: HasSessions, group_id: str, now_ms: int) -> None:
        groups.sessions.hear(group_id, self.member_id, now_ms if self.at_ms is None else self.at_ms)


class SessionEnded(msgspec.Struct, frozen=True):
    """The member, or the pending member id, is gone."""

    member_id: str

    def apply(self, groups: HasSessions, group_id: str, now_ms: int) -> None:
        groups.sessions.end(group_id, self.member_id)


class HeartbeatsOpened(msgspec.Struct, frozen=True):
    """Heartbeats of the member with an epoch that ask for nothing renew its session and do nothing else.

    They say at most what the member owns. That holds until `until_ms`, until an event changes its group that is no
    part of a decision that `keeps_heartbeats`, or until the metadata of the cluster change. They are answered with
    this interval, and come from this client.
    """

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    client_id: str
    client_host: str
    until_ms: int = FAR_FUTURE_MS
    api_key: int = ConsumerGroupHeartbeatRequest.API_KEY
    """Of heartbeats by another API the core decides."""
    endpoint_epoch: int = 0
    """The epoch of the user endpoints that the member knows, in a streams group."""

    def apply(self, groups: HasSessions, group_id: str, now_ms: int) -> None:
        groups.sessions.open_heartbeats(
            group_id,
            self.member_id,
            self.member_epoch,
            self.heartbeat_interval_ms,
            self.client_id,
            self.client_host,
            self.until_ms,
            self.api_key,
            self.endpoint_epoch,
        )


SessionChange = SessionStarted | SessionRenewed | SessionHeard | SessionEnded | HeartbeatsOpened
