"""Creation, growth and deletion of topics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.configs.resource_config_key import InvalidResourceConfig
from coordinator.broker.configs.topic_configs import valid_configs, validate
from coordinator.broker.partitions import Partitions
from coordinator.config.group_keys import OFFSETS_TOPIC_NUM_PARTITIONS
from coordinator.config.server_keys import MAX_BROKER_PARTITIONS, NUM_PARTITIONS
from coordinator.config.settings import Config
from coordinator.config.share_coordinator_keys import SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_NUM_PARTITIONS
from coordinator.internal_topics import (
    AUDIT_TOPIC,
    OFFSETS_TOPIC,
    READ_ONLY_TOPICS,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
)
from coordinator.log.errors import InvalidTopicName, ReservedTopicName
from coordinator.log.names import check_topic_name, collision_key
from coordinator.logger import logger
from coordinator.metadata.image import Topic
from coordinator.metadata.store import MetadataStore, NewTopic

DEFAULT_COUNT: Final = -1
"""The number of partitions or replicas that requests the broker's default (KIP-464)."""

PARTITIONS_AT_MOST: Final = 10_000
"""The most partitions of one topic: one request must not make more work than that."""


class TopicError(ValueError):
    """A topic cannot be created, changed or deleted. `error` is the protocol's error code; the message is one line."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


class Plan:
    """Topics that are to be created together."""

    def __init__(self) -> None:
        self.topics: list[NewTopic] = []
        self.names_by_collision_key: dict[str, str] = {}
        self.partitions = 0

    def add(self, topic: NewTopic) -> None:
        self.topics.append(topic)
        self.names_by_collision_key[collision_key(topic.name)] = topic.name
        self.partitions += topic.partitions


class Topics:
    """Creates, enlarges and deletes topics.

    Each change is checked against the latest image, and appended; it is in the image when it is durable. Who answers
    a client waits for that (`MetadataStore.when_committed`), also with an error.
    """

    def __init__(self, store: MetadataStore, partitions: Partitions, config: Config) -> None:
        self._store = store
        self._partitions = partitions
        self._config = config

    def create_internal_topics(self, now_ms: int) -> None:
        """Create the topics that the coordinator writes, if they do not exist.

        Both have the same number of partitions, because the audit events of a group are in the partition with the same
        number as its offsets.
        """
        count = self._config[OFFSETS_TOPIC_NUM_PARTITIONS]
        topics = self._store.latest_image.topics
        if OFFSETS_TOPIC not in topics:
            self._store.create_topic(OFFSETS_TOPIC, count, {"cleanup.policy": "compact"}, now_ms)
        if AUDIT_TOPIC not in topics:
            partitions = topics[OFFSETS_TOPIC].partitions
            self._store.create_topic(AUDIT_TOPIC, partitions, {"cleanup.policy": "delete"}, now_ms)

    def create_transactions_topic(self, now_ms: int) -> None:
        """Create the topic of the transaction log, if it does not exist."""
        if TRANSACTIONS_TOPIC not in self._store.latest_image.topics:
            count = self._config[TRANSACTION_STATE_LOG_NUM_PARTITIONS]
            self._store.create_topic(TRANSACTIONS_TOPIC, count, {"cleanup.policy": "compact"}, now_ms)

    def create_share_state_topic(self, now_ms: int) -> None:
        """Create the topic of the share coordinator, if it does not exist."""
        if SHARE_STATE_TOPIC not in self._store.latest_image.topics:
            count = self._config[SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS]
            configs = {"cleanup.policy": "delete", "retention.ms": "-1"}
            self._store.create_topic(SHARE_STATE_TOPIC, count, configs, now_ms)

    def create(
        self, name: str, partitions: int, replication_factor: int, configs: dict[str, str], now_ms: int
    ) -> Topic:
        """Create a topic; -1 partitions or replicas select the defaults.

        Raises:
            TopicError: the name or a number is not allowed, or the topic exists.
        """
        plan = Plan()
        self.plan(plan, name, partitions, replication_factor, configs)
        self.create_planned(plan, now_ms)
        return self._store.latest_image.topics[name]

    def plan(
        self,
        plan: Plan,
        name: str,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str | None] | None = None,
        count_mutations: Callable[[int], None] = lambda partitions: None,
    ) -> int:
        """Check the arguments of `create`, in Kafka's order, and plan the topic; return how many partitions it gets.

        `count_mutations` is called at the end with the number of partitions; it may raise TopicError.

        Raises:
            TopicError: the name, a config or a number is not allowed, the topic exists, or a quota is exceeded.
        """
        _check_name(name)
        image, key = self._store.latest_image, collision_key(name)
        same = image.names_by_collision_key.get(key) or plan.names_by_collision_key.get(key)
        if same == name:
            raise TopicError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        if same is not None:
            raise TopicError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {same}")
        try:
            valid = validate(configs or {}, name)
        except InvalidResourceConfig as problem:
            raise TopicError(ErrorCode.INVALID_CONFIG, str(problem)) from None
        if partitions != DEFAULT_COUNT and not 1 <= partitions <= PARTITIONS_AT_MOST:
            raise TopicError(
                ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be 1 to {PARTITIONS_AT_MOST}, or -1."
            )
        if replication_factor not in (DEFAULT_COUNT, 1):
            raise TopicError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"Replication factor {replication_factor} is not possible: there is 1 broker.",
            )
        count = self._config[NUM_PARTITIONS] if partitions == DEFAULT_COUNT else partitions
        self._check_room(name, image.partitions + plan.partitions + count)
        count_mutations(count)
        plan.add(NewTopic(name, count, valid))
        return count

    def _check_room(self, name: str, partitions: int) -> None:
        """Raises TopicError if the broker would have so many partitions, too many."""
        at_most = self._config[MAX_BROKER_PARTITIONS]
        if partitions > at_most:
            raise TopicError(
                ErrorCode.POLICY_VIOLATION,
                f"With topic '{name}' this broker would have {partitions} partitions; max.broker.partitions is "
                f"{at_most}.",
            )

    def create_planned(self, plan: Plan, now_ms: int) -> None:
        """Create the topics of a plan. Nothing may have changed since they were planned."""
        self._store.create_topics(plan.topics, now_ms)

    def create_automatically(self, names: Iterable[str], now_ms: int) -> None:
        """Create topics with the defaults because a client asked for their metadata (`auto.create.topics.enable`).

        As on Kafka, an invalid name stays unknown and the client does not get a reason.
        """
        plan = Plan()
        for name in names:
            if name in self._store.latest_image.topics:
                continue  # somebody else is creating it
            if name == TRANSACTIONS_TOPIC:
                self.create_transactions_topic(now_ms)
                continue
            if name == SHARE_STATE_TOPIC:
                self.create_share_state_topic(now_ms)
                continue
            try:
                self.plan(plan, name, DEFAULT_COUNT, DEFAULT_COUNT)
            except TopicError as problem:
                logger.info("topic not created automatically", topic=name, reason=str(problem))
        self.create_planned(plan, now_ms)

    def add_partitions(self, name: str, partitions: int, now_ms: int) -> None:
        """Give a topic more partitions, so many in all (KIP-195).

        Raises:
            TopicError: the topic does not exist, or cannot have this number of partitions.
        """
        self.validate_more_partitions(name, partitions)
        self._store.add_partitions(name, partitions, now_ms)

    def validate_more_partitions(self, name: str, partitions: int) -> None:
        """Check the arguments of `add_partitions`, in Kafka's order.

        Raises:
            TopicError: the topic does not exist, or cannot have this number of partitions.
        """
        topic = self._store.latest_image.topics.get(name)
        if topic is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise TopicError(unknown, unknown.description)
        if name in READ_ONLY_TOPICS:
            # Groups belong to the partition that their hash and the number of partitions give.
            message = f"Topic '{name}' is internal and keeps its {topic.partitions} partitions."
            raise TopicError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
        if partitions == topic.partitions:
            raise TopicError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {partitions} partition(s).")
        if partitions < topic.partitions:
            raise TopicError(
                ErrorCode.INVALID_PARTITIONS,
                f"The topic {name} currently has {topic.partitions} partition(s); {partitions} would not be an "
                "increase.",
            )
        if partitions > PARTITIONS_AT_MOST:
            raise TopicError(ErrorCode.INVALID_PARTITIONS, f"A topic has at most {PARTITIONS_AT_MOST} partitions.")
        self._check_room(name, self._store.latest_image.partitions - topic.partitions + partitions)

    def config_change(
        self, name: str, change: Callable[[Mapping[str, str]], Mapping[str, str | None]]
    ) -> dict[str, str]:
        """Check a change of a topic's configs; return all that it would have. `change` gets those that it has now.

        Raises:
            TopicError: the topic does not exist, or a config is not allowed; `change` may raise it, too.
        """
        _check_name(name)
        topic = self._store.latest_image.topics.get(name)
        if topic is None:
            raise TopicError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        try:
            return validate(change(valid_configs(topic.configs, name)), name)
        except InvalidResourceConfig as problem:
            raise TopicError(ErrorCode.INVALID_CONFIG, str(problem)) from None

    def change_configs(self, changes: Mapping[str, dict[str, str]], now_ms: int) -> None:
        """Give topics the configs that `config_change` returned. Open logs use them as soon as they are durable."""

        def applied() -> None:
            for name in changes:
                self._partitions.configs_changed(name)

        self._store.change_topic_configs(changes, now_ms, applied)

    def check_deletion(self, name: str) -> None:
        """Check that a topic can be deleted.

        Raises:
            TopicError: the topic does not exist, or only the coordinator may write to it.
        """
        if name not in self._store.latest_image.topics:
            raise TopicError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{name}' does not exist.")
        if name in READ_ONLY_TOPICS:
            raise TopicError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' is internal and cannot be deleted.")

    def delete(self, names: Sequence[str], now_ms: int, deleted: Callable[[], None] = lambda: None) -> None:
        """Delete topics, each of which `check_deletion` allows.

        When that is durable their records go, in slices, and `deleted` is called.
        """
        topics = [self._store.latest_image.topics[name] for name in names]

        def applied() -> None:
            for topic in topics:
                self._partitions.delete_logs(topic)
            deleted()

        self._store.remove_topics(names, now_ms, applied)


def _check_name(name: str) -> None:
    """Check that a topic may have this name.

    Raises:
        TopicError: the name is not allowed.
    """
    try:
        check_topic_name(name)
    except ReservedTopicName as problem:
        raise TopicError(ErrorCode.INVALID_REQUEST, str(problem)) from None
    except InvalidTopicName as problem:
        raise TopicError(ErrorCode.INVALID_TOPIC_EXCEPTION, str(problem)) from None
