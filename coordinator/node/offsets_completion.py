"""The end of a transaction in the groups whose offsets it commits."""

from collections.abc import Callable

from _wire.errors import ErrorCode
from coordinator.core.decision import OperationContext
from coordinator.core.kinds import operations as group_operations
from coordinator.core.stored import TransactionMarker
from coordinator.front.group_context import GroupContext
from coordinator.runtime.reply_to import ReplyTo


def complete_offsets(
    node: GroupContext, partition: int, marker: TransactionMarker, reply: Callable[[ErrorCode], None]
) -> None:
    """End a transaction in the groups of a partition of `__consumer_offsets`; its pending offsets are committed."""
    if not 0 <= partition < len(node.coordinator.shards):
        reply(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return
    request_id = node.pending.register(ReplyTo(reply, lambda error: error))
    context = OperationContext(request_id, 0, "", "", node.coordinator.environment, 0, 0)
    node.coordinator.enqueue_for_shard(group_operations.COMPLETE_TRANSACTION, partition, marker, context)
