"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152).

Counterpart in Kafka: `TransactionCoordinator.handleDescribeTransactions`, `TransactionStateManager.listTransactionStates`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_transactions import TopicData
from _wire.messages.describe_transactions import TransactionState as Described
from _wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from _wire.messages.list_transactions import TransactionState as Listed
from coordinator.core.decision import Decision, OperationContext
from coordinator.transactions.decisions import decided
from coordinator.transactions.states import TransactionState
from coordinator.transactions.transaction import Transaction

STATES_BY_NAME: Final = {state.kafka_name: state for state in TransactionState}
PATTERN_LENGTH_MAX: Final = 1_000
"""Characters of a pattern; Kafka sets no limit."""


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
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[TopicData(topic=topic, partitions=partitions) for topic, partitions in by_topic.items()],
    )
    return decided(context, described)


def describe_error(transactional_id: str, error: ErrorCode, api_version: int) -> Described:
    return Described(error_code=error, transactional_id=transactional_id)


@dataclass(frozen=True, slots=True)
class Filter:
    """What ListTransactions asks for. An empty set and None mean: all."""

    states: frozenset[TransactionState]
    producer_ids: frozenset[int]
    duration_ms: int
    """Only transactions that began longer ago; negative: all."""
    pattern: re.Pattern[str] | None

    def matches(self, transaction: Transaction, now_ms: int) -> bool:
        return (
            (not self.states or transaction.state in self.states)
            and (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.duration_ms < 0 or now_ms - transaction.started_ms > self.duration_ms)
            and (self.pattern is None or self.pattern.fullmatch(transaction.transactional_id) is not None)
        )


def parse_filter(request: ListTransactionsRequest) -> tuple[Filter | None, list[str]]:
    """The filter of a request, and the names of states that do not exist. If there are no others, nothing is listed.

    Raises:
        re.error: the pattern is no regular expression, or too long.
    """
    names = dict.fromkeys(request.state_filters)
    unknown = [name for name in names if name not in STATES_BY_NAME]
    if unknown and len(unknown) == len(names):
        return None, unknown
    text = request.transactional_id_pattern
    if text and len(text) > PATTERN_LENGTH_MAX:
        raise re.error(f"more than {PATTERN_LENGTH_MAX} characters")
    return (
        Filter(
            frozenset(STATES_BY_NAME[name] for name in names if name in STATES_BY_NAME),
            frozenset(request.producer_id_filters),
            request.duration_filter,
            re.compile(text) if text else None,
        ),
        unknown,
    )


def list_transactions(
    transactions: Mapping[str, Transaction], wanted: Filter, context: OperationContext
) -> Decision:
    """The transactions of one partition of `__transaction_state`."""
    found = [
        Listed(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            transaction_state=each.state.kafka_name,
        )
        for each in transactions.values()
        if wanted.matches(each, context.now_ms)
    ]
    return decided(context, ListTransactionsResponse(transaction_states=found))


def list_error(request: object, error: ErrorCode, api_version: int) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error)


def merge_listed(parts: Iterable[ListTransactionsResponse], unknown: list[str]) -> ListTransactionsResponse:
    """The response of all partitions; an error of one of them is that of the whole, as on Kafka."""
    merged = ListTransactionsResponse(unknown_state_filters=unknown)
    for part in parts:
        if part.error_code and part.error_code != ErrorCode.NOT_COORDINATOR:
            return ListTransactionsResponse(error_code=part.error_code)
        merged.transaction_states.extend(part.transaction_states)
    return merged
