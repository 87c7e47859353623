"""The clients of the data path and of transactions, and their requests."""

from itertools import chain
from typing import Final

from _wire.errors import ErrorCode
from coordinator.core.topic_partition import TopicPartition
from coordinator.log.partition.partition_log import PartitionLog
from tests.simulation.calls import Ask, Call
from tests.simulation.clients import Client
from tests.simulation.consumers import partitions_of
from tests.simulation.history import Setup
from tests.simulation.producers import IdempotentProducer, PlainProducer
from tests.simulation.programs import Program
from tests.simulation.traffic import Traffic
from tests.simulation.transactional_clients import TransactionalClient

IDEMPOTENT_PRODUCERS: Final = 3


class RecordTraffic(Traffic):
    """Clients of groups, and the programs that produce and consume beside them."""

    def __init__(self, setup: Setup, defects: list[BaseException]) -> None:
        super().__init__(setup, defects)
        self.values = 0
        self.transactional: dict[str, TransactionalClient] = {}
        """Name of the client of a group → its producer."""
        self.zombies: dict[str, TransactionalClient] = {}
        """The same: a producer whose place another one has taken, but which goes on."""
        self.plain_producer = PlainProducer(self, "p")
        self.producers: list[Program] = [
            *(IdempotentProducer(self, f"i{number}", number) for number in range(IDEMPOTENT_PRODUCERS)),
            self.plain_producer,
        ]
        self.waiting_reads: list[Call] = []

    # ---- requests

    def call(self, ask: Ask, client_id: str) -> Call:
        """Send a request; unless a batch is being collected, the server does some of its work."""
        call = Call(self.server, ask, client_id, self._failed)
        if not self.server.is_batching:
            self.server.turn()
        return call

    def _failed(self, error: ErrorCode) -> None:
        self.seen[f"a request failed as a whole with {error.name}"] += 1

    def log(self, tp: TopicPartition) -> PartitionLog:
        return self.server.node.storage.partitions.get(tp.topic, tp.partition)

    @property
    def disk_is_faulty(self) -> bool:
        disk = self.server.disk
        return disk.bytes_left is not None or disk.bytes_until_kill is not None or disk.is_unreadable

    # ---- programs

    def programs(self) -> chain[Program]:
        return chain(self.transactional.values(), self.zombies.values(), self.producers)

    def program(self, client: Client) -> TransactionalClient:
        """The producer of a member."""
        known = self.transactional.get(client.name)
        if known is None:
            known = TransactionalClient(self, client, client.setup.transactional_id)
            self.transactional[client.name] = known
        return known

    def end_program(self, client: Client) -> None:
        program = self.transactional.pop(client.name, None)
        if program is not None:
            program.end()

    def stop_waiting(self, client: Client) -> None:
        if client.name in self.transactional:
            self.transactional[client.name].stop_waiting()

    def server_died(self) -> None:
        """Nothing that was requested is answered any more."""
        for program in self.programs():
            if program.call is not None:
                program.call.server_died()
        self.waiting_reads.clear()

    # ---- what clients write

    def next_value(self, name: str) -> bytes:
        """Of a record; there is no other one like it."""
        self.values += 1
        return f"{name}-{self.values}".encode()

    def next_offsets(self, client: Client) -> dict[TopicPartition, int]:
        """An offset that nobody committed before, of a partition that the member owns if it owns any."""
        self.commits += 1
        return dict.fromkeys((sorted(partitions_of(client.assigned)) or [TopicPartition("t", 0)])[:1], self.commits)
