"""Share groups in swapped folders: the other server knows their members and the states of their partitions."""

from functools import partial
from typing import Any, Final

from _wire.messages import read_share_group_state as reading
from _wire.messages import write_share_group_state as writing
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.waiting import wait_for
from tests.wire_client import WireClient

TOPIC: Final = "shared-t"
PARTITIONS: Final = 3
GROUP: Final = "queue"
MEMBER: Final = "m"
SECONDS: Final = 60
WRITES: Final = 12
"""More than there are updates between two snapshots."""


def fill_share_group(bootstrap: str) -> Any:
    """Make a share group that has done some of its records; what is said of it and of its states."""
    with WireClient(bootstrap) as client:
        topic_id = client.create_topic(TOPIC, PARTITIONS)
        wait_for(lambda: _has_all(client), SECONDS, "the partitions of the share group")
        for partition in range(PARTITIONS):
            wait_for(partial(_can_read, client, topic_id, partition), SECONDS, "a state")
            for number in range(WRITES):
                error = _write(client, topic_id, partition, 3 * number, start_offset=number)
                assert error == 0, error
        return topic_id, _told(client, topic_id)


def differences_of_share_group(bootstrap: str, before: Any) -> list[str]:
    """What the other server says otherwise, and what goes wrong when the group goes on there."""
    topic_id, told = before
    with WireClient(bootstrap) as client:
        wait_for(lambda: _described(client).error_code == 0, SECONDS, "the share group is loaded")
        wait_for(partial(_can_read, client, topic_id, 0), SECONDS, "its states are loaded")
        after = _told(client, topic_id)
        problems = [] if after == told else [f"share group: {told} became {after}"]
        epoch = _described(client).members[0].member_epoch
        beat = _beat(client, epoch)
        if beat.error_code or beat.member_epoch != epoch:
            problems.append(f"a heartbeat of a share member: error {beat.error_code}, epoch {beat.member_epoch}")
        if error := _write(client, topic_id, 0, 3 * WRITES, start_offset=WRITES):
            problems.append(f"a state cannot be written: error {error}")
    return problems


def _has_all(client: WireClient) -> bool:
    client.request(FindCoordinatorRequest(key=GROUP), 3)  # Kafka makes the topic of the groups then
    answer = _beat(client, 0)
    topics = [] if answer.assignment is None else answer.assignment.topic_partitions
    return [len(topic.partitions) for topic in topics] == [PARTITIONS]


def _beat(client: WireClient, epoch: int) -> Any:
    names = [TOPIC] if epoch == 0 else None
    request = ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=names
    )
    return client.request(request, 1)


def _described(client: WireClient) -> Any:
    (group,) = client.request(ShareGroupDescribeRequest(group_ids=[GROUP]), 1).groups
    return group


def _read(client: WireClient, topic_id: bytes, partition: int, leader_epoch: int) -> Any:
    asked = reading.StatePartition(partition=partition, leader_epoch=leader_epoch)
    topics = [reading.StateTopic(topic_id=topic_id, partitions=[asked])]
    (result,) = client.request(reading.ReadShareGroupStateRequest(group_id=GROUP, topics=topics), 0).results
    return result.partitions[0]


def _can_read(client: WireClient, topic_id: bytes, partition: int) -> bool:
    return bool(_read(client, topic_id, partition, -1).error_code == 0)


def _write(client: WireClient, topic_id: bytes, partition: int, first_offset: int, start_offset: int) -> int:
    batch = writing.StateBatch(
        first_offset=first_offset, last_offset=first_offset + 1, delivery_state=2, delivery_count=1 + partition
    )
    asked = writing.StatePartition(
        partition=partition,
        state_epoch=-1,
        leader_epoch=-1,
        start_offset=start_offset,
        delivery_complete_count=2,
        state_batches=[batch],
    )
    topics = [writing.StateTopic(topic_id=topic_id, partitions=[asked])]
    (result,) = client.request(writing.WriteShareGroupStateRequest(group_id=GROUP, topics=topics), 1).results
    error: int = result.partitions[0].error_code
    return error


def _told(client: WireClient, topic_id: bytes) -> Any:
    group = _described(client)
    members = [
        (member.member_id, member.member_epoch, _partitions(member.assignment.topic_partitions))
        for member in group.members
    ]
    states = []
    for partition in range(PARTITIONS):
        state = _read(client, topic_id, partition, -1)
        batches = [
            (batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in state.state_batches
        ]
        states.append((state.error_code, state.state_epoch, state.start_offset, batches))
    return (group.group_epoch, group.assignment_epoch), members, states


def _partitions(topics: Any) -> list[list[int]]:
    return [sorted(topic.partitions) for topic in topics]
