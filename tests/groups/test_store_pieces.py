"""How the record batches of one drain are written: in as few pieces as segments allow."""

from typing import Any

import pytest

from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.interfaces import StoreError
from tests.groups.test_store import PRODUCER, STORED, Stage


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


def test_a_record_of_the_audit_that_outgrows_a_segment_cannot_be_stored():
    stage = Stage()
    stage.open(segment_bytes=2000)
    with pytest.raises(StoreError, match=r"segment\.bytes"):
        stage.append([(b"g", bytes(5000), ())], STORED)
    assert stage.read() == ([], [])
