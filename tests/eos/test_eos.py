"""A few rounds of exactly once; `make eos` plays more."""

import pytest

from tests.eos.play import Play, librdkafka

pytestmark = pytest.mark.realtime


def test_each_record_is_copied_once_while_the_server_and_a_worker_are_killed(tmp_path):
    play = Play(tmp_path, librdkafka, seed=14)
    play.run(3)
    played = {event: count for event, count in play.events.items() if event != "worker hung"}
    assert played == {"worker killed": 1, "server killed": 1, "rebalance": 1}
