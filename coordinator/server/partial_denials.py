"""What becomes of a request of which a part is denied, per API: a row for each API that has such requirements.

A row says which elements of the request are taken out before it is handled, how they are answered, and what is left out
of a response. So handlers know nothing of authorization. The rules are those of `KafkaApis` and `ControllerApis` of
Kafka 4.3.1; which operations they are about is in `requirements.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import ResourceType
from coordinator.server.authorization import WhenDenied
from coordinator.server.denied_elements import (
    Elements,
    Part,
    TakeOut,
    by_error_response,
    config_key,
    created_denied,
    fetched,
    groups_deleted,
    merged,
    name_key,
    offsets_deleted,
    produced,
    records_deleted,
    topic_key,
)
from coordinator.server.denied_requests import (
    reject_all_partitions,
    take_out_coordinator_keys,
    take_out_of_deletion,
    take_out_of_metadata,
    take_out_of_offset_fetch,
    take_out_of_pages,
)
from coordinator.server.hidden_resources import (
    LeaveOut,
    Reported,
    asks_for_all_topics,
    fetches_all,
    hide_configs,
    hide_groups,
    keep,
    leave_out_fetched_topics,
    leave_out_topics_of_transactions,
    operations_in_metadata,
    operations_on_cluster,
    operations_on_groups,
    operations_on_pages,
    restrict_pages,
)
from coordinator.server.requirements import REQUIREMENTS


def _always(request: Any, api_version: int) -> bool:
    return True


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is done for one API."""

    take_out: TakeOut | None = None
    """For requirements that are answered one by one (ANSWER_EACH)."""
    restrict: Callable[[Callable[[str], bool], Any, MetadataImage], Steps[Part]] | None = None
    """For found resources (LEAVE_OUT): names those that are allowed in the request, in place of all."""
    leave_out: LeaveOut | None = None
    """For found resources (LEAVE_OUT): leaves those that are not allowed out of the response."""
    has_found: Callable[[Any, int], bool] = _always
    """(request, version): whether the response may have resources that the request does not name."""
    operations: Callable[[Any, Any], Iterator[Reported]] | None = None
    """(request, response) → where authorized operations are reported."""
    has_operations: Callable[[Any], bool] = lambda request: True
    """Whether a request asks for authorized operations."""


_OF_OFFSETS: Final = Elements("topics", "topics", topic_key, merged(by_error_response("topics", "topics")))


ROWS: Final[Mapping[str, Row]] = {
    "Produce": Row(take_out=Elements("topic_data", "responses", topic_key, produced)),
    "Fetch": Row(take_out=Elements("topics", "responses", topic_key, fetched)),
    "ListOffsets": Row(take_out=Elements("topics", "topics", topic_key)),
    "OffsetForLeaderEpoch": Row(take_out=Elements("topics", "topics", topic_key)),
    "DeleteRecords": Row(take_out=Elements("topics", "topics", topic_key, records_deleted)),
    "DescribeCluster": Row(
        operations=operations_on_cluster,
        has_operations=lambda request: request.include_cluster_authorized_operations,
    ),
    "Metadata": Row(
        take_out=take_out_of_metadata,
        leave_out=keep("topics", "name"),
        has_found=asks_for_all_topics,
        operations=operations_in_metadata,
        has_operations=lambda request: (
            request.include_topic_authorized_operations or request.include_cluster_authorized_operations
        ),
    ),
    "DescribeTopicPartitions": Row(
        take_out=take_out_of_pages,
        restrict=restrict_pages,
        has_found=lambda request, api_version: not request.topics,
        operations=operations_on_pages,
    ),
    "CreateTopics": Row(take_out=Elements("topics", "topics", topic_key, created_denied), leave_out=hide_configs),
    "CreatePartitions": Row(take_out=Elements("topics", "results", topic_key)),
    "DeleteTopics": Row(take_out=take_out_of_deletion),
    "DescribeConfigs": Row(take_out=Elements("resources", "results", config_key)),
    "AlterConfigs": Row(take_out=Elements("resources", "responses", config_key)),
    "IncrementalAlterConfigs": Row(take_out=Elements("resources", "responses", config_key)),
    "FindCoordinator": Row(take_out=take_out_coordinator_keys),
    "ConsumerGroupDescribe": Row(
        take_out=Elements("group_ids", "groups", name_key(ResourceType.GROUP)),
        leave_out=hide_groups,
        operations=operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "OffsetCommit": Row(take_out=_OF_OFFSETS),
    "OffsetFetch": Row(take_out=take_out_of_offset_fetch, leave_out=leave_out_fetched_topics, has_found=fetches_all),
    "OffsetDelete": Row(take_out=Elements("topics", "topics", topic_key, merged(offsets_deleted))),
    "DescribeGroups": Row(
        take_out=Elements("groups", "groups", name_key(ResourceType.GROUP)),
        operations=operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "DeleteGroups": Row(take_out=Elements("groups_names", "results", name_key(ResourceType.GROUP), groups_deleted)),
    "ListGroups": Row(leave_out=keep("groups", "group_id")),
    "AddPartitionsToTxn": Row(take_out=reject_all_partitions),
    "TxnOffsetCommit": Row(take_out=_OF_OFFSETS),
    "DescribeProducers": Row(take_out=Elements("topics", "topics", topic_key)),
    "DescribeTransactions": Row(
        take_out=Elements("transactional_ids", "transaction_states", name_key(ResourceType.TRANSACTIONAL_ID)),
        leave_out=leave_out_topics_of_transactions,
    ),
    "ListTransactions": Row(leave_out=keep("transaction_states", "transactional_id")),
}
"""Name of an API → what becomes of a part that is denied. An API that needs a row is not served without it."""


NO_ROW: Final = Row()


def has_row(name: str) -> bool:
    """Whether all requirements of an API that are not about the whole request have what they need."""
    kinds = {each.when_denied for each in REQUIREMENTS[name]}
    row = ROWS.get(name, NO_ROW)
    return (WhenDenied.ANSWER_EACH not in kinds or row.take_out is not None) and (
        WhenDenied.LEAVE_OUT not in kinds or row.restrict is not None or row.leave_out is not None
    )
