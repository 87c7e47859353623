"""Random logs, cleaned again and again, against the model and as a consumer sees them."""

from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.log.compaction.cleaner import CleanerSettings
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.timestamps import offset_for_timestamp
from tests.examples import examples
from tests.log.compaction.cleaning import (
    CONFIG,
    SECRET,
    SETTINGS,
    START_MS,
    append,
    append_data,
    append_marker,
    batches,
    clean_now,
    new_log,
    records,
    roll,
)
from tests.model.compaction import ModelBatch, aborted_batches, cleaned, last_values, transactions, visible
from tests.model.memory_files import MemoryFileSystem

KEYS = st.one_of(st.sampled_from([b"a", b"b", b"c", b""]), st.none())
VALUES = st.one_of(st.none(), st.binary(max_size=40))
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=4)
PRODUCERS = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("data"), PAIRS, st.just(0)),
        st.tuples(st.just("marker"), st.just(0), st.booleans(), st.integers(0, 1)),
        st.tuples(st.just("plain"), PAIRS, st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]), st.booleans()),
        st.tuples(st.just("idempotent"), PAIRS, PRODUCERS),
        st.tuples(st.just("data"), PAIRS, PRODUCERS),
        st.tuples(st.just("marker"), PRODUCERS, st.booleans(), st.integers(0, 1)),
        st.tuples(st.just("roll")),
        st.tuples(st.just("clean"), st.sampled_from([0, 400, 5_000])),
    ),
    min_size=4,
    max_size=40,
)


class Cleaned:
    """A log that is written to and cleaned, and what the model says of it."""

    def __init__(self, settings: CleanerSettings = SETTINGS) -> None:
        self.fs = MemoryFileSystem()
        self.log = new_log(self.fs, replace(CONFIG, segment_bytes=1_500))
        self.settings = settings
        self.cleaned_to: int | None = None
        self.now_ms = START_MS
        self.open: dict[int, int] = {}
        self.epochs: dict[int, int] = {}

    def take(self, step: tuple[Any, ...]) -> None:
        self.now_ms += 100
        match step:
            case ("plain", pairs, compression, log_append_time):
                append(
                    self.log, *pairs, timestamp_ms=self.now_ms, compression=compression, log_append_time=log_append_time
                )
            case ("idempotent", pairs, producer_id):
                if producer_id not in self.open:
                    options = {"producer_epoch": self.epochs.get(producer_id, 0), "base_sequence": 7}
                    append(self.log, *pairs, timestamp_ms=self.now_ms, producer_id=producer_id, **options)
            case ("data", pairs, producer_id):
                self.open.setdefault(producer_id, self.log.log_end_offset)
                epoch = self.epochs.get(producer_id, 0)
                append_data(self.log, producer_id, *pairs, epoch=epoch, timestamp_ms=self.now_ms)
            case ("marker", producer_id, committed, raised):
                self.epochs[producer_id] = epoch = self.epochs.get(producer_id, 0) + raised
                self.open.pop(producer_id, None)
                append_marker(self.log, producer_id, committed=committed, epoch=epoch, timestamp_ms=self.now_ms)
            case ("roll",):
                if self.log.segments[-1].size_bytes:
                    roll(self.log)
            case ("clean", wait_ms):
                self.now_ms += wait_ms
                self.clean()

    @property
    def last_stable_offset(self) -> int:
        return min(self.open.values(), default=self.log.log_end_offset)

    def clean(self) -> None:
        before = batches(self.log)
        stable = self.last_stable_offset if len(before) % 2 else self.log.log_end_offset  # the cleaner finds out
        ends_before = {segment.next_offset for segment in self.log.segments}
        active = self.log.segments[-1].base_offset
        dirty_from = self.cleaned_to or 0
        cleaned_to = clean_now(self.log, self.fs, self.cleaned_to, self.now_ms, self.settings, stable)
        assert cleaned_to <= max(self.last_stable_offset, dirty_from)
        assert cleaned_to <= active
        after = batches(self.log)
        self.check_against_the_model(before, after, dirty_from, cleaned_to, ends_before)
        self.check_as_consumers_see_it(before, after)
        self.check_reading_from_each_offset(after)
        self.cleaned_to = max(cleaned_to, dirty_from)

    def check_against_the_model(
        self, before: list[ModelBatch], after: list[ModelBatch], dirty_from: int, cleaned_to: int, ends: set[int]
    ) -> None:
        if cleaned_to <= dirty_from:
            assert after == before
            return
        new_ends = {segment.next_offset for segment in self.log.segments if segment.base_offset < cleaned_to}
        assert new_ends <= ends
        retention = self.log.config.delete_retention_ms
        live_after_ms = self.now_ms - self.settings.producer_expiration_ms
        assert after == cleaned(before, dirty_from, cleaned_to, new_ends, self.now_ms, retention, live_after_ms)

    def check_as_consumers_see_it(self, before: list[ModelBatch], after: list[ModelBatch]) -> None:
        """Each key has the value that it had; a tombstone may be gone with its key."""
        old, new = last_values(visible(before)), last_values(visible(after))
        assert {key: each for key, each in new.items() if each[1] is not None} == {
            key: each for key, each in old.items() if each[1] is not None
        }
        assert new.items() <= old.items()
        assert {batch.base_offset: batch.last_offset for batch in after}.items() <= {
            batch.base_offset: batch.last_offset for batch in before
        }.items()

    def check_reading_from_each_offset(self, after: list[ModelBatch]) -> None:
        everything = records(self.log)
        for offset in range(self.log.log_start_offset, self.log.log_end_offset):
            found = [batch for batch in after if batch.last_offset >= offset]
            read = self.log.read(offset, 1)
            assert bool(read) == bool(found)
            if found:
                assert int.from_bytes(read[:8], "big") == found[0].base_offset
        late = START_MS + 500
        first = next((each for each in everything if each.timestamp_ms >= late), None)
        found_late = offset_for_timestamp(self.log, late)
        assert (found_late and found_late.offset) == (first and first.offset)

    def reopened(self) -> PartitionLog:
        self.log.close()
        return new_log(self.fs, self.log.config)


@settings(max_examples=examples(150), deadline=None)
@given(steps=STEPS)
def test_a_cleaned_log_is_what_the_model_says(steps: list[tuple[Any, ...]]) -> None:
    play(Cleaned(), steps)


@settings(max_examples=examples(60), deadline=None)
@given(steps=STEPS, slots=st.integers(2, 4))
def test_a_map_that_becomes_full_ends_the_round(steps: list[tuple[Any, ...]], slots: int) -> None:
    play(Cleaned(replace(SETTINGS, dedupe_buffer_bytes=slots * 24, load_factor=0.8)), steps)


@settings(max_examples=examples(40), deadline=None)
@given(steps=STEPS)
def test_producers_that_have_expired_keep_nothing(steps: list[tuple[Any, ...]]) -> None:
    play(Cleaned(CleanerSettings(1 << 20, 0.9, 300, new_secret=lambda: SECRET)), steps)


def play(cleaned_log: Cleaned, steps: list[tuple[Any, ...]]) -> None:
    for step in steps:
        cleaned_log.take(step)
    roll(cleaned_log.log)
    cleaned_log.clean()
    found = batches(cleaned_log.log)
    event(f"aborted: {bool(aborted_batches(found))}, transactions: {bool(transactions(found))}")
    again = cleaned_log.reopened()
    assert batches(again) == found
    assert again.recovery.truncated_bytes == again.recovery.removed_segments == 0
    again.close()
