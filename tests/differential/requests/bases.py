"""A valid request for each API, and the state that it needs, made in the same way on both servers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.differential.requests.state import (
    RECORD_MS,
    TOPIC,
    Ref,
    Refs,
    State,
    committed_group,
    group_name,
    joined_member,
    joining_member,
    new_topic,
    new_topic_and_directory,
    nothing,
    open_transaction,
    producer,
    record_batch,
    shared_topic,
    transaction_with_offsets,
)
from tests.differential.requests.variants import Body

Prepare = Callable[[State, int], Refs]
"""(server, number of the case) → what the Refs in the body stand for on that server."""


@dataclass(frozen=True, slots=True)
class Base:
    """A request that succeeds."""

    api: str
    body: Body
    prepare: Prepare = nothing
    since: int = 0
    """The first version that can express it."""


NAME, TOPIC_ID = Ref("topic"), Ref("topic_id")
GROUP, MEMBER = Ref("group"), Ref("member")
TRANSACTION = {
    "transactional_id": Ref("transactional_id"),
    "producer_id": Ref("producer_id"),
    "producer_epoch": Ref("producer_epoch"),
}
TIMEOUT_MS: Final = 30_000
ALLOW, ANY, LITERAL, TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 3, 1, 3, 2, 4, 32
ACL_FILTER: Final[Body] = {
    "resource_type_filter": TOPIC_RESOURCE,
    "resource_name_filter": "orders",
    "pattern_type_filter": LITERAL,
    "principal_filter": "User:a",
    "host_filter": "*",
    "operation": ALLOW,
    "permission_type": ALLOW,
}
LIMIT: Final[Body] = {"name": "message.max.bytes", "value": "2000000", "config_operation": 0}
RETENTION: Final[Body] = {"name": "retention.ms", "value": "60000", "config_operation": 0}


def _partition(index_field: str, **fields: Any) -> list[Body]:
    return [{index_field: 0, **fields}]


BASES: Final = (
    # What lists all that there is comes first: the others make topics, groups and transactions.
    Base("ApiVersions", {"client_software_name": "a", "client_software_version": "1"}),
    Base("DescribeCluster", {}),
    Base("DescribeQuorum", {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]}),
    Base("DescribeUserScramCredentials", {"users": [{"name": "a"}]}),
    Base(
        "CreateDelegationToken", {"renewers": [{"principal_type": "User", "principal_name": "a"}], "max_lifetime_ms": 1}
    ),
    Base("RenewDelegationToken", {"hmac": b"a", "renew_period_ms": 1}),
    Base("ExpireDelegationToken", {"hmac": b"a", "expiry_time_period_ms": 1}),
    Base("DescribeDelegationToken", {"owners": [{"principal_type": "User", "principal_name": "a"}]}),
    Base("Metadata", {"topics": [{"name": TOPIC}], "allow_auto_topic_creation": False}),
    Base("Metadata", {"topics": [{"name": None, "topic_id": TOPIC_ID}]}, shared_topic, since=10),
    Base("DescribeTopicPartitions", {"topics": [{"name": TOPIC}], "cursor": {"topic_name": TOPIC}}),
    Base("DescribeLogDirs", {"topics": [{"topic": TOPIC, "partitions": [0]}]}),
    Base("ListConfigResources", {"resource_types": [TOPIC_RESOURCE]}),
    Base("DescribeConfigs", {"resources": [{"resource_type": TOPIC_RESOURCE, "resource_name": TOPIC}]}),
    Base(
        "DescribeConfigs",
        {
            "resources": [
                {
                    "resource_type": BROKER_RESOURCE,
                    "resource_name": "1",
                    "configuration_keys": ["log.retention.ms"],
                }
            ],
            "include_synonyms": True,
        },
    ),
    Base("FindCoordinator", {"key": "g", "coordinator_keys": ["g"]}),
    Base("DescribeClientQuotas", {"components": [{"entity_type": "user", "match_type": 0, "match": "a"}]}),
    Base("DescribeAcls", ACL_FILTER),
    Base("DeleteAcls", {"filters": [ACL_FILTER]}),
    Base(
        "CreateAcls",
        {
            "creations": [
                {
                    "resource_type": TOPIC_RESOURCE,
                    "resource_name": "orders",
                    "principal": "User:a",
                    "host": "*",
                    "operation": ALLOW,
                    "permission_type": ALLOW,
                }
            ]
        },
    ),
    Base("ListPartitionReassignments", {"topics": [{"name": TOPIC, "partition_indexes": [0]}]}),
    Base("ElectLeaders", {"topic_partitions": [{"topic": TOPIC, "partitions": [0]}], "timeout_ms": TIMEOUT_MS}),
    Base(
        "AlterPartitionReassignments",
        {"topics": [{"name": TOPIC, "partitions": _partition("partition_index", replicas=[1])}]},
    ),
    Base("UpdateFeatures", {"feature_updates": [{"feature": "transaction.version", "max_version_level": 2}]}),
    Base(
        "Fetch",
        {
            "max_wait_ms": 50,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "topics": [
                {
                    "topic": TOPIC,
                    "topic_id": TOPIC_ID,
                    "partitions": _partition("partition", partition_max_bytes=1 << 20, current_leader_epoch=0),
                }
            ],
        },
        shared_topic,
    ),
    Base(
        "ListOffsets",
        {
            "replica_id": -1,
            "timeout_ms": 1000,
            "topics": [{"name": TOPIC, "partitions": _partition("partition_index", timestamp=RECORD_MS)}],
        },
    ),
    Base(
        "OffsetForLeaderEpoch",
        {"topics": [{"topic": TOPIC, "partitions": _partition("partition", leader_epoch=0, current_leader_epoch=0)}]},
    ),
    Base("DescribeProducers", {"topics": [{"name": TOPIC, "partition_indexes": [0]}]}),
    Base("ListGroups", {"states_filter": ["Stable"], "types_filter": ["classic"]}),
    Base("ListTransactions", {"state_filters": ["Ongoing"], "producer_id_filters": [1 << 40]}),
    Base("DescribeGroups", {"groups": [GROUP]}, joined_member),
    Base(
        "JoinGroup",
        {
            "protocol_type": "consumer",
            "session_timeout_ms": 6_000,
            "rebalance_timeout_ms": 6_000,
            "group_id": GROUP,
            "member_id": "",
            "protocols": [{"name": "range", "metadata": b"m"}],
        },
        group_name,
    ),
    Base(
        "SyncGroup",
        {
            "group_id": GROUP,
            "member_id": MEMBER,
            "generation_id": 1,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": [{"member_id": MEMBER, "assignment": b"a"}],
        },
        joining_member,
    ),
    Base("Heartbeat", {"group_id": GROUP, "member_id": MEMBER, "generation_id": 1}, joined_member),
    Base("LeaveGroup", {"group_id": GROUP, "member_id": MEMBER, "members": [{"member_id": MEMBER}]}, joined_member),
    Base(
        "OffsetCommit",
        {
            "group_id": GROUP,
            "member_id": MEMBER,
            "generation_id_or_member_epoch": 1,
            "topics": [
                {
                    "name": TOPIC,
                    "topic_id": TOPIC_ID,
                    "partitions": _partition("partition_index", committed_offset=7, committed_metadata="m"),
                }
            ],
        },
        joined_member,
    ),
    Base(
        "OffsetFetch",
        {
            "group_id": GROUP,
            "topics": [{"name": TOPIC, "partition_indexes": [0]}],
            "groups": [
                {"group_id": GROUP, "topics": [{"name": TOPIC, "topic_id": TOPIC_ID, "partition_indexes": [0]}]}
            ],
        },
        committed_group,
    ),
    Base(
        "OffsetDelete",
        {"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]},
        committed_group,
    ),
    Base("DeleteGroups", {"groups_names": [GROUP]}, committed_group),
    Base("InitProducerId", {"transactional_id": Ref("transactional_id"), "transaction_timeout_ms": 60_000}, producer),
    Base(
        "AddPartitionsToTxn",
        {
            "transactions": [{**TRANSACTION, "topics": [{"name": TOPIC, "partitions": [0]}]}],
            "v3_and_below_transactional_id": TRANSACTION["transactional_id"],
            "v3_and_below_producer_id": TRANSACTION["producer_id"],
            "v3_and_below_producer_epoch": TRANSACTION["producer_epoch"],
            "v3_and_below_topics": [{"name": TOPIC, "partitions": [0]}],
        },
        producer,
    ),
    Base("AddOffsetsToTxn", {**TRANSACTION, "group_id": GROUP}, producer),
    Base("EndTxn", {**TRANSACTION, "committed": True}, open_transaction),
    Base(
        "TxnOffsetCommit",
        {
            **TRANSACTION,
            "group_id": GROUP,
            "generation_id": -1,
            "member_id": "",
            "topics": [{"name": TOPIC, "partitions": _partition("partition_index", committed_offset=7)}],
        },
        transaction_with_offsets,
    ),
    Base("DescribeTransactions", {"transactional_ids": [Ref("transactional_id")]}, open_transaction),
    Base(
        "Produce",
        {
            "acks": -1,
            "timeout_ms": TIMEOUT_MS,
            "topic_data": [
                {"name": NAME, "topic_id": TOPIC_ID, "partition_data": _partition("index", records=record_batch())}
            ],
        },
        new_topic,
    ),
    Base(
        "DeleteRecords",
        {
            "timeout_ms": TIMEOUT_MS,
            "topics": [{"name": NAME, "partitions": _partition("partition_index", offset=0)}],
        },
        new_topic,
    ),
    Base(
        "CreateTopics",
        {
            "timeout_ms": TIMEOUT_MS,
            "topics": [
                {
                    "name": Ref("new_name"),
                    "num_partitions": 1,
                    "replication_factor": 1,
                    "configs": [{"name": "retention.ms", "value": "60000"}],
                }
            ],
        },
        group_name,
    ),
    Base(
        "CreateTopics",
        {
            "timeout_ms": TIMEOUT_MS,
            "validate_only": True,
            "topics": [
                {
                    "name": Ref("new_name"),
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": _partition("partition_index", broker_ids=[1]),
                }
            ],
        },
        group_name,
    ),
    Base(
        "CreatePartitions",
        {
            "timeout_ms": TIMEOUT_MS,
            "topics": [{"name": NAME, "count": 2, "assignments": [{"broker_ids": [1]}]}],
        },
        new_topic,
    ),
    Base(
        "AlterReplicaLogDirs",
        {"dirs": [{"path": Ref("log_dir"), "topics": [{"name": NAME, "partitions": [0]}]}]},
        new_topic_and_directory,
    ),
    Base(
        "AlterConfigs",
        {"resources": [{"resource_type": TOPIC_RESOURCE, "resource_name": NAME, "configs": [RETENTION]}]},
        new_topic,
    ),
    Base(
        "IncrementalAlterConfigs",
        {"resources": [{"resource_type": TOPIC_RESOURCE, "resource_name": NAME, "configs": [RETENTION]}]},
        new_topic,
    ),
    Base(
        "AlterClientQuotas",
        {
            "validate_only": True,
            "entries": [
                {
                    "entity": [{"entity_type": "user", "entity_name": Ref("new_name")}],
                    "ops": [{"key": "producer_byte_rate", "value": 1e9, "remove": False}],
                }
            ],
        },
        group_name,
    ),
    Base(
        "DeleteTopics",
        {
            "timeout_ms": TIMEOUT_MS,
            "topic_names": [NAME],
            "topics": [{"name": NAME, "topic_id": bytes(16)}],
        },
        new_topic,
    ),
    Base(
        "DeleteTopics", {"timeout_ms": TIMEOUT_MS, "topics": [{"name": None, "topic_id": TOPIC_ID}]}, new_topic, since=6
    ),
)

OF_BROKERS: Final = (
    Base(
        "AlterConfigs",
        {"resources": [{"resource_type": BROKER_RESOURCE, "resource_name": "1", "configs": [LIMIT]}]},
    ),
    Base(
        "IncrementalAlterConfigs",
        {"resources": [{"resource_type": BROKER_RESOURCE, "resource_name": "1", "configs": [LIMIT]}]},
    ),
)
"""Not among BASES: the recorded cases of `tests/differential/acls` count those."""
ALL_BASES: Final = (*BASES, *OF_BROKERS)

LEFT_OUT: Final = {
    "WriteTxnMarkers": "is for brokers: it writes into the logs of transactions that the coordinator did not end",
    "ConsumerGroupHeartbeat": "is played in random histories: tests/differential/consumer",
    "ConsumerGroupDescribe": "is played in random histories: tests/differential/consumer",
    "SaslHandshake": "is played with logins: tests/differential/logins",
    "SaslAuthenticate": "is played with logins: tests/differential/logins",
    "AlterUserScramCredentials": "is played with logins: tests/differential/logins",
}
"""APIs that both servers serve and that are not played → why."""

SKIPPED: Final = {
    ("Fetch", "max_wait_ms=max"): "both wait as long as that",
    ("CreateTopics", "topics[0].num_partitions=max"): "Kafka runs out of memory",
}
"""(API, variant) → why it is not played."""
