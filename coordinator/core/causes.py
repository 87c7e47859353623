"""Why a member was removed or a rebalance started, and who asked for it."""

from enum import StrEnum
from typing import Final

import msgspec

REASON_CHARACTERS_MAX: Final = 255
"""The longest reason text that is kept (KIP-800 sets no limit); what a client sends beyond it is cut off."""


class Requester(msgspec.Struct, frozen=True):
    """The client that sent a request. `client_host` is written as Kafka writes it."""

    client_id: str
    client_host: str
    principal: str = ""


class Cause(StrEnum):
    """A closed list: a reader of the audit topic may match on it exhaustively."""

    NEW_MEMBER = "new_member"
    METADATA_CHANGED = "metadata_changed"
    TOPICS_CHANGED = "topics_changed"
    PARTITIONS_INITIALIZED = "partitions_initialized"
    STANDBY_REPLICAS_CHANGED = "standby_replicas_changed"
    LEADER_REJOINED = "leader_rejoined"
    MEMBER_REJOINED = "member_rejoined"
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    SYNC_TIMEOUT = "sync_timeout"
    STATIC_REPLACED = "static_replaced"
    GROUP_MAX_SIZE_REACHED = "group_max_size_reached"
    TOO_MANY_PENDING_MEMBERS = "too_many_pending_members"
    GROUP_TOO_LARGE = "group_too_large"
    ASSIGNMENT_TOO_LARGE = "assignment_too_large"
    OFFSETS_EXPIRED = "offsets_expired"
    NO_OFFSETS = "no_offsets"
    TOPIC_DELETED = "topic_deleted"
    GROUP_REMOVED = "group_removed"
    STORE_FAILED = "store_failed"
    NOT_STORED = "not_stored"
    INVARIANT_VIOLATED = "invariant_violated"
    ADMIN = "admin"
    RELEASED = "released"
    FAULT = "fault"


class InferredCause(StrEnum):
    """Causes that only what is seen of another Kafka leads to: no event of the audit topic has them."""

    MEMBER_LEFT_OR_EXPIRED = "member_left_or_expired"
    """A member is gone. Records do not tell whether it left or its session expired."""
    STATIC_REPLACED_OR_BACK = "static_replaced_or_new_member"
    """A client with the instance id of a member that is gone joined: it took its place, or came after a removal."""
    PENDING_MEMBER_LEFT = "pending_member_left"
    """A client that had been handed a member id, and had not joined with it, left: Kafka from 4.0 on rebalances."""
    NO_CHANGE_SEEN = "no_change_seen"
    """Members and subscriptions are the same: one of them joined again, or another one came and went meanwhile."""
    REJOINED_OR_CHANGED = "member_rejoined_or_metadata_changed"
    """A member joined again with other bytes: what it subscribes to changed, or only what it says that it owns."""
    LEADER_REJOINED_OR_CHANGED = "leader_rejoined_or_metadata_changed"
    """The same of the leader, which begins a rebalance also with the same bytes."""
    TOPICS_OR_SUBSCRIPTION_CHANGED = "topics_changed_or_metadata_changed"
    """In a consumer group (KIP-848): topics appeared, vanished or grew, or a member subscribes to others."""
    ADOPTED = "adopted"
    """Nodes in front of the cluster coordinate the group: what they tell of it follows."""
