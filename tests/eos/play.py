"""Records that workers copy: at the end each one was copied exactly once, in order."""

import sys
from collections import Counter
from pathlib import Path
from typing import Final

from tests.eos.rounds import PARTITIONS, SINK, SOURCE, Command, Rounds
from tests.eos.topics import COMMITTED

RECORDS_PER_ROUND: Final = 100
GROUP: Final = "copiers"


def librdkafka(bootstrap: str, number: int, alive: Path) -> list[str]:
    """A worker of `worker.py`. Its transactional id is that of its predecessor, which it fences."""
    return [sys.executable, "-m", "tests.eos.worker", bootstrap, GROUP, f"copier-{number}", SOURCE, SINK, str(alive)]


class Play(Rounds):
    """Workers that copy records of SOURCE to the same partition of SINK."""

    def __init__(self, folder: Path, command: Command, seed: int, records_per_round: int = RECORDS_PER_ROUND) -> None:
        super().__init__(folder, command, seed, GROUP, records_per_round)

    def _record(self, number: int) -> bytes:
        return str(number).encode()

    def _compare(self) -> None:
        copied = [[record.value() for record in records] for records in self._topics.read(SINK, COMMITTED)]
        count = Counter(value for values in copied for value in values)
        lost = [number for number in range(self._sent) if not count[self._record(number)]]
        assert lost == [], f"lost: {lost[:10]}"
        doubled = [value for value, times in count.items() if times > 1]
        assert doubled == [], f"copied twice: {doubled[:10]}"
        for partition, values in enumerate(copied):
            numbers = range(partition, self._sent, PARTITIONS)
            assert values == [self._record(number) for number in numbers], f"partition {partition} is out of order"
        self.figures = self._written() | {"lost": 0, "duplicates": 0}
