import pytest

from coordinator.config import (
    ALL_KEYS,
    GROUP_MAX_SIZE,
    OFFSETS_RETENTION_MINUTES,
    Config,
    ConfigError,
    parse_settings,
    read_properties,
)


def test_every_setting_has_its_default():
    config = Config()
    assert all(config[key] == key.default for key in ALL_KEYS)


@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda key: key.name)
def test_every_default_is_a_valid_value(key):
    assert Config({key.name: str(key.default)})[key] == key.default


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
        ({"group.max.size": "many"}, "group.max.size=many: expected a whole number"),
        ({"auto.create.topics.enable": "yes"}, "auto.create.topics.enable=yes: expected true or false"),
        ({"group.coordinator.rebalance.protocols": "consumer"}, "expected one of classic"),
        ({"group.min.session.timeout.ms": "5", "group.max.session.timeout.ms": "4"}, "must not be above"),
    ],
)
def test_an_invalid_setting_raises_an_error_of_one_line(settings, message):
    with pytest.raises(ConfigError) as raised:
        Config(settings)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_reads_a_file_in_the_form_of_server_properties(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a comment\n! another\n\ngroup.max.size = 3\n  offsets.retention.minutes=7\n", encoding="utf-8")
    assert read_properties(path) == {"group.max.size": "3", "offsets.retention.minutes": "7"}
    with pytest.raises(ConfigError, match="cannot read"):
        read_properties(tmp_path / "none")


def test_a_line_without_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"'group\.max\.size': expected KEY=VALUE"):
        parse_settings(["group.max.size"])
