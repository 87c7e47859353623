"""ListOffsets: the start offset, the end offset, or the offset for a timestamp."""

from typing import Final

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from coordinator.broker.partitions import LEADER_EPOCH, Partitions
from coordinator.broker.slices import Steps
from coordinator.log.damage import DamagedOffsets
from coordinator.log.partition_log import PartitionLog
from coordinator.logger import logger

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
"""KIP-734."""
EARLIEST_LOCAL: Final = -4
"""KIP-405: there is no tiered storage here, so this is the same as EARLIEST."""
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
"""KIP-1005 and KIP-1023: without tiered storage there is no such offset."""

FIRST_VERSION_OF: Final = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
"""Negative timestamp → the first version of the request that supports it."""

NOTHING_FOUND: Final = (-1, -1)


def list_offsets(request: ListOffsetsRequest, api_version: int, partitions: Partitions) -> Steps[ListOffsetsResponse]:
    """Look up the offset and timestamp for the target timestamp of each partition.

    The response has one entry per topic, none for a topic without partitions. As on Kafka, a partition that is listed
    twice is rejected.
    """
    by_topic: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        for wanted in topic.partitions:
            responses, index = by_topic.setdefault(topic.name, {}), wanted.partition_index
            if index in responses:
                responses[index] = rejected_partition(index, ErrorCode.INVALID_REQUEST)
            else:
                responses[index] = _list_one(partitions.locate(topic.name, index), wanted, api_version)
            yield
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(responses.values()))
            for name, responses in by_topic.items()
        ]
    )


def rejected_partition(index: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    """Return the response for a partition whose offset is not looked up."""
    return ListOffsetsPartitionResponse(partition_index=index, error_code=error)


def _list_one(
    log: PartitionLog | ErrorCode, wanted: ListOffsetsPartition, api_version: int
) -> ListOffsetsPartitionResponse:
    if isinstance(log, ErrorCode):
        return rejected_partition(wanted.partition_index, log)
    if wanted.timestamp < 0 and api_version < FIRST_VERSION_OF.get(wanted.timestamp, api_version + 1):
        return rejected_partition(wanted.partition_index, ErrorCode.UNSUPPORTED_VERSION)
    try:
        offset, timestamp_ms = _find(log, wanted.timestamp)
    except (OSError, MalformedMessage) as problem:
        if not isinstance(problem, DamagedOffsets):
            logger.error("cannot read the log", log=log.name, problem=str(problem))
        is_corrupt = isinstance(problem, MalformedMessage)
        error = ErrorCode.CORRUPT_MESSAGE if is_corrupt else ErrorCode.KAFKA_STORAGE_ERROR
        return rejected_partition(wanted.partition_index, error)
    response = ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index,
        timestamp=timestamp_ms,
        offset=offset,
        leader_epoch=LEADER_EPOCH if offset >= 0 else -1,
    )
    if api_version == 0 and offset >= 0:
        response.old_style_offsets = [offset][: wanted.max_num_offsets]
    return response


def _find(log: PartitionLog, timestamp: int) -> tuple[int, int]:
    """Return offset and timestamp; the timestamp is -1 for the start or the end of the log.

    Raises:
        MalformedMessage: a batch of the log is damaged.
        OSError: the log cannot be read.
    """
    if timestamp == LATEST:
        return log.high_watermark, -1
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return log.log_start_offset, -1
    if timestamp < MAX_TIMESTAMP:
        return NOTHING_FOUND
    found = log.max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)
    return NOTHING_FOUND if found is None else (found.offset, found.timestamp_ms)
