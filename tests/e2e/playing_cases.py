"""Plays an audit case with one client."""

from collections.abc import Collection
from contextlib import ExitStack
from itertools import count
from typing import Final

import pytest

from interop.driver import Driver, python_driver
from interop.scene import Scene
from tests.e2e.audit_cases import CASES
from tests.servers import RunningServer

numbers: Final = count()


def cases_of(differing: Collection[str]) -> list[object]:
    """All cases for a client that is not the first to play them: those in which it does not differ only at night.

    Args:
        differing: the cases in which the client does or says something else than kafka-python, which plays all.
    """
    assert CASES.keys() >= set(differing)
    return [pytest.param(case, marks=() if case in differing else pytest.mark.nightly) for case in CASES]


def play(case: str, command: list[str], server: RunningServer) -> Scene:
    with ExitStack() as stack:
        others = {"aiokafka": lambda: Driver(python_driver("aiokafka"))}
        scene = Scene(server, lambda: Driver(command), f"case{next(numbers)}", stack, others=others)
        CASES[case].play(scene)
        return scene


def play_with_python(case: str, client: str, server: RunningServer) -> None:
    """Play it if the client can do what it needs; all clients but aiokafka can do all."""
    needs = CASES[case].needs
    if needs:
        with Driver(python_driver(client)) as probe:
            if needs not in probe.can:
                assert (client, needs) == ("aiokafka", "cooperative-sticky")
                return
    play(case, python_driver(client), server)
