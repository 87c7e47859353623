"""Mutants of the committed offsets, and of what administrators ask."""

from typing import Final

from tests.mutations.mutant import Mutant

COMMITTED_MUTANTS: Final = (
    Mutant(
        "a later commit does not replace the pending offset of a transaction",
        "CommittedOffsets.put",
        "self.pending.supersede(topic, offsets)",
        "pass",
    ),
    Mutant(
        "a topic without committed offsets is kept",
        "CommittedOffsets.remove",
        "del self.by_topic[tp.topic]",
        "pass",
    ),
    Mutant(
        "a deleted offset comes back with its transaction",
        "CommittedOffsets.remove",
        "self.pending.remove_partition(tp.topic, tp.partition)",
        "pass",
    ),
    Mutant(
        "an offset committed twice in a transaction keeps its old place",
        "PendingOffsets.put",
        "of_topic.orders.update(zip(offsets, range(first, self.last_order + 1), strict=True))",
        ("for order, partition in enumerate(offsets, first):\n    of_topic.orders.setdefault(partition, order)"),
    ),
    Mutant(
        "the offsets of an aborted transaction count",
        "PendingOffsets.complete",
        "is_last = committed and not self._is_superseded",
        "is_last = not self._is_superseded",
    ),
    Mutant(
        "an earlier transaction overwrites the offsets of a later one",
        "PendingOffsets.complete",
        "if is_last:\n    self.superseded",
        "if not is_last:\n    self.superseded",
    ),
    Mutant(
        "a part of a transaction completes all of it",
        "PendingOffsets.complete",
        "left = of_producer.count if offsets_max is None else min(offsets_max, of_producer.count)",
        "left = of_producer.count",
    ),
    Mutant(
        "the last part of a marker is not stored",
        "complete",
        "if count > left:\n            return Decision(tuple(events), is_partial=True)",
        "if count > left:\n            return Decision(tuple(events), (Reply(context.request_id or 0, NONE),))",
    ),
    Mutant(
        "a group may have any number of pending offsets",
        "_is_too_much",
        "return pending.count_with(producer_id, accepted) > offsets_max",
        "return False",
    ),
)

COMMIT_MUTANTS: Final = (
    Mutant(
        "OffsetCommit version 0 is accepted",
        "commit.prepare",
        "if context.api_version == ZOOKEEPER_VERSION:",
        "if context.api_version < ZOOKEEPER_VERSION:",
    ),
    Mutant(
        "offsets are committed for partitions that do not exist",
        "split_partitions",
        "if 0 <= partition.partition_index < count:\n    existing.append(partition)",
        "if True:\n    existing.append(partition)",
    ),
    Mutant(
        "an unknown partition that is named again is not answered",
        "_add_topics",
        "existing.partitions.extend(topic.partitions)",
        "pass",
    ),
    Mutant(
        "partitions that do not exist are answered last",
        "_with_rejected",
        "_add_topics(topics, rejected)\n_add_topics(topics, response.topics)",
        "_add_topics(topics, response.topics)\n_add_topics(topics, rejected)",
    ),
    Mutant(
        "an error of the group hides that partitions do not exist",
        "error_response",
        "return _with_rejected(response, prepared.rejected) if prepared.rejected else response",
        "return response",
    ),
    Mutant(
        "an unknown group is reported before version 9 of OffsetCommit",
        "_check_without_group",
        "too_old = context.api_version < GROUP_ID_NOT_FOUND_VERSION",
        "too_old = context.api_version < GROUP_ID_NOT_FOUND_VERSION - 1",
    ),
    Mutant(
        "a commit of which nothing is accepted creates a group",
        "commit.commit",
        "if not accepted:\n    # A commit",
        "if accepted is None:\n    # A commit",
    ),
    Mutant(
        "a commit does not renew the session",
        "commit.commit",
        "sessions = group.kind.offsets.sessions_renewed(group.membership, request.member_id)",
        "sessions = ()",
    ),
    Mutant(
        "offsets are committed in CompletingRebalance",
        "validate_commit",
        "if error is NONE and group.state is COMPLETING_REBALANCE:",
        "if error is NONE and group.state is EMPTY:",
    ),
    Mutant(
        "commits of an older generation are accepted",
        "_check_generation",
        "if error is NONE and generation_id != group.generation_id:",
        "if error is NONE and generation_id > group.generation_id:",
    ),
    Mutant(
        "a commit without a member is accepted by a group that has members",
        "validate_commit",
        "if generation_id < 0 and group.state is EMPTY:",
        "if generation_id < 0:",
    ),
    Mutant(
        "a commit without a retention time expires at once",
        "commit",
        "None if retention_ms == NO_RETENTION_TIME else",
        "None if retention_ms < NO_RETENTION_TIME else",
    ),
    Mutant(
        "a large retention time overflows",
        "_expire_timestamp_ms",
        "return min(max(committed_ms + retention_time_ms, 0), INT64_MAX)",
        "return max(committed_ms + retention_time_ms, 0)",
    ),
    Mutant(
        "a retention time before the epoch is stored",
        "_expire_timestamp_ms",
        "return min(max(committed_ms + retention_time_ms, 0), INT64_MAX)",
        "return min(committed_ms + retention_time_ms, INT64_MAX)",
    ),
    Mutant(
        "a transactional commit of which nothing is accepted creates a group",
        "transactional.commit",
        "if not accepted:",
        "if accepted is None:",
    ),
)

FETCH_AND_DELETE_MUTANTS: Final = (
    Mutant(
        "OffsetFetch version 0 is answered",
        "fetch.prepare",
        "if context.api_version == ZOOKEEPER_VERSION:",
        "if context.api_version < ZOOKEEPER_VERSION:",
    ),
    Mutant(
        "pending offsets hide committed ones from every reader",
        "fetch",
        "if request.require_stable and offsets.pending is not None:",
        "if offsets.pending is not None:",
    ),
    Mutant(
        "OffsetDelete of an empty group id looks for that group",
        "_check",
        "if not request.group_id:",
        "if request.group_id is None:",
    ),
    Mutant(
        "offsets of topics that the group reads are deleted",
        "delete",
        "if topic.name in topics_read:",
        "if not count:",
    ),
    Mutant(
        "OffsetDelete names a topic twice though a partition is unknown",
        "_merge",
        "existing.partitions.extend(topic.partitions)",
        "unknown[str(topic)] = topic",
    ),
    Mutant(
        "OffsetDelete deletes partitions that do not exist",
        "deletion_indexes",
        "(existing if 0 <= partition.partition_index < count else missing)",
        "(existing if True else missing)",
    ),
    Mutant(
        "offsets of members of another protocol type are deleted",
        "validate_delete",
        "return ErrorCode.NON_EMPTY_GROUP",
        "return NONE",
    ),
    Mutant(
        "offsets that are not committed are deleted",
        "forget",
        "forgotten = tuple(tp for tp in dict.fromkeys(partitions) if group.offsets.has_any(tp))",
        "forgotten = tuple(dict.fromkeys(partitions))",
    ),
    Mutant(
        "an offset that is named twice is deleted twice",
        "forget",
        "forgotten = tuple(tp for tp in dict.fromkeys(partitions) if group.offsets.has_any(tp))",
        "forgotten = tuple(tp for tp in partitions if group.offsets.has_any(tp))",
    ),
    Mutant(
        "a load keeps the offsets of a topic that was deleted and created again",
        "GoneTopics.has",
        "return topic in self.deleted or (self.existing is not None and topic not in self.existing)",
        "return topic in self.deleted if self.existing is None else topic not in self.existing",
    ),
    Mutant(
        "a load keeps the offsets of topics that did not exist when it began",
        "GoneTopics.has",
        "return topic in self.deleted or (self.existing is not None and topic not in self.existing)",
        "return topic in self.deleted",
    ),
    Mutant(
        "offsets expire a moment late",
        "_is_over",
        "(offset.commit_timestamp_ms if base_ms is None else base_ms) >= retention_ms",
        "(offset.commit_timestamp_ms if base_ms is None else base_ms) > retention_ms",
    ),
    Mutant(
        "offsets with a retention time of their own expire a moment late",
        "_is_over",
        "return wall_ms >= offset.expire_timestamp_ms",
        "return wall_ms > offset.expire_timestamp_ms",
    ),
    Mutant(
        "offsets age while their group has members",
        "expiration_base_ms",
        "return group.state_since_ms if emptied else None",
        "return None",
    ),
    Mutant(
        "offsets expire while a transaction has others pending",
        "_expired",
        "and not group.offsets.has_pending(tp)",
        "",
    ),
    Mutant(
        "a group with an open transaction is removed",
        "expire",
        "if group.membership.state is not EMPTY or left or group.offsets.pending:",
        "if group.membership.state is not EMPTY or left:",
    ),
    Mutant(
        "the decision that removes a group keeps the sessions of its pending members",
        "expire",
        "return Decision((*events, removed), effects=ended_sessions(group))",
        "return Decision((*events, removed))",
    ),
)

ADMIN_MUTANTS: Final = (
    Mutant(
        "a group that rebalances is deleted",
        "classic.kind.validate_removal",
        "group.state is EMPTY",
        "group.state is not STABLE",
    ),
    Mutant(
        "a group that is named twice is deleted twice",
        "delete_per_group",
        "if group_id not in named:",
        "if True:",
    ),
    Mutant(
        "the offsets of a deleted group are not forgotten",
        "delete",
        "return replying(context, response, *forget_all(group, context), removed, effects=ended)",
        "return replying(context, response, removed, effects=ended)",
    ),
    Mutant(
        "the decision that deletes a group keeps the sessions of its pending members",
        "delete",
        "return replying(context, response, *forget_all(group, context), removed, effects=ended)",
        "return replying(context, response, *forget_all(group, context), removed)",
    ),
    Mutant(
        "an unknown group is reported before version 6 of DescribeGroups",
        "_not_described",
        "if api_version >= GROUP_ID_NOT_FOUND_VERSION:",
        "if api_version >= GROUP_ID_NOT_FOUND_VERSION - 1:",
    ),
)

MUTANTS: Final = (*COMMITTED_MUTANTS, *COMMIT_MUTANTS, *FETCH_AND_DELETE_MUTANTS, *ADMIN_MUTANTS)
