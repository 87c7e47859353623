"""What is told of groups of a real Kafka, by its records alone, and by its records and its log."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count

import pytest

from interop.builds import CLASSIC, CONSUMER
from interop.driver import Driver, python_driver
from tests.differential.kafka import KafkaMissing
from tests.observe.kafka_cases import CASES, LEFT_OPEN, TOLD, KafkaScene, cell, false_causes, without_evidence
from tests.observe.logged_kafka import LoggedKafka

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(240)]

numbers = count()
PLAYED = (
    ("a_process_is_killed_and_another_joins", CLASSIC, LEFT_OPEN),
    ("a_static_member_restarts", CLASSIC, TOLD),
    ("a_process_is_killed", CONSUMER, LEFT_OPEN),
    ("a_subscription_changes", CONSUMER, TOLD),
)
"""Case, protocol, and what records alone tell."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedKafka]:
    try:
        with LoggedKafka(tmp_path_factory.mktemp("kafka")) as running:
            yield running
    except KafkaMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(("name", "protocol", "by_records"), PLAYED)
def test_what_happened_is_told_and_nothing_else(name: str, protocol: str, by_records: str, kafka: LoggedKafka):
    with ExitStack() as stack:
        start = partial(Driver, python_driver("confluent-kafka"))
        scene = KafkaScene(kafka, start, f"seen{next(numbers)}", stack, protocol=protocol)
        did = CASES[name].play(scene)
        scene.wait_until_told(*did)
        records, both = scene.seen(with_logs=False), scene.seen(with_logs=True)
    assert (cell(records, did), cell(both, did)) == (by_records, TOLD)
    for history in (records, both):
        assert false_causes(history, did, name) == []
        assert without_evidence(history) == []
