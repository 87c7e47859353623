"""The requests that are made: those that are compared without ACLs, and some that matter to authorization alone."""

from typing import Final

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.differential.acls.group_bases import (
    ASSIGN_SECONDS,
    MEMBER_ID,
    OF_SHARE_GROUPS,
    OF_STREAMS_GROUPS,
    OTHER_TOPIC,
)
from tests.differential.requests import bases
from tests.differential.requests.bases import GROUP, TOPIC_ID, Base
from tests.differential.requests.state import (
    TOPIC,
    Ref,
    Refs,
    State,
    committed_group,
    joined_member,
    open_transaction,
    producer,
    shared_topic,
)
from tests.waiting import wait_for


def consumer_group(state: State, number: int) -> Refs:
    """A consumer group whose member has both topics."""
    group_id = f"g-{number}"
    beat = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=MEMBER_ID,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[TOPIC, OTHER_TOPIC],
        topic_partitions=[],
    )

    def is_assigned() -> bool:
        nonlocal beat
        answer = state.client.request(beat, 0)
        assert answer.error_code == 0, (state.name, answer)
        beat = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=MEMBER_ID, member_epoch=answer.member_epoch, rebalance_timeout_ms=-1
        )
        return answer.assignment is not None and len(answer.assignment.topic_partitions) == 2

    wait_for(is_assigned, ASSIGN_SECONDS, f"{state.name} to assign partitions")
    return {**shared_topic(state, number), "group": group_id, "member": MEMBER_ID}


BEAT: Final = {
    "group_id": GROUP,
    "member_id": Ref("member"),
    "member_epoch": 0,
    "rebalance_timeout_ms": 30_000,
    "topic_partitions": [],
}

OF_ACLS: Final = (
    Base("Metadata", {"topics": None, "include_topic_authorized_operations": True}, since=1),
    Base("Metadata", {"topics": []}),
    Base(
        "Metadata",
        {"topics": [{"name": TOPIC}, {"name": Ref("absent")}], "include_topic_authorized_operations": True},
    ),
    Base("Metadata", {"topics": [{"name": TOPIC}], "include_cluster_authorized_operations": True}),
    Base("DescribeCluster", {"include_cluster_authorized_operations": True}),
    Base("DescribeTopicPartitions", {"topics": [], "response_partition_limit": 2000}),
    Base("DescribeTopicPartitions", {"topics": [{"name": TOPIC}], "response_partition_limit": 2000}),
    Base("DescribeGroups", {"groups": [GROUP], "include_authorized_operations": True}, joined_member),
    Base("ConsumerGroupDescribe", {"group_ids": [GROUP], "include_authorized_operations": True}, consumer_group),
    Base("ConsumerGroupHeartbeat", {**BEAT, "subscribed_topic_names": [TOPIC]}, consumer_group),
    Base(
        "ConsumerGroupHeartbeat",
        {**BEAT, "subscribed_topic_names": [TOPIC, OTHER_TOPIC, Ref("absent")]},
        consumer_group,
    ),
    Base("ListGroups", {}, committed_group),
    Base("ListTransactions", {}, open_transaction),
    Base(
        "OffsetFetch",
        {"group_id": GROUP, "topics": None, "groups": [{"group_id": GROUP, "topics": None}]},
        committed_group,
        since=2,
    ),
    Base("InitProducerId", {"transactional_id": None}),
    Base(
        "FindCoordinator",
        {"key": Ref("transactional_id"), "key_type": 1, "coordinator_keys": [Ref("transactional_id")]},
        producer,
    ),
    Base("FindCoordinator", {"key_type": 2, "coordinator_keys": ["g:AAAAAAAAAAAAAAAAAAAAAA:0"]}, since=6),
    Base("Metadata", {"topics": [{"name": None, "topic_id": TOPIC_ID}]}, shared_topic, since=12),
)

BASES: Final = tuple(
    each
    for each in (*bases.BASES, *OF_ACLS, *OF_SHARE_GROUPS, *OF_STREAMS_GROUPS)
    if each.api not in ("ApiVersions", "CreateAcls", "DeleteAcls") and not each.api.endswith("DelegationToken")
)
"""Without those that change the ACLs: they have tests of their own."""
