"""What is told of groups of real brokers: each recorded case by records alone, by logs alone, and by both."""

import struct
from datetime import UTC
from functools import cache
from pathlib import Path

import pytest

from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.generation import Generation
from coordinator.explain.story import story_of
from coordinator.observe.group import observed_events
from coordinator.observe.history import ObservedHistory
from coordinator.observe.logs.reader import read_broker_logs
from coordinator.observe.places import Place, Source
from coordinator.observe.records.stored import GroupRecord, group_record
from tests.observe.recordings import Recording, Truth, recordings

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
