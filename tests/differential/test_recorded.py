"""Histories that were played on Apache Kafka, with its answers, on our server."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from tests.differential.pair import PROFILES, SETTINGS
from tests.differential.play import STEPS_AT_ONE_TIME, Retelling, play
from tests.differential.recording import read
from tests.differential.sides import LiveSide, RecordedSide, Server, Side, new_prefix, prepare
from tests.differential.steps import History, Rest
from tests.servers import RunningServer

pytestmark = pytest.mark.realtime

RECORDED: Final = read()
NAMES: Final = [f"{history.profile}-{history.seed}" for history in RECORDED]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, History]]:
    """All of them, played at the same time: most of it is waiting."""
    with ExitStack() as stack:
        servers = {}
        for profile, settings in PROFILES.items():
            server = stack.enter_context(RunningServer(tmp_path_factory.mktemp(profile), SETTINGS | settings))
            servers[profile] = prepare("our server", server.bootstrap)
        yield dict(zip(NAMES, asyncio.run(_replay(servers)), strict=True))


async def _replay(servers: dict[str, Server]) -> list[History]:
    gate = asyncio.Semaphore(STEPS_AT_ONE_TIME)

    async def one(history: History) -> History:
        def meet() -> tuple[Side, Side]:
            return RecordedSide(history), LiveSide(servers[history.profile], new_prefix())

        return await play(lambda: Retelling(history), meet, gate, history.seed)

    return await asyncio.gather(*(one(history) for history in RECORDED))


@pytest.mark.parametrize("name", NAMES)
def test_our_answers_are_those_of_kafka(name: str, replayed: dict[str, History]) -> None:
    history = replayed[name]
    assert (history.difference, history.ended) == ("", ""), history.text()


def test_each_profile_is_among_them_with_time_that_passes() -> None:
    rested = {history.profile for history in RECORDED if any(isinstance(step, Rest) for step in history.steps)}
    assert rested == set(PROFILES)
