"""The instructions of the relay for a request and its answer, by callgrind."""

import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tests.bench.instructions.counting import CountedProcess
from tests.bench.relay.between import BROKER_ID, HOST, WATCHED
from tests.bench.relay.exchanges import Client, answering
from tests.bench.relay.loads import Load
from tests.cluster.relay.relay_process import READY, ROOT, RelayProcess

WARM_UP: Final = 200


class CountedRelay(CountedProcess):
    """A relay for one broker under callgrind. Leaving its context kills it."""

    def __init__(self, broker_port: int, watched: str | None, scratch: Path) -> None:
        relay = RelayProcess(BROKER_ID, f"{HOST}:{broker_port}", watched)
        self.port: Final = int(relay.bootstrap.rpartition(":")[2])
        super().__init__(relay.command, ROOT, scratch)
        self.wait_for_log(READY, "the relay under valgrind")


def counted(loads: list[Load], name: str) -> Iterator[tuple[str, float]]:
    """The name of each load and its instructions, one request at a time, through the relay of this name."""
    with (
        socket.create_server((HOST, 0)) as listening,
        tempfile.TemporaryDirectory() as scratch,
        CountedRelay(listening.getsockname()[1], WATCHED[name], Path(scratch)) as relay,
    ):
        relay.measure_idle()
        for load in loads:
            alone = load._replace(in_flight=1)
            with answering(listening, alone), Client(relay.port) as client:
                client.exchange(alone, WARM_UP)
                yield load.name, relay.per_request(partial(client.exchange, alone, 1))
