"""Who came and who went: the changes of the members of a group, as events tell them."""

from typing import Final

import msgspec

from coordinator.audit.schema import DeniedRequests, MemberRef, Requester
from coordinator.core.causes import Cause

CHANGES_KEPT_MAX: Final = 10_000
"""The largest number of joins, of removals and of replacements that are kept of one generation."""

CAME_TOO_LATE: Final = frozenset({Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT})
"""Causes of a removal that say: the member did not send what the rebalance waited for."""


LATE: Final = 2.9
"""Which part of its session timeout passes without a heartbeat at most, one that is late included, if all is well."""

LATE_MS: Final = 3_500
"""As `LATE`, of clients that send heartbeats as often as they do by default: every 3 s (heartbeat.interval.ms)."""


def misses_heartbeats(silent_ms: int, session_timeout_ms: int) -> bool:
    """Whether a member was silent for longer than one whose heartbeats come as they should."""
    return LATE * silent_ms > session_timeout_ms or silent_ms > LATE_MS


class Removal(msgspec.Struct, frozen=True, gc=False):
    """A member that was removed. Times are wall-clock ms since the epoch; None: not known."""

    member: MemberRef
    cause: Cause
    reason: str
    at_ms: int
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    """The one that it was too late by, or that held then. Java, librdkafka, kafka-python send max.poll.interval.ms."""
    last_heard_ms: int | None = None
    last_joined_ms: int | None = None
    last_committed_ms: int | None = None
    requested_by: Requester | None = None
    connection_open: bool | None = None
    """Whether its connection was open when it was removed; None: not known."""
    connection_closed_ms: int | None = None
    coordinator_paused_ms: int | None = None
    """For how long of its silence the coordinator itself stood still."""
    connection_closed_in_pause_ms: int | None = None
    """How long the pause of the coordinator was in which its client's side may have closed the connection."""
    was_revoking: bool = False
    """In a consumer group: it was asked to give up partitions, and had not done so."""
    was_loaded: bool = False
    """The coordinator had restarted since the member's last JoinGroup, with which its client says what it is."""
    seq: int | None = None
    """The event that told of it, as of the other changes."""
    muted_ms: int | None = None
    """For how long of its silence the coordinator read nothing from its connection, because of a quota."""
    denied: DeniedRequests | None = None
    """Its requests in that time that the authorizer refused."""
    gives_no_reason: bool = False
    """Its group was one of KIP-848, whose protocol has no reasons."""
    owned: int | None = None
    """Partitions that it had."""
    loaded_ms: int | None = None
    """When its group was loaded last before that; None: not in what is known of it."""
    is_back: bool = False
    """Its client joined as another member at once after the pause of the coordinator in which its connection closed."""
    rejected: str = ""
    """The error with which its last heartbeat in its silence was answered."""
    left_ms: int | None = None
    """When it left for a moment as a static member (KIP-848), and did not come back; None: it did not."""
    answered_ms: int | None = None
    """When its last JoinGroup was answered, with the generation that began then; None: not known."""
    rejected_ms: int | None = None
    """When a heartbeat of it was rejected: its client gives up what it has then. None: not known, or none was."""

    heard_late_ms: int | None = None
    """For how long at most what was heard last had waited to be read, because of a quota; None: it was read at once."""
    has_synced: bool | None = None
    """Whether it asked for its assignment since it joined last; None: not known."""
    is_seen_by_node: bool = False
    """Another Kafka coordinates its group, and a node saw what it sent: also that it gave no reason."""

    @property
    def is_disconnected(self) -> bool:
        """Whether its client's side closed the connection before it was removed for its silence."""
        is_closed = self.connection_open is False and self.connection_closed_ms is not None
        return is_closed and not self.is_by_coordinator and self.left_ms is None

    @property
    def is_unheard(self) -> bool:
        """Whether its session ended because the coordinator stood still: no member may be blamed for that.

        A session ends after its timeout, so a short pause in it changes nothing: a member sends several heartbeats in
        that time (heartbeat.interval.ms), and what it sends during a pause is read after it. If it was silent for half
        of its session timeout while the coordinator listened, it was silent.
        """
        if self.cause is not Cause.SESSION_EXPIRED:
            return False
        if self.gave_up:
            return not self._had_a_session_after_the_pause and (self.is_back or not self._was_heard_after_the_pause)
        if not self.coordinator_paused_ms or self.silent_ms is None or self.connection_open is False:
            return False  # one that had closed its connection before the pause sent nothing in it
        return 2 * (self.at_ms - self._due_since_ms - self.coordinator_paused_ms) < (self.session_timeout_ms or 0)

    @property
    def _due_since_ms(self) -> int:
        """Since when heartbeats of it were due: as long as it waits for the answer to its JoinGroup, none are."""
        return min(max(self.last_heard_ms or 0, self.answered_ms or 0), self.at_ms)

    @property
    def _had_a_session_after_the_pause(self) -> bool:
        """Whether it was removed a whole session after the pause in which its connection closed."""
        if self.connection_closed_ms is None or not self.session_timeout_ms or self.is_back:
            return False
        listened_ms = self.at_ms - self.connection_closed_ms - (self.coordinator_paused_ms or 0)
        return listened_ms >= self.session_timeout_ms

    @property
    def _was_heard_after_the_pause(self) -> bool:
        """Whether the coordinator listened to it for a whole session since it was heard last."""
        if self.silent_ms is None or not self.session_timeout_ms:
            return False
        return self.silent_ms - (self.coordinator_paused_ms or 0) >= self.session_timeout_ms

    @property
    def is_muted(self) -> bool:
        """Whether its session ended because the coordinator read nothing from its connection.

        One whose heartbeats did not come before that, or after it, may have been silent by itself.
        """
        if self.cause is not Cause.SESSION_EXPIRED or not self.muted_ms or self.last_heard_ms is None:
            return False
        timeout_ms = self.session_timeout_ms or 0
        since_ms = self._due_since_ms
        silent_ms, muted_ms = self.at_ms - since_ms, self.muted_ms
        if muted_ms < since_ms - self.last_heard_ms:
            return False  # it may have been muted while it waited for the answer to its JoinGroup, and sent nothing
        if self.connection_closed_ms is not None:  # a connection is muted until then, at most
            muted_ms = min(muted_ms, self.connection_closed_ms - max(since_ms, self.at_ms - timeout_ms))
        return not misses_heartbeats(silent_ms - muted_ms, timeout_ms)

    @property
    def is_refused(self) -> bool:
        """Whether it sent requests that were refused for want of a right, and so renewed no session.

        If it was heard after the first of them, it had the right again, and none of them may be later than that.
        """
        if self.cause is not Cause.SESSION_EXPIRED or self.denied is None:
            return False
        is_last = self.rejected_ms is None or self.rejected_ms < self.denied.since_ms
        return is_last and (self.last_heard_ms or 0) <= self.denied.since_ms

    @property
    def is_by_coordinator(self) -> bool:
        """Whether its session ended by what the coordinator itself did: nothing may be guessed about its process."""
        return self.is_unheard or self.is_refused or self.is_muted

    @property
    def may_have_ended(self) -> bool:
        """Of one that was not heard because of a pause: whether its process may as well have ended.

        Its client may have given up, and one of the same identity was there at once after that, or a whole session
        passed without a sign of it. Or it was silent for so long while the coordinator listened, as nothing was due.
        """
        timeout_ms = self.session_timeout_ms or 0
        passed_ms = self.at_ms - (self.connection_closed_ms or self.at_ms)
        may_have_given_up = self.gave_up and (self.is_back or passed_ms >= timeout_ms)
        # As long as a member waits for the answer to its JoinGroup nothing tells whether it lives.
        listened_ms = (self.silent_ms or 0) - (self.coordinator_paused_ms or 0)
        return may_have_given_up or listened_ms >= timeout_ms > 0

    @property
    def is_surely_silent(self) -> bool:
        """Whether the coordinator surely neither refused nor throttled it: events with its connection say so."""
        return self.connection_open is not None and not self.muted_ms and self.denied is None

    @property
    def last_sign_ms(self) -> int | None:
        """When it was heard last.

        By a commit, too, which renews no session in a consumer group (KIP-848), or by a heartbeat that was rejected.
        """
        return max(filter(None, (self.last_heard_ms, self.last_committed_ms, self.rejected_ms)), default=None)

    @property
    def has_no_time(self) -> bool:
        """Whether its own client asked for a rebalance timeout of 0 or less: nobody can be in time then."""
        return self.cause in CAME_TOO_LATE and self.rebalance_timeout_ms is not None and self.rebalance_timeout_ms <= 0

    @property
    def gave_up(self) -> bool:
        """Whether its client may have closed the connection because the coordinator stood still.

        Clients do so when no heartbeat was answered for their session timeout; half of it is on the safe side.
        """
        return 2 * (self.connection_closed_in_pause_ms or 0) > (self.session_timeout_ms or 0)

    @property
    def gone_ms(self) -> int:
        """From when on its client may have come back as another member."""
        closed_ms = self.connection_closed_ms if self.connection_open is False else None
        return self.at_ms if closed_ms is None else min(closed_ms, self.at_ms)

    def precedes(self, joined: "Joining") -> bool:
        """Whether this member was gone when another one, which may be of the same client, joined."""
        return joined.at_ms >= self.gone_ms and joined.member.member_id != self.member.member_id

    @property
    def stopped_ms(self) -> int:
        """When it consumed for the last time, as far as that is known."""
        if self.cause is Cause.MEMBER_LEFT:
            return self.at_ms
        if self.left_ms is not None:
            return self.left_ms
        if self.is_unheard and self.connection_open:
            return self.at_ms  # it lived, and nobody told it to stop
        if self.last_heard_ms is not None:
            lived_ms = self.connection_closed_ms if self.waited else None
            return min(lived_ms or self.last_sign_ms or self.last_heard_ms, self.at_ms)
        # Its session began again when the coordinator started, and it sent nothing in that session.
        if self.cause is not Cause.SESSION_EXPIRED:
            return self.at_ms
        return max(self.at_ms - (self.session_timeout_ms or 0), min(self.last_sign_ms or 0, self.at_ms))

    @property
    def waited(self) -> bool:
        """Whether it waited for the answer to its JoinGroup when its connection closed: no heartbeats are sent then."""
        joined_ms, closed_ms = self.last_joined_ms, self.connection_closed_ms
        if joined_ms is None or closed_ms is None or joined_ms != self.last_heard_ms:
            return False
        return self.answered_ms is not None and not joined_ms <= self.answered_ms <= closed_ms

    @property
    def may_have_stopped_earlier(self) -> bool:
        """Whether it may have stopped before `stopped_ms`, as nothing tells when it was last heard.

        Or the coordinator was not there to hear it, or did not read what came last at once, such as its LeaveGroup.
        """
        is_missed = self.cause in CAME_TOO_LATE or self.cause is Cause.SESSION_EXPIRED or self.requested_by is not None
        was_read_late = self.cause is Cause.MEMBER_LEFT and self.muted_ms is not None
        was_read_late |= self.heard_late_ms is not None
        is_late = self.gave_up or self.is_unheard or self.waited or was_read_late
        return is_late or (is_missed and self.last_heard_ms is None)

    @property
    def may_be_closed(self) -> bool:
        """Whether it may have been shut down in order: a static member sends no LeaveGroup then (KIP-345)."""
        return self.member.group_instance_id is not None and not self.connection_open

    @property
    def silent_ms(self) -> int | None:
        """How long nothing was heard of it before it was removed."""
        return None if self.last_heard_ms is None else max(0, self.at_ms - self.last_heard_ms)


class Joining(msgspec.Struct, frozen=True, gc=False):
    """A member that is new in the group."""

    member: MemberRef
    at_ms: int
    reason: str = ""
    seq: int | None = None
    fills_group: bool = False
    """With it the group has as many members as it may have."""
    rejected_as: str = ""
    """The member id that its client had before, as its connection tells: it is the same process."""


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """A static member whose place another client took (KIP-345): its own after a restart, unless a fault did it."""

    member: MemberRef
    old_member_id: str
    at_ms: int
    seq: int
    old_client_id: str
    old_client_host: str
    reason: str
    subscribed_topics: tuple[str, ...]
    old_subscribed_topics: tuple[str, ...]
    cause: Cause = Cause.STATIC_REPLACED
    stopped_ms: int | None = None
    """When the client before was heard last; after a load when that was: it may have stopped earlier."""


class Resubscription(msgspec.Struct, frozen=True, gc=False):
    """A member that rejoined with other metadata: the topics that came and went; none if those are the same."""

    member: MemberRef
    came: tuple[str, ...]
    went: tuple[str, ...]
    is_first_since_load: bool
    """It is compared with what the coordinator stores, which is less than what the member sends."""
    seq: int | None = None


class FoundTopics(msgspec.Struct, frozen=True, gc=False):
    """Regular expressions of members were matched with the names of all topics (KIP-848)."""

    at_ms: int
    seq: int
    patterns: dict[str, list[str]]
    """Regular expression → the topics that it matches; empty: they are too many to be named."""


class Changes(msgspec.Struct, gc=False):
    """Who came and who went, until a generation starts with those who remain."""

    joined: list[Joining] = []
    removed: list[Removal] = []
    replaced: list[Replacement] = []
    resubscribed: list[Resubscription] = []
    unnamed: int = 0
    """Changes beyond `CHANGES_KEPT_MAX`."""
    found: "FoundTopics | None" = None
    """The last time that regular expressions were looked up."""

    def pop_joined(self) -> list[Joining]:
        """Who joined, which is counted elsewhere."""
        joined, self.joined = self.joined, []
        return joined

    def add(
        self, kept: list[Joining] | list[Removal] | list[Replacement] | list[Resubscription], change: object
    ) -> None:
        if len(kept) < CHANGES_KEPT_MAX:
            kept.append(change)  # type: ignore[arg-type]
        else:
            self.unnamed += 1
