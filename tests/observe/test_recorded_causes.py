"""What is told of groups of real brokers: each recorded case by records alone, by logs alone, and by both."""

from coordinator.core.causes import Cause, InferredCause

SOURCES = ("records", "logs", "both")
UNDECIDED = {
    InferredCause.MEMBER_LEFT_OR_EXPIRED: {
        Cause.MEMBER_LEFT,
        Cause.SESSION_EXPIRED,
        Cause.REBALANCE_TIMEOUT,
        Cause.SYNC_TIMEOUT,
        Cause.GROUP_MAX_SIZE_REACHED,
    },
    InferredCause.REJOINED_OR_CHANGED: {Cause.METADATA_CHANGED, Cause.MEMBER_REJOINED, Cause.LEADER_REJOINED},
    InferredCause.TOPICS_OR_SUBSCRIPTION_CHANGED: {Cause.METADATA_CHANGED, Cause.TOPICS_CHANGED},
}
"""What is left open by a cause that is not decided."""
