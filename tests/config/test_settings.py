from pathlib import Path
from typing import Final

import pytest

import coordinator.config as config_package
from coordinator.broker.configs.resource_config_key import ConfigType
from coordinator.config.cleaner_keys import LOG_CLEANER_IO_MAX_BYTES_PER_SECOND, LOG_CLEANER_MIN_CLEANABLE_RATIO
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS, GROUP_CONSUMER_MIGRATION_POLICY
from coordinator.config.group_keys import GROUP_MAX_SIZE, GROUP_MIN_SESSION_TIMEOUT_MS, OFFSETS_RETENTION_MINUTES
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.key import DOUBLE_MAX, ConfigError
from coordinator.config.listener_keys import ADVERTISED_LISTENERS, LISTENERS
from coordinator.config.log_keys import LOG_RETENTION_MS
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import ALL_KEYS, KEY_MODULES, Config
from coordinator.config.source import ConfigSource

OF_KAFKA: Final = [key for key in ALL_KEYS if key.name in kafka_broker_configs()]
CONFIG_TYPES: Final = {
    "boolean": (ConfigType.BOOLEAN,),
    "int": (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT),
    "double": (ConfigType.DOUBLE,),
    "string": (ConfigType.STRING, ConfigType.CLASS),
    "list": (ConfigType.LIST,),
    "password": (ConfigType.PASSWORD,),
}
ONE_TEXT: Final = (LISTENERS, ADVERTISED_LISTENERS, LOG_DIRS)
"""Lists of Kafka whose entries have rules of their own, which who reads them knows."""


def test_the_keys_of_every_subject_are_settings():
    modules = {path.stem for path in Path(config_package.__file__).parent.glob("*_keys.py")}
    assert {module.__name__.rpartition(".")[2] for module in KEY_MODULES} == modules
    assert len({key.name for key in ALL_KEYS}) == len(ALL_KEYS)


def test_every_setting_has_its_default():
    config = Config()
    assert all(config[key] == key.default for key in ALL_KEYS)


@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda key: key.name)
def test_every_default_is_a_valid_value(key):
    assert Config({key.name: key.format(key.default)})[key] == key.default


@pytest.mark.parametrize("key", OF_KAFKA, ids=lambda key: key.name)
def test_a_setting_has_kafkas_type_and_takes_kafkas_default_as_its_tools_print_it(key):
    kafka = kafka_broker_configs()[key.name]
    assert kafka.type in CONFIG_TYPES[key.type_name] or key in ONE_TEXT
    if kafka.default is not None:
        value = key.parse(kafka.default)
        assert key.parse(key.format(value)) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.7976931348623157E308", "1.7976931348623157E308"),
        ("10000000", "1.0E7"),
        ("1.25e+9", "1.25E9"),
        ("9999999", "9999999.0"),
        ("1", "1.0"),
    ],
)
def test_a_number_with_a_fraction_is_shown_as_java_shows_it(text, shown):
    key = LOG_CLEANER_IO_MAX_BYTES_PER_SECOND
    assert key.format(key.parse(text)) == shown
    assert LOG_CLEANER_MIN_CLEANABLE_RATIO.format(0.0005) == "5.0E-4"


def test_a_list_has_its_words_in_order_whatever_they_are_called():
    texts = {GROUP_CONSUMER_ASSIGNORS.name: " range , org.apache.kafka.coordinator.group.assignor.UniformAssignor"}
    config = Config(texts)
    assert config[GROUP_CONSUMER_ASSIGNORS] == ("range", "uniform")
    assert config.text(GROUP_CONSUMER_ASSIGNORS) == "range,uniform"


def test_a_word_is_case_insensitive_only_where_kafka_says_so():
    assert Config({"group.consumer.migration.policy": "UpGrade"})[GROUP_CONSUMER_MIGRATION_POLICY] == "upgrade"
    with pytest.raises(ConfigError, match="expected one of none"):
        Config({"audit.compression.type": "LZ4"})


@pytest.mark.parametrize("key", [key for key in ALL_KEYS if key.at_least is not None], ids=lambda key: key.name)
def test_bounds_are_inclusive(key):
    assert key.parse(str(key.at_least)) == key.at_least
    with pytest.raises(ConfigError, match=f"must be at least {key.at_least}"):
        key.parse(str(key.at_least - 1))
    assert key.parse(str(key.at_most)) == key.at_most
    if key.at_most == DOUBLE_MAX:
        return  # there is no larger one
    with pytest.raises(ConfigError, match=f"must be at most {key.at_most}"):
        key.parse(str(key.at_most + 1))


def test_group_and_offset_defaults_are_those_of_kafka():
    config = Config()
    assert (config[OFFSETS_RETENTION_MINUTES], config[GROUP_MAX_SIZE]) == (10_080, 2**31 - 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group.max.sise": "3"}, "unknown setting 'group.max.sise'; did you mean 'group.max.size'?"),
        (
            {"zookeeper.connect": "zk:2181", "group.max.sise": "3", "io.threads": "8"},
            "unknown settings: 'zookeeper.connect', 'group.max.sise' (did you mean 'group.max.size'?), 'io.threads'",
        ),
        ({"group.max.size": "many"}, "group.max.size=many: expected a whole number"),
        ({"auto.create.topics.enable": "yes"}, "auto.create.topics.enable=yes: expected true or false"),
        (
            {"group.coordinator.rebalance.protocols": "classic,sharing"},
            "group.coordinator.rebalance.protocols=classic,sharing: 'sharing' is not one of "
            "consumer, classic, share, streams",
        ),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "protocols=consumer: must have classic"),
        ({"group.consumer.assignors": "range,range"}, "group.consumer.assignors=range,range: range is named twice"),
        (
            {"group.consumer.assignors": "org.apache.kafka.coordinator.group.assignor.RangeAssignor,range"},
            "range is named twice",
        ),
        ({"group.consumer.assignors": ""}, "group.consumer.assignors=: '' is not one of uniform, range"),
        ({"group.consumer.migration.policy": "up"}, "expected one of bidirectional, upgrade, downgrade, disabled"),
        (
            {"group.consumer.session.timeout.ms": "1000"},
            "group.consumer.session.timeout.ms=1000: must not be below group.consumer.min.session.timeout.ms=45000",
        ),
        (
            {"group.consumer.heartbeat.interval.ms": "15001"},
            "group.consumer.heartbeat.interval.ms=15001: must not be above "
            "group.consumer.max.heartbeat.interval.ms=15000",
        ),
        (
            {
                "group.consumer.min.session.timeout.ms": "500",
                "group.consumer.session.timeout.ms": "5000",
            },
            "group.consumer.session.timeout.ms=5000: must be above group.consumer.heartbeat.interval.ms=5000",
        ),
        ({"group.min.session.timeout.ms": "5", "group.max.session.timeout.ms": "4"}, "must not be above"),
    ],
)
def test_an_invalid_setting_raises_an_error_of_one_line(settings, message):
    with pytest.raises(ConfigError) as raised:
        Config(settings)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_log_directories_are_absolute_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Config({"log.dirs": "a, ./b/c ,/d"}).log_directories() == [tmp_path / "a", tmp_path / "b/c", Path("/d")]


def test_a_value_that_was_set_later_counts_and_the_one_of_a_broker_before_that_of_all():
    config = Config({LOG_RETENTION_MS.name: "7"})
    assert config.set_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, {LOG_RETENTION_MS: 6}) == [LOG_RETENTION_MS]
    assert config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 5}) == [LOG_RETENTION_MS]
    assert config[LOG_RETENTION_MS] == 5
    assert config.origins(LOG_RETENTION_MS) == [
        (ConfigSource.DYNAMIC_BROKER, 5),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, 6),
        (ConfigSource.STATIC_BROKER, 7),
    ]
    assert config.set_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, {}) == []
    assert config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {}) == [LOG_RETENTION_MS]
    assert config[LOG_RETENTION_MS] == 7


def test_who_has_asked_is_called_when_one_of_the_settings_has_another_value():
    config = Config()
    seen = []
    config.when_changed([LOG_RETENTION_MS, GROUP_MAX_SIZE], lambda: seen.append(config[LOG_RETENTION_MS]))
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 5})
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 5, OFFSETS_RETENTION_MINUTES: 9})
    assert seen == [5]


def test_settings_that_contradict_each_other_change_nothing():
    config = Config()
    with pytest.raises(ConfigError, match="must not be above"):
        config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {GROUP_MIN_SESSION_TIMEOUT_MS: 10**9, LOG_RETENTION_MS: 5})
    assert config[LOG_RETENTION_MS] == LOG_RETENTION_MS.default
    assert not config.is_given(LOG_RETENTION_MS)


def test_a_copy_changes_alone_and_views_of_listeners_change_with_their_settings():
    config = Config()
    copy, view = config.copy(), config.for_listener("PLAINTEXT")
    copy.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 5})
    assert config[LOG_RETENTION_MS] == view[LOG_RETENTION_MS] == LOG_RETENTION_MS.default
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 6})
    assert (copy[LOG_RETENTION_MS], view[LOG_RETENTION_MS]) == (5, 6)


def test_values_that_are_given_again_count_where_nothing_was_set_later():
    config = Config({LOG_RETENTION_MS.name: "7", GROUP_MAX_SIZE.name: "9"})
    config.set_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, {GROUP_MAX_SIZE: 5})
    assert config.set_given({LOG_RETENTION_MS: 8, GROUP_MAX_SIZE: 6}) == [LOG_RETENTION_MS]
    assert (config[LOG_RETENTION_MS], config[GROUP_MAX_SIZE]) == (8, 5)
    assert config.given() == {LOG_RETENTION_MS: 8, GROUP_MAX_SIZE: 6}
    assert config.set_given({}) == [LOG_RETENTION_MS]
    assert not config.is_given(LOG_RETENTION_MS)
