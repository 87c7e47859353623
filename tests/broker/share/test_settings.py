"""The settings of the records of share groups: those of the group, of the broker, and the defaults."""

from typing import Final

import pytest

from coordinator.broker.share.settings import EARLIEST, LATEST, ShareRecordSettings
from coordinator.config.settings import Config
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import FeatureRecord, GroupConfigsRecord

BROKER: Final = Config(
    {
        "group.share.record.lock.duration.ms": "20000",
        "group.share.delivery.count.limit": "7",
        "group.share.partition.max.record.locks": "300",
    }
)


def settings_of(image: MetadataImage, group_id: str = "g") -> ShareRecordSettings:
    settings = ShareRecordSettings(BROKER, image)
    settings.of(group_id)
    return settings


def test_a_group_without_configs_has_those_of_the_broker():
    assert settings_of(MetadataImage()).of("g") == (20_000, 7, 300, LATEST, False, True)


def test_a_group_has_its_own():
    image = MetadataImage()
    settings = settings_of(image)
    configs = {
        "share.record.lock.duration.ms": "15000",
        "share.delivery.count.limit": "3",
        "share.partition.max.record.locks": "100",
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "false",
    }
    image.apply(GroupConfigsRecord("g", configs))
    assert settings.of("g") == (15_000, 3, 100, EARLIEST, True, False)
    assert settings.of("other") == (20_000, 7, 300, LATEST, False, True)
    image.apply(GroupConfigsRecord("g", {"share.delivery.count.limit": "4"}))
    assert settings.of("g") == (20_000, 4, 300, LATEST, False, True), "a change holds at once"


@pytest.mark.parametrize(
    ("text", "reset"),
    [
        ("by_duration:PT1H", 3_600_000),
        ("by_duration:P1DT0.5S", 86_400_500),
        ("by_duration:PT0S", 0),
        (" earliest ", EARLIEST),
        ("by_duration:-PT1H", LATEST),
        ("Earliest", LATEST),
    ],
)
def test_where_it_begins(text, reset):
    image = MetadataImage()
    image.apply(GroupConfigsRecord("g", {"share.auto.offset.reset": text}))
    assert settings_of(image).of("g").offset_reset == reset


def test_a_value_that_was_stored_with_other_bounds_is_moved_to_the_nearest():
    image = MetadataImage()
    configs = {"share.record.lock.duration.ms": "1000", "share.delivery.count.limit": "25"}
    image.apply(GroupConfigsRecord("g", configs))
    assert settings_of(image).of("g")[:2] == (15_000, 10)


def test_share_groups_can_be_switched_off():
    image = MetadataImage()
    assert settings_of(image).is_enabled()
    image.apply(FeatureRecord("share.version", 0, epoch=1))
    assert not settings_of(image).is_enabled()
