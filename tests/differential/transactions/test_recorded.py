"""Histories with transactions that were played on Apache Kafka, with its answers and states, on our server."""

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest

from tests.differential.sides import new_prefix, prepare
from tests.differential.transactions.pair import AT_ONE_TIME, OUR_SETTINGS, restart, wait_for_coordinators
from tests.differential.transactions.play import Restarts, Retelling, TransactionPlayer
from tests.differential.transactions.recording import read, restarts
from tests.differential.transactions.side import RecordedTransactionSide, TransactionSide
from tests.differential.transactions.steps import TransactionHistory
from tests.servers import RunningServer

pytestmark = pytest.mark.realtime

RECORDED: Final = read()
NAMES: Final = [f"seed {history.seed}" for history in RECORDED]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TransactionHistory]]:
    """All of them, played at the same time; those with a restart restart the server together."""
    with RunningServer(tmp_path_factory.mktemp("transactions"), OUR_SETTINGS) as running:
        yield dict(zip(NAMES, asyncio.run(_replay(running)), strict=True))


async def _replay(running: RunningServer) -> list[TransactionHistory]:
    server = prepare("our server", running.bootstrap)
    wait_for_coordinators(running.bootstrap)
    gate = asyncio.Semaphore(AT_ONE_TIME)
    at_once = Restarts(lambda how: asyncio.to_thread(restart, running, how))

    async def one(history: TransactionHistory) -> TransactionHistory:
        sides = RecordedTransactionSide(history), TransactionSide(server, new_prefix())
        return await TransactionPlayer(sides, gate, at_once).play(Retelling(history), history.seed)

    without = [
        await asyncio.gather(*(one(each) for each in RECORDED if restarts(each) == does)) for does in (False, True)
    ]
    by_seed = {history.seed: history for played in without for history in played}
    return [by_seed[history.seed] for history in RECORDED]


@pytest.mark.parametrize("name", NAMES)
def test_our_answers_and_states_are_those_of_kafka(name: str, replayed: dict[str, TransactionHistory]) -> None:
    history = replayed[name]
    assert (history.difference, history.ended) == ("", ""), history.text()


def test_some_of_them_restart_the_server() -> None:
    assert any(map(restarts, RECORDED))
