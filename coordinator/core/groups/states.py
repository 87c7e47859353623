"""The states of groups, by Kafka's names. Which of them a kind of group has is said by its row (`kind.py`).

Counterpart in Kafka: `org.apache.kafka.common.GroupState`.
"""

from enum import StrEnum
from typing import Final


class GroupState(StrEnum):
    """A state, by the name that DescribeGroups and ListGroups give it."""

    EMPTY = "Empty"
    """No members; perhaps committed offsets.

    JoinGroup of a new member starts the first rebalance. Known members do not exist: SyncGroup and Heartbeat are
    answered UNKNOWN_MEMBER_ID. OffsetCommit without a member (a "simple" consumer) is taken.
    Left to PreparingRebalance by a join, to Dead by removal.
    """

    PREPARING_REBALANCE = "PreparingRebalance"
    """Members are asked to join the next generation.

    JoinGroup waits. Heartbeat and SyncGroup are answered REBALANCE_IN_PROGRESS, and a heartbeat keeps its member alive.
    Left to CompletingRebalance when all have joined or the time is up, to Empty when no member is left.
    """

    COMPLETING_REBALANCE = "CompletingRebalance"
    """The members of the generation are fixed; the leader computes who gets what.

    SyncGroup waits for the leader's. Heartbeat is answered NONE, OffsetCommit REBALANCE_IN_PROGRESS.
    Left to Stable by the leader's SyncGroup, to PreparingRebalance by any change of membership or by a member that
    does not sync in time.
    """

    STABLE = "Stable"
    """Members work on their assignment.

    SyncGroup and JoinGroup of an unchanged follower are answered with the current generation.
    Left to PreparingRebalance by a change of membership, of metadata, or by the leader's JoinGroup.
    """

    ASSIGNING = "Assigning"
    """A consumer group whose target assignment is older than its group epoch (KIP-848).

    The next ConsumerGroupHeartbeat of a member computes the target assignment, unless the last one is too recent.
    """

    RECONCILING = "Reconciling"
    """A consumer or streams group in which some member has not reached its target assignment yet (KIP-848)."""

    NOT_READY = "NotReady"
    """A streams group whose topology cannot run yet: topics are missing, or have other numbers of partitions
    than it needs (KIP-1071).

    Members are in the group and have no tasks; their heartbeats tell them what is missing.
    """

    DEAD = "Dead"
    """The group is removed. No request is handled in this state: DescribeGroups and the audit show it for a group that
    does not exist. It is final."""


# Reading a global takes a quarter of the time of an attribute of an enum class (CPython 3.11), and every decision reads
# some.
EMPTY: Final = GroupState.EMPTY
PREPARING_REBALANCE: Final = GroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE: Final = GroupState.COMPLETING_REBALANCE
STABLE: Final = GroupState.STABLE
ASSIGNING: Final = GroupState.ASSIGNING
RECONCILING: Final = GroupState.RECONCILING
NOT_READY: Final = GroupState.NOT_READY
DEAD: Final = GroupState.DEAD
