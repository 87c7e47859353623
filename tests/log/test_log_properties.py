"""A log against a list, through rolls, kills, clean stops and a disk that fills up."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from _wire.records import Record, batch_headers, build_batch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.errors import LogAppendError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.reads import position_of
from coordinator.log.segments.timestamps import max_timestamp, offset_for_timestamp
from tests.examples import examples
from tests.log.faulty_files import FaultyFileSystem

START_MS = 1_700_000_000_000
BATCHES = st.lists(
    st.tuples(st.integers(1, 4), st.integers(0, 300), st.integers(0, 2_000), st.sampled_from(["none", "lz4"])),
    min_size=1,
    max_size=3,
)


class LogMachine(RuleBasedStateMachine):
    @initialize(segment_bytes=st.integers(1_500, 4_000), index_interval_bytes=st.integers(0, 1_000), lazy=st.booleans())
    def build(self, segment_bytes: int, index_interval_bytes: int, lazy: bool) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.fs = FaultyFileSystem()
        self.config = LogConfig(
            segment_bytes=segment_bytes, index_interval_bytes=index_interval_bytes, segment_ms=10_000
        )
        self.records: list[Record] = []
        self.refused: list[list[Record]] = []  # appends, one of which a disk that fails twice may still hold
        self.flushed = 0  # records that a power loss does not take
        self.open(lazy=lazy)

    def open(self, **options: Any) -> None:
        self.log = PartitionLog.open(self.fs, Path(self.folder.name), "topic", 0, self.config, **options)

    def new_batches(self, shapes: list[tuple[int, int, int, str]]) -> tuple[bytearray, list[Record]]:
        data = bytearray()
        records: list[Record] = []
        for count, value_bytes, time_ms, compression in shapes:
            first = len(self.records) + len(records)
            new = [
                Record(
                    offset=offset, timestamp_ms=START_MS + time_ms + offset, value=b"%d" % offset + b"x" * value_bytes
                )
                for offset in range(first, first + count)
            ]
            records += new
            data += build_batch(new, compression=compression)
        return data, records

    @rule(shapes=BATCHES)
    def append(self, shapes: list[tuple[int, int, int, str]]) -> None:
        data, records = self.new_batches(shapes)
        if len(data) > self.config.segment_bytes:
            return
        result = self.log.append(data, leader_epoch=1, now_ms=START_MS)
        assert (result.base_offset, result.last_offset) == (records[0].offset, records[-1].offset)
        self.records += records
        self.refused = []

    @rule(shapes=BATCHES, fits=st.floats(0, 1, exclude_max=True), truncate_fails=st.booleans())
    def append_to_a_full_disk(self, shapes: list[tuple[int, int, int, str]], fits: float, truncate_fails: bool) -> None:
        data, records = self.new_batches(shapes)
        if len(data) > self.config.segment_bytes:
            return
        with (
            self.fs.full_after(int(fits * len(data)), truncate_fails=truncate_fails),
            pytest.raises(LogAppendError),
        ):
            self.log.append(data, leader_epoch=1, now_ms=START_MS)
        self.refused = [*self.refused, records] if truncate_fails else []

    @rule()
    def flush(self) -> None:
        self.log.flush()
        self.flushed = len(self.records)

    @rule()
    def stop_clean(self) -> None:
        self.log.finish()
        self.refused = []
        self.flushed = len(self.records)
        self.log.close()
        self.open(clean=True)
        assert self.log.recovery.scanned_bytes == 0

    @rule()
    def kill(self) -> None:
        point = self.log.recovery_point
        self.log.close()
        self.open(recovery_point=point)
        if self.log.log_end_offset > len(self.records):
            found = [record for _, data in self.log.batches(len(self.records)) for record in parse_records(data)]
            assert any(records[: len(found)] == found for records in self.refused)
            self.records += found
        self.refused = []

    @precondition(lambda self: self.log.segments and len(self.records) > self.flushed)
    @rule(lost_bytes=st.integers(1, 2_000))
    def lose_power(self, lost_bytes: int) -> None:
        """The end of the last file is gone, as far as it was not flushed."""
        point, last = self.log.recovery_point, self.log.segments[-1]
        safe = position_of(last, point) if point > last.base_offset else 0
        self.log.close()
        with last.log_path.open("r+b") as file:
            file.truncate(max(safe, last.size_bytes - lost_bytes))
        self.open(recovery_point=point)
        assert self.flushed <= self.log.log_end_offset <= len(self.records)
        del self.records[self.log.log_end_offset :]
        self.refused = []

    @precondition(lambda self: self.records)
    @rule(where=st.floats(0, 1, exclude_max=True), max_bytes=st.integers(0, 5_000), before=st.floats(0, 1))
    def read(self, where: float, max_bytes: int, before: float) -> None:
        offset = int(where * len(self.records))
        before_offset = offset + 1 + int(before * (len(self.records) - offset))
        data = self.log.read(offset, max_bytes, before_offset=before_offset)
        headers, found = batch_headers(data), parse_records(data)
        assert found == self.records[found[0].offset : found[-1].offset + 1]
        assert found[0].offset <= offset <= headers[0].last_offset
        assert len(data) <= max_bytes or len(headers) == 1
        assert all(header.base_offset < before_offset for header in headers)

    @rule(time_ms=st.integers(-10, 3_000))
    def look_for_a_time(self, time_ms: int) -> None:
        wanted = START_MS + time_ms
        first = next((record for record in self.records if record.timestamp_ms >= wanted), None)
        assert offset_for_timestamp(self.log, wanted) == (first and (first.offset, first.timestamp_ms, 1))

    @invariant()
    def both_hold_the_same(self) -> None:
        found = [record for _, data in self.log.batches(0) for record in parse_records(data)]
        assert found == self.records
        assert self.log.log_end_offset == len(self.records)
        latest = max(self.records, key=lambda record: record.timestamp_ms, default=None)
        assert max_timestamp(self.log) == (latest and (latest.offset, latest.timestamp_ms, 1))
        on_disk = sum(segment.size_bytes for segment in self.log.segments)
        assert self.log.size_bytes == on_disk

    def teardown(self) -> None:
        self.log.close()
        self.folder.cleanup()


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=examples(60), stateful_step_count=25, deadline=None)
