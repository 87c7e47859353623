"""What to try: each advice has the claims that it follows from."""

from enum import StrEnum

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim


class Try(StrEnum):
    """Kinds of advice, the most useful first: of several, those that come first are told."""

    COORDINATOR_STOOD_STILL = "coordinator_stood_still"
    RIGHT_IS_MISSING = "right_is_missing"
    QUOTA_IS_TOO_SMALL = "quota_is_too_small"
    REBALANCE_TIMEOUT_OF_NOTHING = "rebalance_timeout_of_nothing"
    PROCESS_ENDED = "process_ended"
    SESSION_FOR_RESTARTS = "session_for_restarts"
    STATIC_IS_GONE_FOR_GOOD = "static_is_gone_for_good"
    SILENT_ON_OPEN_CONNECTION = "silent_on_open_connection"
    SILENT = "silent"
    CONNECTION_LOST = "connection_lost"
    SESSION_OUTLASTS = "session_outlasts"
    SHORTER_POLL = "shorter_poll"
    LATE_TO_REJOIN = "late_to_rejoin"
    LATE_TO_SYNC = "late_to_sync"
    LONGER_POLL_INTERVAL = "longer_poll_interval"
    STATIC_MEMBERSHIP = "static_membership"
    LARGER_GROUP_SIZE = "larger_group_size"
    PENDING_IDS = "pending_ids"
    SMALLER_ASSIGNMENT = "smaller_assignment"
    SAME_TOPICS = "same_topics"
    ASKED_LATE = "asked_late"
    JOINED_LATE = "joined_late"
    STICKIER_ASSIGNOR = "stickier_assignor"
    COOPERATIVE_ASSIGNOR = "cooperative_assignor"
    CLIENT_WITHOUT_JOIN = "client_without_join"


class AssignorChange(msgspec.Struct, frozen=True):
    """How a group changes over to another assignor."""

    assignor: str
    instead_of: str
    is_rolling: bool
    """The clients take both assignors, so that two rolling restarts change over; else all have to stop."""


class Advice(Claim, frozen=True):
    """What would have helped: true if the same history with it would not have had what it is given against."""

    kind: Try
    because: tuple[Claim, ...]
    """The claims that it follows from, which are among those of the story."""
    member: MemberRef | None = None
    """Whom it is about, if it is about one."""
    above_ms: int | None = None
    """A setting has to be larger than this."""
    joins_in_poll: bool = False
    """Its client joins in poll(), so max.poll.records counts."""
    is_epoch: bool = False
    is_conditional: bool = False
    """Only if the member was not closed on purpose; of SILENT: if the coordinator did not refuse or throttle it."""
    change: AssignorChange | None = None
