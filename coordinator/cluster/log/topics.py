"""The two topics of the coordinator's log on the cluster: made if they are missing, and checked at each start."""

from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from coordinator.cluster.brokers.backoff import tried
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import RetriableAnswer
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC, OFFSETS_TOPIC, SIGHTINGS_TOPIC
from coordinator.log.config import LogConfig
from coordinator.logger import logger

CREATE_TOPICS_VERSION_MAX: Final = 6
DESCRIBE_CONFIGS_VERSION_MAX: Final = 4
TOPIC_RESOURCE: Final = 2
CREATED_WITHIN_SECONDS: Final = 30
CREATE_TIMEOUT_MS: Final = 10_000

SEGMENT_BYTES: Final = 64 << 20
"""Compaction leaves the newest segment alone; with the default of 1 GiB a takeover would read that much."""
SIGHTINGS_RETENTION_MS: Final = 6 * 3_600_000
"""So long a partition of the groups may have no node that reads what was seen."""
AUDIT_MESSAGE_BYTES_MAX: Final = 8 << 20
GROUPS_MESSAGE_BYTES_MAX: Final = 8 << 20
"""A group is one record, with the subscriptions and assignments of all members."""


class TopicError(Exception):
    """A topic of the log cannot be used as it is. The message is one line that says what to do."""


class LogTopic(msgspec.Struct, frozen=True):
    """A topic of the log, and what it is made with."""

    name: str
    configs: dict[str, str]


class LogTopics(msgspec.Struct, frozen=True):
    """The settings of the two topics as the cluster has them, and their partitions."""

    groups: LogConfig
    audit: LogConfig
    partition_count: int


def log_topics(min_in_sync: int, audit_retention_ms: int) -> tuple[LogTopic, LogTopic]:
    """What is made when it is missing; `min_in_sync` is min.insync.replicas."""
    durable = {"min.insync.replicas": str(min_in_sync), "unclean.leader.election.enable": "false"}
    groups = {
        "cleanup.policy": "compact",
        "segment.bytes": str(SEGMENT_BYTES),
        "max.message.bytes": str(GROUPS_MESSAGE_BYTES_MAX),
    }
    audit = {
        "cleanup.policy": "delete",
        "retention.ms": str(audit_retention_ms),
        "max.message.bytes": str(AUDIT_MESSAGE_BYTES_MAX),
    }
    return LogTopic(MEMBERSHIP_TOPIC, groups | durable), LogTopic(AUDIT_TOPIC, audit | durable)


async def prepare_topics(
    brokers: Brokers, topics: tuple[LogTopic, LogTopic], partition_count: int, replication_factor: int
) -> LogTopics:
    """Make what is missing, wait until it is there, and check it.

    `partition_count` and `replication_factor` are for what is made; what is there keeps its partitions.

    Raises:
        TopicError: a topic cannot be made, or is not as it has to be.
        BrokerError: the cluster cannot be reached.
    """
    groups, audit = topics
    counts = await _partition_counts(brokers, [groups.name, audit.name])
    missing = [topic for topic in topics if topic.name not in counts]
    if missing:
        count = next(iter(counts.values()), partition_count)
        await _create(brokers, missing, count, replication_factor)
        counts = await _wait_until_there(brokers, [groups.name, audit.name])
    if counts[groups.name] != counts[audit.name]:
        raise TopicError(
            f"{groups.name} has {counts[groups.name]} partitions and {audit.name} has {counts[audit.name]}: the two"
            " need the same number; delete the one that is empty, and start again"
        )
    configs = await _configs(brokers, [groups.name, audit.name])
    _check(configs[groups.name], groups.name, "compact", forbidden="delete")
    _check(configs[audit.name], audit.name, "delete", forbidden="compact")
    return LogTopics(_log_config(configs[groups.name]), _log_config(configs[audit.name]), counts[groups.name])


async def prepare_sightings(brokers: Brokers, log: LogTopics, min_in_sync: int, replication_factor: int) -> None:
    """Make the topic of what nodes see pass, if it is missing. Raises as `prepare_topics`."""
    topic = LogTopic(
        SIGHTINGS_TOPIC,
        {
            "cleanup.policy": "delete",
            "retention.ms": str(SIGHTINGS_RETENTION_MS),
            "min.insync.replicas": str(min_in_sync),
        },
    )
    counts = await _partition_counts(brokers, [topic.name, OFFSETS_TOPIC])
    if topic.name not in counts:
        await _create(brokers, [topic], log.partition_count, replication_factor)
        counts |= await _wait_until_there(brokers, [topic.name])
    if counts[topic.name] != log.partition_count:
        raise TopicError(
            f"{topic.name} has {counts[topic.name]} partitions and {AUDIT_TOPIC} has {log.partition_count}: delete the"
            " former, and start again"
        )
    offsets_count = counts.get(OFFSETS_TOPIC, log.partition_count)
    if offsets_count != log.partition_count:
        raise TopicError(
            f"{OFFSETS_TOPIC} has {offsets_count} partitions and {AUDIT_TOPIC} has {log.partition_count}: groups can be"
            " watched where they are as many (membership.topic.num.partitions, before the first start)"
        )


async def _partition_counts(brokers: Brokers, names: list[str]) -> dict[str, int]:
    """Topic → partitions, of those that exist and whose partitions all have a leader."""
    response = await brokers.refresh(names)
    for topic in response.topics:
        if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise TopicError(f"this node may not describe {topic.name}: it needs the ACLs of docs/cluster.md")
    return {
        topic.name or "": len(topic.partitions)
        for topic in response.topics
        if topic.error_code == ErrorCode.NONE and all(partition.leader_id >= 0 for partition in topic.partitions)
    }


async def _wait_until_there(brokers: Brokers, names: list[str]) -> dict[str, int]:
    async def are_there() -> dict[str, int]:
        counts = await _partition_counts(brokers, names)
        if len(counts) < len(names):
            raise RetriableAnswer(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return counts

    counts = await tried(are_there, lambda problem: {}, CREATED_WITHIN_SECONDS)
    if not counts:
        raise TopicError(f"{' and '.join(names)} are not there {CREATED_WITHIN_SECONDS} s after they were created")
    return counts


async def _create(brokers: Brokers, topics: list[LogTopic], partition_count: int, replication_factor: int) -> None:
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic.name,
                num_partitions=partition_count,
                replication_factor=replication_factor,
                configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
            )
            for topic in topics
        ],
        timeout_ms=CREATE_TIMEOUT_MS,
    )
    response = await _controller_request(brokers, request, CREATE_TOPICS_VERSION_MAX)
    for topic in response.topics:
        error = ErrorCode(topic.error_code)
        if error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            raise TopicError(f"cannot create {topic.name}: {topic.error_message or error.name}")
        if error is ErrorCode.NONE:
            logger.info("topic created", topic=topic.name, partitions=partition_count, replication=replication_factor)


async def _controller_request(brokers: Brokers, request: Any, version_max: int) -> Any:
    """Ask the controller, or the broker that forwards to it."""
    if brokers.controller_id in brokers.by_id:
        connection = await brokers.connection(brokers.controller_id)
    else:
        connection = await brokers.any_connection()
    return await connection.request(request, version_max, timeout_seconds=CREATED_WITHIN_SECONDS)


async def _configs(brokers: Brokers, names: list[str]) -> dict[str, dict[str, str]]:
    connection = await brokers.any_connection()
    resources = [
        DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
        for name in names
    ]
    response = await connection.request(DescribeConfigsRequest(resources=resources), DESCRIBE_CONFIGS_VERSION_MAX)
    found = {}
    for result in response.results:
        if result.error_code != ErrorCode.NONE:
            reason = result.error_message or ErrorCode(result.error_code).name
            raise TopicError(f"cannot read the settings of {result.resource_name}: {reason}")
        found[result.resource_name] = {config.name: config.value or "" for config in result.configs}
    return found


def _check(configs: dict[str, str], name: str, needed: str, forbidden: str) -> None:
    """Raise TopicError for settings by which the log would lose what is acknowledged."""
    policies = configs["cleanup.policy"].split(",")
    if needed not in policies or forbidden in policies:
        raise TopicError(
            f"{name} has cleanup.policy={configs['cleanup.policy']}: set it to {needed}"
            f" (kafka-configs --alter --topic {name} --add-config cleanup.policy={needed})"
        )
    if configs.get("unclean.leader.election.enable") == "true":
        raise TopicError(
            f"{name} has unclean.leader.election.enable=true, by which acknowledged records are lost: set it to false"
        )


def _log_config(configs: dict[str, str]) -> LogConfig:
    return LogConfig(
        segment_bytes=int(configs["segment.bytes"]),
        max_message_bytes=int(configs["max.message.bytes"]),
        retention_ms=int(configs["retention.ms"]),
    )
