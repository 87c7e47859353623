"""What becomes of requests about the offsets of share groups of which a part is denied, as in `KafkaApis` 4.3.1."""

from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages import alter_share_group_offsets as altering
from _wire.messages import delete_share_group_offsets as deleting
from _wire.messages import describe_share_group_offsets as describing
from coordinator.core.share_states import BY_STRATEGY
from coordinator.front.denied_elements import (
    ELEMENTS_AT_ONCE,
    TAF,
    Access,
    Denied,
    Part,
    Resource,
    in_one_step,
)
from coordinator.front.hidden_resources import DECISIONS_AT_ONCE
from coordinator.front.request_context import RequestContext
from coordinator.front.requirements import NO_TOPIC_ID
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps, one_by_one
from coordinator.security.acls.model import ResourceType


def topic_name_key(request: Any, element: Any) -> Resource | None:
    """A topic by its name, which is in `topic_name`."""
    return ResourceType.TOPIC, element.topic_name


def share_offsets_not_altered(
    image: MetadataImage, call: RequestContext, elements: list[Any], error: ErrorCode
) -> Steps[list[altering.ResponseTopic]]:
    """A topic that is named twice is answered once, with the partitions of both, and with its id."""

    def failed(partition: Any) -> altering.ResponsePartition:
        return altering.ResponsePartition(
            partition_index=partition.partition_index, error_code=error, error_message=error.description
        )

    topics: dict[str, altering.ResponseTopic] = {}
    for topic in elements:
        name = topic.topic_name
        if not topic.partitions:
            continue
        if name not in topics:
            existing = image.topics.get(name)
            topic_id = NO_TOPIC_ID if existing is None else existing.topic_id
            topics[name] = altering.ResponseTopic(topic_name=name, topic_id=topic_id)
        topics[name].partitions.extend((yield from one_by_one(topic.partitions, failed)))
    return list(topics.values())


@in_one_step
def share_offsets_not_deleted(
    call: RequestContext, elements: list[Any], error: ErrorCode
) -> list[deleting.ResponseTopic]:
    return [
        deleting.ResponseTopic(topic_name=topic.topic_name, error_code=error, error_message=error.description)
        for topic in elements
    ]


def remove_from_share_offsets(denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
    """Groups, and of the others topics."""
    left, refused = [], []
    removed: dict[str, list[describing.ResponseTopic]] = {}
    for group in request.groups:
        if (ResourceType.GROUP, group.group_id) in denied:
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            refused.append(describing.ResponseGroup(group_id=group.group_id, error_code=error))
        else:
            left.append(group)
            if group.topics is not None:
                removed[group.group_id] = yield from _remove_topics(denied, group)
        yield
    request.groups = left
    if not left:
        return Part(response=describing.DescribeShareGroupOffsetsResponse(groups=refused))

    def add_to(response: describing.DescribeShareGroupOffsetsResponse) -> None:
        for group in response.groups:
            if not group.error_code:
                group.topics.extend(removed.get(group.group_id, ()))
        response.groups.extend(refused)

    return Part(add_to=add_to)


def _remove_topics(denied: Denied, group: Any) -> Steps[list[describing.ResponseTopic]]:
    left, removed = [], []
    for position, topic in enumerate(group.topics):
        if (ResourceType.TOPIC, topic.topic_name) in denied:
            partitions = yield from one_by_one(topic.partitions, _denied_partition)
            removed.append(describing.ResponseTopic(topic_name=topic.topic_name, partitions=partitions))
        else:
            left.append(topic)
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    group.topics = left
    return removed


def _denied_partition(index: int) -> describing.ResponsePartition:
    return describing.ResponsePartition(
        partition_index=index, start_offset=BY_STRATEGY, error_code=TAF, error_message=TAF.description
    )


def leave_out_topics_of_share_groups(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    """Of groups whose topics were not named, those that the client may not see."""
    everything = {group.group_id for group in request.groups if group.topics is None}
    for group in response.groups:
        if group.group_id in everything:
            kept = []
            for position, topic in enumerate(group.topics):
                if is_allowed(topic.topic_name):
                    kept.append(topic)
                if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                    yield
            group.topics = kept
        yield
