"""The features whose levels the cluster agrees on (KIP-584, KIP-1022), and which changes of them are allowed.

Counterpart in Kafka: `FeatureControlManager.updateFeature`, with its messages.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from coordinator.metadata.image import MetadataImage

LOWEST_LEVEL: Final = 0
"""Of every feature; a feature at this level is not in use."""
GROUP_VERSION: Final = "group.version"
SHARE_VERSION: Final = "share.version"
"""Level 0 switches share groups off (KIP-932)."""
STREAMS_VERSION: Final = "streams.version"
"""Level 0 switches streams groups off (KIP-1071)."""
HIGHEST_LEVELS: Final = {GROUP_VERSION: 1, SHARE_VERSION: 1, STREAMS_VERSION: 1, "transaction.version": 2}
"""Feature → its highest level, which a new cluster uses. Level 0 of `group.version` switches consumer groups off
(KIP-848), that of `share.version` share groups, that of `streams.version` streams groups. A level below 2 of
`transaction.version` lets clients add partitions before they write to them, as before KIP-890. No other feature of
Kafka is of use to a client of this server."""

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
DOWNGRADES: Final = (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)


class FeatureUpdate(msgspec.Struct, frozen=True):
    """The level that a feature is to have, and which way it may go to it: one of the types above."""

    name: str
    level: int
    upgrade_type: int


class InvalidFeatureUpdate(Exception):
    """An update that is not allowed; the message is Kafka's."""


def levels(image: MetadataImage) -> dict[str, int]:
    """The features that are in use, by name. At level 0 a feature is not in use."""
    found = {name: level_of(image, name) for name in HIGHEST_LEVELS}
    return {name: level for name, level in found.items() if level > 0}


def level_of(image: MetadataImage, name: str) -> int:
    """The level of a feature; one that this server does not support is not in use."""
    return image.feature_levels.get(name, HIGHEST_LEVELS.get(name, LOWEST_LEVEL))


def changed_levels(image: MetadataImage, updates: Iterable[FeatureUpdate], node_id: int) -> Iterator[tuple[str, int]]:
    """The name and new level of each feature that an update changes. Of two updates of a feature the last one holds.

    Raises:
        InvalidFeatureUpdate: one of them is not allowed, so none is.
    """
    current = levels(image)
    for update in updates:
        reason = _reason_against(update, current.get(update.name, 0), node_id)
        if reason:
            raise InvalidFeatureUpdate(
                "The update failed for all features since the following feature had an error: "
                f"Invalid update version {update.level} for feature {update.name}. {reason}"
            )
        yield update.name, update.level


def _reason_against(update: FeatureUpdate, current: int, node_id: int) -> str:
    """Why an update is not allowed; empty if it is."""
    if update.upgrade_type not in (UPGRADE, *DOWNGRADES):
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    highest = HIGHEST_LEVELS.get(update.name)
    if highest is None:
        return f"Local controller {node_id} does not support this feature."
    if update.level > highest:
        return f"Local controller {node_id} only supports versions 0-{highest}"
    if update.level < current and update.upgrade_type not in DOWNGRADES:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    return ""
