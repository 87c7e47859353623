"""Histories of consumer groups that were played on Apache Kafka, with its answers and states, on our server."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.differential.consumer.pair import SETTINGS
from tests.differential.consumer.play import TOO_SLOW, ConsumerPlayer, Retelling
from tests.differential.consumer.recording import read
from tests.differential.consumer.side import LiveConsumerSide, RecordedConsumerSide
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory
from tests.differential.sides import Server, new_prefix, prepare
from tests.differential.transactions.pair import wait_for_coordinators
from tests.servers import RunningServer

RECORDED: Final = read()
ATTEMPTS: Final = 5
"""A busy machine may be too slow for the time in which a history has to be played."""
NAMES: Final = [f"seed {history.seed}" for history in RECORDED]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with RunningServer(tmp_path_factory.mktemp("consumer"), SETTINGS) as running:
        prepared = prepare("our server", running.bootstrap)
        wait_for_coordinators(running.bootstrap)
        yield prepared


@pytest.mark.parametrize("history", RECORDED, ids=NAMES)
def test_our_answers_are_those_of_kafka(history: ConsumerHistory, server: Server) -> None:
    for _ in range(ATTEMPTS):
        sides = RecordedConsumerSide(history), LiveConsumerSide(server, new_prefix())
        played = ConsumerPlayer(sides).play(Retelling(history), history.seed)
        if played.ended not in TOO_SLOW:
            break
    assert (played.difference, played.ended) == ("", ""), history.text()


def test_topics_change_and_members_are_fenced_in_some() -> None:
    steps = [step for history in RECORDED for step in history.steps]
    assert any(isinstance(step, ChangeTopic) and step.partitions == 0 for step in steps)
    answers = [outcome.answer for history in RECORDED for outcome in history.outcomes]
    assert any(isinstance(answer, dict) and answer.get("error_code") == 110 for answer in answers)
