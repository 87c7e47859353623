"""Compare this server with a real Kafka under random ACLs: `python -m tests.differential.acls --cases 1000`."""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.differential.acls.accepted import unexplained
from tests.differential.acls.cases import Case, case_of
from tests.differential.acls.play import Side
from tests.differential.acls.recording import Recorded, choose, write
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.differential.names import API_BY_NAME
from tests.differential.requests.answers import Difference
from tests.differential.requests.play import common_versions
from tests.servers import QUICK_GROUPS, RunningServer

AGAIN = 1_000_000
"""What is added to the number of a case that is played again, because its answers differ."""
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SETTINGS = QUICK_GROUPS | {
    "node.id": "1",
    "auto.create.topics.enable": "true",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin;User:ANONYMOUS",
    "log.retention.ms": "-1",
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
USERS = "".join(f' user_{name}="{name}"' for name in ("admin", "alice", "bob"))
LOGIN = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
    f'required username="admin" password="admin"{USERS};',
}
"""How clients log in to both."""
LOGIN_OF_KAFKA = {
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "early.start.listeners": "CONTROLLER",
}
"""How the node of the real Kafka logs in to itself."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.acls", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="how many (1000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (1); the others follow")
    parser.add_argument("--only", default="", metavar="API", help="only cases of these APIs, with commas between them")
    parser.add_argument("--record", type=int, default=0, metavar="N", help="keep N of them for `make test`")
    arguments = parser.parse_args()
    began = time.monotonic()
    only = set(filter(None, arguments.only.split(",")))
    try:
        with tempfile.TemporaryDirectory(prefix="acls-") as folder, running_pair(Path(folder)) as (kafka, ours):
            played = list(_play(kafka, ours, range(arguments.seed, arguments.seed + arguments.cases), only))
    except KafkaMissing as problem:
        print(problem, file=sys.stderr)
        return 2
    if arguments.record:
        kept = independent(choose([recorded for recorded, found in played if not found], arguments.record))
        write(kept)
        print(f"{len(kept)} cases recorded")
    print(f"{len(played)} cases: {_outcomes([recorded for recorded, _ in played])}")
    failed = sum(bool(found) for _, found in played)
    print(f"{failed} differ; {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


def independent(cases: list[Recorded]) -> list[Recorded]:
    """Those that this server answers in the same way without the cases that were played before."""
    with tempfile.TemporaryDirectory(prefix="acls-") as folder, RunningServer(Path(folder), SETTINGS | LOGIN) as ours:
        side = Side("this server", ours.bootstrap)
        kept = [case for case in cases if not unexplained(case.case, case.answer, side.play(case.case, case.seed))]
        side.close()
    return kept


@contextmanager
def running_pair(folder: Path) -> Iterator[tuple[Side, Side]]:
    """Start both servers and stop both. Raises KafkaMissing."""
    for each in ("kafka", "ours"):
        (folder / each).mkdir()
    with (
        RunningKafka(folder / "kafka", SETTINGS | LOGIN | LOGIN_OF_KAFKA) as kafka,
        RunningServer(folder / "ours", SETTINGS | LOGIN) as ours,
    ):
        sides = Side("Kafka", kafka.bootstrap), Side("this server", ours.bootstrap)
        yield sides
        for side in sides:
            side.close()


def _play(kafka: Side, ours: Side, seeds: range, only: set[str]) -> Iterator[tuple[Recorded, list[Difference]]]:
    versions = {name: common_versions(api, kafka.state, ours.state) for name, api in API_BY_NAME.items()}
    for seed in seeds:
        case = case_of(seed, versions)
        if only and case.base.api not in only:
            continue
        answers, found = _compare(case, kafka, ours, seed)
        if found:
            _, found = _compare(case, kafka, ours, seed + AGAIN)
        if found:
            _report(case, ours, found)
        yield Recorded(seed, case.label, list(versions[case.base.api]), answers[0]), found


def _compare(case: Case, kafka: Side, ours: Side, number: int) -> tuple[list[dict[str, Any]], list[Difference]]:
    answers = [side.play(case, number) for side in (kafka, ours)]
    return answers, unexplained(case, answers[0], answers[1])


def _report(case: Case, ours: Side, found: list[Difference]) -> None:
    print(f"\nDIFFERENCE in {case.label}\n  request {case.body}")
    for acl in ours.last_acls:
        print(f"  {acl}")
    for each in found:
        print(f"  {each.path or 'the answer'}: Kafka {each.kafka!r}, ours {each.ours!r}")


def _outcomes(played: list[Recorded]) -> str:
    """How many answers have which errors: a run in which all is denied, or allowed, says little."""
    outcomes = Counter(recorded.outcome for recorded in played)
    return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())


if __name__ == "__main__":
    sys.exit(main())
