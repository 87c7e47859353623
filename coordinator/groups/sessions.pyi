from collections.abc import Iterable

from coordinator.groups.steady_commits import SteadyCommits
from coordinator.groups.steady_fetches import SteadyFetches
from coordinator.timers.wheel import TimerWheel

class SessionTable:
    """All sessions of one process. `seed` is a random number that clients cannot know."""

    leaves_heartbeats: bool
    """Whether connections leave every heartbeat to the core, as if there were no session; at first they do not."""

    leaves_requests: bool
    """Whether connections leave every other request to the core, too; at first they do not."""

    commits: SteadyCommits | None
    """What answers commits of steady members; at first nothing does, so that all go to the core."""

    fetches: SteadyFetches | None
    """What answers OffsetFetch of quiet groups; at first nothing does, so that all go to the core."""

    shares: object | None
    """What carries out ShareFetch and ShareAcknowledge of steady members; at first their handlers answer all."""
    answers: object | None
    """The `RepeatedAnswers` of what clients ask with each connection; at first there are none."""

    asks_authorizer: bool
    """Whether a heartbeat needs that its connection was authorized, by `authorize`; at first it does not."""

    def __init__(self, wheel: TimerWheel, seed: int) -> None: ...
    def __len__(self) -> int: ...
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
    ) -> None:
        """Begin a session that ends after `first_timeout_ms`, and after a heartbeat `timeout_ms` later.

        A session that is there begins again. With `may_heartbeat` false no heartbeat renews it: the session of a
        pending member id (KIP-394). `awaits_client`: until it is renewed, heartbeats are left to the core.
        """
    def renew(
        self,
        group_id: str,
        member_id: str,
        timeout_ms: int,
        now_ms: int,
        is_answer: bool = False,
        shows_client: bool = True,
    ) -> None:
        """Let the session end `timeout_ms` from now. KeyError when there is none.

        `is_answer`: the member has sent nothing, but gets the answer to a request that waited. `shows_client`: the core
        knows by which connection it comes.
        """

    def hear(self, group_id: str, member_id: str, at_ms: int) -> None:
        """A request of the member came at that time that renewed no session."""

    def await_clients(self, members: Iterable[tuple[str, str]]) -> None:
        """Leave the next heartbeats of these members, by group and id, to the core: their connection is closed."""
    def is_due(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Asked when the wheel fired for this session: whether it ran out. If not, the wheel will ask again."""
    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        """Whether the member's session has run out, or never was."""
    def deadline_ms(self, group_id: str, member_id: str) -> int | None:
        """When the session runs out if nothing is heard; None without a session."""
    def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
        """When a request of the member last came, heartbeats too; None: none did since its session began.

        Those count, too, that renew no session (`hear`).
        """
    def timeout_ms(self, group_id: str, member_id: str) -> int | None:
        """How long the session lasts from each renewal on; None if there is none."""
    def set_group(self, group_id: str, generation_id: int, open: bool) -> None:
        """Open or close the fast path for a generation of the group."""
    def open_heartbeats(
        self,
        group_id: str,
        member_id: str,
        member_epoch: int,
        heartbeat_interval_ms: int,
        client_id: str,
        client_host: str,
        until_ms: int,
        api_key: int = 68,
        endpoint_epoch: int = 0,
    ) -> None:
        """Answer the heartbeats of the member with an epoch that ask for nothing, until then or something is closed.

        `api_key` says by which API they come; all others are left to the core, and so are those of a streams group that
        say another epoch of the endpoints.
        KeyError when it has no session. The heartbeats of a very long member id are left to the core.
        """
    def close_heartbeats(self, group_id: str) -> None:
        """Leave the heartbeats with an epoch of a group to the core: something of the group has changed."""
    def close_all_heartbeats(self) -> None:
        """Leave all heartbeats with an epoch to the core: topics, configs, features or the clock may have changed."""
    @property
    def authorizations(self) -> int:
        """A number that rises when the authorizer may decide otherwise."""
    def authorize(self, group_id: str, member_id: str, connection: int, since: int = -1) -> None:
        """Let the member's heartbeats by this connection be answered here, as far as its client has to be authorized.

        Until authorizations are taken back. `since` is what `authorizations` was when the authorizer was first asked,
        -1: just now. Without a session nothing happens.
        """
    def revoke_authorizations(self) -> None:
        """The authorizer may decide otherwise from now on: it has to be asked again about each member."""
    def end(self, group_id: str, member_id: str) -> bool:
        """End the session of a member that is gone; False when it had none."""
    def end_all(self, group_id: str) -> None:
        """End all sessions of a group that is gone or no longer served here."""
    def members(self, group_id: str) -> list[str]:
        """The ids of the group's members that have a session."""
    def answer_consumer_heartbeat(
        self,
        group_id: str,
        member_id: str,
        instance_id: str | None,
        member_epoch: int,
        client_id: str,
        client_host: str,
        now_ms: int,
        connection: int = 0,
        api_key: int = 68,
        endpoint_epoch: int = 0,
    ) -> int:
        """As `answer_heartbeat`, of a heartbeat with an epoch that asks for nothing: the interval to answer, or -1.

        `api_key` is that of ConsumerGroupHeartbeat, ShareGroupHeartbeat or StreamsGroupHeartbeat.
        """
    def answer_heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        now_ms: int,
        connection: int = 0,
    ) -> bool:
        """The fast path as Python sees it: true when the heartbeat changed nothing but the deadline."""
