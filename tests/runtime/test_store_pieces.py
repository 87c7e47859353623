"""How the record batches of one drain are written: in as few pieces as segments allow."""

from typing import Any

from coordinator.core.stored import StoredBatch
from tests.runtime.test_store import PRODUCER, Stage


def test_several_batches_share_a_segment_as_far_as_they_fit():
    stage = Stage()
    stage.open(segment_bytes=2000)
    stored: list[Any] = [
        StoredBatch(producer, [(b"key", bytes(700))]) for producer in (None, PRODUCER, None, PRODUCER, None)
    ]
    stage.append([], stored)
    assert stage.read()[1] == stored
    assert [segment.base_offset for segment in stage.offsets.segments] == [0, 2, 4]
    assert stage.disk.written == ["__consumer_offsets-0"] * 3
