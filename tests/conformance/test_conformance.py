"""The scenarios recorded from Apache Kafka, played against our server. CONFORMANCE_DIR names another folder of them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.servers import QUICK_GROUPS, RunningServer

HERE: Final = Path(__file__).parent
SCENARIOS: Final = Path(os.environ.get("CONFORMANCE_DIR", HERE)) / "scenarios"
NAMES: Final = sorted(str(path.relative_to(SCENARIOS))[: -len(".json")] for path in SCENARIOS.rglob("*.json"))
CONSUMER: Final = {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "0",
}
SHARE: Final = CONSUMER | {
    "group.share.min.session.timeout.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
}
SHARE_STRICT: Final = SHARE | {
    "group.share.assignment.interval.ms": "1000",
    "group.share.session.timeout.ms": "4000",
    "group.share.max.size": "2",
    "group.share.record.lock.duration.ms": "2000",
    "group.share.delivery.count.limit": "2",
    "group.share.partition.max.record.locks": "100",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}
STREAMS: Final = CONSUMER | {
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
PROFILES: Final = {
    "default": {},
    "max-size": {"group.max.size": "2"},
    "initial-delay": {"group.initial.rebalance.delay.ms": "1500"},
    "auto-create": {"auto.create.topics.enable": "true"},
    "consumer": CONSUMER,
    "consumer-strict": CONSUMER
    | {
        "group.consumer.session.timeout.ms": "4000",
        "group.consumer.max.size": "2",
        "group.consumer.assignors": "range",
        "group.consumer.migration.policy": "disabled",
    },
    "consumer-interval": {
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.assignors": "range,uniform",
        "group.consumer.migration.policy": "upgrade",
    },
    "share": SHARE,
    "share-strict": SHARE_STRICT,
    "share-sessions": SHARE_STRICT | {"group.share.max.share.sessions": "2"},
    "streams": STREAMS,
    "streams-strict": STREAMS
    | {
        "group.streams.session.timeout.ms": "4000",
        "group.streams.max.size": "2",
        "group.streams.num.standby.replicas": "1",
        "group.streams.max.standby.replicas": "1",
        "group.streams.initial.rebalance.delay.ms": "2500",
        "group.streams.assignment.interval.ms": "5000",
    },
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Scenario → what the runner said of it. It plays all of them once, eight at a time."""
    with ExitStack() as stack:
        arguments = []
        for profile, settings in PROFILES.items():
            server = stack.enter_context(RunningServer(tmp_path_factory.mktemp(profile), QUICK_GROUPS | settings))
            arguments += ["--bootstrap", f"{profile}={server.bootstrap}"]
        run = subprocess.run(
            [sys.executable, str(HERE / "conformance.py"), "--scenarios", str(SCENARIOS), "--no-skip", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        yield _by_scenario(run.stdout)


def _by_scenario(output: str) -> dict[str, str]:
    said: dict[str, str] = {}
    name = ""
    for line in output.splitlines():
        kind, _, rest = line.partition(" ")
        if kind in ("ok", "skip", "FAIL"):
            name = rest.split()[0].rstrip(":")
            said[name] = line
        elif line.startswith("  ") and name:
            said[name] += "\n" + line
    return said


@pytest.mark.parametrize("name", NAMES)
def test_our_answers_are_kafkas(name: str, outcomes: dict[str, str]) -> None:
    outcome = outcomes.get(name, "the runner did not mention it")
    assert outcome.startswith("ok"), outcome
