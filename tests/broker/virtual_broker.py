"""The services of the data plane on a virtual clock and a disk in memory: no sockets, no threads, no waiting."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from _wire.messages.fetch import FetchResponse
from _wire.messages.produce import PartitionProduceData, PartitionProduceResponse, ProduceRequest, TopicProduceData
from _wire.records import build_batch, parse_records
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.data.fetch import DelayedFetch, FetchService, FetchTimeoutKey
from coordinator.broker.data.produce import ProduceService, ProduceSteps
from coordinator.broker.data.producer_directory import ProducerDirectory
from coordinator.broker.data.producers import ProducerStates
from coordinator.broker.directories.strays import set_aside_if_stray
from coordinator.broker.partitions import Partitions
from coordinator.broker.topics import Topics
from coordinator.config.server_keys import FETCH_MAX_BYTES, LOG_DIRS, NODE_ID
from coordinator.config.settings import Config
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.leadership import SingleNode
from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Slices, Steps, at_once
from coordinator.timers.clock import VirtualClock
from coordinator.timers.wheel import TimerWheel
from tests.model.memory_files import MemoryFileSystem

T = TypeVar("T")

BY_NAME: Final = 11
START_MS: Final = 1_700_000_000_000
DATA: Final = Path("/data")


class VirtualBroker:
    """What the node puts together of the broker, with an event loop that runs when a test says so."""

    def __init__(self, settings: Mapping[str, str] | None = None, fs: MemoryFileSystem | None = None) -> None:
        self.fs = fs or MemoryFileSystem()
        self.clock = VirtualClock(START_MS)
        self.wall_ahead_ms = 0
        """How far the wall clock was set forward since the start."""
        self.wheel = TimerWheel(START_MS)
        self.iterations_requested = 0
        ids = count(1)
        config = Config({LOG_DIRS.name: str(DATA)} | dict(settings or {}))
        self.broker_config = config
        self._directories = LogDirectories.open([DATA], fs=self.fs)
        metadata = MetadataStore(
            self._directories.open_metadata_log(LogConfig()), lambda: next(ids).to_bytes(16, "big")
        )
        self.metadata_store = metadata
        self._directories.find_homes(partial(set_aside_if_stray, metadata.image))
        self._callbacks: list[Callable[[], None]] = []
        self.slices = Slices(self._call_soon)
        self.partitions = Partitions(
            self._directories, metadata.image, config, SingleNode(config[NODE_ID]), self.slices
        )
        self.topics = Topics(metadata, self.partitions, config)
        self.notifier = AppendNotifier(self._request_iteration)
        self.producers = ProducerDirectory(config, self.wheel, self.clock.now_ms, self.wall_ms)
        self.fetch_service = FetchService(
            metadata.image,
            self.partitions,
            self.notifier,
            self.wheel,
            self.slices,
            max_bytes=config[FETCH_MAX_BYTES],
            load=self.load,
        )
        self.produce_service = ProduceService(metadata.image, self.partitions, self.notifier, config, self.producers)

    def _call_soon(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def load(self, log: PartitionLog) -> Steps[ProducerStates]:
        """Read the producer states of a log."""
        return self.producers.load(log, self.wall_ms())

    def _request_iteration(self) -> None:
        self.iterations_requested += 1

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
        """Returns the id of the topic."""
        return self.topics.create(name, partitions, 1, dict(configs or {}), self.clock.now_ms()).topic_id

    def end_iteration(self) -> None:
        """What the scheduler does at the end of a loop iteration."""
        self.notifier.notify(self.clock.now_ms())
        self._next_iterations()

    def _next_iterations(self) -> None:
        """Run what waits for the next iteration of the loop, until nothing does."""
        while self._callbacks:
            callbacks, self._callbacks = self._callbacks, []
            for callback in callbacks:
                callback()

    def wall_ms(self) -> int:
        return self.clock.now_ms() + self.wall_ahead_ms

    def advance(self, ms: int) -> None:
        """Let time pass; expire the fetches and the producers that are due."""
        self.clock.advance(ms)
        for key in self.wheel.advance(self.clock.now_ms()):
            if isinstance(key, FetchTimeoutKey):
                self.fetch_service.expire(key.fetch)
            self.producers.due(key, self.clock.now_ms())
        self._next_iterations()

    def close(self, *, clean: bool) -> None:
        self._directories.close(clean=clean)

    # ---- requests

    def produce(
        self, topic: str, records: bytes | None, partition: int = 0, api_version: int = BY_NAME, **fields: Any
    ) -> PartitionProduceResponse:
        data = PartitionProduceData(index=partition, records=records)
        request = ProduceRequest(
            topic_data=[TopicProduceData(name=topic, partition_data=[data])], **({"acks": -1} | fields)
        )
        service, now_ms = self.produce_service, self.wall_ms()
        response = service.produce_at_once(request, api_version, now_ms)
        if response is None:
            response = recompressing(service.produce(request, api_version, now_ms))
        ((answer,),) = (each.partition_responses for each in response.responses)
        assert answer.index == partition
        return answer

    def fetch(self, request: Any, api_version: int = BY_NAME) -> "Fetched":
        return Fetched(self, request, api_version)


def recompressing(steps: ProduceSteps[T], resumed_ms: int | None = None) -> T:
    """Do the steps without a break, and what they wait for at once. `resumed_ms`: they waited for it already."""
    while True:
        try:
            recompression = steps.send(resumed_ms)
        except StopIteration as end:
            result: T = end.value
            return result
        resumed_ms = None
        if recompression is not None:
            recompression.run()
            resumed_ms = START_MS


class Fetched:
    """A fetch and its responses: none while it is delayed, and never more than one."""

    def __init__(self, broker: VirtualBroker, request: Any, api_version: int) -> None:
        self.responses: list[FetchResponse] = []
        steps = broker.fetch_service.fetch(request, api_version, broker.clock.now_ms(), self.responses.append)
        result = at_once(steps)
        self.delayed = result if isinstance(result, DelayedFetch) else None
        if not isinstance(result, DelayedFetch):
            self.responses.append(result)

    @property
    def is_waiting(self) -> bool:
        return not self.responses

    @property
    def partition(self) -> Any:
        """The response for the one partition that was asked for."""
        (response,) = self.responses
        ((partition,),) = (topic.partitions for topic in response.responses)
        return partition

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in parse_records(self.partition.records or b"")]


def batch(*values: bytes, **fields: Any) -> bytes:
    return build_batch([(None, value, ()) for value in values], **({"timestamp_ms": START_MS} | fields))
