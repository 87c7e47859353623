"""Which changes of the levels of features are allowed; the messages were recorded from Kafka 4.3.1."""

from typing import Final

import pytest

from coordinator.metadata.features import (
    SAFE_DOWNGRADE,
    UNSAFE_DOWNGRADE,
    UPGRADE,
    FeatureUpdate,
    InvalidFeatureUpdate,
    changed_levels,
    levels,
)
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import FeatureRecord

NAME: Final = "transaction.version"


def changed(image: MetadataImage, *updates: tuple[str, int, int]) -> dict[str, int]:
    return dict(changed_levels(image, [FeatureUpdate(*update) for update in updates], 1))


def test_a_new_cluster_uses_the_highest_level() -> None:
    assert levels(MetadataImage()) == {"group.version": 1, "share.version": 1, "streams.version": 1, NAME: 2}


@pytest.mark.parametrize("upgrade_type", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
@pytest.mark.parametrize("feature", ["group.version", "share.version", "streams.version"])
def test_kinds_of_groups_can_be_switched_off(feature: str, upgrade_type: int) -> None:
    assert changed(MetadataImage(), (feature, 0, upgrade_type)) == {feature: 0}


@pytest.mark.parametrize("upgrade_type", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_downgrade_has_to_be_asked_for(level: int, upgrade_type: int) -> None:
    assert changed(MetadataImage(), (NAME, level, upgrade_type)) == {NAME: level}


def test_of_two_updates_the_last_one_holds() -> None:
    updates = (NAME, 1, SAFE_DOWNGRADE), (NAME, 0, SAFE_DOWNGRADE)
    assert changed(MetadataImage(), *updates) == {NAME: 0}


def test_level_0_is_not_in_use_and_can_be_raised_again() -> None:
    image = MetadataImage()
    image.apply(FeatureRecord(NAME, 0, 1))
    assert levels(image) == {"group.version": 1, "share.version": 1, "streams.version": 1}
    assert changed(image, (NAME, 1, UPGRADE)) == {NAME: 1}


def test_a_feature_of_another_version_of_this_server_is_not_told() -> None:
    image = MetadataImage()
    image.apply(FeatureRecord("of.later", 3, 7))
    assert (levels(image), image.features_epoch) == (
        {"group.version": 1, "share.version": 1, "streams.version": 1, NAME: 2},
        7,
    )


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ((NAME, 1, 0), "The controller does not support the given upgrade type."),
        ((NAME, -1, 4), "The controller does not support the given upgrade type."),
        (("unknown", 1, -1), "The controller does not support the given upgrade type."),
        ((NAME, -1, UPGRADE), "A feature version cannot be less than 0."),
        ((NAME, -32768, UNSAFE_DOWNGRADE), "A feature version cannot be less than 0."),
        (("unknown", 1, UPGRADE), "Local controller 1 does not support this feature."),
        (("", 0, SAFE_DOWNGRADE), "Local controller 1 does not support this feature."),
        ((NAME, 3, UPGRADE), "Local controller 1 only supports versions 0-2"),
        (("group.version", 2, UPGRADE), "Local controller 1 only supports versions 0-1"),
        ((NAME, 32767, UNSAFE_DOWNGRADE), "Local controller 1 only supports versions 0-2"),
        (
            (NAME, 1, UPGRADE),
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade.",
        ),
    ],
)
def test_what_is_not_allowed_says_why(update: tuple[str, int, int], reason: str) -> None:
    with pytest.raises(InvalidFeatureUpdate) as caught:
        changed(MetadataImage(), (NAME, 2, UPGRADE), update)
    prefix = "The update failed for all features since the following feature had an error: "
    assert str(caught.value) == f"{prefix}Invalid update version {update[1]} for feature {update[0]}. {reason}"
