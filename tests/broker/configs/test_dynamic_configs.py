"""From the metadata to the settings."""

from itertools import count

import pytest

from coordinator.broker.configs.dynamic_configs import DynamicBrokerConfigs
from coordinator.config.log_keys import LOG_RETENTION_MS, LOG_SEGMENT_BYTES, MESSAGE_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.metadata.store import MetadataStore
from tests.front.log_lines import log_lines

UNUSED = "configs are stored that nothing here reads"


@pytest.fixture
def store(tmp_path):
    directory = LogDirectory.open(tmp_path / "data")
    ids = count(1)
    yield MetadataStore(directory.open_metadata_log(LogConfig()), lambda: next(ids).to_bytes(16, "big"))
    directory.close()


def test_a_change_has_its_effect_when_it_is_stored_and_a_removal_takes_it_back(store):
    config = Config({LOG_RETENTION_MS.name: "7"})
    dynamic = DynamicBrokerConfigs(config, store)
    with log_lines() as lines:
        dynamic.change({"": {"log.retention.ms": "5"}, "1": {"message.max.bytes": " 9 "}}, 0)
        assert (config[LOG_RETENTION_MS], config[MESSAGE_MAX_BYTES]) == (5, 9)
        dynamic.change({"1": {"message.max.bytes": "9", "log.retention.ms": "6"}}, 0)
        assert config[LOG_RETENTION_MS] == 6
        dynamic.change({"1": {}, "": {}}, 0)
        assert (config[LOG_RETENTION_MS], config[MESSAGE_MAX_BYTES]) == (7, MESSAGE_MAX_BYTES.default)
    assert [tuple(each.values()) for each in lines.of("setting changed")] == [
        ("log.retention.ms", "5", "all"),
        ("message.max.bytes", "9", "1"),
        ("log.retention.ms", "6", "1"),
        ("message.max.bytes", "1048588", "1"),
        ("log.retention.ms", "7", "1"),
    ]
    assert lines.problems == []


def test_nothing_is_stored_where_nothing_changes(store):
    dynamic = DynamicBrokerConfigs(Config(), store)
    dynamic.change({"": {"log.retention.ms": "5"}}, 0)
    before = store.end_offset
    dynamic.change({"": {"log.retention.ms": "5"}, "1": {}}, 0)
    assert store.end_offset == before


def test_what_is_stored_has_its_effect_at_the_start(store):
    DynamicBrokerConfigs(Config(), store).change({"": {"log.retention.ms": "5"}, "2": {"message.max.bytes": "9"}}, 0)
    config = Config()
    DynamicBrokerConfigs(config, store)
    assert (config[LOG_RETENTION_MS], config[MESSAGE_MAX_BYTES]) == (5, MESSAGE_MAX_BYTES.default)


def test_what_nothing_reads_is_named_once(store):
    dynamic = DynamicBrokerConfigs(Config(), store)
    stored = {"num.io.threads": "9", "no.such": "x", "log.cleaner.threads": "2", "listeners": "A://:1"}
    with log_lines() as lines:
        dynamic.change({"1": stored}, 0)
        dynamic.change({"1": stored | {"log.preallocate": "true"}}, 0)
    assert lines.of(UNUSED) == [
        {"configs": "listeners, log.cleaner.threads, no.such, num.io.threads"},
        {"configs": "log.preallocate"},
    ]


def test_a_stored_value_that_is_not_allowed_is_reported_and_the_others_count(store):
    store.change_broker_configs({"1": {"log.retention.ms": "x", "log.segment.bytes": "2000000"}}, 0)
    config = Config()
    with log_lines() as lines:
        DynamicBrokerConfigs(config, store)
    assert (config[LOG_RETENTION_MS], config[LOG_SEGMENT_BYTES]) == (LOG_RETENTION_MS.default, 2_000_000)
    assert lines.of("a config that was set for a broker is not used") == [
        {"broker": "1", "problem": "log.retention.ms=x: expected a whole number"}
    ]


def test_stored_values_that_contradict_each_other_do_not_count(store):
    store.change_broker_configs(
        {
            "": {
                "log.cleaner.min.compaction.lag.ms": "9",
                "log.cleaner.max.compaction.lag.ms": "5",
                "log.retention.ms": "1",
            }
        },
        0,
    )
    config = Config()
    with log_lines() as lines:
        DynamicBrokerConfigs(config, store)
    assert config[LOG_RETENTION_MS] == LOG_RETENTION_MS.default
    assert lines.problems == ["the configs that were set for a broker are not used"]
