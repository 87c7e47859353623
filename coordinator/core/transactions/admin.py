"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).

Counterpart in Kafka: `TransactionCoordinator.handleDescribeTransactions`,
`TransactionStateManager.listTransactionStates`.
"""

from collections.abc import Generator, Iterable
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.describe_transactions import TopicData
from _wire.messages.describe_transactions import TransactionState as Described
from _wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from _wire.messages.list_transactions import TransactionState as Listed
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.transactions.decisions import decided
from coordinator.core.transactions.states import TransactionState
from coordinator.core.transactions.stored import moved_by
from coordinator.core.transactions.transaction import Transaction
from coordinator.patterns import Pattern

STATES_BY_NAME: Final = {state.kafka_name: state for state in TransactionState}


def describe(transaction: Transaction | None, transactional_id: str, context: OperationContext) -> Decision:
    if transaction is None:
        return decided(context, describe_error(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, 0))
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        by_topic.setdefault(topic, []).append(partition)
    described = Described(
        transactional_id=transactional_id,
        transaction_state=transaction.state.kafka_name,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=moved_by(transaction.started_ms, context.environment.wall.step_ms),
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[TopicData(topic=topic, partitions=partitions) for topic, partitions in by_topic.items()],
    )
    return decided(context, described)


def describe_error(transactional_id: str, error: ErrorCode, api_version: int) -> Described:
    return Described(error_code=error, transactional_id=transactional_id)


class Filter(msgspec.Struct, frozen=True):
    """What ListTransactions asks for. An empty set and None mean: all."""

    states: frozenset[TransactionState]
    producer_ids: frozenset[int]
    duration_ms: int
    """Only transactions that began longer ago; negative: all."""
    pattern: Pattern | None

    def list(self, transactions: Iterable[Transaction], now_ms: int) -> Generator[None, None, list[Listed]]:
        """The transactions that match, found in steps.

        Raises:
            InvalidPattern: the pattern is too complex for the length of a transactional id.
        """
        found = []
        for transaction in transactions:
            if self._matches(transaction, now_ms) and (
                self.pattern is None or self.pattern.matches(transaction.transactional_id)
            ):
                found.append(
                    Listed(
                        transactional_id=transaction.transactional_id,
                        producer_id=transaction.producer_id,
                        transaction_state=transaction.state.kafka_name,
                    )
                )
            yield
        return found

    def _matches(self, transaction: Transaction, now_ms: int) -> bool:
        return (
            (not self.states or transaction.state in self.states)
            and (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.duration_ms < 0 or now_ms - transaction.started_ms > self.duration_ms)
        )


def parse_filter(request: ListTransactionsRequest) -> tuple[Filter | None, list[str]]:
    """The filter of a request, and the names of states that do not exist. If there are no others, nothing is listed.

    Raises:
        InvalidPattern: the pattern is no regular expression that is supported.
    """
    text = request.transactional_id_pattern
    pattern = Pattern(text) if text else None
    names = dict.fromkeys(request.state_filters)
    unknown = [name for name in names if name not in STATES_BY_NAME]
    if unknown and len(unknown) == len(names):
        return None, unknown
    return (
        Filter(
            frozenset(STATES_BY_NAME[name] for name in names if name in STATES_BY_NAME),
            frozenset(request.producer_id_filters),
            request.duration_filter,
            pattern,
        ),
        unknown,
    )


def list_error(request: object, error: ErrorCode, api_version: int) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error)
