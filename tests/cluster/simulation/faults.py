"""What happens to the processes, the network and the brokers in a history, by chance."""

from collections.abc import Callable
from typing import Final

from tests.cluster.simulation.nodes import NodeProcess
from tests.cluster.simulation.world import World

NODES_MAX: Final = 4
CLIENTS_MAX: Final = 9
LOOKS_MAX: Final = 150
PAUSES_MS: Final = (300, 2_000, 5_500, 6_500, 9_000, 14_000)
"""Less and more than a session of the nodes' group."""
APART_MS: Final = 2_500


class Faults:
    """Each public method is a fault; `happen` chooses one."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = world.random
        weights: dict[Callable[[], None], int] = {
            self.pause: 8,
            self.kill: 3,
            self.stop: 3,
            self.start: 6,
            self.lose_connections: 5,
            self.slow_network: 5,
            self.refuse: 6,
            self.move_leaders: 4,
            self.client_comes: 3,
            self.client_leaves: 2,
            self.client_crashes: 2,
            self.expire_transactional_ids: 1,
        }
        self._faults = list(weights)
        self._weights = list(weights.values())

    def happen(self) -> None:
        """One fault, then some time."""
        self._random.choices(self._faults, self._weights)[0]()
        self._world.run(self._random.randrange(APART_MS))

    def end(self) -> None:
        """No faults any more, at least two nodes, and clients of each group."""
        world = self._world
        world.log("the faults end")
        world.network.spikes = 0.0
        world.cluster.refusals.clear()
        world._pauses.clear()
        while len([process for process in world.nodes if process.runs]) < 2:
            self.start()
        while len([client for client in world.clients if not client.has_ended]) < 3:
            self.client_comes()

    # ---- nodes

    def _running(self) -> list[NodeProcess]:
        return [process for process in self._world.nodes if process.runs]

    def pause(self) -> None:
        running = self._running()
        if running:
            process, ms = self._random.choice(running), self._random.choice(PAUSES_MS)
            self._world.pause_soon(process, self._random.randrange(LOOKS_MAX), ms)

    def kill(self) -> None:
        running = self._running()
        if len(running) > 1:
            process = self._random.choice(running)
            self._world.log(f"{process.host} is killed")
            self._world.seen["kill"] += 1
            process.kill()

    def stop(self) -> None:
        running = [process for process in self._running() if not process.is_stopping]
        if len(running) > 1:
            process = self._random.choice(running)
            self._world.log(f"{process.host} stops")
            self._world.seen["stop"] += 1
            process.stop()

    def start(self) -> None:
        """One that does not run, or a new one."""
        world = self._world
        idle = [process for process in world.nodes if not process.runs]
        if len(world.nodes) < NODES_MAX and (not idle or self._random.random() < 0.3):
            process = world.add_node()
        elif idle:
            process = self._random.choice(idle)
            process.start()
        else:
            return
        world.log(f"{process.host} starts")
        world.seen["start"] += 1

    # ---- the network and the brokers

    def lose_connections(self) -> None:
        lost = self._world.network.lose_some(self._random.choice((0.1, 0.5, 1.0)))
        self._world.log(f"{lost} connections are lost")
        self._world.seen["lost connection"] += lost

    def slow_network(self) -> None:
        network = self._world.network
        network.spikes = self._random.choice((0.02, 0.1, 0.3))
        network.spike_ms = self._random.choice((50, 1_000, 4_000, 9_000))
        self._world.log(f"{network.spikes:.0%} of the messages take up to {network.spike_ms} ms")
        self._world.seen["slow network"] += 1
        self._world.events.after(self._random.randrange(8_000), self._quiet)

    def _quiet(self) -> None:
        self._world.network.spikes = 0.0

    def refuse(self) -> None:
        world = self._world
        what, share = (
            self._random.choice(("log", "groups", "commits", "transactions")),
            self._random.choice((0.2, 0.7, 1.0)),
        )
        world.cluster.refusals[what] = share
        world.log(f"brokers refuse {share:.0%} of {what}")
        world.seen[f"refusals of {what}"] += 1
        world.events.after(self._random.randrange(9_000), lambda: self._serve(what))

    def _serve(self, what: str) -> None:
        self._world.cluster.refusals.pop(what, None)

    def move_leaders(self) -> None:
        self._world.log("leaders move")
        self._world.seen["move of leaders"] += 1
        self._world.cluster.move_leaders()

    def expire_transactional_ids(self) -> None:
        self._world.log("the transactional ids expire")
        self._world.seen["expired transactional id"] += 1
        self._world.expire_transactional_ids()

    # ---- clients

    def client_comes(self) -> None:
        if len([client for client in self._world.clients if not client.has_ended]) < CLIENTS_MAX:
            client = self._world.add_client()
            self._world.log(f"{client.name} comes, for group {client.group_id}")

    def client_leaves(self) -> None:
        alive = [client for client in self._world.clients if not client.has_ended]
        if alive:
            client = self._random.choice(alive)
            self._world.log(f"{client.name} leaves")
            client.is_leaving = True

    def client_crashes(self) -> None:
        alive = [client for client in self._world.clients if not client.has_ended]
        if alive:
            client = self._random.choice(alive)
            self._world.log(f"{client.name} crashes")
            client.crash()
