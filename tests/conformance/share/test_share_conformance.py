"""The scenarios of share groups recorded from Apache Kafka, played against our server."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.test_conformance import CONSUMER, by_scenario
from tests.servers import QUICK_GROUPS, RunningServer

HERE: Final = Path(__file__).parent
SCENARIOS: Final = HERE / "scenarios"
NAMES: Final = sorted(str(path.relative_to(SCENARIOS))[: -len(".json")] for path in SCENARIOS.rglob("*.json"))
SHARE: Final = CONSUMER | {
    "group.share.min.session.timeout.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
STRICT: Final = SHARE | {
    "group.share.assignment.interval.ms": "1000",
    "group.share.session.timeout.ms": "4000",
    "group.share.max.size": "2",
    "group.share.record.lock.duration.ms": "2000",
    "group.share.delivery.count.limit": "2",
    "group.share.partition.max.record.locks": "100",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}
PROFILES: Final = {
    "share": SHARE,
    "share-strict": STRICT,
    "share-sessions": STRICT | {"group.share.max.share.sessions": "2"},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Scenario → what the runner said of it. It plays all of them once, four at a time."""
    with ExitStack() as stack:
        arguments = []
        for profile, settings in PROFILES.items():
            server = stack.enter_context(RunningServer(tmp_path_factory.mktemp(profile), QUICK_GROUPS | settings))
            arguments += ["--bootstrap", f"{profile}={server.bootstrap}"]
        runner = [sys.executable, str(HERE / "conformance.py"), "--jobs", "4", "--timeout", "40"]
        run = subprocess.run(
            [*runner, "--scenarios", str(SCENARIOS), "--no-skip", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        yield by_scenario(run.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_our_answers_are_kafkas(name: str, outcomes: dict[str, str]) -> None:
    outcome = outcomes.get(name, "the runner did not mention it")
    assert outcome.startswith("ok"), outcome
