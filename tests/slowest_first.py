"""The order of the test files where workers share them: the slowest first, so that none runs alone at the end."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol, TypeVar

ROOT: Final = Path(__file__).parents[1]

SLOWEST: Final = (
    "tests/e2e/test_audit_cases_consumer_groups.py",
    "tests/e2e/test_audit_cases_kafka_python.py",
    "tests/e2e/test_audit_cases_java.py",
    "tests/e2e/test_audit_cases_aiokafka.py",
    "tests/e2e/test_audit_cases_confluent_kafka.py",
    "tests/testing/test_plugin.py",
    "tests/pipeline/test_compaction.py",
    "tests/test_guides.py",
    "tests/dashboard/test_page_views.py",
    "tests/dashboard/test_page.py",
    "tests/cli/test_serve.py",
    "tests/e2e/test_quotas.py",
    "tests/hostile/test_random_requests.py",
    "tests/e2e/test_kafka_python.py",
    "tests/front/test_watchdog.py",
    "tests/admin/test_port.py",
    "tests/cli/test_why.py",
    "tests/node/test_metadata_commits.py",
    "tests/node/test_moves_between_log_dirs.py",
    "tests/node/test_failing_log_dir.py",
    "tests/cli/test_stop_signals.py",
    "tests/core/assignors/test_properties.py",
    "tests/pipeline/test_watch.py",
    "tests/pipeline/test_one_fold.py",
    "tests/simulation/test_histories.py",
    "tests/node/test_coordinator_absence.py",
    "tests/node/test_faulty_disk.py",
    "tests/differential/test_recorded.py",
)
"""Those that take longer than 20 s beside other tests, by their duration."""


class InFile(Protocol):
    @property
    def path(self) -> Path: ...


Item = TypeVar("Item", bound=InFile)


def slowest_first(items: Iterable[Item]) -> list[Item]:
    places = {ROOT / file: place for place, file in enumerate(SLOWEST)}
    return sorted(items, key=lambda item: places.get(item.path, len(places)))
