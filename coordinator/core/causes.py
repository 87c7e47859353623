"""Why a member was removed or a rebalance started."""

from enum import StrEnum


class Cause(StrEnum):
    """A closed list: a reader of the audit topic may match on it exhaustively."""

    NEW_MEMBER = "new_member"
    METADATA_CHANGED = "metadata_changed"
    LEADER_REJOINED = "leader_rejoined"
    MEMBER_REJOINED = "member_rejoined"
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    SYNC_TIMEOUT = "sync_timeout"
    STATIC_REPLACED = "static_replaced"
    GROUP_MAX_SIZE_REACHED = "group_max_size_reached"
    GROUP_TOO_LARGE = "group_too_large"
    ASSIGNMENT_TOO_LARGE = "assignment_too_large"
    OFFSETS_EXPIRED = "offsets_expired"
    TOPIC_DELETED = "topic_deleted"
    GROUP_REMOVED = "group_removed"
    STORE_FAILED = "store_failed"
    NOT_STORED = "not_stored"
    INVARIANT_VIOLATED = "invariant_violated"
    ADMIN = "admin"
