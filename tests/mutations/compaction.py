"""Mutants of the log cleaner: which logs, how far, what stays, and how segments are replaced."""

from typing import Final

from tests.mutations.mutant import Mutant

CLEANABLE: Final = "coordinator/log/compaction/cleanable.py"
CLEANER: Final = "coordinator/log/compaction/cleaner.py"
FILTER: Final = "coordinator/log/compaction/record_filter.pyx"
KEYS: Final = "coordinator/log/compaction/key_scan.pyx"
MAP: Final = "coordinator/log/compaction/offset_map.pyx"
TRANSACTIONS: Final = "coordinator/log/compaction/transactions.pyx"
SWAP: Final = "coordinator/log/compaction/swap.py"
LOG_CLEANER: Final = "coordinator/broker/log_cleaner.py"

CHOICE_MUTANTS: Final = (
    Mutant(
        "a ratio that is just reached is enough to compact a log",
        CLEANABLE,
        "self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio",
        "self.dirty_ratio >= self.log.config.min_cleanable_dirty_ratio",
    ),
    Mutant(
        "a segment with a transaction that is not decided is compacted",
        CLEANABLE,
        "if is_young or segment.next_offset > last_stable_offset:",
        "if is_young:",
    ),
    Mutant(
        "a young segment is compacted",
        CLEANABLE,
        "if is_young or segment.next_offset > last_stable_offset:",
        "if segment.next_offset > last_stable_offset:",
    ),
    Mutant(
        "the least dirty log is compacted first",
        LOG_CLEANER,
        "target.dirty_ratio > found.dirty_ratio",
        "target.dirty_ratio < found.dirty_ratio",
    ),
    Mutant(
        "what was compacted is forgotten",
        LOG_CLEANER,
        "        self._cleaned_to[log] = cleaned_to\n",
        "",
    ),
)
FILTER_MUTANTS: Final = (
    Mutant(
        "tombstones go in the first compaction",
        FILTER,
        "return record.has_value or not self.has_horizon() or self.now_ms < self.head.base_timestamp_ms",
        "return record.has_value",
    ),
    Mutant(
        "a tombstone gets a new horizon in each compaction",
        FILTER,
        "if not record.has_value and not self.has_horizon():",
        "if not record.has_value:",
    ),
    Mutant(
        "records after the end of the cleaned part go",
        FILTER,
        "if is_control(&self.head) or offset > self.map.latest_offset:",
        "if is_control(&self.head):",
    ),
    Mutant(
        "the last batch of a producer goes",
        FILTER,
        "            or self.transactions.is_last_of_live_producer(&self.head)\n",
        "",
    ),
    Mutant(
        "the last batch of a segment goes",
        FILTER,
        "            self.head.last_offset + 1 == self.keep_batch_before\n            or ",
        "            ",
    ),
    Mutant(
        "a rewritten batch keeps the greatest timestamp of the records that went",
        FILTER,
        "            self.head.max_timestamp_ms = latest_ms\n",
        "            pass\n",
    ),
    Mutant(
        "keys of aborted transactions replace others",
        KEYS,
        "elif not self.transactions.is_aborted(&self.head):",
        "elif self.transactions.is_aborted(&self.head) or True:",
    ),
    Mutant(
        "a marker goes while records of its transaction stay",
        TRANSACTIONS,
        "            is_done[0] = not producer.has_committed_batches\n",
        "            is_done[0] = True\n",
    ),
    Mutant(
        "a producer that is aborting goes on aborting after the marker",
        TRANSACTIONS,
        "            producer.is_aborting = producer.has_aborted_batches = False\n",
        "            producer.has_aborted_batches = False\n",
    ),
    Mutant(
        "a new key takes the last free slot",
        MAP,
        "if self.keys >= self.keys_max:",
        "if self.keys > self.keys_max:",
    ),
)
REPLACEMENT_MUTANTS: Final = (
    Mutant(
        "what is compacted is not flushed before what it replaced goes",
        CLEANER,
        "        self._flush(segments, recovery_point)\n",
        "",
    ),
    Mutant(
        "markers after the part that is compacted do not count",
        CLEANER,
        "yield from self._scan_transactions(all_segments, ends)",
        "yield from self._scan_transactions(segments, ends[: len(segments)])",
    ),
    Mutant(
        "a replacement that failed halfway is thrown away",
        CLEANER,
        "            is_needed = True  # also if a renaming fails: old files may have been renamed already\n",
        "",
    ),
    Mutant(
        "a start throws a complete replacement away",
        SWAP,
        "is_unfinished = bool(cleaned) and base_offset >= min(cleaned)",
        "is_unfinished = True",
    ),
    Mutant(
        "a start takes a replacement that is not complete",
        SWAP,
        "is_unfinished = bool(cleaned) and base_offset >= min(cleaned)",
        "is_unfinished = False",
    ),
    Mutant(
        "a start takes the indexes of a replacement that is not complete",
        SWAP,
        "        if is_unfinished or base_offset not in logs:\n",
        "        if is_unfinished:\n",
    ),
    Mutant(
        "a start keeps the segments that were replaced",
        SWAP,
        "        if base_offset <= old < next_offset:\n            remove_segment_files(fs, folder, old)\n",
        "        if base_offset == old:\n            remove_segment_files(fs, folder, old)\n",
    ),
)
MUTANTS: Final = (*CHOICE_MUTANTS, *FILTER_MUTANTS, *REPLACEMENT_MUTANTS)
