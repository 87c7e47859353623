"""OffsetCommit, OffsetFetch, OffsetDelete: topics are checked here, where metadata is; groups decide the rest."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from coordinator.core import offsets
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.group import Group
from coordinator.core.offset_records import are_partitions
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.asks import GroupDecision
from coordinator.server.dispatch import DEFERRED, DispatchTable
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext

TOPIC_ID_VERSION = 10
"""From this version on both requests name topics by id alone (KIP-848)."""
GROUPS_VERSION = 8
"""From this version on OffsetFetch asks for several groups at once (KIP-709)."""
GROUP_ERROR_VERSION = 2
"""Before it, OffsetFetch has an error per partition only."""
ZOOKEEPER_VERSION = 0
"""Version 0 kept offsets in ZooKeeper, which no Kafka without one can do; 3.9 lists it and says so."""
NO_OFFSET = -1


class OffsetHandlers:
    """Commits and fetches of positions."""

    def __init__(self, broker: NodeContext) -> None:
        self._broker = broker

    def add_to(self, table: DispatchTable) -> None:
        table.add("OffsetCommit", self.commit, offsets.refuse)
        table.add("OffsetFetch", self.fetch, _fetch_error)
        table.add("OffsetDelete", self.delete)

    def commit(self, request: OffsetCommitRequest, call: RequestContext) -> Any:
        if call.api_version == ZOOKEEPER_VERSION:
            return offsets.refuse(request, ErrorCode.UNSUPPORTED_VERSION)
        if call.api_version >= TOPIC_ID_VERSION:
            _name_topics(request.topics, self._broker.image)
        known, refused = _split_known(request, self._broker.image, call.api_version)
        if not known:
            return OffsetCommitResponse(topics=refused)
        request.topics = known
        config, context = self._broker.config, self._number(call)
        if refused:
            context = self._part(call, lambda parts: _add_refused(request, parts[0], refused))
        self._broker.groups.ask(
            request.group_id,
            lambda group, now_ms: offsets.commit(group, request, context, now_ms, config),
            context.request_id,
        )
        return DEFERRED

    def fetch(self, request: OffsetFetchRequest, call: RequestContext) -> Any:
        if call.api_version == ZOOKEEPER_VERSION:
            return _group_failed(_as_group(request), ErrorCode.UNSUPPORTED_VERSION, call.api_version)
        asked = request.groups if call.api_version >= GROUPS_VERSION else [_as_group(request)]
        if call.api_version >= TOPIC_ID_VERSION:
            for group in asked:
                _name_topics(group.topics or (), self._broker.image)
        by_id = call.api_version >= TOPIC_ID_VERSION
        if not asked:
            return OffsetFetchResponse()
        request_id = self._number(call).request_id
        stable, image, groups = request.require_stable, self._broker.image, self._broker.groups
        if len(asked) == 1 and call.api_version >= GROUPS_VERSION:
            # What nearly every consumer sends: its answer needs no putting together.
            groups.ask(asked[0].group_id, _fetching_alone(request_id, asked[0], image, by_id, stable), request_id)
            return DEFERRED
        merge = _merge_groups if call.api_version >= GROUPS_VERSION else _single_group(call.api_version)
        part_ids = self._broker.pending.fan_out(request_id, len(asked), lambda parts: merge(asked, parts))
        for part_id, each in zip(part_ids, asked, strict=True):
            groups.ask(each.group_id, _fetching(part_id, each, image, by_id, stable), part_id)
        return DEFERRED

    def delete(self, request: OffsetDeleteRequest, call: RequestContext) -> Any:
        unknown = _take_out_unknown(request, self._broker.image)
        self._number(call)

        def merge(parts: list[Any]) -> OffsetDeleteResponse:
            if isinstance(parts[0], ErrorCode):
                return OffsetDeleteResponse(error_code=parts[0])
            response: OffsetDeleteResponse = parts[0]
            if response.error_code == ErrorCode.NONE and unknown:
                response.topics = _merge(unknown, response.topics, attrgetter("name"))
            return response

        context = self._part(call, merge)
        self._broker.groups.ask(
            request.group_id, lambda group, now_ms: offsets.delete(group, request, context, now_ms), context.request_id
        )
        return DEFERRED

    def _number(self, call: RequestContext) -> OperationContext:
        """The request with the id that its answer comes by."""
        call.request_id = self._broker.pending.register(call.connection)
        return call

    def _part(self, call: RequestContext, merge: Callable[[list[Any]], Any]) -> OperationContext:
        """The numbered request for a group whose answer is not the whole one: `merge` makes that of it."""
        (part_id,) = self._broker.pending.fan_out(call.request_id, 1, merge)
        return OperationContext(part_id, call.api_version, call.client_id, call.client_host, call.new_id)


def _fetching(
    part_id: int, asked: OffsetFetchRequestGroup, image: MetadataImage, by_id: bool, require_stable: bool
) -> GroupDecision:
    def decide(group: Group, now_ms: int) -> Decision:
        return Decision(replies=(Reply(part_id, _fetch_group(group, asked, image, by_id, require_stable)),))

    return decide


def _fetching_alone(
    request_id: int, asked: OffsetFetchRequestGroup, image: MetadataImage, by_id: bool, require_stable: bool
) -> GroupDecision:
    def decide(group: Group, now_ms: int) -> Decision:
        response = OffsetFetchResponse(groups=[_fetch_group(group, asked, image, by_id, require_stable)])
        return Decision(replies=(Reply(request_id, response),))

    return decide


def _fetch_group(
    group: Group, asked: OffsetFetchRequestGroup, image: MetadataImage, by_id: bool, require_stable: bool
) -> OffsetFetchResponseGroup:
    response = OffsetFetchResponseGroup(group_id=asked.group_id)
    if asked.topics is None:
        for topic in group.offsets:
            topic_id = image.topics[topic].topic_id if topic in image.topics else bytes(16)
            partitions = offsets.fetch(group, topic, None, require_stable)
            response.topics.append(OffsetFetchResponseTopics(name=topic, topic_id=topic_id, partitions=partitions))
        return response
    for wanted in asked.topics:
        if by_id and not wanted.name:
            partitions = [_failed_partition(index, ErrorCode.UNKNOWN_TOPIC_ID) for index in wanted.partition_indexes]
        else:
            partitions = offsets.fetch(group, wanted.name, wanted.partition_indexes, require_stable)
        response.topics.append(
            OffsetFetchResponseTopics(name=wanted.name, topic_id=wanted.topic_id, partitions=partitions)
        )
    return response


def _failed_partition(index: int, error: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=NO_OFFSET, committed_leader_epoch=-1, metadata="", error_code=error
    )


def _as_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """The one group of v0 to v7, in the words of v8."""
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _merge_groups(asked: list[OffsetFetchRequestGroup], parts: list[Any]) -> OffsetFetchResponse:
    groups = [
        OffsetFetchResponseGroup(group_id=group.group_id, error_code=part) if isinstance(part, ErrorCode) else part
        for group, part in zip(asked, parts, strict=True)
    ]
    return OffsetFetchResponse(groups=groups)


def _single_group(api_version: int) -> Any:
    def merge(asked: list[OffsetFetchRequestGroup], parts: list[Any]) -> OffsetFetchResponse:
        part = parts[0]
        if isinstance(part, ErrorCode):
            return _group_failed(asked[0], part, api_version)
        topics = [
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        metadata=partition.metadata,
                        error_code=partition.error_code,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in part.topics
        ]
        return OffsetFetchResponse(topics=topics, error_code=part.error_code)

    return merge


def _group_failed(asked: OffsetFetchRequestGroup, error: ErrorCode, api_version: int) -> OffsetFetchResponse:
    if api_version >= GROUP_ERROR_VERSION:
        return OffsetFetchResponse(error_code=error)
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=error
                )
                for index in topic.partition_indexes
            ],
        )
        for topic in asked.topics or ()
    ]
    return OffsetFetchResponse(topics=topics)


def _fetch_error(request: OffsetFetchRequest, error: ErrorCode) -> OffsetFetchResponse:
    if request.groups:
        return _merge_groups(request.groups, [error] * len(request.groups))
    return _group_failed(_as_group(request), error, 0 if request.topics else GROUP_ERROR_VERSION)


def _name_topics(topics: Iterable[OffsetCommitRequestTopic | OffsetFetchRequestTopics], image: MetadataImage) -> None:
    """Put the names beside the ids, "" where the id is unknown."""
    for topic in topics:
        known = image.topics_by_id.get(topic.topic_id)
        topic.name = "" if known is None else known.name


def _split_known(
    request: OffsetCommitRequest, image: MetadataImage, api_version: int
) -> tuple[list[OffsetCommitRequestTopic], list[OffsetCommitResponseTopic]]:
    """The partitions that exist, and the answers for the others: a topic has one entry among these.

    An unknown topic has its entry even without partitions; a known one without partitions is left out.
    """
    known: list[OffsetCommitRequestTopic] = []
    refused: dict[tuple[str, bytes], OffsetCommitResponseTopic] = {}

    def refuse(topic: OffsetCommitRequestTopic, partitions: Iterable[int], error: ErrorCode) -> None:
        answers = [OffsetCommitResponsePartition(partition_index=index, error_code=error) for index in partitions]
        entry = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        refused.setdefault((topic.name, topic.topic_id), entry).partitions.extend(answers)

    for topic in request.topics:
        count = image.partition_count(topic.name)
        if not count:
            is_unknown_id = api_version >= TOPIC_ID_VERSION and not topic.name
            error = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            refuse(topic, (each.partition_index for each in topic.partitions), error)
            continue
        if not are_partitions(topic.partitions, count):
            missing = [each.partition_index for each in topic.partitions if not 0 <= each.partition_index < count]
            refuse(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions = [each for each in topic.partitions if 0 <= each.partition_index < count]
        if topic.partitions:
            known.append(topic)
    return known, list(refused.values())


def _take_out_unknown(request: OffsetDeleteRequest, image: MetadataImage) -> list[OffsetDeleteResponseTopic]:
    """Leave in the request the partitions that exist; returns the answers for the others, as `_split_known` does."""
    refused: dict[str, OffsetDeleteResponseTopic] = {}
    for topic in request.topics:
        missing = [
            OffsetDeleteResponsePartition(
                partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            for each in topic.partitions
            if not image.has_partition(topic.name, each.partition_index)
        ]
        if missing or topic.name not in image.topics:
            entry = OffsetDeleteResponseTopic(name=topic.name)
            refused.setdefault(topic.name, entry).partitions.extend(missing)
        topic.partitions = [each for each in topic.partitions if image.has_partition(topic.name, each.partition_index)]
    request.topics = [topic for topic in request.topics if topic.partitions]
    return list(refused.values())


def _merge(refused: list[Any], answered: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    """The topics of a response in which something was refused before the group was asked: each stands there once."""
    merged = {key(topic): topic for topic in refused}
    for topic in answered:
        entry = merged.setdefault(key(topic), topic)
        if entry is not topic:
            entry.partitions.extend(topic.partitions)
    return list(merged.values())


def _add_refused(
    request: OffsetCommitRequest, part: Any, refused: list[OffsetCommitResponseTopic]
) -> OffsetCommitResponse:
    """One response of what the group said and what was refused before it was asked."""
    response: OffsetCommitResponse = offsets.refuse(request, part) if isinstance(part, ErrorCode) else part
    response.topics = _merge(refused, response.topics, attrgetter("name", "topic_id"))
    return response
