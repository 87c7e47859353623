"""Mutants of what is stored: records of `__consumer_offsets`, the audit and the log."""

from typing import Final

from tests.mutations.mutant import Mutant

RECORD_MUTANTS: Final = (
    Mutant(
        "a created group is not stored",
        "EVENT_RECORDS",
        "GroupCreated: EventRecords(_created_group, lambda event: KINDS[event.kind].records.stores_creation),",
        "",
    ),
    Mutant(
        "a stable generation is not stored",
        "RECORDS",
        "GenerationStable: EventRecords(_stable_generation),",
        "",
    ),
    Mutant(
        "an emptied group is not stored",
        "RECORDS",
        "GroupEmptied: EventRecords(_emptied_group),",
        "",
    ),
    Mutant(
        "a removed group is not stored",
        "EVENT_RECORDS",
        "GroupRemoved: EventRecords(_removed_group, stores_group=False),",
        "",
    ),
    Mutant(
        "deleted offsets are not stored",
        "EVENT_RECORDS",
        "OffsetsDeleted: EventRecords(_deleted_offsets, stores_group=False),",
        "",
    ),
    Mutant(
        "the offsets of a transaction are stored as plain ones",
        "batches_of",
        "producer = event.producer if type(event) is transactional else None",
        "producer = None",
    ),
    Mutant(
        "a stable generation is stored without its assignments",
        "_stable_generation",
        "assignments = {assigned.member_id: assigned.assignment for assigned in events"
        " if type(assigned) is MemberAssigned}",
        "assignments = {}",
    ),
    Mutant(
        "a stable generation is stored with the time at which it began",
        "_stable_generation",
        "value.current_state_timestamp = event.at_ms",
        "",
    ),
    Mutant(
        "a static member that came back is not stored",
        "RECORDS",
        "StaticMemberReplaced: EventRecords(_replaced_member, stores_group=_is_stored_at_once),",
        "",
    ),
    Mutant(
        "a static member is stored although a rebalance follows",
        "_replaced_member",
        "if not _is_stored_at_once(event):\n    return []",
        "",
    ),
    Mutant(
        "a static leader that came back is stored under its old member id",
        "_replaced_member",
        "leader = event.new_member_id if classic.leader == old.member_id else classic.leader",
        "leader = classic.leader",
    ),
    Mutant(
        "the session timeout is stored as the rebalance timeout",
        "_generation_value",
        "session_timeout=member.session_timeout_ms,",
        "session_timeout=member.rebalance_timeout_ms,",
    ),
    Mutant(
        "a loaded group has another leader",
        "load_group",
        "group.leader = stored.leader",
        "",
    ),
    Mutant(
        "a loaded group forgets the subscriptions of its generation",
        "load_group",
        "group.keep_subscriptions(member.subscription for member in stored.members)",
        "",
    ),
    Mutant(
        "a group's record takes its offsets away",
        "StoredGroups._apply_group_record",
        "if group is None:\n    group = self._group(group_id)",
        "group = self.groups[group_id] = new_group(group_id)",
    ),
    Mutant(
        "the tombstone of a group is skipped",
        "StoredGroups._remove_group",
        "self.groups.pop(group_id, None)",
        "self.groups.get(group_id, None)",
    ),
    Mutant(
        "the tombstone of an offset is skipped",
        "StoredGroups._apply_offset",
        "self.groups[group_id].offsets.remove(TopicPartition(topic, partition))",
        "self.groups[group_id].offsets.get(TopicPartition(topic, partition))",
    ),
    Mutant(
        "a marker that is read completes no transaction",
        "StoredGroups.end_transaction",
        "group.offsets.complete_transaction(producer_id, committed, OFFSETS_PER_STEP)",
        "break",
    ),
)

AUDIT_APPENDED: Final = """            if audit:
                self._write(self._audit, self._build_audit(audit, self._audit.log_end_offset, at_ms), at_ms)
"""
RECORDS_APPENDED: Final = """            if stored:
                self._write(self._offsets, self._build_all(stored, at_ms), at_ms)
"""

STORE_MUTANTS: Final = (
    Mutant(
        "records are appended before the audit",
        "StoreWrites._append",
        "if projected:\n    writing = self._projection",
        "if stored:\n    self.write(self._state, stored, at_ms)\n    stored = ()\nif projected:\n"
        "    writing = self._projection",
    ),
    Mutant(
        "the record batches of one drain are written one by one",
        "StoreWrites.write",
        "pieces(batches, log.config.segment_bytes)",
        "[[each] for each in batches]",
    ),
    Mutant(
        "the offsets of a transaction count when they are read",
        "BatchReplay._begin_batch",
        "if batch.attributes & TRANSACTIONAL_FLAG:",
        "if batch.attributes & CONTROL_FLAG:",
    ),
    Mutant(
        "the log takes batches that are larger than a segment",
        "StoreWrites.batch_bytes_max",
        "return min(config.max_message_bytes, config.segment_bytes)",
        "return config.max_message_bytes",
    ),
    Mutant(
        "batches of one drain that exceed a segment are written in one piece",
        "pieces",
        "if piece and piece_bytes + len(batch.data) > bytes_max:",
        "if piece and piece_bytes < 0:",
    ),
    Mutant(
        "a piece forgets its first batch",
        "pieces",
        "piece_bytes += len(batch.data)",
        "piece_bytes = len(batch.data)",
    ),
    Mutant(
        "a large audit is appended as one batch",
        "AuditStream._build",
        "if len(data) <= self.log.config.segment_bytes or len(records) == 1:",
        "if data:",
    ),
    Mutant(
        "an audit record that is too large is halved",
        "AuditStream._build",
        "if len(data) <= self.log.config.segment_bytes or len(records) == 1:",
        "if len(data) <= self.log.config.segment_bytes:",
    ),
    Mutant(
        "the second half of a large audit has the offsets of the first",
        "AuditStream._build",
        "self._build(records[half:], base_offset + half, at_ms)",
        "self._build(records[half:], base_offset, at_ms)",
    ),
)

LOG_MUTANTS: Final = (
    Mutant(
        "the directory entries that a killed process made are not flushed",
        "PartitionLog.open",
        "log._unflushed.directories = [log.folder.parent, log.folder]",
        "log._unflushed.directories = []",
    ),
    Mutant(
        "the directory entries that a failed append left are not flushed",
        "PartitionLog._create_segment",
        "self._unflushed.fsync_later(self.folder)\nsegment =",
        "self._unflushed.fsync_later(self.folder.parent)\nsegment =",
    ),
    Mutant(
        "retention counts a segment that has not quite reached its age",
        "retained_from",
        "now_ms - segment.largest_timestamp_ms() > config.retention_ms",
        "now_ms - segment.largest_timestamp_ms() >= config.retention_ms",
    ),
    Mutant(
        "retention by size leaves less than retention.bytes",
        "retained_from",
        "surplus_bytes >= segment.size_bytes",
        "surplus_bytes > 0",
    ),
    Mutant(
        "an iteration over a log loses its place when segments are replaced",
        "ReadableLog.batches",
        "offset = max(offset, segment.next_offset)",
        (
            "bases = [each.base_offset for each in self.segments if each.base_offset > segment.base_offset]\n"
            "offset = bases[0] if bases else self.log_end_offset"
        ),
    ),
    Mutant(
        "offsets before the log start offset are used again",
        "PartitionLog.open",
        "if log.segments.items and log.segments.items[-1].next_offset < log_start_offset:",
        "if False:",
    ),
    Mutant(
        "a gap that an interrupted deletion left counts as a lost end",
        "load_segments",
        "while len(base_offsets) > 1 and base_offsets[1] <= log_start_offset:",
        "while False:",
    ),
    Mutant(
        "segments go although their log start offset is not stored",
        "Retention._start_offsets_stored",
        "self._check_later(now_ms)\nreturn",
        "pass",
    ),
    Mutant(
        "directory entries are flushed only with a segment",
        "FlushableLog.start_flush",
        "if self.recovery_point >= self.log_end_offset and not self._unflushed.directories:",
        "if not self.segments or (self.recovery_point >= self.log_end_offset and not self._unflushed.directories):",
    ),
    Mutant(
        "a torn tail stays",
        "SegmentFile.write",
        "self.has_torn_tail = True",
        "",
    ),
    Mutant(
        "bytes that never were a batch are kept at the end of a log",
        "is_unacknowledged",
        "return not _has_batch_header(file, damage)",
        "return False",
    ),
    Mutant(
        "a repair cuts before the names of its files are durable",
        "_set_aside",
        "fs.flush_directory(folder)\ncut =",
        "cut =",
    ),
    Mutant(
        "what is stamped does not follow the wall clock",
        "ShardQueue.handle",
        "context.now_ms, context.wall_ms = now_ms, now_ms + wall.step_ms",
        "context.now_ms, context.wall_ms = now_ms, now_ms",
    ),
    Mutant(
        "a group that was deleted comes back with its metadata at the end of a load",
        "StoredGroups._apply_group_record",
        "self._undecoded.pop(group_id, None)",
        "pass",
    ),
    Mutant(
        "recovery leaves a torn tail",
        "recover_segment",
        "segment.truncate(segment.size_bytes)",
        "segment.file_size()",
    ),
    Mutant(
        "recovery skips a hole",
        "load_segments",
        "if base_offset > end_offset and base_offset > recovery_point and not durable.everything:",
        "if base_offset > end_offset and clean:",
    ),
    Mutant(
        "a read that goes on searches its offset",
        "reads.read",
        "segment.note_read_end(next_offset_after(data), position + len(data))",
        "next_offset_after(data)",
    ),
    Mutant(
        "where a read ended is read though the segment is damaged",
        "position_of",
        "if not segment.damages and (read_end := segment.read_ends.get(offset)) is not None:",
        "if (read_end := segment.read_ends.get(offset)) is not None:",
    ),
    Mutant(
        "all ends of reads are kept",
        "SegmentFile.note_read_end",
        "if offset not in self.read_ends and len(self.read_ends) >= ENDS_MAX:",
        "if False:",
    ),
    Mutant(
        "an import leaves the index files of empty logs",
        "_recover",
        "if directory.needs_recovery(*log[:2])",
        "if directory.unrecovered_bytes(*log[:2])",
    ),
)

MUTANTS: Final = (*RECORD_MUTANTS, *STORE_MUTANTS, *LOG_MUTANTS)
