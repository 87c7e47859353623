"""The faults: each is chosen and timed by the seed, and has ended when its function returns."""

import random
import signal
import threading
from collections.abc import Callable
from typing import Final

from tests.cluster.rounds.brokers import ThreeBrokers
from tests.cluster.rounds.nodes import Nodes
from tests.cluster.running import RunningNode

SESSION_SECONDS: Final = 6
"""After it a node is taken for dead by the others."""
AWAY_SECONDS_MAX: Final = 10
"""Short enough that a node or a broker is sometimes back before anybody has noticed."""

Fault = Callable[[], str]
"""Does it, and returns what it has done, in words."""


class Faults:
    """What may happen to nodes and brokers; one at a time."""

    def __init__(self, nodes: Nodes, brokers: ThreeBrokers, seed: int) -> None:
        self._nodes = nodes
        self._brokers = brokers
        self._random = random.Random(seed)
        self._stopping = threading.Event()
        self._all: dict[str, Fault] = {
            "kill-node": self._kill_node,
            "suspend-node-short": self._suspend_node_short,
            "suspend-node-long": self._suspend_node_long,
            "stop-node": self._stop_node,
            "kill-broker": self._kill_broker,
            "suspend-broker": self._suspend_broker,
            "more-or-fewer-nodes": self._more_or_fewer_nodes,
        }

    @property
    def names(self) -> list[str]:
        return list(self._all)

    def chosen(self, only: str = "") -> Fault:
        return self._all[only or self._random.choice(self.names)]

    def give_up(self) -> None:
        """End the fault that is under way soon."""
        self._stopping.set()

    def _pause(self, least: float, most: float) -> float:
        """The length of a fault is what is random here; nothing is waited for."""
        seconds = self._random.uniform(least, most)
        self._stopping.wait(seconds)
        return seconds

    def _some_node(self) -> RunningNode:
        return self._random.choice(self._nodes.running)

    def _kill_node(self) -> str:
        node = self._some_node()
        node.kill()
        seconds = self._pause(0, AWAY_SECONDS_MAX)
        node.start()
        return f"node {node.node_id} killed, started again after {seconds:.1f} s"

    def _suspend_node_short(self) -> str:
        return self._suspend(0.5, SESSION_SECONDS - 1)

    def _suspend_node_long(self) -> str:
        return self._suspend(SESSION_SECONDS, SESSION_SECONDS * 2)

    def _suspend(self, least: float, most: float) -> str:
        node = self._some_node()
        node.send(signal.SIGSTOP)
        try:
            seconds = self._pause(least, most)
        finally:
            node.send(signal.SIGCONT)
        return f"node {node.node_id} suspended for {seconds:.1f} s"

    def _stop_node(self) -> str:
        node = self._some_node()
        status = node.stop()
        assert status == 0, f"a stop of node {node.node_id} ended with status {status}"
        seconds = self._pause(0, 3)
        node.start()
        return f"node {node.node_id} stopped, started again after {seconds:.1f} s"

    def _kill_broker(self) -> str:
        number = self._random.randrange(len(self._brokers.brokers))
        broker = self._brokers.brokers[number]
        broker.kill()
        seconds = self._pause(0, AWAY_SECONDS_MAX)
        broker.start()
        return f"broker {number + 1} killed, started again after {seconds:.1f} s"

    def _suspend_broker(self) -> str:
        number = self._random.randrange(len(self._brokers.brokers))
        broker = self._brokers.brokers[number]
        broker.send(signal.SIGSTOP)
        try:
            seconds = self._pause(0.5, AWAY_SECONDS_MAX)
        finally:
            broker.send(signal.SIGCONT)
        return f"broker {number + 1} suspended for {seconds:.1f} s"

    def _more_or_fewer_nodes(self) -> str:
        extra = self._nodes.extra
        if not extra.is_running:
            extra.start()
            return "a node more"
        status = extra.stop()
        assert status == 0, f"a stop of node {extra.node_id} ended with status {status}"
        return "a node less"
