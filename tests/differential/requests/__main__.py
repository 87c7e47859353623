"""Compare this server with a real Kafka: each API at each version, with empty, null, doubled and unknown values.

Differences that `accepted.py` does not explain are printed, and the exit code is 1; 2 if there is no Kafka.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.differential.names import API_BY_NAME
from tests.differential.requests.accepted import reason_for
from tests.differential.requests.bases import ALL_BASES, LEFT_OUT
from tests.differential.requests.play import Case, Player, Result, cases_of, common_versions
from tests.differential.requests.state import State, start
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = QUICK_GROUPS | {"node.id": "1"}
DEFAULT_THREADS: Final[dict[str, str]] = {}
VALUE_CHARACTERS_MAX: Final = 200


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.requests", description=__doc__)
    parser.add_argument("--only", default="", metavar="API", help="only these APIs, with commas between them")
    arguments = parser.parse_args()
    only = set(filter(None, arguments.only.split(",")))
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="requests-") as folder, running_pair(Path(folder)) as (kafka, ours):
            missing = _not_played(kafka, ours)
            results = list(_play(kafka, ours, only))
    except KafkaMissing as problem:
        print(problem, file=sys.stderr)
        return 2
    failed = report(results)
    if missing:
        print(f"APIs that both serve and that no base covers: {', '.join(missing)}")
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if failed or missing else 0


@contextmanager
def running_pair(folder: Path) -> Iterator[tuple[State, State]]:
    """Start both servers and stop both. Raises KafkaMissing."""
    for each in ("kafka", "ours"):
        (folder / each).mkdir()
    with (
        RunningKafka(folder / "kafka", SETTINGS, DEFAULT_THREADS) as kafka,
        RunningServer(folder / "ours", SETTINGS) as ours,
    ):
        yield start("Kafka", kafka.bootstrap), start("our server", ours.bootstrap)


def _play(kafka: State, ours: State, only: set[str]) -> Iterator[Result]:
    player = Player(kafka, ours)
    for base in ALL_BASES:
        if only and base.api not in only:
            continue
        cases = list(cases_of(base, *common_versions(API_BY_NAME[base.api], kafka, ours)))
        began = time.monotonic()
        yield from map(player.play, cases)
        print(f"{base.api:32} {len(cases):5} cases in {time.monotonic() - began:4.0f} s", flush=True)
    player.close()


def _not_played(kafka: State, ours: State) -> list[str]:
    both = {api.name for api in API_BY_NAME.values() if api.key in kafka.versions and api.key in ours.versions}
    return sorted(both - {base.api for base in ALL_BASES} - LEFT_OUT.keys())


def report(results: Sequence[Result]) -> int:
    """Print what differs; return how many cases differ without a reason."""
    reasons = Counter[str]()
    unexplained: dict[tuple[str, str, str, str], list[Case]] = defaultdict(list)
    failed = 0
    for result in results:
        is_explained = True
        for difference in result.differences:
            reason = reason_for(result.case.base.api, result.case.variant, difference)
            if reason is None:
                is_explained = False
                unexplained[
                    result.case.base.api, difference.path, _shown(difference.kafka), _shown(difference.ours)
                ].append(result.case)
            else:
                reasons[reason] += 1
        failed += not is_explained
    for (api, path, kafka, ours), cases in sorted(unexplained.items()):
        print(f"\n{api}: {path or 'the answer'}\n  Kafka {kafka}\n  ours  {ours}\n  {_where(cases)}")
    differing = sum(bool(result.differences) for result in results)
    print(f"\n{len(results)} cases, {differing} differ, {failed} of them unexplained")
    for reason, count in reasons.most_common():
        print(f"  {count:5} {reason}")
    return failed


def _where(cases: Sequence[Case]) -> str:
    variants: dict[str, list[int]] = defaultdict(list)
    for case in cases:
        variants[case.variant].append(case.version)
    return "; ".join(f"{name} (v{', v'.join(map(str, sorted(set(versions))))})" for name, versions in variants.items())


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= VALUE_CHARACTERS_MAX else f"{text[:VALUE_CHARACTERS_MAX]}…"


if __name__ == "__main__":
    sys.exit(main())
