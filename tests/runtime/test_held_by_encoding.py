"""What responses hold while they are encoded in steps counts from the first step: not all of a client go on."""

import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest

from _wire.headers import encode_response
from _wire.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from coordinator.runtime import slices
from coordinator.runtime.pauses import in_steps
from coordinator.runtime.slices import Slices

METADATA = "m" * 4_000
PARTITIONS = 1_500
CLIENTS = 20
MIB = 1 << 20


def test_the_responses_of_many_connections_are_not_all_encoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def seconds() -> float:
        nonlocal now
        now += 0.0005
        return now

    monkeypatch.setattr(slices, "seconds", seconds)
    monkeypatch.setattr(slices, "HELD_BYTES_MAX", 8 * MIB)
    callbacks: list[Callable[[], None]] = []
    work = Slices(callbacks.append)
    partitions = [
        OffsetFetchResponsePartitions(partition_index=index, metadata=METADATA) for index in range(PARTITIONS)
    ]
    topics = [OffsetFetchResponseTopics(name="t", partitions=partitions)]
    response = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])
    sizes: list[int] = []

    def ended(frame: bytes) -> None:
        sizes.append(len(frame))

    def failed(problem: Exception) -> None:
        raise problem

    tracemalloc.start()
    try:
        for _ in range(CLIENTS):
            steps = in_steps(partial(encode_response, 1, response, 9, None))
            work.start(
                steps, lambda frame: sizes.append(len(frame)), lambda problem: pytest.fail(str(problem)), "10.0.0.1"
            )
        while callbacks:
            due, callbacks[:] = list(callbacks), []
            for callback in due:
                callback()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sizes) == CLIENTS
    assert min(sizes) > PARTITIONS * len(METADATA)
    assert peak_bytes < CLIENTS * 2 * MIB + 32 * MIB < CLIENTS * min(sizes)
