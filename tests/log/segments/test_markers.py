"""Where the records end that consumers are given: markers of transactions may follow them."""

import pytest

from _wire.control_records import EndTxnMarker
from _wire.records import build_batch
from coordinator.log.config import LogConfig
from coordinator.log.segments.markers import MARKERS_READ, data_end_offset
from coordinator.log.segments.segment_file import PrebuiltBatch
from tests.log.batches import batch


def append_marker(log) -> None:
    offset = log.log_end_offset
    marker = build_batch(
        [EndTxnMarker(True, 0).as_record()],
        base_offset=offset,
        timestamp_ms=1,
        producer_id=1,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )
    log.append_prebuilt([PrebuiltBatch(marker, offset)], 1)


@pytest.mark.parametrize(("records", "markers"), [(0, 0), (5, 0), (5, 1), (5, 3), (0, 2), (40, 1)])
def test_the_end_of_a_log_is_read_once_it_has_been_opened(open_log, records, markers):
    log = open_log()
    for _ in range(records):
        log.append(batch("x"), leader_epoch=0, now_ms=0)
    for _ in range(markers):
        append_marker(log)
    log.close()
    log = open_log()
    assert log.log_end_offset == records + markers
    assert data_end_offset(log) == records


def test_what_is_appended_then_counts(open_log):
    log = open_log()
    log.append(batch("x"), leader_epoch=0, now_ms=0)
    append_marker(log)
    log.close()
    log = open_log()
    assert data_end_offset(log) == 1
    log.append(batch("y"), leader_epoch=0, now_ms=0)
    assert data_end_offset(log) == log.log_end_offset == 3


def test_only_the_last_offsets_and_segment_are_read(open_log):
    small = LogConfig(segment_bytes=300)
    log = open_log(small)
    log.append(batch("x"), leader_epoch=0, now_ms=0)
    for _ in range(MARKERS_READ + 4):
        append_marker(log)
    log.close()
    assert data_end_offset(open_log(small)) >= 5, "more than the records, never less"


def test_an_empty_log_ends_where_it_begins(open_log):
    assert data_end_offset(open_log()) == 0
