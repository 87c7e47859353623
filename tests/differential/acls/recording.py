"""Cases with the answers of a real Kafka, kept for `make test`."""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.differential.acls.cases import Case, case_of

FILE: Final = Path(__file__).parents[1] / "recorded" / "acls.jsonl.gz"
DENIED: Final = frozenset({29, 30, 31, 53})
"""TOPIC_, GROUP_, CLUSTER_ and TRANSACTIONAL_ID_AUTHORIZATION_FAILED."""


class Recorded(NamedTuple):
    """A case by its seed, and what Kafka answered."""

    seed: int
    label: str
    versions: list[int]
    """The first and last version of the API that were served by both."""
    answer: dict[str, Any]

    @property
    def case(self) -> Case:
        first, last = self.versions
        case = case_of(self.seed, {self.api: (first, last)})
        assert case.label == self.label, "record the cases again"
        return case

    @property
    def api(self) -> str:
        return self.label.split()[1]

    @property
    def outcome(self) -> str:
        errors = list(_errors(self.answer))
        denied = [error in DENIED for error in errors]
        if not any(denied):
            return "allowed"
        return "denied" if all(denied) else "denied in part"


def _errors(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key.endswith("error_code"):
                yield each
            else:
                yield from _errors(each)
    elif isinstance(value, list):
        for each in value:
            yield from _errors(each)


def choose(cases: Sequence[Recorded], count: int) -> list[Recorded]:
    """So many cases, of each API and outcome in turn."""
    kinds: dict[tuple[str, str], list[Recorded]] = defaultdict(list)
    for case in cases:
        kinds[case.api, case.outcome].append(case)
    chosen: list[Recorded] = []
    while len(chosen) < count and any(kinds.values()):
        for waiting in kinds.values():
            if waiting and len(chosen) < count:
                chosen.append(waiting.pop(0))
    return sorted(chosen)


def write(cases: Iterable[Recorded]) -> None:
    lines = "".join(json.dumps(case, sort_keys=True) + "\n" for case in cases)
    FILE.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read() -> list[Recorded]:
    lines = gzip.decompress(FILE.read_bytes()).decode().splitlines()
    return [Recorded(*json.loads(line)) for line in lines]
