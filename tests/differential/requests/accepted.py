"""Differences that are meant to be, each with its reason. docs/decisions/010 has those that users may notice."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from tests.differential.requests.answers import Difference

SILENT_IN_KAFKA: Final = "Kafka fails with an exception and never answers, or closes the connection."
NO_SESSIONS: Final = "There are no fetch sessions (KIP-227): with session id 0, the client names all partitions."
NO_SUCH_SESSION: Final = "Kafka fails with an exception for an id that none of its sessions can have."
NO_FOLLOWERS: Final = "One node: a Fetch is always that of a consumer, also if it names a replica."
OWN_VERSIONS: Final = "This server serves fewer APIs, more old versions of some, and one feature (docs/protocol.md)."
OWN_SETTINGS: Final = "A setting that Kafka does not have (docs/configuration.md)."
NODE_SETTINGS: Final = "The two servers were started with other addresses, folders and roles."
OWN_DEFAULTS: Final = "A default that differs on purpose (docs/configuration.md)."
READ_ONLY: Final = "Kafka changes these configs while it runs; this server reads them when it starts."
CLUSTER_DEFAULT: Final = "Kafka sets min.insync.replicas for all brokers when eligible.leader.replicas.version is 1."
LONG_NAME: Final = "The name of a config that no Kafka has is bounded, as it is stored."
STATES_MADE_AT_ONCE: Final = "Kafka has no share coordinator until it has made its topic; this server makes it at once."
UNKNOWN_ENUM: Final = "Kafka fails with an exception, UNKNOWN_SERVER_ERROR; INVALID_REQUEST says what is wrong."

NODE_CONFIGS: Final = (
    *("advertised.listeners", "broker.id", "controller.listener.names", "controller.quorum.voters"),
    *("listener.security.protocol.map", "listeners", "log.dirs", "node.id", "offsets.topic.replication.factor"),
    *("process.roles", "transaction.state.log.min.isr", "transaction.state.log.replication.factor"),
)
"""Configs that `RunningKafka` sets, or of which one server has a default and the other has none."""
DEFAULT_CONFIGS: Final = (
    "fetch.max.bytes",
    "queued.max.request.bytes",
    "sasl.enabled.mechanisms",
)
GIVEN_TO_BOTH: Final = ("group.audit.linger.ms",)
"""Settings of this server that `RunningKafka` gives to Kafka, too, which describes them as unknown."""


class Accepted(NamedTuple):
    """A class of differences. `api`, `variant` and `path` are patterns of `fnmatch`, in which `[` stands for itself."""

    api: str
    variant: str
    path: str
    reason: str
    applies: Callable[[Any, Any], bool] = lambda kafka, ours: True
    """(Kafka's value, ours) → whether it is this difference."""


def _only_kafka_is_silent(kafka: Any, ours: Any) -> bool:
    return isinstance(kafka, dict) and "no answer" in kafka and "no answer" not in ours


def _ours_has_message(kafka: Any, ours: Any) -> bool:
    return not kafka and ours == "given"


def _is(kafka: Any, ours: Any) -> Callable[[Any, Any], bool]:
    return lambda kafkas_value, our_value: (kafkas_value, our_value) == (kafka, ours)


def _has_no_coordinator(kafka: Any, ours: Any) -> bool:
    return kafka in (15, -1, "", "given") and ours not in (15, -1)


def _of_config(names: tuple[str, ...], reason: str) -> tuple[Accepted, ...]:
    return tuple(Accepted("DescribeConfigs", "*", f"results.configs[{name}].*", reason) for name in names)


ACCEPTED: Final = (
    Accepted("*", "*", "*error_message", "A message helps the user, where Kafka has none.", _ours_has_message),
    # ---- Kafka never answers
    Accepted("AddPartitionsToTxn", "transactions=[]", "", SILENT_IN_KAFKA, _only_kafka_is_silent),
    Accepted("AlterConfigs", "resources doubled", "", SILENT_IN_KAFKA, _only_kafka_is_silent),
    Accepted("JoinGroup", "protocols doubled", "", SILENT_IN_KAFKA, _only_kafka_is_silent),
    Accepted("Produce", "*.records=null", "", SILENT_IN_KAFKA, _only_kafka_is_silent),
    # ---- what is served
    Accepted("ApiVersions", "*", "api_keys*", OWN_VERSIONS),
    Accepted("ApiVersions", "*", "supported_features", OWN_VERSIONS),
    Accepted("ApiVersions", "*", "finalized_features*", OWN_VERSIONS),
    # ---- Fetch
    Accepted("Fetch", "session_epoch=0", "session_id", NO_SESSIONS),
    Accepted("Fetch", "session_id=m*", "*", NO_SUCH_SESSION),
    Accepted("Fetch", "replica_id=*", "responses.partitions.*", NO_FOLLOWERS),
    # ---- share groups
    Accepted("FindCoordinator", "*", "coordinators.*", STATES_MADE_AT_ONCE, _has_no_coordinator),
    # ---- configs
    Accepted("AlterConfigs", "*.name=long", "responses.error_code", LONG_NAME, _is(0, 42)),
    Accepted("IncrementalAlterConfigs", "*.name=long", "responses.error_code", LONG_NAME, _is(0, 42)),
    Accepted("AlterConfigs", "*.resource_name=empty", "responses.error_*", CLUSTER_DEFAULT),
    Accepted("DescribeConfigs", "*", "results.configs[*].read_only", READ_ONLY, _is(False, True)),
    Accepted("DescribeConfigs", "*", "results.configs[*]", OWN_SETTINGS, _is(False, True)),
    Accepted("DescribeConfigs", "*", "results.configs[*].documentation", "The documentation is that of this server."),
    Accepted("DescribeConfigs", "*", "results.configs[min.insync.replicas].*", CLUSTER_DEFAULT),
    Accepted("CreateTopics", "*", "topics.configs[min.insync.replicas].config_source", CLUSTER_DEFAULT, _is(3, 5)),
    *_of_config(NODE_CONFIGS, NODE_SETTINGS),
    *_of_config(DEFAULT_CONFIGS, OWN_DEFAULTS),
    *_of_config(GIVEN_TO_BOTH, OWN_SETTINGS),
    Accepted("IncrementalAlterConfigs", "*.config_operation=*", "responses.error_code", UNKNOWN_ENUM, _is(-1, 42)),
    # ---- topics
    Accepted(
        "CreateTopics",
        "*",
        "topics.topic_id",
        "With validate_only, Kafka answers with an id that no topic ever gets.",
        _is("another id", "none"),
    ),
    Accepted(
        "CreatePartitions",
        "topics[0].count=max",
        "results.error_code",
        "The limit of partitions is checked before the assignments.",
        _is(39, 37),
    ),
    Accepted(
        "DescribeTopicPartitions",
        "cursor.partition_index=max",
        "next_cursor",
        "Kafka adds to the largest index, and the sum is negative.",
    ),
    # ---- quotas
    Accepted(
        "AlterClientQuotas",
        "*.value=nan",
        "entries.error_code",
        "A quota that is no number would never be kept.",
        _is(0, 42),
    ),
)


def reason_for(api: str, variant: str, difference: Difference, among: Iterable[Accepted] = ACCEPTED) -> str | None:
    """Why a difference is accepted; None if it is not."""
    for each in among:
        if (
            _matches(api, each.api)
            and _matches(variant, each.variant)
            and _matches(difference.path, each.path)
            and each.applies(difference.kafka, difference.ours)
        ):
            return each.reason
    return None


def _matches(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]"))
