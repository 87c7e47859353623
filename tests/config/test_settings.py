from pathlib import Path

import pytest

import coordinator.config as config_package
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS, GROUP_CONSUMER_MIGRATION_POLICY
from coordinator.config.group_keys import GROUP_MAX_SIZE, OFFSETS_RETENTION_MINUTES
from coordinator.config.key import ConfigError
from coordinator.config.settings import ALL_KEYS, KEY_MODULES, Config


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
    assert key.parse(str(key.at_most)) == key.at_most
    with pytest.raises(ConfigError, match=f"must be at least {key.at_least}"):
        key.parse(str(key.at_least - 1))
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
