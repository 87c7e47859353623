"""What producers were told of their records and transactions, and whether readers see exactly that."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from coordinator.core.topic_partition import TopicPartition

TRANSACTION_TIMEOUT_MS = 15_000


class Consumed(NamedTuple):
    """What a transaction read of an input partition: the offsets from `first` to before `end`.

    `run` counts how often the group began this partition again, because its committed offset was deleted.
    """

    group_id: str
    tp: TopicPartition
    run: int
    first: int
    end: int


@dataclass
class Transaction:
    """One transaction of a producer, as the producer knows it."""

    client_name: str
    transactional_id: str
    producer_id: int
    epoch: int
    began_ms: int
    values: list[tuple[TopicPartition, bytes]] = field(default_factory=list)
    """Records that were acknowledged."""
    uncertain: list[tuple[TopicPartition, bytes]] = field(default_factory=list)
    """Records whose batch was never acknowledged: they may be in the log."""
    first_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    consumed: list[Consumed] = field(default_factory=list)
    """Input whose offsets were accepted in this transaction."""
    asked: bool | None = None
    """Whether its end was requested, and whether as a commit."""
    outcome: bool | None = None
    """Whether it was committed, as far as the producer can know."""
    may_be_over: bool = False
    """Whether somebody asked for something that ends it."""

    @property
    def incarnation(self) -> tuple[int, int]:
        return self.producer_id, self.epoch

    def decide(self, outcome: bool) -> None:
        assert self.outcome in (None, outcome), f"the outcome changed to {outcome}: {self}"
        self.outcome = outcome


class Acknowledged:
    """All that the data path acknowledged. `was_lost`: a power loss took what nobody had flushed."""

    def __init__(self) -> None:
        self.was_lost = False
        self.transactions: list[Transaction] = []
        self.by_id: defaultdict[str, list[Transaction]] = defaultdict(list)
        self.records: defaultdict[TopicPartition, dict[int, bytes]] = defaultdict(dict)
        """Offset → value, of all producers."""
        self.plain_values: set[bytes] = set()
        """Values of producers without an id: a repeated request may have appended them twice."""
        self.start_offsets: dict[TopicPartition, int] = {}
        """Before these offsets records were deleted on request, or perhaps were."""
        self.runs: defaultdict[tuple[str, TopicPartition], int] = defaultdict(int)

    # ---- what happens

    def begin(self, transaction: Transaction) -> Transaction:
        self.transactions.append(transaction)
        self.by_id[transaction.transactional_id].append(transaction)
        return transaction

    def appended(self, tp: TopicPartition, offset: int, value: bytes) -> None:
        """A record was acknowledged at an offset."""
        known = self.records[tp].setdefault(offset, value)
        assert known == value or self.was_lost, f"{tp} {offset}: acknowledged for {known!r} and for {value!r}"

    def appended_in(self, transaction: Transaction, tp: TopicPartition, offset: int, value: bytes) -> None:
        """The same, in a transaction."""
        transaction.uncertain = [each for each in transaction.uncertain if each != (tp, value)]
        transaction.values.append((tp, value))
        transaction.first_offsets.setdefault(tp, offset)
        self.appended(tp, offset, value)

    def initialization_sent(self, transactional_id: str) -> None:
        for transaction in self.by_id[transactional_id]:
            transaction.may_be_over = True

    def initialized(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        """A producer with this epoch was told that it may begin: the transactions of earlier ones have ended."""
        for transaction in self.by_id[transactional_id]:
            if transaction.incarnation < (producer_id, epoch) and transaction.asked is not True:
                transaction.decide(False)

    def began_again(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """The committed offsets of a group were deleted, or a consumer left some out: it reads from elsewhere."""
        for tp in partitions:
            self.runs[group_id, tp] += 1

    def records_deleted(self, tp: TopicPartition, before_offset: int) -> None:
        self.start_offsets[tp] = max(self.start_offsets.get(tp, 0), before_offset)

    def power_was_lost(self) -> None:
        """Nothing is certain any more of what was acknowledged before it was flushed."""
        self.was_lost = True

    # ---- what must be true

    def open_at(self, now_ms: int) -> list[Transaction]:
        """Transactions that nothing can have ended yet."""
        return [
            transaction
            for transaction in self.transactions
            if transaction.asked is None
            and transaction.outcome is None
            and not transaction.may_be_over
            and now_ms < transaction.began_ms + TRANSACTION_TIMEOUT_MS
        ]

    def check_read(self, tp: TopicPartition, found: list[tuple[int, bytes]], *, is_committed: bool) -> None:
        """What a reader was given of a partition, from its start to the end."""
        if self.was_lost:
            return
        by_offset, start = dict(found), self.start_offsets.get(tp, 0)
        values = [value for _, value in found if value not in self.plain_values]
        assert len(values) == len(set(values)), f"{tp}: a record is there twice"
        if is_committed:
            hidden = {
                value
                for transaction in self.transactions
                if transaction.asked is not True
                for _, value in transaction.values
            }
            assert not hidden.intersection(values), f"{tp}: visible without a commit: {hidden.intersection(values)}"
        else:
            for offset, value in self.records[tp].items():
                assert offset < start or by_offset.get(offset) == value, (tp, offset, value, by_offset.get(offset))

    def check_committed(self, visible: set[tuple[TopicPartition, bytes]]) -> None:
        """What readers of committed records get is whole transactions, and those that were acknowledged."""
        if self.was_lost:
            return
        for transaction in self.transactions:
            got = [record in visible for record in transaction.values]
            assert all(got) or not any(got), ("visible in part", transaction)
            if transaction.outcome is not None:
                assert not got or got[0] is transaction.outcome, ("not as it was answered", transaction)
            is_visible = transaction.outcome or any(got)
            assert transaction.asked or not is_visible, ("visible without a commit", transaction)
            assert is_visible or not any(record in visible for record in transaction.uncertain), (
                "a record of an aborted transaction is visible",
                transaction,
            )

    def check_exactly_once(self, visible: set[tuple[TopicPartition, bytes]]) -> dict[tuple[str, TopicPartition], int]:
        """Of each input partition, committed transactions consumed each offset once; returns up to where."""
        ends: dict[tuple[str, TopicPartition], int] = {}
        if self.was_lost:
            return ends
        chains: defaultdict[tuple[str, TopicPartition, int], list[Consumed]] = defaultdict(list)
        for transaction in self.transactions:
            is_visible = transaction.outcome or any(record in visible for record in transaction.values)
            for consumed in transaction.consumed if is_visible else ():
                chains[consumed[:3]].append(consumed)
        for (group_id, tp, run), chain in chains.items():
            chain.sort(key=lambda each: each.first)
            for before, after in pairwise(chain):
                assert before.end == after.first, f"consumed twice, or not at all: {before}, {after}"
            if run == self.runs[group_id, tp]:
                ends[group_id, tp] = chain[-1].end
        return ends
