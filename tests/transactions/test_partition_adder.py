"""A Produce that comes before the markers of the transaction before it waits a moment (KIP-890)."""

from collections.abc import Callable
from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import SlicedWork, Slices
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
        self._answers = answers
        self._slices = Slices(lambda callback: None)
        self._delays = Delays(self)
        self.adder = PartitionAdder(self._add_partitions, self._delays, lambda: self.now_ms, Config(settings or {}))

    def _add_partitions(self, request: PartitionsRequest, reply: Callable[[PartitionErrors], None]) -> None:
        assert request == REQUEST
        self.count += 1
        reply({TP: self._answers[min(self.count, len(self._answers)) - 1]})

    def start(self, key: object, deadline_ms: int) -> int:
        self.timers.append((deadline_ms, key))
        return len(self.timers)

    def begin(self) -> SlicedWork | None:
        return self._slices.start(self.adder.add(REQUEST), self._added, self._failed)

    def _added(self, errors: PartitionErrors) -> None:
        self.replies.append((self.now_ms, errors[TP]))

    def _failed(self, problem: Exception) -> None:
        raise problem

    def let_time_pass(self) -> list[tuple[int, ErrorCode]]:
        """Until no timer is left; when it was answered, and what."""
        while self.timers:
            self.now_ms, key = self.timers.pop(0)
            self._delays.due(key, self.now_ms)
        return self.replies

    def run(self) -> list[tuple[int, ErrorCode]]:
        self.begin()
        return self.let_time_pass()


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
    work = asked.begin()
    assert work is not None
    work.cancel()
    assert asked.let_time_pass() == []
    assert asked.count == 1
