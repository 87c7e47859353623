"""A broker whose log of `__consumer_offsets` and whose errors a test chooses: what real brokers do once a year.

Several of them, on ports of their own, may be the brokers of one cluster.
"""

import socket
import struct
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Self

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.headers import decode_request_header, encode_response
from _wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from _wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from _wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from _wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from coordinator.client.cluster import EARLIEST
from coordinator.internal_topics import OFFSETS_TOPIC

FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 1, 2, 3, 18
SERVED: Final = {FETCH: (4, 12), LIST_OFFSETS: (1, 6), METADATA: (1, 9), API_VERSIONS: (0, 0)}
"""API → versions, those of Kafka 2.8 at most."""


class Log:
    """The batches of a partition. `start` and `end` may be set to what ListOffsets shall tell."""

    def __init__(self, *batches: bytes) -> None:
        self.batches = list(batches)
        self.start = 0
        self.end = max(map(self.next_offset_of, batches), default=0)

    def append(self, batch: bytes) -> None:
        self.batches.append(batch)
        self.end = max(self.end, self.next_offset_of(batch))

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Whole batches from the one with the offset on, one at least; then cut short, as by Kafka."""
        found = b"".join(batch for batch in self.batches if self.next_offset_of(batch) > offset)
        first = struct.unpack_from(">i", found, 8)[0] + 12 if len(found) > 12 else 0
        return found[: max(first, bytes_max)]

    @staticmethod
    def next_offset_of(batch: bytes) -> int:
        base, delta = struct.unpack_from(">q", batch)[0], struct.unpack_from(">i", batch, 23)[0]
        return int(base) + int(delta) + 1


class ScriptedBroker:
    """Serves on a port until its context is left. `errors` are answered first, each once, by API key."""

    def __init__(self, logs: Sequence[Log], node_id: int = 1) -> None:
        self.logs = list(logs)
        self.node_id = node_id
        self.brokers: list[ScriptedBroker] = [self]
        self.leaders: dict[int, int] = {}
        """Partition → node id, where that is not the first of `brokers`."""
        self.errors: dict[int, list[int]] = {}
        self.topic_error = ErrorCode.NONE
        self.hangs_up: list[int] = []
        """API keys whose next request closes the connection."""
        self.empty_fetches = 0
        self.throttled_ms: list[int] = []
        """Fetches that are answered with a time to wait alone."""
        self.asked: list[tuple[int, Any]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.bootstrap = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            stream = connection.makefile("rb")
            while size := stream.read(4):
                frame = stream.read(int.from_bytes(size, "big"))
                header, body = decode_request_header(frame)
                request = APIS[header.api_key].request.decode(frame, header.api_version, body)
                self.asked.append((header.api_key, request))
                if header.api_key in self.hangs_up:
                    self.hangs_up.remove(header.api_key)
                    return
                answer = self._answer(header.api_key, request)
                connection.sendall(encode_response(header.correlation_id, answer, header.api_version))

    def _answer(self, api_key: int, request: Any) -> Any:
        if api_key == API_VERSIONS:
            served = [ApiVersion(api_key=key, min_version=at[0], max_version=at[1]) for key, at in SERVED.items()]
            return ApiVersionsResponse(api_keys=served)
        return {FETCH: self._fetch, LIST_OFFSETS: self._offsets, METADATA: self._metadata}[api_key](request)

    def _error(self, api_key: int) -> int:
        left = self.errors.get(api_key, [])
        return left.pop(0) if left else ErrorCode.NONE

    def _metadata(self, request: Any) -> MetadataResponse:
        brokers = []
        for broker in self.brokers:
            host, _, port = broker.bootstrap.rpartition(":")
            brokers.append(MetadataResponseBroker(node_id=broker.node_id, host=host, port=int(port)))
        first = self.brokers[0].node_id
        partitions = [
            MetadataResponsePartition(partition_index=each, leader_id=self.leaders.get(each, first))
            for each in range(len(self.logs))
        ]
        error = self._error(METADATA) or self.topic_error
        topic = MetadataResponseTopic(error_code=error, name=OFFSETS_TOPIC, partitions=[] if error else partitions)
        return MetadataResponse(brokers=brokers, topics=[topic])

    def _offsets(self, request: Any) -> ListOffsetsResponse:
        found = []
        for partition in request.topics[0].partitions:
            log, error = self.logs[partition.partition_index], self._error(LIST_OFFSETS)
            offset = log.start if partition.timestamp == EARLIEST else log.end
            found.append(
                ListOffsetsPartitionResponse(partition_index=partition.partition_index, error_code=error, offset=offset)
            )
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=OFFSETS_TOPIC, partitions=found)])

    def _fetch(self, request: Any) -> FetchResponse:
        if self.throttled_ms:
            return FetchResponse(throttle_time_ms=self.throttled_ms.pop(0), responses=[])
        found, left = [], request.max_bytes
        for partition in request.topics[0].partitions:
            log, error = self.logs[partition.partition], self._error(FETCH)
            if not error and not log.start <= partition.fetch_offset <= log.end:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            records = (
                b"" if error or not left else log.read(partition.fetch_offset, min(left, partition.partition_max_bytes))
            )
            if self.empty_fetches:
                self.empty_fetches, records = self.empty_fetches - 1, b""
            left = max(0, left - len(records))
            found.append(
                PartitionData(
                    partition_index=partition.partition,
                    error_code=error,
                    high_watermark=-1 if error else log.end,
                    records=records,
                )
            )
        return FetchResponse(responses=[FetchableTopicResponse(topic=OFFSETS_TOPIC, partitions=found)])
