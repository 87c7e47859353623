"""What becomes of a request of which a part is denied, per API of a node with logs of its own."""

from collections.abc import Mapping
from functools import partial

from coordinator.front.denied_elements import Elements, name_key, topic_key, topics_by_error_response
from coordinator.front.hidden_resources import hide_groups, keep, operations_on_groups
from coordinator.front.partial_denials import GROUP_ROWS, Row
from coordinator.metadata.image import MetadataImage
from coordinator.node.denied_share_offsets import (
    leave_out_topics_of_share_groups,
    remove_from_share_offsets,
    share_offsets_not_altered,
    share_offsets_not_deleted,
    topic_name_key,
)
from coordinator.node.denied_topics import (
    config_key,
    created_denied,
    fetched,
    produced,
    records_deleted,
    reject_all_partitions,
    remove_coordinator_keys,
    remove_from_deletion,
    remove_from_metadata,
    remove_from_pages,
)
from coordinator.node.hidden_topics import (
    asks_for_all_topics,
    hide_configs,
    leave_out_topics_of_transactions,
    operations_in_metadata,
    operations_on_cluster,
    operations_on_pages,
    restrict_pages,
)
from coordinator.security.acls.model import ResourceType


def rows_of(image: MetadataImage) -> Mapping[str, Row]:
    """Name of an API → what becomes of a part that is denied. An API that needs a row is not served without it.

    `image` has the topics that requests name by id, or are about if they name none.
    """
    return {
        "Produce": Row(remove_denied=Elements("topic_data", "responses", topic_key, produced)),
        "Fetch": Row(remove_denied=Elements("topics", "responses", topic_key, fetched)),
        "ListOffsets": Row(
            remove_denied=Elements("topics", "topics", topic_key, topics_by_error_response("partitions"))
        ),
        "OffsetForLeaderEpoch": Row(
            remove_denied=Elements("topics", "topics", topic_key, topics_by_error_response("partitions"))
        ),
        "DeleteRecords": Row(remove_denied=Elements("topics", "topics", topic_key, records_deleted)),
        "DescribeCluster": Row(
            operations=operations_on_cluster,
            has_operations=lambda request: request.include_cluster_authorized_operations,
        ),
        "Metadata": Row(
            remove_denied=remove_from_metadata,
            leave_out=keep("topics", "name"),
            has_found=asks_for_all_topics,
            operations=operations_in_metadata,
            has_operations=lambda request: (
                request.include_topic_authorized_operations or request.include_cluster_authorized_operations
            ),
        ),
        "DescribeTopicPartitions": Row(
            remove_denied=remove_from_pages,
            restrict=partial(restrict_pages, image),
            has_found=lambda request, api_version: not request.topics,
            operations=operations_on_pages,
        ),
        "CreateTopics": Row(
            remove_denied=Elements("topics", "topics", topic_key, created_denied), leave_out=hide_configs
        ),
        "CreatePartitions": Row(remove_denied=Elements("topics", "results", topic_key)),
        "DeleteTopics": Row(remove_denied=partial(remove_from_deletion, image)),
        "DescribeConfigs": Row(remove_denied=Elements("resources", "results", config_key)),
        "AlterConfigs": Row(remove_denied=Elements("resources", "responses", config_key)),
        "IncrementalAlterConfigs": Row(remove_denied=Elements("resources", "responses", config_key)),
        "FindCoordinator": Row(remove_denied=remove_coordinator_keys),
        "AddPartitionsToTxn": Row(remove_denied=partial(reject_all_partitions, image)),
        "DescribeProducers": Row(
            remove_denied=Elements("topics", "topics", topic_key, topics_by_error_response("partition_indexes"))
        ),
        "DescribeTransactions": Row(
            remove_denied=Elements("transactional_ids", "transaction_states", name_key(ResourceType.TRANSACTIONAL_ID)),
            leave_out=leave_out_topics_of_transactions,
        ),
        "ShareGroupDescribe": Row(
            remove_denied=Elements("group_ids", "groups", name_key(ResourceType.GROUP)),
            leave_out=hide_groups,
            operations=operations_on_groups,
            has_operations=lambda request: request.include_authorized_operations,
        ),
        "StreamsGroupDescribe": Row(
            remove_denied=Elements("group_ids", "groups", name_key(ResourceType.GROUP)),
            leave_out=hide_groups,
            operations=operations_on_groups,
            has_operations=lambda request: request.include_authorized_operations,
        ),
        "DescribeShareGroupOffsets": Row(
            remove_denied=remove_from_share_offsets,
            leave_out=leave_out_topics_of_share_groups,
            has_found=lambda request, api_version: any(group.topics is None for group in request.groups),
        ),
        "AlterShareGroupOffsets": Row(
            remove_denied=Elements("topics", "responses", topic_name_key, partial(share_offsets_not_altered, image))
        ),
        "DeleteShareGroupOffsets": Row(
            remove_denied=Elements("topics", "responses", topic_name_key, share_offsets_not_deleted)
        ),
        "ListTransactions": Row(leave_out=keep("transaction_states", "transactional_id")),
        **GROUP_ROWS,
    }
