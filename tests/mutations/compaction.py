"""Mutants of the log cleaner: which logs, how far, what stays, and how segments are replaced."""

from typing import Final

from tests.mutations.mutant import Mutant

CHOICE_MUTANTS: Final = (
    Mutant(
        "a ratio that is just reached is enough to compact a log",
        "CleanableLog.is_due",
        "self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio",
        "self.dirty_ratio >= self.log.config.min_cleanable_dirty_ratio",
    ),
    Mutant(
        "a segment with a transaction that is not decided is compacted",
        "_first_uncleanable_offset",
        "if is_young or segment.next_offset > last_stable_offset:",
        "if is_young:",
    ),
    Mutant(
        "a young segment is compacted",
        "_first_uncleanable_offset",
        "if is_young or segment.next_offset > last_stable_offset:",
        "if segment.next_offset > last_stable_offset:",
    ),
    Mutant(
        "the least dirty log is compacted first",
        "LogCleaner._dirtiest",
        "target.dirty_ratio > found.dirty_ratio",
        "target.dirty_ratio < found.dirty_ratio",
    ),
    Mutant(
        "what was compacted is forgotten",
        "LogCleaner._cleaned",
        "self._cleaned_to[log] = cleaned_to",
        "",
    ),
)
FILTER_MUTANTS: Final = (
    Mutant(
        "tombstones go in the first compaction",
        "RecordFilter.stays",
        "return record.has_value or not self.has_horizon() or self.now_ms < self.head.base_timestamp_ms",
        "return record.has_value",
    ),
    Mutant(
        "a tombstone gets a new horizon in each compaction",
        "RecordFilter.decide_records",
        "if not record.has_value and not self.has_horizon():",
        "if not record.has_value:",
    ),
    Mutant(
        "records after the end of the cleaned part go",
        "RecordFilter.stays",
        "if is_control(&self.head) or offset > self.map.latest_offset:",
        "if is_control(&self.head):",
    ),
    Mutant(
        "the last batch of a producer goes",
        "RecordFilter.decide_batch",
        "or self.transactions.is_last_of_live_producer(&self.head)",
        "",
    ),
    Mutant(
        "the last batch of a segment goes",
        "RecordFilter.decide_batch",
        "self.head.last_offset + 1 == self.keep_batch_before\nor self.transactions.is_last_of_live_producer",
        "self.transactions.is_last_of_live_producer",
    ),
    Mutant(
        "a rewritten batch keeps the greatest timestamp of the records that went",
        "RecordFilter.rebase",
        "self.head.max_timestamp_ms = latest_ms",
        "pass",
    ),
    Mutant(
        "keys of aborted transactions replace others",
        "KeyScan.add_batches",
        "elif not self.transactions.is_aborted(&self.head):",
        "elif self.transactions.is_aborted(&self.head) or True:",
    ),
    Mutant(
        "a marker goes while records of its transaction stay",
        "Transactions.meet_marker",
        "is_done[0] = not producer.has_committed_batches",
        "is_done[0] = True",
    ),
    Mutant(
        "a producer that is aborting goes on aborting after the marker",
        "Transactions.meet_marker",
        "producer.is_aborting = producer.has_aborted_batches = False",
        "producer.has_aborted_batches = False",
    ),
    Mutant(
        "a new key takes the last free slot",
        "OffsetMap.put_key",
        "if self.keys >= self.keys_max:",
        "if self.keys > self.keys_max:",
    ),
)
REPLACEMENT_MUTANTS: Final = (
    Mutant(
        "what is compacted is not flushed before what it replaced goes",
        "_Work.run",
        "self._flush(segments, recovery_point)",
        "",
    ),
    Mutant(
        "markers after the part that is compacted do not count",
        "_Work.run",
        "yield from self._scan_transactions(all_segments, ends)",
        "yield from self._scan_transactions(segments, ends[: len(segments)])",
    ),
    Mutant(
        "a replacement that failed halfway is thrown away",
        "_Work._clean_group",
        "is_needed = True  # also if a renaming fails: old files may have been renamed already",
        "",
    ),
    Mutant(
        "a start throws a complete replacement away",
        "complete_swaps",
        "is_unfinished = bool(cleaned) and base_offset >= min(cleaned)",
        "is_unfinished = True",
    ),
    Mutant(
        "a start takes a replacement that is not complete",
        "complete_swaps",
        "is_unfinished = bool(cleaned) and base_offset >= min(cleaned)",
        "is_unfinished = False",
    ),
    Mutant(
        "a start takes the indexes of a replacement that is not complete",
        "complete_swaps",
        "if is_unfinished or base_offset not in logs:",
        "if is_unfinished:",
    ),
    Mutant(
        "a start keeps the segments that were replaced",
        "_complete",
        "if base_offset <= old < next_offset:\n    remove_segment_files(fs, folder, old)",
        "if base_offset == old:\n    remove_segment_files(fs, folder, old)",
    ),
)
MUTANTS: Final = (*CHOICE_MUTANTS, *FILTER_MUTANTS, *REPLACEMENT_MUTANTS)
