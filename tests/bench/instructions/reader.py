"""A consumer that reads a partition from its begin to its end, again and again, a batch at a time."""

import time
from typing import Final

from _wire.errors import ErrorCode
from _wire.records import batch_headers, build_batch
from tests.wire_client import WireClient, fetch_request

TOPIC: Final = "read-topic"
BATCHES: Final = 200
RECORDS: Final = 18
RECORD_BYTES: Final = 100


class Reader:
    """What it reads is produced before its first fetch, which is not counted."""

    def __init__(self, client: WireClient) -> None:
        self._client = client
        self._batch = build_batch([(None, bytes(RECORD_BYTES), ())] * RECORDS, timestamp_ms=round(time.time() * 1000))
        self._is_prepared = False
        self._offset = 0

    def fetch(self) -> None:
        """Fetch the next batch, of some 2 KB."""
        if not self._is_prepared:
            self._client.create_topic(TOPIC)
            for _ in range(BATCHES):
                assert self._client.produce(TOPIC, self._batch).error_code == ErrorCode.NONE
            self._is_prepared = True
        request = fetch_request(TOPIC, self._offset, max_bytes=len(self._batch))
        ((partition,),) = (topic.partitions for topic in self._client.request(request, 11).responses)
        (header,) = batch_headers(partition.records)
        self._offset = header.next_offset if header.next_offset < BATCHES * RECORDS else 0
