"""Words that Kafka Streams counts with exactly_once_v2: at the end each count is right, and came once."""

import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.eos.rounds import SINK, Command, Rounds
from tests.eos.topics import COMMITTED

LINES_PER_ROUND: Final = 300
APPLICATION: Final = "word-count"
CHANGELOG: Final = f"{APPLICATION}-counts-changelog"
REPARTITION: Final = f"{APPLICATION}-words-repartition"
WORDS: Final = tuple(f"word{number}" for number in range(40))


class WordCounts(Rounds):
    """Instances of an application that counts words: its internal topics are part of its transactions."""

    def __init__(self, folder: Path, command: Command, seed: int, lines_per_round: int = LINES_PER_ROUND) -> None:
        super().__init__(folder, command, seed, APPLICATION, lines_per_round)
        self._expected: Counter[str] = Counter()

    def _events(self) -> list[Callable[[], None]]:
        return [*super()._events(), self._lose_state]

    def _lose_state(self) -> None:
        """Kill an instance and remove its state: a new one reads the changelog, with a transactional id of its own."""
        self.events["worker killed, state lost"] += 1
        number = self._killed()
        shutil.rmtree(self._alive(number).with_suffix(".state"), ignore_errors=True)
        self._start(number)

    def _record(self, number: int) -> bytes:
        """A line of up to six words; a word is the more frequent the lower its number."""
        words = [WORDS[int(len(WORDS) * self._random.random() ** 2)] for _ in range(self._random.randint(1, 6))]
        self._expected.update(words)
        return " ".join(words).encode()

    def _compare(self) -> None:
        self._wait(self._is_counted, "all words to be counted")
        counts = _in_order(self._topics.read(SINK, COMMITTED))
        for word, times in self._expected.items():
            assert counts[word] == list(range(1, times + 1)), f"{word}, {times} times: {counts[word][-10:]}"
        assert counts.keys() == self._expected.keys()
        stored = {word: values[-1] for word, values in _in_order(self._topics.read(CHANGELOG, COMMITTED)).items()}
        assert stored == self._expected, "the changelog differs"
        assert self._topics.config(CHANGELOG, "cleanup.policy") == "compact"
        assert self._topics.config(REPARTITION, "cleanup.policy") == "delete"
        words = self._expected.total()
        self.figures = self._written() | {"words": words, "wrong counts": 0}

    def _is_counted(self) -> bool:
        """Whether the words that went through the repartition topic were all counted, and no transaction is open."""
        topics = (SINK, CHANGELOG, REPARTITION)
        if not all(self._topics.is_settled(topic) for topic in topics):
            return False
        return sum(len(records) for records in self._topics.read(SINK, COMMITTED)) >= self._expected.total()


def _in_order(partitions: list) -> dict[str, list[int]]:
    """Each word's counts in the order in which they were written: a word is in one partition."""
    counts: dict[str, list[int]] = defaultdict(list)
    for records in partitions:
        for record in records:
            counts[record.key().decode()].append(int.from_bytes(record.value(), "big"))
    return counts
