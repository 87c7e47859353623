"""What a server tells of a share group, its stored states and the logs that it reads."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.messages import describe_share_group_offsets, read_share_group_state
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from tests.differential.share_groups.steps import place_text
from tests.wire_client import WireClient

EARLIEST: Final = -2
LATEST: Final = -1
UNCHECKED: Final = -1
"""The leader epoch with which a state is read and not changed."""


class ServerState:
    """One look."""

    def __init__(
        self,
        client: WireClient,
        group_id: str,
        prefix: str,
        topic_ids: Mapping[str, bytes],
        partitions: Mapping[str, int],
    ) -> None:
        self._client = client
        self._group_id = group_id
        self._prefix = prefix
        self._topic_ids = topic_ids
        self._partitions = partitions

    def told(self) -> dict[str, Any]:
        return {"group": self._group(), "offsets": self._offsets(), "stored": self._stored(), "logs": self._logs()}

    def _group(self) -> dict[str, Any]:
        """Who has which partition depends on the ids of topics, which each server makes: how many, does not."""
        (group,) = self._client.request(ShareGroupDescribeRequest(group_ids=[self._group_id]), 1).groups
        members = {}
        for member in group.members:
            count = sum(len(topic.partitions) for topic in member.assignment.topic_partitions)
            names = sorted(map(self._own, member.subscribed_topic_names))
            members[member.member_id] = [member.member_epoch, names, count]
        return {
            "error": group.error_code,
            "state": group.group_state,
            "epochs": [group.group_epoch, group.assignment_epoch],
            "members": members,
        }

    def _own(self, name: str) -> str:
        return name.removeprefix(self._prefix)

    def _offsets(self) -> dict[str, list[int]]:
        module = describe_share_group_offsets
        request = module.DescribeShareGroupOffsetsRequest(
            groups=[module.RequestGroup(group_id=self._group_id, topics=None)]
        )
        (group,) = self._client.request(request, 1).groups
        return {
            place_text((self._own(topic.topic_name), each.partition_index)): [
                each.error_code,
                each.start_offset,
                each.lag,
            ]
            for topic in group.topics
            for each in topic.partitions
        }

    def _stored(self) -> dict[str, list[Any]]:
        module = read_share_group_state
        topics = [
            module.StateTopic(
                topic_id=self._topic_ids[name],
                partitions=[module.StatePartition(partition=index, leader_epoch=UNCHECKED) for index in range(count)],
            )
            for name, count in self._partitions.items()
        ]
        request = module.ReadShareGroupStateRequest(group_id=self._group_id, topics=topics)
        names = {topic_id: name for name, topic_id in self._topic_ids.items()}
        return {
            place_text((names[topic.topic_id], each.partition)): [
                each.error_code,
                each.state_epoch,
                each.start_offset,
                _joined(each.state_batches),
            ]
            for topic in self._client.request(request, 0).results
            for each in topic.partitions
        }

    def _logs(self) -> dict[str, list[int]]:
        """First offset, last stable offset and end of each partition."""
        found: dict[str, list[int]] = {}
        for timestamp, isolation in ((EARLIEST, 0), (LATEST, 1), (LATEST, 0)):
            topics = [
                ListOffsetsTopic(
                    name=self._prefix + name,
                    partitions=[
                        ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in range(count)
                    ],
                )
                for name, count in self._partitions.items()
            ]
            request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
            for topic in self._client.request(request, 5).topics:
                for each in topic.partitions:
                    place = place_text((self._own(topic.name), each.partition_index))
                    found.setdefault(place, []).append(each.offset)
        # Records of an open transaction may be deleted: then Kafka says a last stable offset below the first one.
        return {place: [start, max(start, stable), end] for place, (start, stable, end) in found.items()}


def _joined(batches: Iterable[Any]) -> list[list[int]]:
    """Without borders between neighbours that are equal: Kafka keeps those of its last snapshot (decision 055)."""
    found: list[list[int]] = []
    for one in batches:
        if found and found[-1][1:] == [one.first_offset - 1, one.delivery_state, one.delivery_count]:
            found[-1][1] = one.last_offset
        else:
            found.append([one.first_offset, one.last_offset, one.delivery_state, one.delivery_count])
    return found
