"""Mutants of what is stored: records of `__consumer_offsets`, the audit and the log."""

from typing import Final

from tests.mutations.mutant import Mutant

STORED: Final = "coordinator/core/groups/stored.py"
STORE: Final = "coordinator/groups/store.py"
PARTITION_LOG: Final = "coordinator/log/partition_log.py"
LOG_RETENTION: Final = "coordinator/log/retention.py"
RECOVERY: Final = "coordinator/log/recovery/load.py"
SEGMENT: Final = "coordinator/log/segments/segment.py"

RECORD_MUTANTS: Final = (
    Mutant(
        "a created group is not stored",
        STORED,
        "    GroupCreated: _created_group,\n",
        "",
    ),
    Mutant(
        "a stable generation is not stored",
        STORED,
        "    GenerationStable: _stable_generation,\n",
        "",
    ),
    Mutant(
        "an emptied group is not stored",
        STORED,
        "    GroupEmptied: _emptied_group,\n",
        "",
    ),
    Mutant(
        "a removed group is not stored",
        STORED,
        "    GroupRemoved: _group_tombstone,\n",
        "",
    ),
    Mutant(
        "deleted offsets are not stored",
        STORED,
        "    OffsetsDeleted: _deleted_offsets,\n",
        "",
    ),
    Mutant(
        "the offsets of a transaction are stored as plain ones",
        STORED,
        "producer = event.producer if isinstance(event, TransactionalOffsetsCommitted) else None",
        "producer = None",
    ),
    Mutant(
        "a stable generation is stored without its assignments",
        STORED,
        "assignments = {each.member_id: each.assignment for each in events if isinstance(each, MemberAssigned)}",
        "assignments = {}",
    ),
    Mutant(
        "a stable generation is stored with the time at which it began",
        STORED,
        "    value.current_state_timestamp = event.at_ms\n",
        "",
    ),
    Mutant(
        "a static member that came back is not stored",
        STORED,
        "    StaticMemberReplaced: _replaced_member,\n",
        "",
    ),
    Mutant(
        "a static member is stored although a rebalance follows",
        STORED,
        "    if event.request_id is not None:\n        return []\n",
        "",
    ),
    Mutant(
        "a static leader that came back is stored under its old member id",
        STORED,
        "leader = event.new_member_id if classic.leader == old.member_id else classic.leader",
        "leader = classic.leader",
    ),
    Mutant(
        "the session timeout is stored as the rebalance timeout",
        STORED,
        "session_timeout=member.session_timeout_ms,",
        "session_timeout=member.rebalance_timeout_ms,",
    ),
    Mutant(
        "a loaded group has another leader",
        STORED,
        "    group.leader = stored.leader\n",
        "",
    ),
    Mutant(
        "a loaded group forgets the subscriptions of its generation",
        STORED,
        "    group.keep_subscriptions(member.subscription for member in stored.members)\n",
        "",
    ),
    Mutant(
        "a group's record takes its offsets away",
        STORED,
        "        self._group(group_id).classic = load_group(",
        "        self.groups[group_id] = Group(group_id)\n        self._group(group_id).classic = load_group(",
    ),
    Mutant(
        "the tombstone of a group is skipped",
        STORED,
        "self.groups.pop(group_id, None)",
        "self.groups.get(group_id, None)",
    ),
    Mutant(
        "the tombstone of an offset is skipped",
        STORED,
        "self.groups[group_id].offsets.remove(TopicPartition(topic, partition))",
        "self.groups[group_id].offsets.get(TopicPartition(topic, partition))",
    ),
    Mutant(
        "a marker that is read completes no transaction",
        STORED,
        "                group.offsets.complete_transaction(producer_id, committed, OFFSETS_PER_STEP)\n",
        "                break\n",
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
        STORE,
        AUDIT_APPENDED + RECORDS_APPENDED,
        RECORDS_APPENDED + AUDIT_APPENDED,
    ),
    Mutant(
        "the record batches of one drain are written one by one",
        STORE,
        "                self._write(self._offsets, self._build_all(stored, at_ms), at_ms)\n",
        "                for each in self._build_all(stored, at_ms):\n"
        "                    self._write(self._offsets, [each], at_ms)\n",
    ),
    Mutant(
        "the offsets of a transaction count when they are read",
        "coordinator/core/groups/batch_replay.pyx",
        "if batch.attributes & TRANSACTIONAL_FLAG:",
        "if batch.attributes & CONTROL_FLAG:",
    ),
    Mutant(
        "the log takes batches that are larger than a segment",
        STORE,
        "return message if message < segment else segment",
        "return message",
    ),
    Mutant(
        "batches of one drain that exceed a segment are written in one piece",
        STORE,
        "        if piece and piece_bytes + len(batch.data) > bytes_max:\n",
        "        if piece and piece_bytes < 0:\n",
    ),
    Mutant(
        "a piece forgets its first batch",
        STORE,
        "        piece_bytes += len(batch.data)\n",
        "        piece_bytes = len(batch.data)\n",
    ),
    Mutant(
        "a large audit is appended as one batch",
        STORE,
        "        if len(built.data) <= self._audit.config.segment_bytes or len(audit) == 1:\n",
        "        if built.data:\n",
    ),
    Mutant(
        "an audit record that is too large is halved",
        STORE,
        "        if len(built.data) <= self._audit.config.segment_bytes or len(audit) == 1:\n",
        "        if len(built.data) <= self._audit.config.segment_bytes:\n",
    ),
    Mutant(
        "the second half of a large audit has the offsets of the first",
        STORE,
        "self._build_audit(audit[half:], base_offset + half, at_ms)",
        "self._build_audit(audit[half:], base_offset, at_ms)",
    ),
)

LOG_MUTANTS: Final = (
    Mutant(
        "the directory entries that a killed process made are not flushed",
        PARTITION_LOG,
        "log._unflushed.directories = [log.folder.parent, log.folder]",
        "log._unflushed.directories = []",
    ),
    Mutant(
        "the directory entries that a failed append left are not flushed",
        PARTITION_LOG,
        "self._unflushed.fsync_later(self.folder)\n        segment =",
        "self._unflushed.fsync_later(self.folder.parent)\n        segment =",
    ),
    Mutant(
        "retention counts a segment that has not quite reached its age",
        LOG_RETENTION,
        "now_ms - segment.largest_timestamp_ms() > config.retention_ms",
        "now_ms - segment.largest_timestamp_ms() >= config.retention_ms",
    ),
    Mutant(
        "retention by size leaves less than retention.bytes",
        LOG_RETENTION,
        "surplus_bytes >= segment.size_bytes",
        "surplus_bytes > 0",
    ),
    Mutant(
        "an iteration over a log loses its place when segments are replaced",
        PARTITION_LOG,
        "            offset = max(offset, segment.next_offset)\n",
        "            bases = [each.base_offset for each in self.segments if each.base_offset > segment.base_offset]\n"
        "            offset = bases[0] if bases else self.log_end_offset\n",
    ),
    Mutant(
        "offsets before the log start offset are used again",
        PARTITION_LOG,
        "if log.segments.items and log.segments.items[-1].next_offset < log_start_offset:",
        "if False:",
    ),
    Mutant(
        "a gap that an interrupted deletion left counts as a lost end",
        "coordinator/log/recovery/load.py",
        "while len(base_offsets) > 1 and base_offsets[1] <= log_start_offset:",
        "while False:",
    ),
    Mutant(
        "segments go although their log start offset is not stored",
        "coordinator/broker/retention.py",
        "            self._check_later(now_ms)\n            return\n",
        "            pass\n",
    ),
    Mutant(
        "directory entries are flushed only with a segment",
        PARTITION_LOG,
        "if self.recovery_point >= self.log_end_offset and not self._unflushed.directories:",
        "if not self.segments or (self.recovery_point >= self.log_end_offset and not self._unflushed.directories):",
    ),
    Mutant(
        "a torn tail stays",
        SEGMENT,
        "            self._has_torn_tail = True\n",
        "",
    ),
    Mutant(
        "bytes that never were a batch are kept at the end of a log",
        "coordinator/log/recovery/damage.py",
        "return not _has_batch_header(file, damage)",
        "return False",
    ),
    Mutant(
        "a repair cuts before the names of its files are durable",
        "coordinator/log/recovery/repair.py",
        "    fs.flush_directory(folder)\n    cut = ",
        "    cut = ",
    ),
    Mutant(
        "what is stamped does not follow the wall clock",
        "coordinator/runtime/shard.py",
        "context.now_ms, context.wall_ms = now_ms, now_ms + context.environment.wall.step_ms",
        "context.now_ms, context.wall_ms = now_ms, now_ms",
    ),
    Mutant(
        "a group that was deleted comes back with its metadata at the end of a load",
        "coordinator/core/groups/stored.py",
        "        self._undecoded.pop(group_id, None)\n",
        "",
    ),
    Mutant(
        "recovery leaves a torn tail",
        RECOVERY,
        "segment.truncate(segment.size_bytes)",
        "segment.file_size()",
    ),
    Mutant(
        "recovery skips a hole",
        RECOVERY,
        "if base_offset > end_offset and base_offset > recovery_point and not durable.everything:",
        "if base_offset > end_offset and clean:",
    ),
)

MUTANTS: Final = (*RECORD_MUTANTS, *STORE_MUTANTS, *LOG_MUTANTS)
