"""Consumer groups in swapped folders: the other server describes them as they were, and serves their members."""

from collections.abc import Mapping
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from _wire.messages.find_coordinator import FindCoordinatorRequest
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPICS: Final = {"groups-t": 6, "groups-u": 3}
SECONDS: Final = 30
STABLE, REVOKING, EMPTY = "stable", "revoking", "emptied"
"""Groups: one with two members at rest; one in which a member has to revoke; one that all have left."""


def fill_groups(bootstrap: str) -> dict[str, Any]:
    """Make the groups; what ConsumerGroupDescribe says of them."""
    with WireClient(bootstrap) as client:
        ids = {name: client.create_topic(name, partitions) for name, partitions in TOPICS.items()}
        wait_for(lambda: _knows_topics(client), SECONDS, "the coordinator knows the topics")
        assert _beat(client, EMPTY, "e", -1).error_code == 0
        for group_id in (STABLE, REVOKING):
            everything = {topic_id: list(range(TOPICS[name])) for name, topic_id in ids.items()}
            assert _beat(client, group_id, "a", 0, instance_id="i").member_epoch == 2
            _beat(client, group_id, "b", 0)
            assert _group(client, group_id).assignment_epoch == 3
            kept = _assigned(_beat(client, group_id, "a", 2, owned=everything))
            if group_id is STABLE:
                assert _beat(client, group_id, "a", 2, owned=kept).member_epoch == 3
                assert _beat(client, group_id, "b", 3).assignment is not None
        return described(client)


def _knows_topics(client: WireClient) -> bool:
    client.request(FindCoordinatorRequest(key=EMPTY), 3)  # Kafka makes the topic of the groups then
    answer = _beat(client, EMPTY, "e", 0)
    return answer.error_code == 0 and len(answer.assignment.topic_partitions) == len(TOPICS)


def described(client: WireClient) -> dict[str, Any]:
    """Group id → what is said of it: state, epochs, and of each member its epoch and both assignments."""
    return {each: _figures(_group(client, each)) for each in (STABLE, REVOKING, EMPTY)}


def differences_of_groups(bootstrap: str, before: Mapping[str, Any]) -> list[str]:
    """What the other server says otherwise, and what goes wrong when the members go on there."""
    with WireClient(bootstrap) as client:
        wait_for(lambda: all(_is_loaded(client, each) for each in before), SECONDS, "the groups are loaded")
        after = described(client)
        problems = [
            f"group {each}: {before[each]} became {after[each]}" for each in before if before[each] != after[each]
        ]
        kept = {topic_id: list(indexes) for topic_id, indexes in before[REVOKING]["members"]["a"][1]}
        given_up = {topic_id: indexes for topic_id, indexes in kept.items() if not indexes}
        answers = {
            "a steady heartbeat": _beat(client, STABLE, "b", 3),
            "the end of a revocation": _beat(client, REVOKING, "a", 2, owned=given_up),
            "a member of an emptied group": _beat(client, EMPTY, "e", 0),
        }
        problems += [f"{what}: error {answer.error_code}" for what, answer in answers.items() if answer.error_code]
        if answers["the end of a revocation"].member_epoch != 3:
            problems.append(
                f"after its revocation a member has epoch {answers['the end of a revocation'].member_epoch}"
            )
        if answers["a steady heartbeat"].assignment is not None or _group(client, STABLE).group_epoch != 3:
            problems.append("the hash of the topics is another one: the group rebalances")
    return problems


def _is_loaded(client: WireClient, group_id: str) -> bool:
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR
    return _group(client, group_id).error_code not in loading


def _beat(
    client: WireClient,
    group_id: str,
    member_id: str,
    epoch: int,
    *,
    owned: Mapping[bytes, list[int]] | None = None,
    instance_id: str | None = None,
) -> Any:
    joins = epoch == 0
    partitions = (
        None if owned is None else [TopicPartitions(topic_id=key, partitions=each) for key, each in owned.items()]
    )
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        instance_id=instance_id,
        rebalance_timeout_ms=600_000 if joins else -1,
        subscribed_topic_names=list(TOPICS) if joins else None,
        topic_partitions=[] if joins else partitions,
    )
    return client.request(request, 1)


def _assigned(answer: Any) -> dict[bytes, list[int]]:
    return {
        topic_partition.topic_id: list(topic_partition.partitions)
        for topic_partition in answer.assignment.topic_partitions
    }


def _group(client: WireClient, group_id: str) -> Any:
    (group,) = client.request(ConsumerGroupDescribeRequest(group_ids=[group_id]), 1).groups
    return group


def _figures(group: Any) -> dict[str, Any]:
    members = {
        member.member_id: (member.member_epoch, _partitions(member.assignment), _partitions(member.target_assignment))
        for member in group.members
    }
    return {
        "state": group.group_state,
        "epochs": (group.group_epoch, group.assignment_epoch),
        "members": members,
    }


def _partitions(assignment: Any) -> list[tuple[bytes, tuple[int, ...]]]:
    return sorted(
        (topic_partition.topic_id, tuple(sorted(topic_partition.partitions)))
        for topic_partition in assignment.topic_partitions
    )
