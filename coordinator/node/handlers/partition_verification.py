"""Asks the coordinator of a transaction about the partitions that a Produce writes to.

Before a partition takes the first records of a transaction, the coordinator is asked whether the partition is part of
it, or to add it (KIP-890; `AddPartitionsToTxnManager`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.produce import ProduceRequest
from coordinator.broker.data.produce import ToVerify, Verified
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.core.transactions.transaction import EPOCH_BUMP_VERSION
from coordinator.node.node_context import NodeContext
from coordinator.runtime.slices import Steps, awaited

PRODUCE_ADDS: Final = 12
PRODUCE_KNOWS_ABORTABLE: Final = 11
"""The first versions of Produce that add their partitions, and that know TRANSACTION_ABORTABLE."""

UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""The coordinator of the transaction cannot say it now. A producer does not look for another coordinator for these."""


class PartitionVerification:
    """Asks the coordinator of a transaction about the partitions of a Produce."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node

    def verify(
        self, request: ProduceRequest, api_version: int, to_verify: Sequence[ToVerify]
    ) -> Steps[Mapping[tuple[str, int], Verified]]:
        """Add the partitions to the transaction, or verify that they are in it, as the client's version wants it."""
        errors: PartitionErrors = {}
        try:
            errors = yield from self._ask(
                request, api_version, [partition for partition in to_verify if partition.error is NONE]
            )
        finally:  # also when the client has disconnected
            for partition in to_verify:
                is_verified = errors.get(TopicPartition(partition.topic, partition.partition)) is NONE
                self._node.produce_service.end_verification(partition, is_verified=is_verified)
        return {
            (partition.topic, partition.partition): Verified(
                partition.verification,
                _produce_error(
                    partition.error or errors[TopicPartition(partition.topic, partition.partition)], api_version
                ),
            )
            for partition in to_verify
        }

    def _ask(self, request: ProduceRequest, api_version: int, to_verify: Sequence[ToVerify]) -> Steps[PartitionErrors]:
        if not to_verify:
            return {}
        first, adds = to_verify[0], api_version >= PRODUCE_ADDS
        asked = PartitionsRequest(
            request.transactional_id or "",
            first.producer_id,
            first.producer_epoch,
            tuple(TopicPartition(partition.topic, partition.partition) for partition in to_verify),
            EPOCH_BUMP_VERSION if adds else 0,
            only_verify=not adds,
        )
        if any(partition.producer_id != first.producer_id for partition in to_verify):
            return dict.fromkeys(asked.partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if adds:
            return (yield from self._node.partition_adder.add(asked))
        errors: PartitionErrors = yield from awaited(partial(self._node.transactions.add_partitions, asked))
        return errors


def _produce_error(error: ErrorCode, api_version: int) -> ErrorCode:
    """The error as Produce reports it (`ReplicaManager.handleProduceAppend`)."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and api_version < PRODUCE_KNOWS_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    if error in UNAVAILABLE or (error is ErrorCode.CONCURRENT_TRANSACTIONS and api_version < PRODUCE_ADDS):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return error
