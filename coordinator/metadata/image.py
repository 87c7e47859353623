"""The state of the metadata log in memory (Kafka's MetadataImage)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from sys import intern
from typing import Final

import msgspec

from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.log.names import check_topic_name, collision_key
from coordinator.metadata.records import (
    AclBinding,
    AclRecord,
    BrokerConfigsRecord,
    FeatureRecord,
    GroupConfigsRecord,
    LeaderEpochRecord,
    LogDirectoriesRecord,
    MetadataRecord,
    PartitionDirectoriesRecord,
    PartitionsRecord,
    ProducerIdsRecord,
    QuotaRecord,
    RemoveAclRecord,
    RemoveScramCredentialRecord,
    RemoveTopicRecord,
    ScramCredentialRecord,
    TopicConfigsRecord,
    TopicRecord,
    credential_record,
)
from coordinator.security.sasl.scram_credentials import ScramCredential, ScramMechanism

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Whose quota it is: pairs of type ("user", "client-id" or "ip") and name, by type. None is the default."""


def quota_entity(names: Mapping[str, str | None]) -> QuotaEntity:
    return tuple(sorted(names.items()))


class Topic(msgspec.Struct, frozen=True):
    """A topic with the partitions 0 to `partitions` - 1. `topic_id` has 16 bytes."""

    name: str
    topic_id: bytes
    partitions: int
    configs: Mapping[str, str] = msgspec.field(default_factory=dict)
    directories: Sequence[str] = ()
    """The id of the log directory of each partition, empty if it has none; no ids if there is only one directory."""

    def directory_id(self, partition: int) -> str:
        """The id of the log directory of a partition; empty if it has none, or there is only one."""
        return self.directories[partition] if partition < len(self.directories) else ""

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


NAMES_PER_TOPIC_SEARCHED: Final = 64
"""From so many names per topic on, to search for each topic among the names is faster than the reverse."""


class MetadataImage:
    """The topics, the configs of groups and brokers, quotas, SCRAM credentials, ACLs, the levels of features and more.

    Only records change it; each topic has a valid name.
    """

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {}
        self.topics_by_id: dict[bytes, Topic] = {}
        self.names_by_collision_key: dict[str, str] = {}
        self.partitions = 0
        """Of all topics together."""
        self.next_producer_id = 0
        self.leader_epoch = 0
        """That of all partitions: none ever changes its leader, but for those that were imported from Kafka."""
        self.quotas: dict[QuotaEntity, dict[str, float]] = {}
        """Quotas by entity and key. No entity is without a quota."""
        self.scram_credentials: dict[str, Mapping[ScramMechanism, ScramCredential]] = {}
        """SCRAM credentials by user and mechanism. No user is without one."""
        self.scram_credentials_count = 0
        """Of all users together."""
        self.group_configs: dict[str, Mapping[str, str]] = {}
        """The configs of groups by group id. No group is without a config."""
        self.broker_configs: dict[str, Mapping[str, str]] = {}
        """What was set while brokers ran, by node id; that of all brokers is at the empty name. None is without any."""
        self.log_directories: dict[str, str] = {}
        """Id → path of the log directories; empty if there never was more than one."""
        self.partitions_by_directory: Counter[str] = Counter()
        """How many partitions each log directory has, by its id."""
        self.feature_levels: dict[str, int] = {}
        """Features whose level was changed; the others have that of `metadata/features.py`."""
        self.features_epoch = 0
        self.version = 0
        """Rises with each record; it is not stored."""
        self.acls: dict[AclBinding, str] = {}
        """ACL → its id."""
        self.acls_version = 0
        """Rises when an ACL is created or deleted; it is not stored."""
        self.topics_version = 0
        """Rises when a topic is created, deleted or gets partitions; it is not stored."""
        self.created_version = 0
        """The `topics_version` at which a topic was last created."""

    def directory_id(self, topic: str, partition: int) -> str:
        """The id of the log directory of a partition; empty if it has none, is not known, or there is only one."""
        found = self.topics.get(topic)
        return "" if found is None else found.directory_id(partition)

    def apply(self, record: MetadataRecord) -> None:
        """Apply a record.

        Raises:
            ValueError: a topic name or id, the value of a quota, or a SCRAM mechanism, is invalid.
            KeyError: the topic to change or remove does not exist.
        """
        self.version += 1
        match record:
            # The changes with most records come first.
            case AclRecord():
                self.acls[record.binding] = record.acl_id
                self.acls_version += 1
            case RemoveAclRecord():
                self.acls.pop(record.binding, None)
                self.acls_version += 1
            case TopicRecord():
                # Client requests can only reach the topics of the image, so this keeps the metadata log unreachable.
                check_topic_name(record.name)
                topic_id = bytes.fromhex(record.topic_id)
                directories = _interned(record.directories)
                topic = Topic(record.name, topic_id, record.partitions, dict(record.configs), directories)
                self._forget(self.topics.get(topic.name))
                self.partitions_by_directory.update(directories)
                self.topics[topic.name] = self.topics_by_id[topic_id] = topic
                self.names_by_collision_key[collision_key(topic.name)] = topic.name
                self.partitions += topic.partitions
                self.topics_version += 1
                self.created_version = self.topics_version
            case PartitionsRecord():
                before = self.topics[record.name]
                topic = msgspec.structs.replace(before, partitions=record.partitions)
                if record.directories:
                    topic = self._moved(topic, record.directories)
                self.partitions += topic.partitions - before.partitions
                self.topics_version += 1
                self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
            case TopicConfigsRecord():
                topic = msgspec.structs.replace(self.topics[record.name], configs=dict(record.configs))
                self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
            case GroupConfigsRecord():
                _change_configs(self.group_configs, record)
            case BrokerConfigsRecord():
                _change_configs(self.broker_configs, record)
            case RemoveTopicRecord():
                topic = self.topics.pop(record.name)
                self.names_by_collision_key.pop(collision_key(topic.name), None)
                self._forget(topic)
                self.topics_version += 1
            case PartitionDirectoriesRecord():
                topic = self._moved(self.topics[record.name], record.directories)
                self.topics[topic.name] = self.topics_by_id[topic.topic_id] = topic
            case LogDirectoriesRecord():
                self.log_directories = dict(record.directories)
            case LeaderEpochRecord():
                self.leader_epoch = record.leader_epoch
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case QuotaRecord():
                self._apply_quota(record)
            case ScramCredentialRecord():
                credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
                self._change_credential(record.name, ScramMechanism(record.mechanism), credential)
            case RemoveScramCredentialRecord():
                self._change_credential(record.name, ScramMechanism(record.mechanism), None)
            case FeatureRecord():
                self.feature_levels[record.name] = record.level
                self.features_epoch = max(self.features_epoch, record.epoch)

    def _change_credential(self, user: str, mechanism: ScramMechanism, credential: ScramCredential | None) -> None:
        before = self.scram_credentials.get(user, {})
        after = {key: value for key, value in before.items() if key is not mechanism}
        if credential is not None:
            after[mechanism] = credential
        self.scram_credentials_count += len(after) - len(before)
        if after:
            self.scram_credentials[user] = after
        else:
            self.scram_credentials.pop(user, None)

    def _forget(self, topic: Topic | None) -> None:
        """Take back what a topic counts for. A log of an earlier version may repeat topics that are known."""
        if topic is not None:
            del self.topics_by_id[topic.topic_id]
            self.partitions -= topic.partitions
            self.partitions_by_directory.subtract(topic.directories)

    def _moved(self, topic: Topic, directories: Sequence[str]) -> Topic:
        self.partitions_by_directory.subtract(topic.directories)
        self.partitions_by_directory.update(directories)
        return msgspec.structs.replace(topic, directories=_interned(directories))

    def snapshot(self) -> Iterator[MetadataRecord]:
        """Iterate over records that make an image like this one of an empty one.

        At least one, and no more than the records that this one was made of.
        """
        if self.next_producer_id or not self.topics:
            yield ProducerIdsRecord(self.next_producer_id)
        if self.leader_epoch:
            yield LeaderEpochRecord(self.leader_epoch)
        if self.log_directories:
            yield LogDirectoriesRecord(dict(self.log_directories))
        for topic in self.topics.values():
            directories = list(topic.directories)
            yield TopicRecord(topic.name, topic.topic_id.hex(), topic.partitions, dict(topic.configs), directories)
        for name, configs in self.group_configs.items():
            yield GroupConfigsRecord(name, dict(configs))
        for name, configs in self.broker_configs.items():
            yield BrokerConfigsRecord(name, dict(configs))
        for entity, quotas in self.quotas.items():
            for key, value in quotas.items():
                yield QuotaRecord(dict(entity), key, repr(value))
        for name, credentials in self.scram_credentials.items():
            for mechanism, credential in credentials.items():
                yield credential_record(name, mechanism, credential)
        for name, level in self.feature_levels.items():
            yield FeatureRecord(name, level, self.features_epoch)
        for binding, acl_id in self.acls.items():
            yield AclRecord(acl_id, *binding)

    def copy(self) -> "MetadataImage":
        """Return a copy: what changes this image does not change it. It is made quickly."""
        image = MetadataImage()
        for name, value in vars(self).items():
            setattr(image, name, copy(value))  # a Topic never changes
        image.quotas = {entity: dict(quotas) for entity, quotas in self.quotas.items()}
        return image

    def _apply_quota(self, record: QuotaRecord) -> None:
        entity = quota_entity(record.entity)
        if record.value is not None:
            self.quotas.setdefault(entity, {})[record.key] = float(record.value)
            return
        quotas = self.quotas.get(entity, {})
        quotas.pop(record.key, None)
        if not quotas:
            self.quotas.pop(entity, None)

    def partition_count(self, name: str) -> int:
        """Return the number of partitions of a topic; 0 if it does not exist."""
        topic = self.topics.get(name)
        return 0 if topic is None else topic.partitions

    def names(self) -> frozenset[str]:
        """Return the names of the topics that exist now."""
        return frozenset(self.topics)

    def existing(self, names: Collection[str]) -> set[str]:
        """Return those of the names that topics have. A tuple is in ascending order."""
        if isinstance(names, tuple) and len(names) > NAMES_PER_TOPIC_SEARCHED * len(self.topics):
            return {name for name in self.topics if _is_among(name, names)}
        return self.topics.keys() & names

    def topic_id(self, name: str) -> bytes:
        """Return the id of a topic: 16 bytes, all zero if it does not exist."""
        topic = self.topics.get(name)
        return bytes(16) if topic is None else topic.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        """Return the name of the topic with this id; None if it does not exist."""
        topic = self.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def has_partition(self, name: str, partition: int) -> bool:
        return 0 <= partition < self.partition_count(name)


def _change_configs(configs: dict[str, Mapping[str, str]], record: GroupConfigsRecord | BrokerConfigsRecord) -> None:
    configs.pop(record.name, None)
    if record.configs:
        configs[record.name] = dict(record.configs)


def _is_among(name: str, names: tuple[str, ...]) -> bool:
    """Whether one of the names, in ascending order, is that one."""
    position = bisect_left(names, name)
    return position < len(names) and names[position] == name


def _interned(directories: Sequence[str]) -> tuple[str, ...]:
    """The same few ids, once in memory each."""
    return tuple(map(intern, directories))
