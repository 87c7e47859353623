"""Interactive queries of Kafka Streams: each instance learns from its heartbeats which one has which partitions."""

import re
from functools import partial

import pytest

from tests.e2e.streams_cases import GROUP, SECONDS, StreamsCase, StreamsScene, played
from tests.eos.java_programs import ProgramsMissing
from tests.waiting import wait_for

pytestmark = [pytest.mark.realtime, pytest.mark.timeout(240)]

ONE, TWO = "127.0.0.1:1001", "127.0.0.1:1002"
TOPICS = ("lines", f"{GROUP}-words-repartition")


def _start_both(scene: StreamsScene) -> None:
    scene.start("one", application_server=ONE)
    scene.start("two", application_server=TWO)
    scene.wait_stable(2)


def _told_last(scene: StreamsScene, name: str) -> tuple[dict[str, str], str]:
    """What an instance says: partition → the address of the instance that has it; and who has the count of a word."""
    lines = [line for line in scene.log(name).splitlines() if line.startswith("endpoints ")]
    if not lines:
        return {}, ""
    said = re.fullmatch(r"endpoints \{(.*)\} well (.*)", lines[-1])
    assert said is not None, lines[-1]
    return dict(pair.split("=") for pair in said[1].split(", ") if pair), said[2]


def _has_all(scene: StreamsScene, name: str, addresses: set[str]) -> bool:
    partitions, owner = _told_last(scene, name)
    named = {f"{topic}-{index}" for topic in TOPICS for index in range(2)}
    return set(partitions) == named and set(partitions.values()) == addresses and owner in addresses


def test_each_instance_knows_where_the_others_are_and_forgets_who_went(tmp_path):
    try:
        with played(StreamsCase(_start_both, ()), tmp_path) as scene:
            for name in ("one", "two"):
                wait_for(partial(_has_all, scene, name, {ONE, TWO}), SECONDS, f"endpoints at {name}")
            assert _told_last(scene, "one") == _told_last(scene, "two")
            scene.kill("two")
            scene.wait_stable(1)
            wait_for(lambda: _has_all(scene, "one", {ONE}), SECONDS, "endpoints after one has gone")
    except ProgramsMissing as missing:
        pytest.skip(str(missing))
