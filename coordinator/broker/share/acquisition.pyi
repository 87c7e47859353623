from collections.abc import Iterable

from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.share_states import Acquired

class AcquisitionLimits:
    """How much one fetch may acquire of a partition."""

    def __init__(
        self, max_records: int, batch_size: int, is_record_limit: bool, delivery_count_limit: int, record_locks_max: int
    ) -> None:
        """With `is_record_limit` it is exactly `max_records` at most, otherwise up to the end of a record batch.

        `batch_size` is about how many records are to be acknowledged together, `record_locks_max` how many records may
        be in flight.
        """

def acquire(
    window: InFlightWindow,
    member: str,
    limits: AcquisitionLimits,
    fetch_offset: int,
    read: FetchedBatches,
    deadline_ms: int,
    aborted: Iterable[tuple[int, int]] = (),
) -> tuple[list[Acquired], int]:
    """Acquire records of what was `read` from `fetch_offset` on; return them, and how many count against `max_records`.

    The locks end at `deadline_ms`. `aborted` are first and last offset of batches of aborted transactions.
    """
