"""Admin calls of kafka-python and librdkafka through nodes in front of a Kafka, and the same at a Kafka alone.

    python -m tests.cluster.compare_admin

Both sides have the same history (`beside_kafka.py`). The calls are made in the order of the table; some need what one
before has made. Responses have to be equal but for addresses, times and random identifiers; what is about the nodes is
left out. What differs by design is in EXPLAINED, with the reason.
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResourceType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.admin import ConfigResource as Config
from kafka.admin import OffsetSpec as Spec
from kafka.structs import OffsetAndMetadata

from tests.cluster.beside_kafka import (
    IDLE,
    LIVE,
    NODE_IDS,
    NODES_ONLY,
    OTHER,
    SECONDS,
    STAYS,
    TOPIC,
    TRANSACTIONAL_ID,
    front_beside_kafka,
    normalised,
)
from tests.differential.kafka import KafkaMissing

EXPLAINED: Final[Mapping[str, str]] = {
    "api_versions": "no share groups, no groups of Streams; Fetch up to version 15",
}
"""Call → why its response differs (docs/cluster.md)."""


class Clients(NamedTuple):
    """Both admin clients of one side."""

    python: KafkaAdminClient
    librdkafka: AdminClient


Call = Callable[[Clients], Any]


def _python(method: str, *arguments: Any, **options: Any) -> tuple[str, Call]:
    shown = ", ".join([*map(_shown, arguments), *(f"{name}={_shown(option)}" for name, option in options.items())])
    return f"{method}({shown})", lambda clients: getattr(clients.python, method)(*arguments, **options)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _librdkafka(method: str, *arguments: Any, **options: Any) -> tuple[str, Call]:
    def call(clients: Clients) -> Any:
        result = getattr(clients.librdkafka, method)(*arguments, request_timeout=SECONDS, **options)
        return _plain(result)

    shown = ", ".join([*map(_shown, arguments), *(f"{name}={_shown(option)}" for name, option in options.items())])
    return f"librdkafka: {method}({shown})", call


def _plain(value: Any) -> Any:
    """A result of librdkafka as mappings and lists: its objects have no useful text."""
    if isinstance(value, Future):
        try:
            return _plain(value.result(SECONDS))
        except KafkaException as problem:
            return str(problem.args[0].code())
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, str | int | float | None):
        return value
    names = [name for name in dir(value) if not name.startswith("_")]
    found = {name: getattr(value, name) for name in names if not callable(getattr(value, name))}
    return {name: _plain(each) for name, each in found.items()} if found else str(value)


def _calls() -> list[tuple[str, Call]]:
    """Each with its name, in this order."""
    return [*_topics(), *_configs(), *_cluster(), *_groups(), *_groups_of_librdkafka(), *_security()]


def _topics() -> list[tuple[str, Call]]:
    part = TopicPartition(TOPIC, 0)
    return [
        _python("list_topics"),
        _python("describe_topics", [TOPIC]),
        _python("describe_topics", ["missing"]),
        _python("describe_topic_partitions", [TOPIC]),
        _python("create_topics", [NewTopic("made", 2, 1)]),
        _python("create_topics", [NewTopic("made", 2, 1)], raise_errors=False),
        _python("create_topics", [NewTopic("not-made", 2, 1)], validate_only=True),
        _python("create_topics", [NewTopic("too-many-replicas", 2, 3)], raise_errors=False),
        _python("create_partitions", {"made": NewPartitions(4)}),
        _python("create_partitions", {"made": NewPartitions(1)}, raise_errors=False),
        _python("list_partition_offsets", {TopicPartition(TOPIC, index): Spec.LATEST for index in range(4)}),
        _python("list_partition_offsets", {part: Spec.EARLIEST}),
        _python("list_partition_offsets", {part: Spec.MAX_TIMESTAMP}),
        _python("delete_records", {part: 2}),
        _python("describe_producers", [part]),
        _python("elect_leaders", 0, [part], raise_errors=False),
        _python("list_partition_reassignments"),
        _python("delete_topics", ["made"]),
        _python("delete_topics", ["made"], raise_errors=False),
        _librdkafka("list_offsets", {Partition(TOPIC, 1): OffsetSpec.latest()}),
    ]


def _configs() -> list[tuple[str, Call]]:
    topic, group = Config(ConfigResourceType.TOPIC, TOPIC), Config(ConfigResourceType.GROUP, LIVE)
    changed = Config(ConfigResourceType.TOPIC, TOPIC, {"retention.ms": "90000000"})
    return [
        _python("describe_configs", [topic], config_filter="all"),
        _python("alter_configs", [changed]),
        _python("describe_configs", [topic]),
        _python("reset_configs", [Config(ConfigResourceType.TOPIC, TOPIC, ["retention.ms"])]),
        _python("describe_configs", [group], config_filter="all"),
        _python("describe_configs", [Config(ConfigResourceType.BROKER, "1")]),
        _python("list_config_resources"),
        _librdkafka("describe_configs", [ConfigResource(ConfigResource.Type.TOPIC, OTHER)]),
    ]


def _cluster() -> list[tuple[str, Call]]:
    return [
        _python("describe_cluster"),
        _python("describe_features"),
        _python("api_versions"),
        _python("describe_log_dirs"),
        _python("describe_metadata_quorum"),
        _python("list_transactions"),
        _python("describe_transactions", [TRANSACTIONAL_ID]),
        _python("describe_transactions", ["missing"]),
        _python("find_hanging_transactions"),
        _librdkafka("describe_cluster", include_authorized_operations=True),
    ]


def _groups() -> list[tuple[str, Call]]:
    first, second, other = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1), TopicPartition(OTHER, 0)
    to = {first: OffsetAndMetadata(7, "by an admin", -1)}
    return [
        _python("list_groups"),
        _python("list_groups", states_filter=["Empty"]),
        _python("list_groups", states_filter=["Stable"]),
        _python("list_groups", types_filter=["classic"]),
        _python("list_groups", types_filter=["consumer"]),
        _python("describe_groups", [LIVE, STAYS, IDLE[0], "missing"], include_authorized_operations=True),
        _python("list_group_offsets", [LIVE]),
        _python("list_group_offsets", [STAYS, IDLE[0], IDLE[1]]),
        _python("list_group_offsets", {IDLE[0]: [first, TopicPartition(TOPIC, 3)]}),
        _python("list_group_offsets", ["missing"]),
        _python("alter_group_offsets", IDLE[0], to),
        _python("alter_group_offsets", LIVE, to),
        _python("alter_group_offsets", STAYS, to),
        _python("alter_group_offsets", "tool-new", to),
        _python("list_group_offsets", [IDLE[0], LIVE, "tool-new"]),
        _python("reset_group_offsets", IDLE[1], {first: Spec.EARLIEST, second: Spec.LATEST}),
        _python("delete_group_offsets", IDLE[1], [second, other]),
        _python("delete_group_offsets", LIVE, [first]),
        _python("delete_group_offsets", LIVE, [other]),
        _python("delete_group_offsets", STAYS, [first]),
        _python("delete_group_offsets", "missing", [first]),
        _python("list_group_offsets", [IDLE[1], LIVE]),
        _python("remove_group_members", LIVE, [MemberToRemove(member_id="nobody")]),
        _python("remove_group_members", LIVE, [MemberToRemove(group_instance_id="nobody")]),
        _python("delete_groups", [IDLE[2], "tool-new"]),
        _python("delete_groups", [LIVE]),
        _python("delete_groups", [STAYS]),
        _python("delete_groups", ["missing"]),
        _python("list_groups"),
        _python("describe_groups", [IDLE[2]]),
        _python("list_group_offsets", [IDLE[2]]),
    ]


def _groups_of_librdkafka() -> list[tuple[str, Call]]:
    stable = {ConsumerGroupState.STABLE}
    at = [ConsumerGroupTopicPartitions(IDLE[3], [Partition(TOPIC, 2, 5)])]
    return [
        _librdkafka("list_consumer_groups"),
        _librdkafka("list_consumer_groups", states=stable),
        _librdkafka("describe_consumer_groups", [LIVE, STAYS, IDLE[3]], include_authorized_operations=True),
        _librdkafka("alter_consumer_group_offsets", at),
        _librdkafka("list_consumer_group_offsets", [ConsumerGroupTopicPartitions(IDLE[3])]),
        _librdkafka("delete_consumer_groups", [IDLE[3]]),
        _librdkafka("delete_consumer_groups", [LIVE]),
    ]


def _security() -> list[tuple[str, Call]]:
    pattern = ResourcePattern(ResourceType.TOPIC, TOPIC)
    acl = ACL("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW, pattern)
    any_resource = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    every = ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, any_resource)
    added = UserScramCredentialUpsertion("alice", ScramMechanism.SCRAM_SHA_256, b"secret", 4096)
    return [
        _python("create_acls", [acl]),
        _python("describe_acls", every),
        _python("delete_acls", [every]),
        _python("alter_user_scram_credentials", [added]),
        _python("describe_user_scram_credentials", ["alice"]),
        _python("alter_user_scram_credentials", [UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_256)]),
    ]


def _is_the_nodes(value: Any) -> bool:
    """Whether a part of a response is about a node, or about what the nodes keep in the cluster."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        named = ("broker", "broker_id", "node_id", "id", "group_id", "name", "topic", "transactional_id")
        return any(_is_the_nodes(value[name]) for name in named if name in value)
    if isinstance(value, str) and not value.isdecimal():
        return NODES_ONLY.fullmatch(value) is not None
    return isinstance(value, str | int) and int(value) in NODE_IDS


def _answer(call: Call, clients: Clients) -> Any:
    try:
        return normalised(call(clients), _is_the_nodes)
    except Exception as problem:  # whatever a client raises is its answer
        return normalised(problem)


def _sides_of(bootstrap: str) -> Clients:
    return Clients(
        KafkaAdminClient(bootstrap_servers=bootstrap, client_id="compare"),
        AdminClient({"bootstrap.servers": bootstrap, "client.id": "compare"}),
    )


def compare(front: str, alone: str) -> list[str]:
    """Make all calls on both sides; those whose responses differ, and are not explained."""
    sides = _sides_of(front), _sides_of(alone)
    differing = []
    for name, call in _calls():
        through, direct = (_answer(call, clients) for clients in sides)
        is_equal = through == direct
        reason = EXPLAINED.get(name.partition("(")[0])
        print(f"{'equal ' if is_equal else 'by design' if reason else 'DIFFERS'} {name}", flush=True)
        if not is_equal and reason:
            print(f"    {reason}")
        elif not is_equal:
            differing.append(name)
            print(f"    through the nodes: {through}\n    at Kafka:          {direct}")
    for clients in sides:
        clients.python.close()
    return differing


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="compare-admin-") as folder:
        try:
            with front_beside_kafka(Path(folder)) as sides:
                differing = compare(sides.front, sides.alone)
        except KafkaMissing as missing:
            print(missing)
            return 1
    print(f"{len(_calls())} calls, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
