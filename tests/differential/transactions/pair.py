"""Kafka and our server for histories with transactions: started, restarted, played on."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from _wire.messages.describe_transactions import DescribeTransactionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from tests.differential.kafka import RunningKafka
from tests.differential.pair import SETTINGS as GROUP_SETTINGS
from tests.differential.pair import Pair
from tests.differential.play import ATTEMPTS, TooSlow
from tests.differential.sides import is_coordinator, new_prefix, prepare
from tests.differential.transactions.generate import Generator
from tests.differential.transactions.play import Restarts, Retelling, Story, TransactionPlayer
from tests.differential.transactions.side import TransactionSide
from tests.differential.transactions.steps import TransactionHistory, TransactionStep
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

SETTINGS: Final = GROUP_SETTINGS | {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "5",
}
OUR_SETTINGS: Final = SETTINGS | {"write.txn.markers.enable": "true"}
"""Kafka without an authorizer takes WriteTxnMarkers of every client."""
KAFKA_SETTINGS: Final = {
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "200",
    "offsets.topic.num.partitions": "50",
    "log.retention.ms": "-1",
}
"""So that a killed broker may come back at once."""
AT_ONE_TIME: Final = 6
UNDER_WAY: Final = 48
"""Histories that are restarted together, or of which most rest."""
CONFIRMATIONS: Final = 2
SHRINK_SECONDS: Final = 60
SHRUNK_AT_MOST: Final = 4
READY_SECONDS: Final = 60


@dataclass(frozen=True)
class TransactionPair(Pair):
    """Two servers that can be restarted."""

    kafka_process: RunningKafka
    our_process: RunningServer

    async def restart(self, how: str) -> None:
        await asyncio.gather(
            *(asyncio.to_thread(restart, process, how) for process in (self.kafka_process, self.our_process))
        )


def restart(process: RunningKafka | RunningServer, how: str) -> None:
    if how == "kill":
        process.kill()
    else:
        process.stop()
    process.start()
    wait_for_coordinators(process.bootstrap)


def wait_for_coordinators(bootstrap: str) -> None:
    """Wait until the server has loaded all groups and transactional ids; the first time it makes their topics."""
    with WireClient(bootstrap, "prepare") as client:
        wait_for(lambda: _is_ready(client), READY_SECONDS, "the coordinators to be loaded", every_ms=50)


def _is_ready(client: WireClient) -> bool:
    return is_coordinator(client) and _coordinates_transactions(client)


def _coordinates_transactions(client: WireClient) -> bool:
    """A transactional id of each of the 5 partitions can be asked. The first time this makes the topic."""
    ids = [f"warm-{number}" for number in range(40)]
    found = client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=ids), 4).coordinators
    if any(each.error_code for each in found):
        return False
    # The first producer id is 0, as is that of a response that has none.
    if client.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4).error_code:
        return False
    described = client.request(DescribeTransactionsRequest(transactional_ids=ids), 0).transaction_states
    return all(each.error_code == 105 for each in described)


@contextmanager
def running_pair(folder: Path) -> Iterator[TransactionPair]:
    """Start both and stop both. Raises KafkaMissing."""
    for each in ("kafka", "ours"):
        (folder / each).mkdir(parents=True)
    with (
        RunningKafka(folder / "kafka", SETTINGS | KAFKA_SETTINGS) as kafka,
        RunningServer(folder / "ours", OUR_SETTINGS) as ours,
    ):
        sides = prepare("Kafka", kafka.bootstrap), prepare("our server", ours.bootstrap)
        for side in sides:
            wait_for_coordinators(side.bootstrap)
        yield TransactionPair("transactions", *sides, kafka, ours)


class TransactionComparison:
    """Plays histories on a pair, many at a time."""

    def __init__(self, pair: TransactionPair) -> None:
        self._pair = pair
        self._gate = asyncio.Semaphore(AT_ONE_TIME)
        self._shrunk = 0
        self.restarts = Restarts(pair.restart)

    async def random_histories(self, seeds: Sequence[int], *, restarts: bool) -> list[TransactionHistory]:
        """A history for each seed; some with a difference are the shortest that still show it.

        With `restarts`, each of them restarts the servers once.
        """
        histories: list[TransactionHistory] = []
        for start in range(0, len(seeds), UNDER_WAY):
            together = [self._random_history(seed, restarts) for seed in seeds[start : start + UNDER_WAY]]
            histories += await asyncio.gather(*together)
        return [await self._confirm(history) if history.difference else history for history in histories]

    async def _random_history(self, seed: int, restarts: bool) -> TransactionHistory:
        return await self._play(lambda: Generator(seed, self._pair.versions, restarts=restarts), seed)

    async def _confirm(self, history: TransactionHistory) -> TransactionHistory:
        """Play a history that differed again, and leave out steps for as long as it differs."""
        for _ in range(CONFIRMATIONS):
            again = await self.retell(history)
            if again.difference:
                self._shrunk += 1
                return again if self._shrunk > SHRUNK_AT_MOST else await self._shrink(again)
        return replace(history, difference=f"in one of {1 + CONFIRMATIONS} playings: {history.difference}")

    async def retell(self, history: TransactionHistory) -> TransactionHistory:
        return await self._play(lambda: Retelling(history), history.seed)

    async def _play(self, tell: Callable[[], Story], seed: int) -> TransactionHistory:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                prefix = new_prefix()
                sides = TransactionSide(self._pair.kafka, prefix), TransactionSide(self._pair.ours, prefix)
                history = await TransactionPlayer(sides, self._gate, self.restarts).play(tell(), seed)
            except TooSlow:
                continue
            history.attempts = attempt
            return history
        return TransactionHistory(seed, ended=f"too slow {ATTEMPTS} times", attempts=ATTEMPTS)

    async def _shrink(self, history: TransactionHistory) -> TransactionHistory:
        size = max(len(history.steps) // 2, 1)
        deadline = time.monotonic() + SHRINK_SECONDS
        kind = _kind(history)
        while time.monotonic() < deadline:
            for start in range(0, len(history.steps), size):
                steps: list[TransactionStep] = [*history.steps[:start], *history.steps[start + size :]]
                shorter = await self.retell(replace(history, steps=steps))
                if shorter.difference and _kind(shorter) == kind:
                    history = shorter
                    break
                if time.monotonic() > deadline:
                    return history
            else:
                if size == 1:
                    break
                size = max(size // 2, 1)
        return history


def _kind(history: TransactionHistory) -> str:
    """What differs, without the values; labels stay when steps are left out."""
    return history.difference.partition(":")[0]
