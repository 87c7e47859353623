"""Topic configs: what Kafka 4.3.1 answered to each is in the tables."""

import pytest

from coordinator.broker.configs.resource_config_key import InvalidResourceConfig
from coordinator.broker.configs.topic_config_keys import ALL_KEYS, KEYS_BY_NAME
from coordinator.broker.configs.topic_configs import log_config, origins, valid_configs, validate
from coordinator.config.key import INT64_MAX, ConfigError
from coordinator.config.settings import ALL_KEYS as SETTINGS
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.config import LogConfig

NOT_LONG = "Not a number of type LONG"
KAFKA_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


def test_the_names_and_defaults_are_those_of_kafka():
    assert {key.name: origins(key, "t", {}, Config())[0].text for key in ALL_KEYS} == KAFKA_DEFAULTS


def test_the_defaults_of_a_log_are_those_of_its_topic():
    assert log_config("t", {}, Config()) == LogConfig()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("nope", "1", "Unknown topic config name: nope"),
        ("", "1", "Unknown topic config name: "),
        ("message.format.version", "3.0", "Unknown topic config name: message.format.version"),
        ("retention.ms", "x", f"Invalid value x for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", "", f"Invalid value  for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", "0x10", f"Invalid value 0x10 for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", "1_0", f"Invalid value 1_0 for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", "\u0661", f"Invalid value \u0661 for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", str(1 << 63), f"Invalid value {1 << 63} for configuration retention.ms: {NOT_LONG}"),
        ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        ("retention.ms", None, "Null value not supported for topic configs: retention.ms"),
        ("segment.bytes", "100", "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
        (
            "segment.bytes",
            "99999999999",
            "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
        ),
        (
            "cleanup.policy",
            "delete,foo",
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            "compression.type",
            "foo",
            "Invalid value foo for configuration compression.type: String must be one of: uncompressed, zstd, lz4, "
            "snappy, gzip, producer",
        ),
        (
            "message.timestamp.type",
            "foo",
            "Invalid value foo for configuration message.timestamp.type: String must be one of: CreateTime, "
            "LogAppendTime",
        ),
        (
            "min.cleanable.dirty.ratio",
            "2",
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
        (
            "min.cleanable.dirty.ratio",
            "nan",
            "Invalid value nan for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE",
        ),
        (
            "preallocate",
            "x",
            "Invalid value x for configuration preallocate: Expected value to be either true or false",
        ),
        (
            "compression.gzip.level",
            "0",
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            "leader.replication.throttled.replicas",
            "foo",
            "Invalid value [foo] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
            "format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
        (
            "remote.storage.enable",
            "true",
            "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log "
            "storage.",
        ),
    ],
)
def test_what_kafka_refuses_is_refused_with_its_message(name, text, message):
    with pytest.raises(InvalidResourceConfig) as refused:
        validate({name: text})
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cleanup.policy", ""),
        ("cleanup.policy", "compact , delete"),
        ("cleanup.policy", "delete,delete"),
        ("preallocate", "TRUE"),
        ("retention.ms", "+5"),
        ("retention.ms", " 7 "),
        ("retention.bytes", "-2"),
        ("segment.index.bytes", "4"),
        ("min.insync.replicas", "5"),
        ("leader.replication.throttled.replicas", "0:1"),
        ("leader.replication.throttled.replicas", "*"),
        ("compression.type", "producer"),
        ("compression.type", "uncompressed"),
        ("compression.type", "lz4"),
        ("compression.lz4.level", "17"),
        ("min.cleanable.dirty.ratio", "1e-1"),
    ],
)
def test_what_kafka_accepts_is_accepted(name, text):
    assert validate({name: text}) == {name: text.strip()}


def test_values_have_a_limit():
    with pytest.raises(InvalidResourceConfig, match="more than 2048 characters"):
        validate({"cleanup.policy": ",".join(["delete"] * 1000)})


def test_two_lags_of_compaction_must_not_contradict_each_other():
    with pytest.raises(InvalidResourceConfig) as refused:
        validate({"max.compaction.lag.ms": "5", "min.compaction.lag.ms": "10"})
    assert str(refused.value) == "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"


def test_internal_topics_keep_their_cleanup_policy():
    with pytest.raises(InvalidResourceConfig, match="always compact"):
        validate({"cleanup.policy": "delete"}, OFFSETS_TOPIC)
    with pytest.raises(InvalidResourceConfig, match="always delete"):
        validate({"cleanup.policy": "compact"}, AUDIT_TOPIC)
    assert validate({"cleanup.policy": "compact"}, OFFSETS_TOPIC) == {"cleanup.policy": "compact"}
    assert log_config(OFFSETS_TOPIC, {}, Config()).cleanup_policy == {"compact"}


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, TRANSACTIONS_TOPIC, AUDIT_TOPIC])
@pytest.mark.parametrize(
    "name, refused, accepted",
    [
        ("max.message.bytes", "1048587", "1048588"),
        ("segment.bytes", "1048575", "1048576"),
        ("segment.ms", "59999", "60000"),
    ],
)
def test_internal_topics_have_lower_bounds(topic, name, refused, accepted):
    with pytest.raises(InvalidResourceConfig, match=f"for configuration {name}: Value must be at least"):
        validate({name: refused}, topic)
    assert validate({name: accepted}, topic) == {name: accepted}


@pytest.mark.parametrize(
    "topic, name, text",
    [
        (OFFSETS_TOPIC, "retention.ms", "1"),
        (TRANSACTIONS_TOPIC, "retention.bytes", "1"),
        (OFFSETS_TOPIC, "segment.index.bytes", "4"),
        (OFFSETS_TOPIC, "message.timestamp.after.max.ms", "0"),
        (AUDIT_TOPIC, "max.compaction.lag.ms", "60000"),
    ],
)
def test_a_config_that_could_harm_an_internal_topic_is_refused_with_those_that_may_be_set(topic, name, text):
    with pytest.raises(InvalidResourceConfig) as refused:
        validate({name: text}, topic)
    message = str(refused.value)
    assert message.startswith(f"Topic {topic} is internal: {name} cannot be set, only ")
    assert "max.message.bytes, " in message


def test_what_was_stored_for_an_internal_topic_before_there_were_bounds_counts_as_not_set():
    stored = {"max.message.bytes": "1", "retention.ms": "1", "segment.ms": "70000"}
    assert valid_configs(stored, OFFSETS_TOPIC) == {"segment.ms": "70000"}
    assert log_config(OFFSETS_TOPIC, stored, Config()).max_message_bytes == LogConfig().max_message_bytes
    assert validate({"retention.ms": "1000", "retention.bytes": "-1"}, AUDIT_TOPIC)


def test_configs_that_were_stored_unchecked_count_as_not_set():
    stored = {"retention.ms": "soon", "nope": "1", "segment.ms": "5"}
    assert valid_configs(stored) == {"segment.ms": "5"}
    assert log_config("t", stored, Config()) == LogConfig(segment_ms=5)


def test_a_topic_sets_what_its_logs_do():
    own = {
        "cleanup.policy": "compact,delete",
        "retention.ms": "1",
        "retention.bytes": "2",
        "segment.bytes": "1048576",
        "segment.ms": "4",
        "segment.index.bytes": "5",
        "index.interval.bytes": "6",
        "max.message.bytes": "7",
        "message.timestamp.type": "LogAppendTime",
        "message.timestamp.before.max.ms": "8",
        "message.timestamp.after.max.ms": "9",
        "file.delete.delay.ms": "10",
    }
    assert log_config("t", own, Config()) == LogConfig(
        segment_bytes=1048576,
        segment_ms=4,
        segment_index_bytes=5,
        index_interval_bytes=6,
        max_message_bytes=7,
        message_timestamp_type="LogAppendTime",
        timestamp_before_max_ms=8,
        timestamp_after_max_ms=9,
        retention_ms=1,
        retention_bytes=2,
        file_delete_delay_ms=10,
        cleanup_policy=frozenset({"compact", "delete"}),
    )


@pytest.mark.parametrize(
    ("own", "broker", "expected"),
    [
        ({"compression.type": "producer"}, {"compression.type": "lz4"}, None),
        ({"compression.type": "uncompressed"}, {}, ("none", 0)),
        ({"compression.type": "snappy"}, {}, ("snappy", 0)),
        ({"compression.type": "gzip"}, {}, ("gzip", -1)),
        ({"compression.type": "lz4", "compression.zstd.level": "5"}, {}, ("lz4", 9)),
        ({"compression.type": "zstd", "compression.zstd.level": "5"}, {"compression.zstd.level": "6"}, ("zstd", 5)),
        ({}, {"compression.type": "gzip", "compression.gzip.level": "9"}, ("gzip", 9)),
        ({"compression.lz4.level": "3"}, {"compression.type": "lz4"}, ("lz4", 3)),
    ],
)
def test_the_compression_of_a_topic_and_its_level(own, broker, expected):
    assert log_config("t", own, Config(broker)).compression == expected


def test_internal_topics_have_no_compression_of_the_broker():
    assert log_config(OFFSETS_TOPIC, {}, Config({"compression.type": "gzip"})).compression is None


@pytest.mark.parametrize(
    ("given", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.ms": "-1", "log.retention.hours": "2"}, -1),
    ],
)
def test_the_retention_of_the_broker_is_the_finest_that_is_set(given, retention_ms):
    assert log_config("t", {}, Config(given)).retention_ms == retention_ms
    assert log_config("t", {"retention.ms": "9"}, Config(given)).retention_ms == 9


def test_a_retention_of_no_time_is_no_setting_of_a_broker():
    with pytest.raises(ConfigError, match=r"log.retention.ms=0: must be -1 or at least 1"):
        Config({"log.retention.ms": "0"})


def test_each_place_of_a_value_is_told():
    key = KEYS_BY_NAME["retention.ms"]
    config = Config({"log.retention.hours": "2", "log.retention.ms": "5"})
    assert [tuple(origin) for origin in origins(key, "t", {"retention.ms": "9"}, config)] == [
        ("retention.ms", ConfigSource.TOPIC, "9", "9"),
        ("log.retention.ms", ConfigSource.STATIC_BROKER, "5", "5"),
        ("log.retention.hours", ConfigSource.STATIC_BROKER, "7200000", "2"),
        ("log.retention.hours", ConfigSource.DEFAULT, "604800000", "168"),
    ]


def test_segments_of_the_offsets_topic_have_a_setting_of_their_own():
    assert log_config(OFFSETS_TOPIC, {}, Config()).segment_bytes == 104_857_600
    given = Config({"offsets.topic.segment.bytes": "2000000", "log.segment.bytes": "3000000"})
    assert log_config(OFFSETS_TOPIC, {}, given).segment_bytes == 2_000_000
    assert log_config("t", {}, given).segment_bytes == 3_000_000


@pytest.mark.parametrize("key", [key for key in ALL_KEYS if key.broker], ids=lambda key: key.name)
def test_a_setting_of_the_broker_never_contradicts_what_topics_may_set(key):
    for each in key.broker:
        assert each.key in SETTINGS
        for bound in (each.key.at_least, each.key.at_most):
            if bound is not None and abs(bound * each.factor) <= INT64_MAX:
                key.parse(each.text(each.key.parse(str(bound))))
