"""Kinds of things that requests name by a number, and the versions in which their names are in another field."""

from enum import IntEnum
from typing import Final


class CoordinatorType(IntEnum):
    """What FindCoordinator's keys are (`FindCoordinatorRequest.CoordinatorType`)."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class ConfigResourceType(IntEnum):
    """What has configs (ConfigResource.Type)."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


COORDINATOR_KEYS_VERSION: Final = 4
"""From this version on FindCoordinator asks for many keys at once (KIP-699)."""
TOPIC_STATES_VERSION: Final = 6
"""From this version on DeleteTopics names topics by name or id (KIP-516)."""
