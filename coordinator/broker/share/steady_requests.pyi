from typing import Protocol

from coordinator.broker.data.fetch import FetchService
from coordinator.broker.share.record_counts import RecordCounts
from coordinator.broker.share.sessions import ShareSessions
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_partitions import SharePartitions
from coordinator.broker.share.waiting import WaitingFetches
from coordinator.metadata.image import MetadataImage

class Address(Protocol):
    """Where clients reach this node."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...

class WaitsForFrame(Protocol):
    """Who gets the answer to a request: a connection."""

    @property
    def endpoint(self) -> Address:
        """What a response says of this node."""
    def send_frame(self, frame: bytes) -> None:
        """Send an encoded response, with its length."""

class SteadyShares:
    """Carries out the requests about records of share groups that need no handler.

    What became of records is also added to `total`. A response has at most `max_bytes` of records, also if the client
    requests more (`fetch.max.bytes`). Requests of more than `elements_max` elements are left to their handlers, or
    rather to who refuses them (`socket.request.max.elements`).
    """

    def __init__(
        self,
        sessions: ShareSessions,
        share_partitions: SharePartitions,
        waiting: WaitingFetches,
        image: MetadataImage,
        settings: ShareRecordSettings,
        fetch_service: FetchService,
        total: RecordCounts,
        *,
        node_id: int,
        max_bytes: int,
        elements_max: int,
    ) -> None: ...
    def read(self, frame: bytes, waiting: WaitsForFrame, now_ms: int) -> SteadyShareRequest | None:
        """Carry out the request in a frame (without its length) if it is a steady one; None: it is not."""

class SteadyShareRequest:
    """A request that is carried out, or whose acknowledgements are being stored."""

    answer: bytes | None
    """The response, with its length; None: it is sent to who waits when all is stored."""
    api_key: int
    api_version: int
    error_codes: list[int]
    """Those that are counted of the response."""
