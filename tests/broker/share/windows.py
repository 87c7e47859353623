"""Record batches and requests as the tests of the window need them."""

from _wire.messages.share_acknowledge import AcknowledgementBatch
from _wire.records import build_batch
from coordinator.broker.share.acquisition import AcquisitionLimits, acquire
from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.release import acknowledge, complete
from coordinator.broker.share.share_states import StateBatch

LIMIT = 5
LOCK_MS = 30_000


def batches(*ranges: tuple[int, int]) -> FetchedBatches:
    """Batches with the offsets from the first to the last of each range."""
    return FetchedBatches(
        b"".join(
            build_batch([(None, b"v")] * (last - first + 1), base_offset=first, last_offset=last)
            for first, last in ranges
        )
    )


def limits(
    most: int = 500,
    *,
    batch_size: int = 500,
    is_record_limit: bool = False,
    delivery_count_limit: int = LIMIT,
    record_locks_max: int = 2000,
) -> AcquisitionLimits:
    return AcquisitionLimits(most, batch_size, is_record_limit, delivery_count_limit, record_locks_max)


def taken(
    window: InFlightWindow,
    *ranges: tuple[int, int],
    member: str = "a",
    limits: AcquisitionLimits = limits(),  # noqa: B008
    now_ms: int = 0,
) -> list[tuple[int, int, int]]:
    """What a fetch acquires that reads these batches, as far as they are at its fetch offset or after it."""
    fetch_offset = window.next_fetch_offset()
    found = batches(*[each for each in ranges if each[1] >= fetch_offset])
    return acquire(window, member, limits, fetch_offset, found, now_ms + LOCK_MS)[0]


def acknowledged(
    window: InFlightWindow,
    first: int,
    last: int,
    *types: int,
    member: str = "a",
    now_ms: int = 0,
    delivery_count_limit: int = LIMIT,
    renewed_until_ms: int | None = None,
) -> list[StateBatch] | int:
    """What is stored of an acknowledgement, which counts then; or what is wrong with it."""
    changes: list[StateBatch] = []
    batch = AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
    error = acknowledge(window, member, [batch], changes, delivery_count_limit, renewed_until_ms)
    complete(window, changes, not error, now_ms, delivery_count_limit)
    if error:
        return error
    window.advance()
    return changes
