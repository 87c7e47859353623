"""A Produce that comes before the markers of the transaction before it waits a moment (KIP-890)."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.transactions.partition_adder import PartitionAdder

TP: Final = TopicPartition("orders", 0)
REQUEST: Final = PartitionsRequest("t", 1, 0, (TP,), 2)
NONE: Final = ErrorCode.NONE
CONCURRENT: Final = ErrorCode.CONCURRENT_TRANSACTIONS


class Asked:
    """A coordinator that gives these answers one after the other, and the last one from then on."""

    def __init__(self, *answers: ErrorCode, settings: dict[str, str] | None = None) -> None:
        self.now_ms = 1_000
        self.count = 0
        self.timers: list[tuple[int, object]] = []
        self.replies: list[tuple[int, ErrorCode]] = []
        self.is_awaited = True
        self._answers = answers
        self.adder = PartitionAdder(self._ask, self, lambda: self.now_ms, Config(settings or {}))

    def _ask(self, operation: Any, key: str, request: Any, reply: Callable[[PartitionErrors], None]) -> None:
        assert (operation.name, key, request) == ("add partitions", "t", REQUEST)
        self.count += 1
        reply({TP: self._answers[min(self.count, len(self._answers)) - 1]})

    def start(self, key: object, deadline_ms: int) -> int:
        self.timers.append((deadline_ms, key))
        return len(self.timers)

    def run(self) -> list[tuple[int, ErrorCode]]:
        """Add, let the time pass that it takes; when it was answered, and what."""
        self.adder.add(REQUEST, lambda: self.is_awaited, lambda errors: self.replies.append((self.now_ms, errors[TP])))
        while self.timers:
            self.now_ms, key = self.timers.pop(0)
            self.adder.due(key, self.now_ms)
        return self.replies


@pytest.mark.parametrize("error", [NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.NOT_COORDINATOR])
def test_other_answers_are_passed_on_at_once(error: ErrorCode) -> None:
    asked = Asked(error)
    assert asked.run() == [(1_000, error)]
    assert asked.count == 1


def test_the_coordinator_is_asked_again_every_20_ms_until_the_transaction_has_ended() -> None:
    asked = Asked(CONCURRENT, CONCURRENT, NONE)
    assert asked.run() == [(1_040, NONE)]
    assert asked.count == 3


def test_after_100_ms_the_client_is_told() -> None:
    asked = Asked(CONCURRENT)
    assert asked.run() == [(1_100, CONCURRENT)]
    assert asked.count == 6


def test_both_times_are_settings() -> None:
    names = "add.partitions.to.txn.retry.backoff"
    assert Asked(CONCURRENT, settings={f"{names}.ms": "7", f"{names}.max.ms": "15"}).run() == [(1_021, CONCURRENT)]
    assert Asked(CONCURRENT, settings={f"{names}.max.ms": "0"}).run() == [(1_000, CONCURRENT)]


def test_nobody_is_asked_for_a_client_that_is_gone() -> None:
    asked = Asked(CONCURRENT)
    asked.is_awaited = False
    assert asked.run() == [(1_020, CONCURRENT)]
    assert asked.count == 1


def test_a_key_of_somebody_else_is_ignored() -> None:
    asked = Asked(NONE)
    asked.adder.due(object(), 0)
    assert asked.count == 0
