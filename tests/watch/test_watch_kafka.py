"""`coordinator watch` at a real Kafka."""

from pathlib import Path
from typing import Final

import pytest

from coordinator.client.wire import ClientError
from coordinator.pipeline.java import require_java
from tests.differential.kafka import KafkaMissing
from tests.observe.logged_kafka import LoggedKafka
from tests.waiting import wait_for
from tests.watch.load import Load
from tests.watch.rounds import play
from tests.watch.watching import into

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(240)]

KILLS: Final = 4
SECONDS: Final = 60


@pytest.fixture(autouse=True)
def kafka_is_there() -> None:
    require_java()


@pytest.mark.parametrize("is_topic", [pytest.param(False, marks=pytest.mark.nightly), True])
def test_killed_under_load_it_tells_what_one_tells_that_was_never_killed(tmp_path: Path, is_topic: bool):
    try:
        found = play(tmp_path, KILLS, 1, is_topic=is_topic)
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    assert found == []


def test_the_log_and_the_records_of_a_real_broker_are_told_together(tmp_path: Path):
    folder = tmp_path / "kafka"
    folder.mkdir()
    try:
        kafka = LoggedKafka(folder)
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with kafka:
        load = Load(kafka.bootstrap, 3, 1)
        load.start()  # the first group makes the topic of the records
        with into(tmp_path / "watch", kafka.bootstrap, "--broker-log", str(kafka.server_log)) as watch:
            sources: set[str] = set()

            def are_both_told() -> bool:
                try:
                    found = watch.events()
                except ClientError:
                    return False
                removed = [each for of in found.values() for each in of if each["kind"] == "member.removed"]
                sources.update(place["source"] for each in removed for place in each["places"])
                return sources == {"record", "broker_log"} and any(not each["is_inferred"] for each in removed)

            try:
                wait_for(are_both_told, SECONDS, "members that left to be told", every_ms=500)
            finally:
                load.stop()
            assert watch.stop() == 0
