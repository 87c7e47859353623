"""Requests about share groups and streams groups, whose rights are those of groups and of the topics that they name."""

from typing import Final

from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from tests.differential.requests.bases import GROUP, TOPIC_ID, Base
from tests.differential.requests.state import TOPIC, Ref, Refs, State, shared_topic
from tests.waiting import wait_for

OTHER_TOPIC: Final = "payments"
"""Exists, beside TOPIC."""
MEMBER_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
ASSIGN_SECONDS: Final = 20
OPENING_EPOCH, CLOSING_EPOCH = 0, -1
"""Of a share session."""


def share_group(state: State, number: int) -> Refs:
    """A share group whose member has both topics."""
    group_id = f"g-{number}"
    epoch = 0

    def is_assigned() -> bool:
        nonlocal epoch
        names = None if epoch else [TOPIC, OTHER_TOPIC]
        beat = ShareGroupHeartbeatRequest(
            group_id=group_id, member_id=MEMBER_ID, member_epoch=epoch, subscribed_topic_names=names
        )
        answer = state.client.request(beat, 1)
        assert answer.error_code == 0, (state.name, answer)
        epoch = answer.member_epoch
        return answer.assignment is not None and len(answer.assignment.topic_partitions) == 2

    wait_for(is_assigned, ASSIGN_SECONDS, f"{state.name} to assign share partitions")
    return {**shared_topic(state, number), "group": group_id, "member": MEMBER_ID}


def emptied_share_group(state: State, number: int) -> Refs:
    """A share group that its member has left."""
    refs = share_group(state, number)
    leaving = ShareGroupHeartbeatRequest(group_id=refs["group"], member_id=MEMBER_ID, member_epoch=-1)
    answer = state.client.request(leaving, 1)
    assert answer.error_code == 0, (state.name, answer)
    return refs


def streams_group(state: State, number: int) -> Refs:
    """A streams group whose member reads both topics."""
    group_id = f"g-{number}"
    topology = Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=[TOPIC, OTHER_TOPIC])])
    joining = StreamsGroupHeartbeatRequest(
        group_id=group_id,
        member_id=MEMBER_ID,
        rebalance_timeout_ms=30_000,
        topology=topology,
        process_id="p",
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    )
    answer = state.client.request(joining, 0)
    assert answer.error_code == 0, (state.name, answer)
    return {**new_internal_topics(number), **shared_topic(state, number), "group": group_id, "member": MEMBER_ID}


def new_streams_group(state: State, number: int) -> Refs:
    """Names that nothing has yet."""
    return {**new_internal_topics(number), "group": f"g-{number}", "member": MEMBER_ID}


def new_internal_topics(number: int) -> Refs:
    return {"changelog": f"new-{number}", "repartition": f"t-{number}"}


def _of_both_topics(*parts: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"topic_id": TOPIC_ID, "partitions": list(parts)},
        {"topic_id": Ref("other_topic_id"), "partitions": list(parts)},
    ]


JOINS: Final = {"group_id": GROUP, "member_id": Ref("member"), "member_epoch": 0}
STREAMS_JOINS: Final = {
    **JOINS,
    "rebalance_timeout_ms": 30_000,
    "process_id": "p",
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
}
STATE_KEY: Final = {"group_id": GROUP, "topics": [{"topic_id": TOPIC_ID, "partitions": [{"partition": 0}]}]}
NAMED_TOPICS: Final = ({"topic_name": TOPIC}, {"topic_name": OTHER_TOPIC}, {"topic_name": Ref("absent")})

OF_SHARE_GROUPS: Final = (
    Base("ShareGroupHeartbeat", {**JOINS, "subscribed_topic_names": [TOPIC, OTHER_TOPIC]}, share_group),
    Base("ShareGroupHeartbeat", {**JOINS, "subscribed_topic_names": [TOPIC, Ref("absent")]}, share_group),
    Base("ShareGroupDescribe", {"group_ids": [GROUP], "include_authorized_operations": True}, share_group),
    Base(
        "ShareFetch",
        {
            "group_id": GROUP,
            "member_id": Ref("member"),
            "share_session_epoch": OPENING_EPOCH,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "max_records": 10,
            "batch_size": 10,
            "topics": _of_both_topics({"partition_index": 0}),
        },
        share_group,
    ),
    Base(
        "ShareAcknowledge",
        {
            "group_id": GROUP,
            "member_id": Ref("member"),
            "share_session_epoch": CLOSING_EPOCH,
            "topics": _of_both_topics({"partition_index": 0, "acknowledgement_batches": []}),
        },
        share_group,
    ),
    Base(
        "DescribeShareGroupOffsets",
        {"groups": [{"group_id": GROUP, "topics": [{**topic, "partitions": [0]} for topic in NAMED_TOPICS]}]},
        emptied_share_group,
    ),
    Base("DescribeShareGroupOffsets", {"groups": [{"group_id": GROUP, "topics": None}]}, emptied_share_group),
    Base(
        "AlterShareGroupOffsets",
        {
            "group_id": GROUP,
            "topics": [{**topic, "partitions": [{"partition_index": 0, "start_offset": 1}]} for topic in NAMED_TOPICS],
        },
        emptied_share_group,
    ),
    Base("DeleteShareGroupOffsets", {"group_id": GROUP, "topics": list(NAMED_TOPICS)}, emptied_share_group),
    Base(
        "AlterShareGroupOffsets",
        {
            "group_id": GROUP,
            "topics": [{"topic_name": TOPIC, "partitions": [{"partition_index": 0, "start_offset": 1}]}],
        },
        emptied_share_group,
    ),
    Base("DeleteShareGroupOffsets", {"group_id": GROUP, "topics": [{"topic_name": TOPIC}]}, emptied_share_group),
    Base("ReadShareGroupState", STATE_KEY, emptied_share_group),
    Base("ReadShareGroupStateSummary", STATE_KEY, emptied_share_group),
    Base("WriteShareGroupState", STATE_KEY, emptied_share_group),
    Base("InitializeShareGroupState", STATE_KEY, emptied_share_group),
    Base("DeleteShareGroupState", STATE_KEY, emptied_share_group),
)

OF_STREAMS_GROUPS: Final = (
    Base(
        "StreamsGroupHeartbeat",
        {
            **STREAMS_JOINS,
            "topology": {"subtopologies": [{"subtopology_id": "0", "source_topics": [TOPIC, OTHER_TOPIC]}]},
        },
        streams_group,
    ),
    Base("StreamsGroupHeartbeat", {"group_id": GROUP, "member_id": Ref("member"), "member_epoch": -1}, streams_group),
    Base(
        "StreamsGroupHeartbeat",
        {
            **STREAMS_JOINS,
            "topology": {
                "subtopologies": [
                    {
                        "subtopology_id": "0",
                        "source_topics": [TOPIC],
                        "repartition_sink_topics": [Ref("repartition")],
                        "state_changelog_topics": [{"name": Ref("changelog")}],
                    },
                    {
                        "subtopology_id": "1",
                        "repartition_source_topics": [{"name": Ref("repartition"), "partitions": 2}],
                    },
                ]
            },
        },
        new_streams_group,
    ),
    Base("StreamsGroupDescribe", {"group_ids": [GROUP], "include_authorized_operations": True}, streams_group),
)
