"""Describe-, Alter- and DeleteShareGroupOffsets, and the states of share groups that are deleted (KIP-932).

A group decides what is to become of its states, the share coordinator changes them, then the group is told.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages import alter_share_group_offsets as altering
from _wire.messages import delete_share_group_offsets as deleting
from _wire.messages import describe_share_group_offsets as describing
from coordinator.core.kinds import operations
from coordinator.core.operation import Operation
from coordinator.core.share.initialization import InitializationResult
from coordinator.core.share.offset_alteration import Alteration, BegunAlteration, InitializedPartitions
from coordinator.core.share.settings import share_settings_of
from coordinator.core.share.state_deletion import BeginDeletion, BegunDeletion, EndDeletion
from coordinator.core.share.state_topics import StateTopic, ascending
from coordinator.core.share_states import BY_STRATEGY, UNKNOWN_COUNT, InitialState, Summary
from coordinator.front.dispatch import DispatchTable
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.portions import part_of
from coordinator.front.request_context import RequestContext
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.slices import Steps, awaited, one_by_one
from coordinator.share_state.share_states import ShareStates

AT_ONCE: Final = 500
"""Partitions of a request that are looked at before other work has its turn."""
NO_TOPIC_ID: Final = bytes(16)
NO_LAG: Final = -1
NOT_CHECKED: Final = -1
"""As the epoch of a leader."""

EndOffset = Callable[[str, int], int | ErrorCode]
"""(topic, partition) → the offset that its next record gets."""


class ShareOffsetsHandlers:
    """Asks groups, then the share coordinator."""

    def __init__(self, node: GroupContext, states: ShareStates, image: MetadataImage, end_offset: EndOffset) -> None:
        self._node = node
        self._states = states
        self._image = image
        self._end_offset = end_offset

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeShareGroupOffsets", self.describe, describe_error)
        table.add("AlterShareGroupOffsets", self.alter, lambda request, error, api_version: _altered_error(error))
        table.add("DeleteShareGroupOffsets", self.delete, lambda request, error, api_version: _deleted_error(error))

    def _is_enabled(self, call: RequestContext) -> bool:
        return share_settings_of(call.environment).is_enabled()

    def _ask(self, operation: Operation, group_id: str, request: Any, call: RequestContext) -> Steps[Any]:
        """What a group replies."""

        def ask(answer: Callable[[Any], None]) -> None:
            assert operation.error_response is not None
            waiting = ReplyTo(answer, lambda error: operation.error_response(request, error, 0))  # type: ignore[misc]
            context = part_of(call, self._node.pending.register(waiting))
            self._node.coordinator.enqueue(operation, group_id, request, context)

        return awaited(ask)

    # -------------------------------------------------------------------------------------------------------- describe

    def describe(self, request: describing.DescribeShareGroupOffsetsRequest, call: RequestContext) -> Steps[Any]:
        """Where groups read from, as it is stored: an unknown group, topic or partition is no error."""
        if not self._is_enabled(call):
            return describe_error(request, ErrorCode.UNSUPPORTED_VERSION, call.api_version)
        groups = []
        whole: dict[str, describing.ResponseGroup] = {}
        for group in request.groups:
            if group.topics is None:
                # One that is named many times is asked once: very many answers would also take long to be freed.
                if group.group_id not in whole:
                    found = yield from self._ask(operations.FIND_INITIALIZED, group.group_id, None, call)
                    whole[group.group_id] = yield from self._described_all(group.group_id, found)
                groups.append(whole[group.group_id])
            else:
                groups.append((yield from self._described(group)))
            yield
        return describing.DescribeShareGroupOffsetsResponse(groups=groups)

    def _described_all(self, group_id: str, found: InitializedPartitions) -> Steps[describing.ResponseGroup]:
        if found.error is not NONE:
            return _failed_group(group_id, found.error)
        by_id = self._image.topics_by_id
        asked = [
            (by_id[topic_id].name, topic_id, topic.partitions)
            for topic_id, topic in found.topics.items()
            if topic_id in by_id
        ]
        topics = yield from self._summarized(group_id, asked)
        return describing.ResponseGroup(group_id=group_id, topics=topics)

    def _described(self, group: describing.RequestGroup) -> Steps[describing.ResponseGroup]:
        """As on Kafka, a topic that exists is answered once, with each partition once; any other as often as named."""
        named: dict[bytes, dict[int, None]] = {}
        names, unknown = {}, []
        for topic in group.topics or ():
            existing = self._image.topics.get(topic.topic_name)
            if existing is None:
                partitions = yield from one_by_one(topic.partitions, _unknown_partition)
                unknown.append(describing.ResponseTopic(topic_name=topic.topic_name, partitions=partitions))
            else:
                names[existing.topic_id] = topic.topic_name
                indexes = named.setdefault(existing.topic_id, {})
                for position, index in enumerate(topic.partitions, 1):
                    indexes[index] = None
                    if position % AT_ONCE == 0:
                        yield
            yield
        asked = [(names[topic_id], topic_id, indexes) for topic_id, indexes in named.items()]
        topics = yield from self._summarized(group.group_id, asked)
        return describing.ResponseGroup(group_id=group.group_id, topics=[*topics, *unknown])

    def _summarized(
        self, group_id: str, topics: Iterable[tuple[str, bytes, Iterable[int]]]
    ) -> Steps[list[describing.ResponseTopic]]:
        described = []
        for name, topic_id, partitions in topics:
            answered: list[describing.ResponsePartition] = []
            rest = iter(partitions)
            while indexes := list(islice(rest, AT_ONCE)):
                questions = [(topic_id, index, NOT_CHECKED) for index in indexes]
                summaries = yield from self._states.summary(group_id, questions)
                answered += map(partial(self._partition, name), indexes, summaries)
                yield
            described.append(describing.ResponseTopic(topic_name=name, topic_id=topic_id, partitions=answered))
        return described

    def _partition(self, name: str, index: int, summary: Summary) -> describing.ResponsePartition:
        if summary.error is not NONE:
            return describing.ResponsePartition(partition_index=index, start_offset=BY_STRATEGY, lag=NO_LAG)
        start_offset, lag = summary.start_offset, NO_LAG
        if start_offset != BY_STRATEGY and summary.delivery_complete_count != UNKNOWN_COUNT:
            end_offset = self._end_offset(name, index)
            if isinstance(end_offset, ErrorCode):
                return describing.ResponsePartition(
                    partition_index=index, error_code=end_offset, error_message=end_offset.description
                )
            lag = end_offset - start_offset - summary.delivery_complete_count
        return describing.ResponsePartition(
            partition_index=index, start_offset=start_offset, leader_epoch=summary.leader_epoch, lag=lag
        )

    # ----------------------------------------------------------------------------------------------------------- alter

    def alter(self, request: altering.AlterShareGroupOffsetsRequest, call: RequestContext) -> Steps[Any]:
        """Have a group without members read from these offsets. They are not checked."""
        if not self._is_enabled(call):
            return _altered_error(ErrorCode.UNSUPPORTED_VERSION)
        if not request.group_id:
            return _altered_error(ErrorCode.INVALID_GROUP_ID)
        offsets, answered = yield from self._offsets_of(request)
        topics = {
            topic_id: StateTopic(self._image.topics_by_id[topic_id].name, ascending(partitions))
            for topic_id, partitions in offsets.items()
            if topic_id in self._image.topics_by_id
        }
        alteration = Alteration(request.group_id, topics)
        begun: BegunAlteration = yield from self._ask(
            operations.ALTER_SHARE_OFFSETS, request.group_id, alteration, call
        )
        if begun.error is not NONE:
            return _altered_error(begun.error)
        initial = [
            InitialState(topic_id, partition, begun.state_epoch, offsets[topic_id][partition])
            for topic_id, topic in topics.items()
            for partition in topic.partitions
        ]
        errors = yield from self._states.initialize(request.group_id, initial)
        failed = {
            (state.topic_id, state.partition): error
            for state, error in zip(initial, errors, strict=True)
            if error is not NONE
        }
        if topics and not failed:
            # As on Kafka nothing is told of a failure: the partitions are initialized by a heartbeat later on.
            self._report_initialized(request.group_id, InitializationResult(topics), call)
        for topic in answered:
            for partition in topic.partitions:
                error = failed.get((topic.topic_id, partition.partition_index), NONE)
                if error is not NONE:
                    partition.error_code, partition.error_message = error, error.description
            yield
        return altering.AlterShareGroupOffsetsResponse(responses=answered)

    def _report_initialized(self, group_id: str, result: InitializationResult, call: RequestContext) -> None:
        """Tell the group that its states are there: nobody waits for that."""
        operation = operations.OPERATIONS["states initialized"]
        context = part_of(call, 0)
        context.request_id = None
        self._node.coordinator.enqueue(operation, group_id, result, context)

    def _offsets_of(
        self, request: altering.AlterShareGroupOffsetsRequest
    ) -> Steps[tuple[dict[bytes, dict[int, int]], list[altering.ResponseTopic]]]:
        """The offsets of partitions that exist, and the answers, without errors of these.

        A topic that is named twice is answered once, with the partitions of both; one that does not exist is not, if no
        partition of it is named.
        """
        offsets: dict[bytes, dict[int, int]] = {}
        answered: dict[str, altering.ResponseTopic] = {}
        for topic in request.topics:
            existing = self._image.topics.get(topic.topic_name)
            count = 0 if existing is None else existing.partitions
            topic_id = NO_TOPIC_ID if existing is None else existing.topic_id
            named = altering.ResponseTopic(topic_name=topic.topic_name, topic_id=topic_id)
            partitions = answered.setdefault(topic.topic_name, named).partitions
            for position, partition in enumerate(topic.partitions):
                index, error = partition.partition_index, NONE
                if existing is None or index >= count:
                    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                elif index < 0:
                    error = ErrorCode.INVALID_REQUEST
                else:
                    offsets.setdefault(existing.topic_id, {})[index] = partition.start_offset
                message = None if error is NONE else error.description
                partitions.append(
                    altering.ResponsePartition(partition_index=index, error_code=error, error_message=message)
                )
                if position % AT_ONCE == AT_ONCE - 1:
                    yield
            yield
        return offsets, [topic for topic in answered.values() if topic.partitions or topic.topic_id != NO_TOPIC_ID]

    # ---------------------------------------------------------------------------------------------------------- delete

    def delete(self, request: deleting.DeleteShareGroupOffsetsRequest, call: RequestContext) -> Steps[Any]:
        """Have a group without members forget what it has read of topics."""
        if not self._is_enabled(call):
            return _deleted_error(ErrorCode.UNSUPPORTED_VERSION)
        if not request.group_id:
            return _deleted_error(ErrorCode.INVALID_GROUP_ID)
        names: dict[bytes, str] = {}
        for position, topic in enumerate(request.topics):
            existing = self._image.topics.get(topic.topic_name)
            if existing is not None:
                names[existing.topic_id] = existing.name
            if position % AT_ONCE == AT_ONCE - 1:
                yield
        begun: BegunDeletion = yield from self._ask(
            operations.BEGIN_DELETING_STATES, request.group_id, BeginDeletion(names), call
        )
        if begun.error is not NONE:
            return _deleted_error(begun.error)
        errors = yield from self._delete_states(request.group_id, begun.topics)
        deleted = tuple(topic_id for topic_id, error in errors.items() if error is NONE)
        if deleted:
            ended = yield from self._ask(operations.END_DELETING_STATES, request.group_id, EndDeletion(deleted), call)
            if ended is not NONE:
                return _deleted_error(ended)
        answered = [
            _deleted_topic(begun.topics[topic_id].name, error, topic_id=topic_id) for topic_id, error in errors.items()
        ]
        for topic in request.topics:
            existing = self._image.topics.get(topic.topic_name)
            if existing is None:
                answered.append(_deleted_topic(topic.topic_name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            elif existing.topic_id not in errors:
                nothing = "There is no offset information to delete."
                answered.append(_deleted_topic(topic.topic_name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, nothing))
            yield
        return deleting.DeleteShareGroupOffsetsResponse(responses=answered)

    def _delete_states(self, group_id: str, topics: Mapping[bytes, StateTopic]) -> Steps[dict[bytes, ErrorCode]]:
        """Topic → the first error of a partition."""
        partitions = [(topic_id, index) for topic_id, topic in topics.items() for index in topic.partitions]
        found = yield from self._states.delete(group_id, partitions)
        errors = dict.fromkeys(topics, NONE)
        for (topic_id, _), error in zip(partitions, found, strict=True):
            if error is not NONE and errors[topic_id] is NONE:
                errors[topic_id] = error
        return errors

    def delete_all_states(self, group_ids: Iterable[str], call: RequestContext) -> Steps[dict[str, ErrorCode]]:
        """Before share groups are deleted: delete their states. Returns the groups whose states cannot be deleted."""
        failed: dict[str, ErrorCode] = {}
        for group_id in group_ids:
            begun: BegunDeletion = yield from self._ask(
                operations.BEGIN_DELETING_STATES, group_id, BeginDeletion(), call
            )
            # That it has members, or is gone, is told by the deletion of the group.
            is_reported = begun.error in (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND)
            errors = yield from self._delete_states(group_id, begun.topics)
            all_errors = [NONE if is_reported else begun.error, *errors.values()]
            error = next((error for error in all_errors if error is not NONE), NONE)
            if error is not NONE:
                failed[group_id] = error
        return failed


def describe_error(
    request: describing.DescribeShareGroupOffsetsRequest, error: ErrorCode, api_version: int
) -> describing.DescribeShareGroupOffsetsResponse:
    groups = [_failed_group(group.group_id, error) for group in request.groups]
    return describing.DescribeShareGroupOffsetsResponse(groups=groups)


def _failed_group(group_id: str, error: ErrorCode) -> describing.ResponseGroup:
    return describing.ResponseGroup(group_id=group_id, error_code=error, error_message=error.description)


def _unknown_partition(index: int) -> describing.ResponsePartition:
    return describing.ResponsePartition(partition_index=index, start_offset=BY_STRATEGY, lag=NO_LAG)


def _altered_error(error: ErrorCode) -> altering.AlterShareGroupOffsetsResponse:
    return altering.AlterShareGroupOffsetsResponse(error_code=error, error_message=error.description)


def _deleted_error(error: ErrorCode) -> deleting.DeleteShareGroupOffsetsResponse:
    return deleting.DeleteShareGroupOffsetsResponse(error_code=error, error_message=error.description)


def _deleted_topic(
    name: str, error: ErrorCode, message: str | None = None, topic_id: bytes = NO_TOPIC_ID
) -> deleting.ResponseTopic:
    text = message or (None if error is NONE else error.description)
    return deleting.ResponseTopic(topic_name=name, topic_id=topic_id, error_code=error, error_message=text)
