"""Plays an audit case with one client."""

from contextlib import ExitStack
from itertools import count
from typing import Final

from interop.driver import Driver, python_driver
from interop.scene import Scene
from tests.e2e.audit_cases import CASES
from tests.servers import RunningServer

numbers: Final = count()


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
