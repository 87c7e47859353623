"""Random histories of transactional producers on a node that is killed at any byte it writes.

What a producer was told is compared with what a read_committed consumer gets at the end: all records of a transaction
or none, each once, and all of them if the commit was answered.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.core.transactions.transaction import LAST_EPOCH
from tests.model.memory_files import ProcessKilled
from tests.transactions.world import LOST, PARTITIONS, World, offsets, orders

STEPS: Final = 60
PRODUCERS: Final = 3
TIMEOUT_MS: Final = 15_000
SETTLED_MS: Final = 120_000
EXPIRATION_MS: Final = 90_000
SETTINGS: Final = {
    "log.roll.ms": "5000",
    "transactional.id.expiration.ms": str(EXPIRATION_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "20000",
}
"""Segments are rolled often, so that there are snapshots and several transaction indexes; unused ids are forgotten."""
EPOCHS_LEFT: Final = 6
"""A producer with used epochs has no more than these before its producer id changes."""
BYTES_OF_AN_END: Final = 450
"""Written from EndTxn on until the transaction is complete: a kill within them comes between two of its steps."""
NONE: Final = ErrorCode.NONE


@dataclass
class Sent:
    """What a producer sent in one transaction, and what it was told of its end; None: nothing."""

    values: list[tuple[int, bytes]] = field(default_factory=list)
    uncertain: list[tuple[int, bytes]] = field(default_factory=list)
    """Records whose batch was never answered: they may be in the log."""
    offset_partitions: set[int] = field(default_factory=set)
    outcome: bool | None = None
    is_asked_to_commit: bool = False


class Producer:
    """A producer that does what stock clients do: it repeats what was not answered, else it begins again."""

    def __init__(self, play: "Play", name: str, api_version: int) -> None:
        self.play = play
        self.name = name
        self.api_version = api_version
        self.producer_id = -1
        self.epoch = -1
        self.sequences: Counter[int] = Counter()
        self.sent = Sent()
        self.is_ready = False

    @property
    def bumps_epoch(self) -> bool:
        return self.api_version >= 5

    def initialize(self) -> None:
        """Begin again. An open transaction is aborted, whatever it has."""
        for _ in range(20):
            answer = self.play.call(lambda: self.play.world.initialize(self.name, timeout_ms=TIMEOUT_MS))
            if answer is not LOST and answer.error_code == NONE:
                break
            if answer is not LOST and answer.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
                self.play.expect_unavailable(answer.error_code)
            self.play.advance(500)
        else:
            return
        if not self.sent.is_asked_to_commit:
            self.sent.outcome = False
        self._next_transaction()
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()
        self.is_ready = True

    def _next_transaction(self) -> None:
        self.play.transactions.append(self.sent)
        self.sent = Sent()

    def produce(self) -> None:
        if not self.is_ready:
            self.initialize()
            return
        partition = self.play.random.randrange(PARTITIONS)
        value = f"{self.name}-{self.play.next_value()}".encode()
        world, sequence = self.play.world, self.sequences[partition]
        if not self.bumps_epoch:
            error = self.play.call(
                lambda: self.play.world.add(
                    self.name, self.producer_id, self.epoch, orders(partition), client_version=0
                )
            )
            if error is not NONE:
                self.is_ready = error in (LOST, ErrorCode.CONCURRENT_TRANSACTIONS)
                return
        version = 12 if self.bumps_epoch else 9
        for _ in range(3):
            error = self.play.call(
                lambda: world.produce(
                    self.name, self.producer_id, self.epoch, sequence, value, partition=partition, api_version=version
                )
            )
            if error is NONE:
                self.sequences[partition] += 1
                self.sent.values.append((partition, value))
                return
            if error not in (LOST, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.KAFKA_STORAGE_ERROR):
                break
            self.play.advance(200)
        self.sent.uncertain.append((partition, value))
        self.is_ready = False

    def commit_offsets(self) -> None:
        if not self.is_ready:
            return
        partition = self.play.random.randrange(4)
        error = self.play.call(
            lambda: self.play.world.add(self.name, self.producer_id, self.epoch, offsets(partition), client_version=0)
        )
        if error is NONE:
            self.sent.offset_partitions.add(partition)
        elif error is not ErrorCode.CONCURRENT_TRANSACTIONS:
            self.is_ready = False

    def end(self) -> None:
        """End the transaction, and ask until it is answered; what is fenced meanwhile begins again."""
        if not self.is_ready or not (self.sent.values or self.sent.offset_partitions):
            return
        committed = self.play.random.random() < 0.7
        self.sent.is_asked_to_commit = committed
        for _ in range(5):
            answer = self.play.call(
                lambda: self.play.world.end(
                    self.name, self.producer_id, self.epoch, committed=committed, api_version=self.api_version
                )
            )
            if answer is not LOST and answer.error_code == NONE:
                self.sent.outcome = committed
                self._next_transaction()
                if self.bumps_epoch:
                    self.play.seen["producer ids changed by EndTxn"] += answer.producer_id != self.producer_id
                    self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
                    self.sequences.clear()
                return
            self.play.advance(300)
        self.is_ready = False


class Play:
    """One history."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.world = World(SETTINGS)
        self.transactions: list[Sent] = []
        self.seen: Counter[str] = Counter()
        self._values = 0
        versions = [self.random.choice((5, 5, 3)) for _ in range(PRODUCERS)]
        self.producers = [Producer(self, f"p{number}", version) for number, version in enumerate(versions)]
        for producer in self.producers:
            if self.random.random() < 0.3:
                self.seen["begins with used epochs"] += 1
                self.world.store_used_epochs(producer.name, LAST_EPOCH - self.random.randrange(EPOCHS_LEFT))

    def next_value(self) -> int:
        self._values += 1
        return self._values

    def call(self, ask: Callable[[], Any]) -> Any:
        """The answer; LOST if the node was killed meanwhile. It is started again."""
        try:
            return ask()
        except ProcessKilled:
            self.seen["killed"] += 1
            self.world.restart()
            return LOST
        except OSError:
            return LOST  # a log could not be opened: UNKNOWN_SERVER_ERROR on the wire

    def advance(self, ms: int) -> None:
        self.call(lambda: self.world.advance(ms))

    def expect_unavailable(self, error: int) -> None:
        unavailable = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        assert error in unavailable, ErrorCode(error).name

    def run(self, steps: int = STEPS) -> None:
        for _ in range(steps):
            kind = self.random.choices(
                (
                    *("produce", "end", "offsets", "time", "kill", "stop", "full", "groups", "begin again"),
                    *("killed amid an end", "expiration"),
                ),
                (40, 20, 8, 8, 8, 2, 3, 4, 3, 5, 1),
            )[0]
            self.seen[kind] += 1
            producer = self.random.choice(self.producers)
            match kind:
                case "produce":
                    producer.produce()
                case "end":
                    producer.end()
                case "offsets":
                    producer.commit_offsets()
                case "time":
                    self.advance(self.random.randrange(20_000))
                case "kill":
                    self.world.fs.bytes_until_kill = self.random.randrange(600)
                case "killed amid an end":
                    producer.produce()
                    self.world.fs.bytes_until_kill = self.random.randrange(BYTES_OF_AN_END)
                    producer.end()
                    self.advance(1_000)
                case "expiration":
                    self.advance(2 * EXPIRATION_MS)
                case "stop":
                    self.call(lambda: self.world.restart(clean=True))
                case "full":
                    self.world.fs.is_full = True
                    producer.produce()
                    self.world.fs.heal()
                case "groups":
                    other = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                    self.world.groups_error = other if self.world.groups_error is NONE else NONE
                case "begin again":
                    producer.initialize()
        self._end()

    def _end(self) -> None:
        self.world.groups_error = NONE
        self.world.fs.heal()
        self.world.advance(SETTLED_MS)
        for producer in self.producers:
            if not producer.sent.is_asked_to_commit:
                producer.sent.outcome = False
            self.transactions.append(producer.sent)
        self.check()
        self.world.restart()
        self.world.advance(SETTLED_MS)
        self.check()

    def check(self) -> None:
        """Compare what producers were told with what consumers get."""
        visible = {(partition, value) for partition in range(PARTITIONS) for value in self.world.visible(partition)}
        everything = [value for partition in range(PARTITIONS) for value in self.world.visible(partition)]
        assert len(everything) == len(set(everything)), "a record is read twice"
        for sent in self.transactions:
            got = [record in visible for record in sent.values]
            if sent.outcome is None:
                assert all(got) or not any(got), ("in part", sent)
            else:
                assert all(got) if sent.outcome else not any(got), (sent, got)
            committed = sent.outcome or any(got)
            assert committed or not any(record in visible for record in sent.uncertain), ("aborted", sent)
            self.seen[f"outcome {sent.outcome}"] += bool(sent.values)
        for partition in range(PARTITIONS):
            log = self.world.log(partition)
            assert log.last_stable_offset == log.log_end_offset, "a transaction is open forever"
        assert self.world.markers.count == 0
        for shard in self.world.coordinator.shards:
            assert shard.is_active
            assert not shard.machine.open


def play(seed: int, steps: int = STEPS) -> Counter[str]:
    """Play one history; what happened in it.

    Raises:
        AssertionError: a rule is broken.
    """
    history = Play(seed)
    history.run(steps)
    return history.seen
