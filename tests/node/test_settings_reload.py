"""Settings that are read again."""

import pytest

from coordinator.config.key import ConfigError
from coordinator.config.log_keys import LOG_RETENTION_MS, MESSAGE_MAX_BYTES
from coordinator.config.server_keys import NUM_PARTITIONS
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource
from coordinator.node.settings_reload import reload_settings
from tests.front.log_lines import LogLines, log_lines

RESTART = "settings have changed that need a restart"


def reloaded(config: Config, **settings: str) -> LogLines:
    with log_lines() as lines:
        reload_settings(config, config_of(**settings))
    return lines


def config_of(**settings: str) -> Config:
    return Config({name.replace("_", "."): value for name, value in settings.items()})


def test_what_can_change_has_its_new_value_and_a_removed_line_its_default():
    config = config_of(log_retention_ms="5", message_max_bytes="9", num_partitions="3")
    lines = reloaded(config, log_retention_ms="6", num_partitions="3")
    assert (config[LOG_RETENTION_MS], config[MESSAGE_MAX_BYTES]) == (6, MESSAGE_MAX_BYTES.default)
    assert sorted(each["setting"] for each in lines.of("setting changed")) == ["log.retention.ms", "message.max.bytes"]
    assert lines.problems == []
    assert config.origins(LOG_RETENTION_MS) == [(ConfigSource.STATIC_BROKER, 6)]


def test_the_rest_waits_for_a_restart_and_is_named_each_time():
    config = config_of(num_partitions="3", listener_name_plaintext_ssl_client_auth="none")
    for _ in range(2):
        lines = reloaded(config, num_partitions="4", log_cleaner_threads="2", log_retention_ms="6")
        assert lines.of(RESTART) == [
            {"settings": "listener.name.plaintext.ssl.client.auth, log.cleaner.threads, num.partitions"}
        ]
    assert config[NUM_PARTITIONS] == 3
    assert config[LOG_RETENTION_MS] == 6


def test_a_default_that_is_written_down_is_no_change():
    lines = reloaded(Config(), num_partitions="1", log_retention_bytes="-1")
    assert lines.lines == [("settings read again: nothing has changed", {})]


def test_what_was_set_while_the_server_runs_counts_before_the_file():
    config = config_of(log_retention_ms="5")
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {LOG_RETENTION_MS: 7})
    lines = reloaded(config, log_retention_ms="6")
    assert config[LOG_RETENTION_MS] == 7
    assert lines.of("settings were set while the server runs, which counts before its file") == [
        {"settings": "log.retention.ms"}
    ]
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {})
    assert config[LOG_RETENTION_MS] == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listeners": "9092"}, "is not NAME://HOST:PORT"),
        ({"max.connections.per.ip.overrides": "localhost:1"}, "names are only allowed at the start"),
        ({"log.cleaner.min.compaction.lag.ms": "6"}, "must not be above"),
    ],
)
def test_what_cannot_be_used_changes_nothing(settings, message):
    config = config_of(log_retention_ms="5")
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {})
    set_later = Config({"log.cleaner.max.compaction.lag.ms": "5"})
    config.set_dynamic(ConfigSource.DYNAMIC_DEFAULT_BROKER, set_later.given())
    with pytest.raises(ConfigError, match=message):
        reload_settings(config, Config(settings | {"log.retention.ms": "6"}))
    assert config[LOG_RETENTION_MS] == 5
