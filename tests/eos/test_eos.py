"""A few rounds of exactly once; `make eos`, `make eos-java` and `make streams` play more."""

import pytest

from tests.eos.java_programs import ProgramsMissing, copier, word_count
from tests.eos.play import Play, librdkafka
from tests.eos.word_count import WordCounts

pytestmark = pytest.mark.realtime


def test_each_record_is_copied_once_while_the_server_and_a_worker_are_killed(tmp_path):
    play = Play(tmp_path, librdkafka, seed=1)
    play.run(3)
    played = {event: count for event, count in play.events.items() if event != "worker hung"}
    assert played == {"worker killed": 1, "server killed": 1, "rebalance": 1}


def test_the_java_client_copies_each_record_once_while_the_server_and_a_worker_are_killed(tmp_path):
    try:
        command = copier()
    except ProgramsMissing as missing:
        pytest.skip(str(missing))
    play = Play(tmp_path, command, seed=1)
    play.run(2)
    assert play.events == {"worker killed": 1, "server killed": 1}


def test_kafka_streams_counts_each_word_once_while_the_server_and_an_instance_are_killed(tmp_path):
    try:
        command = word_count()
    except ProgramsMissing as missing:
        pytest.skip(str(missing))
    play = WordCounts(tmp_path, command, seed=72, lines_per_round=100)
    play.run(2)
    assert play.events == {"worker killed": 1, "server killed": 1}
