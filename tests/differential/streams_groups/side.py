"""A server that a history of a streams group is played on."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

GROUP_RESOURCE: Final = 32
SECONDS: Final = 20
CREATION_SECONDS: Final = 5
"""For topics that are not created: it is not told when a broker does not try."""
MISSING_INTERNAL_TOPICS: Final = 3
INTERNAL: Final = ("log", "r", "rlog")


class StreamsSide:
    """One server, with group, topics and connections of one history."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self._prefix = prefix
        self.group_id = f"{prefix}g"
        self._client = WireClient(bootstrap, client_id="streams")
        self._probes = 0

    def close(self) -> None:
        self._client.socket.close()

    def take(self, kind: str, arguments: Mapping[str, Any]) -> Any:
        """The answer to a step, in the words of the history."""
        return getattr(self, kind)(**arguments)

    # ---- members

    def heartbeat(
        self,
        member: str,
        epoch: int,
        topology: str | None = None,
        owned: Sequence[Mapping[str, Sequence[int]]] | None = None,
        process: str | None = None,
        endpoint: int | None = None,
        endpoint_epoch: int = 0,
        tags: Mapping[str, str] | None = None,
        timeout_ms: int = -1,
        shuts_down: bool = False,
        rack: str | None = None,
    ) -> Any:
        lists = None if owned is None else [_task_ids(tasks) for tasks in owned]
        request = StreamsGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=member,
            member_epoch=epoch,
            endpoint_information_epoch=endpoint_epoch,
            rack_id=rack,
            rebalance_timeout_ms=timeout_ms,
            topology=None if topology is None else self._topology(topology),
            active_tasks=None if lists is None else lists[0],
            standby_tasks=None if lists is None else lists[1],
            warmup_tasks=None if lists is None else [],
            process_id=process,
            user_endpoint=None if endpoint is None else Endpoint(host="host", port=endpoint),
            client_tags=None if tags is None else [KeyValue(key=key, value=value) for key, value in tags.items()],
            shutdown_application=shuts_down,
        )
        answer = self._client.request(request, 0)
        statuses = sorted((status.status_code, self._plain(status.status_detail)) for status in answer.status)
        is_missing = any(code == MISSING_INTERNAL_TOPICS for code, _ in statuses)
        return {
            "error": answer.error_code,
            "has message": bool(answer.error_message),
            "member": answer.member_id,
            "epoch": answer.member_epoch,
            "interval": answer.heartbeat_interval_ms,
            "status": [(code, "" if code == MISSING_INTERNAL_TOPICS else detail) for code, detail in statuses],
            "active": _tasks(answer.active_tasks),
            "standby": _tasks(answer.standby_tasks),
            "warmup": _tasks(answer.warmup_tasks),
            "endpoint epoch": answer.endpoint_information_epoch,
            "endpoints": self._endpoints(answer.partitions_by_user_endpoint),
            "created": self._created_topics() if is_missing else {},
        }

    def _endpoints(self, found: Any) -> Any:
        if found is None:
            return None
        return sorted(
            (
                each.user_endpoint.port,
                sorted((self._plain(topic.topic), sorted(topic.partitions)) for topic in each.active_partitions),
                sorted((self._plain(topic.topic), sorted(topic.partitions)) for topic in each.standby_partitions),
            )
            for each in found
        )

    def _plain(self, text: str) -> str:
        return text.replace(self._prefix, "")

    def _named(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _topology(self, which: str) -> Topology:
        """`plain`, `stateful`, `chain` (two parts, a repartition topic between), `joined` (copartitioned)."""
        name, _, epoch = which.partition("@")

        def info(topic: str) -> TopicInfo:
            return TopicInfo(name=self._named(topic))

        source, other = self._named("t"), self._named("u")
        parts = {
            "plain": [Subtopology(subtopology_id="0", source_topics=[source])],
            "stateful": [
                Subtopology(subtopology_id="0", source_topics=[source], state_changelog_topics=[info("log")]),
                Subtopology(subtopology_id="1", source_topics=[other]),
            ],
            "chain": [
                Subtopology(
                    subtopology_id="0", source_topics=[source, other], repartition_sink_topics=[self._named("r")]
                ),
                Subtopology(
                    subtopology_id="1",
                    repartition_source_topics=[info("r")],
                    state_changelog_topics=[info("rlog")],
                ),
            ],
            "joined": [
                Subtopology(
                    subtopology_id="0",
                    source_topics=[source, other],
                    state_changelog_topics=[info("log")],
                    copartition_groups=[CopartitionGroup(source_topics=[0, 1])],
                )
            ],
        }[name]
        return Topology(epoch=int(epoch or 0), subtopologies=parts)

    # ---- topics and settings

    def change_topic(self, topic: str, partitions: int, before: int) -> Any:
        """Make it, give it more partitions, or delete it, and wait until the group coordinator knows."""
        name = self._named(topic)
        if not partitions:
            self._client.delete_topic(name)
        elif not before:
            self._client.create_topic(name, partitions)
        else:
            request = CreatePartitionsRequest(
                topics=[CreatePartitionsTopic(name=name, count=partitions, assignments=None)], timeout_ms=5000
            )
            (result,) = self._client.request(request, 3).results
            assert result.error_code == 0, result
        self._await_known(name, partitions)
        return None

    def delete_internal(self) -> Any:
        """Delete those internal topics that there are."""
        there = [topic for topic in INTERNAL if self._partition_count(self._named(topic))]
        for topic in there:
            self._client.delete_topic(self._named(topic))
        for topic in there:
            self._await_known(self._named(topic), 0)
        return there

    def internal_topics(self) -> Any:
        return {topic: self._partition_count(self._named(topic)) for topic in INTERNAL}

    def _partition_count(self, name: str) -> int:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self._client.request(request, 12).topics
        return 0 if topic.error_code else len(topic.partitions)

    def _await_known(self, name: str, partitions: int) -> None:
        """A consumer group of one partition's coordinator has the topic as it is now: the offsets topic has one."""
        self._probes += 1
        group_id = f"{self._prefix}probe{self._probes}"

        def is_known() -> bool:
            join = ConsumerGroupHeartbeatRequest(
                group_id=group_id,
                member_id="probe",
                member_epoch=0,
                rebalance_timeout_ms=1000,
                subscribed_topic_names=[name],
                topic_partitions=[],
            )
            answer = self._client.request(join, 1)
            assigned = answer.assignment.topic_partitions if answer.assignment else ()
            return sum(len(topic.partitions) for topic in assigned) == partitions

        wait_for(is_known, SECONDS, f"the coordinator to know {name}")
        leave = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="probe", member_epoch=-1)
        self._client.request(leave, 1)

    def _created_topics(self) -> dict[str, int]:
        """The internal topics, which the broker makes after its answer; 0: it does not."""
        described = self._described()
        missing = {
            topic.name
            for part in described.topology.subtopologies
            for topic in (*part.state_changelog_topics, *part.repartition_source_topics)
        }
        deadline = time.monotonic() + CREATION_SECONDS
        while time.monotonic() < deadline and not all(map(self._partition_count, missing)):
            time.sleep(0.02)
        for name in missing:
            if self._partition_count(name):
                self._await_known(name, self._partition_count(name))
        return {self._plain(name): self._partition_count(name) for name in sorted(missing)}

    def configure(self, standbys: int) -> Any:
        config = AlterableConfig(name="streams.num.standby.replicas", config_operation=0, value=str(standbys))
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=self.group_id, configs=[config])
        (result,) = self._client.request(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
        assert result.error_code == 0, result
        name = self._named(f"after-config-{self._probes}")
        self._client.create_topic(name, 1)  # comes after the config in the log of the metadata
        self._await_known(name, 1)
        return None

    # ---- others

    def commit(self, member: str, epoch: int, topic: str, partition: int) -> Any:
        return self._commit_to(self.group_id, member, epoch, topic, partition)

    def _commit_to(self, group_id: str, member: str, epoch: int, topic: str, partition: int) -> Any:
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=epoch,
            member_id=member,
            topics=[
                OffsetCommitRequestTopic(
                    name=self._named(topic),
                    partitions=[OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)],
                )
            ],
        )
        (answered,) = self._client.request(request, 9).topics
        return [result.error_code for result in answered.partitions]

    def fetch_offsets(self, member: str | None, epoch: int) -> Any:
        topics = [OffsetFetchRequestTopics(name=self._named("t"), partition_indexes=[0, 1])]
        group = OffsetFetchRequestGroup(group_id=self.group_id, member_id=member, member_epoch=epoch, topics=topics)
        (answered,) = self._client.request(OffsetFetchRequest(groups=[group]), 9).groups
        offsets = [
            (result.partition_index, result.committed_offset)
            for topic in answered.topics
            for result in topic.partitions
        ]
        return answered.error_code, sorted(offsets)

    def delete_offsets(self, topic: str) -> Any:
        partitions = [OffsetDeleteRequestPartition(partition_index=0)]
        request = OffsetDeleteRequest(
            group_id=self.group_id,
            topics=[OffsetDeleteRequestTopic(name=self._named(topic), partitions=partitions)],
        )
        answer = self._client.request(request, 0)
        return answer.error_code, [result.error_code for topic in answer.topics for result in topic.partitions]

    def delete_group(self) -> Any:
        (result,) = self._client.request(DeleteGroupsRequest(groups_names=[self.group_id]), 2).results
        return result.error_code

    def join_classic(self) -> Any:
        """JoinGroup of a client that is refused, or that leaves again at once: its group has no member then."""
        answer = self._client.request(join_request(self.group_id), 4)
        return answer.error_code

    def join_consumer(self) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id="other",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=[self._named("t")],
            topic_partitions=[],
        )
        return self._client.request(request, 1).error_code

    def state(self) -> Any:
        # Kafka shows what is in memory alone when something was written after it.
        self._commit_to(self._named("touched"), "", -1, "t", 0)
        listed = self._client.request(ListGroupsRequest(), 5).groups
        kinds = [
            (group.group_type, group.protocol_type, group.group_state)
            for group in listed
            if group.group_id == self.group_id
        ]
        group = self._described()
        if group.error_code:
            return kinds, group.error_code
        return (
            kinds,
            (group.group_state, group.group_epoch, group.assignment_epoch),
            self._described_topology(group.topology),
            sorted(map(self._described_member, group.members), key=lambda member: str(member["member"])),
        )

    def _described(self) -> Any:
        (group,) = self._client.request(StreamsGroupDescribeRequest(group_ids=[self.group_id]), 0).groups
        return group

    def _described_topology(self, topology: Any) -> Any:
        def infos(topics: Any) -> list[Any]:
            return [(self._plain(topic.name), topic.partitions, topic.replication_factor) for topic in topics]

        return topology.epoch, sorted(
            (
                part.subtopology_id,
                [self._plain(name) for name in part.source_topics],
                [self._plain(name) for name in part.repartition_sink_topics],
                infos(part.state_changelog_topics),
                infos(part.repartition_source_topics),
            )
            for part in topology.subtopologies
        )

    def _described_member(self, member: Any) -> dict[str, Any]:
        endpoint = member.user_endpoint
        return {
            "member": member.member_id,
            "epoch": member.member_epoch,
            "topology": member.topology_epoch,
            "process": member.process_id,
            "rack": member.rack_id,
            "endpoint": endpoint and endpoint.port,
            "tags": [(tag.key, tag.value) for tag in member.client_tags],
            "has": [_tasks(member.assignment.active_tasks), _tasks(member.assignment.standby_tasks)],
            "target": [_tasks(member.target_assignment.active_tasks), _tasks(member.target_assignment.standby_tasks)],
        }


def _task_ids(tasks: Mapping[str, Sequence[int]]) -> list[TaskIds]:
    return [TaskIds(subtopology_id=part_id, partitions=list(numbers)) for part_id, numbers in tasks.items()]


def _tasks(tasks: Any) -> dict[str, list[int]] | None:
    if tasks is None:
        return None
    return {each.subtopology_id: list(each.partitions) for each in sorted(tasks, key=lambda each: each.subtopology_id)}
