"""Values of the configs of groups; what Kafka 4.3.1 answered to each is in the tables."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.configs import group_configs
from coordinator.broker.configs.group_config_keys import (
    ALL_GROUP_KEYS,
    CONSUMER_GROUPS,
    CONSUMER_HEARTBEAT_INTERVAL_MS,
    RANGES,
    SHARE_GROUPS,
)
from coordinator.broker.configs.group_configs import (
    CurrentGroupSettings,
    group_config_change,
    group_origins,
    validate_group_configs,
)
from coordinator.broker.configs.resource_config_key import InvalidResourceConfig
from coordinator.broker.topics import TopicError
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.settings import Config
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import FeatureRecord, GroupConfigsRecord

SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
ASSIGNMENT: Final = "consumer.assignment.interval.ms"
INTERVAL: Final = "assignment.interval.ms"
RESET: Final = "share.auto.offset.reset"
CONFIG: Final = Config(
    {
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
    }
)


def image_with(**configs: str) -> MetadataImage:
    image = MetadataImage()
    image.apply(GroupConfigsRecord("g", {name.replace("_", "."): value for name, value in configs.items()}))
    return image


@pytest.mark.parametrize("key", ALL_GROUP_KEYS, ids=lambda key: key.name)
def test_every_default_is_that_of_the_broker_on_kafka(key):
    name = f"group.{key.name}"
    key.parse(key.default)
    if name in kafka_broker_configs():
        assert kafka_broker_configs()[name].default == key.default


def test_every_range_is_made_of_settings_of_kafka():
    assert all(name in kafka_broker_configs() for range_ in RANGES.values() for name in range_ if name is not None)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"nope": "1"}, "Unknown group config name: nope"),
        ({HEARTBEAT: "abc"}, f"Invalid value abc for configuration {HEARTBEAT}: Not a number of type INT"),
        ({HEARTBEAT: "1.5"}, f"Invalid value 1.5 for configuration {HEARTBEAT}: Not a number of type INT"),
        ({HEARTBEAT: ""}, f"Invalid value  for configuration {HEARTBEAT}: Not a number of type INT"),
        ({HEARTBEAT: "9" * 11}, f"Invalid value {'9' * 11} for configuration {HEARTBEAT}: Not a number of type INT"),
        ({HEARTBEAT: "0"}, f"Invalid value 0 for configuration {HEARTBEAT}: Value must be at least 1"),
        ({ASSIGNMENT: "-1"}, f"Invalid value -1 for configuration {ASSIGNMENT}: Value must be at least 0"),
        ({HEARTBEAT: "99"}, f"{HEARTBEAT} must be greater than or equal to group.consumer.min.heartbeat.interval.ms"),
        ({HEARTBEAT: "15001"}, f"{HEARTBEAT} must be less than or equal to group.consumer.max.heartbeat.interval.ms"),
        ({SESSION: "499"}, f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        ({SESSION: "60001"}, f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
        (
            {ASSIGNMENT: "15001"},
            f"{ASSIGNMENT} must be less than or equal to group.consumer.max.assignment.interval.ms",
        ),
        ({SESSION: "500"}, f"{SESSION} must be greater than {HEARTBEAT}"),
        ({SESSION: "700", HEARTBEAT: "700"}, f"{SESSION} must be greater than {HEARTBEAT}"),
        (
            {"share.isolation.level": "READ_COMMITTED"},
            "Invalid value READ_COMMITTED for configuration share.isolation.level: "
            "String must be one of: read_committed, read_uncommitted",
        ),
        (
            {"share.renew.acknowledge.enable": "yes"},
            "Invalid value yes for configuration share.renew.acknowledge.enable: "
            "Expected value to be either true or false",
        ),
        (
            {"share.delivery.count.limit": "11"},
            "share.delivery.count.limit must be less than or equal to group.share.max.delivery.count.limit",
        ),
        (
            {"streams.num.standby.replicas": "3"},
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
        (
            {"streams.session.timeout.ms": "1"},
            "streams.session.timeout.ms must be greater than or equal to group.streams.min.session.timeout.ms",
        ),
    ],
)
def test_what_is_not_allowed_says_why(configs, message):
    with pytest.raises(InvalidResourceConfig) as refused:
        validate_group_configs(configs, CONFIG)
    assert str(refused.value) == message


def test_the_first_problem_in_the_order_of_kafka_is_told():
    with pytest.raises(InvalidResourceConfig, match=r"^Unknown group config name: nope$"):
        validate_group_configs({HEARTBEAT: "abc", "nope": "1"}, CONFIG)
    with pytest.raises(InvalidResourceConfig, match=r"^Invalid value x for configuration streams"):
        validate_group_configs({HEARTBEAT: "99", "streams.session.timeout.ms": "x"}, CONFIG)
    with pytest.raises(InvalidResourceConfig, match=f"^{HEARTBEAT} must be less"):
        validate_group_configs({HEARTBEAT: "15001", SESSION: "499"}, CONFIG)


@pytest.mark.parametrize(
    "text",
    [*("earliest", "latest", " latest ", "by_duration:P1D", "by_duration:PT0S", "by_duration:PT-0S"),
     *("by_duration:P+1D", "by_duration:pt1.5s", "by_duration:PT1H-1M", "by_duration:-PT-1,5S")],
)  # fmt: skip
def test_an_offset_reset_may_be_a_duration(text):
    assert validate_group_configs({RESET: text}, CONFIG) == {RESET: text.strip()}


@pytest.mark.parametrize(
    "text",
    [*("", "Latest", "none", "by_duration", "by_duration:", "by_duration:-P1D", "by_duration:P", "by_duration:PT"),
     *("by_duration:P1DT", "BY_DURATION:PT1S", "by_duration:P-1D", "by_duration:P1M", "by_duration:PT-0.5S")],
)  # fmt: skip
def test_an_offset_reset_may_be_nothing_else(text):
    with pytest.raises(InvalidResourceConfig, match=r"of the format 'by_duration:<PnDTnHnMn.nS>'"):
        validate_group_configs({RESET: text}, CONFIG)


def test_values_come_from_the_group_then_the_settings_then_the_defaults():
    places = group_origins(CONSUMER_HEARTBEAT_INTERVAL_MS, {HEARTBEAT: " +0700"}, CONFIG)
    assert [(place.name, place.source, place.text) for place in places] == [
        (HEARTBEAT, 8, "700"),
        ("group.consumer.heartbeat.interval.ms", 4, "500"),
        ("group.consumer.heartbeat.interval.ms", 5, "5000"),
    ]


def test_a_group_has_the_settings_of_the_broker_but_for_its_own():
    settings = CurrentGroupSettings(CONSUMER_GROUPS, CONFIG, image_with(consumer_heartbeat_interval_ms="700"))
    assert settings.of("g") == (45_000, 700, 1000)
    assert settings.of("other") == (45_000, 500, 1000)


def test_a_change_of_the_configs_of_a_group_holds_at_once():
    image = image_with(consumer_heartbeat_interval_ms="700")
    settings = CurrentGroupSettings(CONSUMER_GROUPS, CONFIG, image)
    assert settings.of("g") == (45_000, 700, 1000)
    image.group_configs["g"] = {HEARTBEAT: "800", "consumer.assignment.interval.ms": "0"}
    assert settings.of("g") == (45_000, 800, 0)
    del image.group_configs["g"]
    assert settings.of("g") == (45_000, 500, 1000)


def test_the_values_of_no_more_than_so_many_groups_are_remembered(monkeypatch):
    monkeypatch.setattr(group_configs, "GROUPS_REMEMBERED_MAX", 2)
    image = MetadataImage()
    for number in range(5):
        image.group_configs[f"g{number}"] = {HEARTBEAT: str(600 + number)}
    settings = CurrentGroupSettings(CONSUMER_GROUPS, CONFIG, image)
    for _ in range(2):
        for number in range(5):
            assert settings.of(f"g{number}") == (45_000, 600 + number, 1000)
            assert len(settings._own) <= 2


@pytest.mark.parametrize(("text", "used_ms"), [("99", 100), ("15001", 15_000), ("nonsense", 500), ("-5", 500)])
def test_a_value_that_was_stored_under_other_bounds_is_moved_into_them(text, used_ms):
    settings = CurrentGroupSettings(CONSUMER_GROUPS, CONFIG, image_with(consumer_heartbeat_interval_ms=text))
    assert settings.of("g") == (45_000, used_ms, 1000)


def test_consumer_groups_are_served_with_the_feature_and_the_protocol():
    image = MetadataImage()
    assert CurrentGroupSettings(CONSUMER_GROUPS, Config(), image).is_enabled()
    assert not CurrentGroupSettings(
        CONSUMER_GROUPS, Config({"group.coordinator.rebalance.protocols": "classic"}), image
    ).is_enabled()
    settings = CurrentGroupSettings(CONSUMER_GROUPS, Config(), image)
    image.apply(FeatureRecord("group.version", 0, 1))
    assert not settings.is_enabled()


def test_share_groups_have_settings_of_their_own_and_need_their_feature_alone():
    image = image_with(share_heartbeat_interval_ms="6000", share_session_timeout_ms="50000")
    config = Config({"group.coordinator.rebalance.protocols": "classic", "group.share.assignment.interval.ms": "7"})
    settings = CurrentGroupSettings(SHARE_GROUPS, config, image)
    assert (settings.of("g"), settings.of("other")) == ((50_000, 6000, 7), (45_000, 5000, 7))
    for level in (1, 0):
        image.apply(FeatureRecord("share.version", level, 1))
        assert settings.is_enabled() is (level > 0)


def test_no_more_groups_than_the_limit_have_configs():
    config = Config({"group.configs.max": "2"})
    has = {"a": {SESSION: "50000"}}
    wanted = {SESSION: "51000"}
    assert group_config_change(has, "b", lambda configs: wanted, config) == wanted
    assert group_config_change(has, "b", lambda configs: wanted, config, ["a"]) == wanted
    with pytest.raises(TopicError) as refused:
        group_config_change(has, "c", lambda configs: wanted, config, ["b"])
    assert refused.value.error == ErrorCode.POLICY_VIOLATION
    has["b"] = wanted
    assert group_config_change(has, "b", lambda configs: {}, config) == {}
    assert group_config_change(has, "c", lambda configs: {}, config) == {}
