"""Mutants of the committed offsets, and of what administrators ask."""

from typing import Final

from tests.mutations.mutant import Mutant

COMMITTED_OFFSETS: Final = "coordinator/core/offsets/committed_offsets.py"
PENDING_OFFSETS: Final = "coordinator/core/offsets/pending_offsets.py"
OFFSET_RECORDS: Final = "coordinator/core/offsets/records.pyx"
OFFSET_COMMIT: Final = "coordinator/core/offsets/commit.py"
OFFSET_FETCH: Final = "coordinator/core/offsets/fetch.py"
OFFSET_DELETE: Final = "coordinator/core/offsets/delete.py"
OFFSET_EXPIRY: Final = "coordinator/core/offsets/expiry.py"
TRANSACTIONS: Final = "coordinator/core/offsets/transactional.py"
ADMIN: Final = "coordinator/core/groups/admin.py"

COMMITTED_MUTANTS: Final = (
    Mutant(
        "a later commit does not replace the pending offset of a transaction",
        COMMITTED_OFFSETS,
        "            self.pending.supersede(topic, offsets)\n",
        "            pass\n",
    ),
    Mutant(
        "a topic without committed offsets is kept",
        COMMITTED_OFFSETS,
        "                del self.by_topic[tp.topic]\n",
        "                pass\n",
    ),
    Mutant(
        "a deleted offset comes back with its transaction",
        COMMITTED_OFFSETS,
        "            self.pending.remove_partition(tp.topic, tp.partition)\n",
        "            pass\n",
    ),
    Mutant(
        "an offset committed twice in a transaction keeps its old place",
        PENDING_OFFSETS,
        "        of_topic.orders.update(zip(offsets, range(first, self.last_order + 1), strict=True))\n",
        "        for order, partition in enumerate(offsets, first):\n"
        "            of_topic.orders.setdefault(partition, order)\n",
    ),
    Mutant(
        "the offsets of an aborted transaction count",
        PENDING_OFFSETS,
        "is_last = committed and not self._is_superseded",
        "is_last = not self._is_superseded",
    ),
    Mutant(
        "an earlier transaction overwrites the offsets of a later one",
        PENDING_OFFSETS,
        "                    if is_last:\n                        self.superseded",
        "                    if not is_last:\n                        self.superseded",
    ),
    Mutant(
        "a part of a transaction completes all of it",
        PENDING_OFFSETS,
        "left = of_producer.count if offsets_max is None else min(offsets_max, of_producer.count)",
        "left = of_producer.count",
    ),
    Mutant(
        "the last part of a marker is not stored",
        TRANSACTIONS,
        "            return Decision((*events, completed), is_partial=True)\n",
        "            return Decision((*events, completed), replies=(Reply(context.request_id or 0, NONE),))\n",
    ),
    Mutant(
        "a group may have any number of pending offsets",
        TRANSACTIONS,
        "    return pending.count_with(producer_id, accepted) > offsets_max\n",
        "    return False\n",
    ),
)

COMMIT_MUTANTS: Final = (
    Mutant(
        "OffsetCommit version 0 is accepted",
        OFFSET_COMMIT,
        "    if context.api_version == ZOOKEEPER_VERSION:\n",
        "    if context.api_version < ZOOKEEPER_VERSION:\n",
    ),
    Mutant(
        "offsets are committed for partitions that do not exist",
        OFFSET_RECORDS,
        "        if 0 <= partition.partition_index < count:\n            existing.append(partition)\n",
        "        if True:\n            existing.append(partition)\n",
    ),
    Mutant(
        "an unknown partition that is named again is not answered",
        OFFSET_COMMIT,
        "            known.partitions.extend(topic.partitions)\n",
        "            pass\n",
    ),
    Mutant(
        "partitions that do not exist are answered last",
        OFFSET_COMMIT,
        "    _add_topics(topics, rejected)\n    _add_topics(topics, response.topics)\n",
        "    _add_topics(topics, response.topics)\n    _add_topics(topics, rejected)\n",
    ),
    Mutant(
        "an error of the group hides that partitions do not exist",
        OFFSET_COMMIT,
        "return _with_rejected(response, prepared.rejected) if prepared.rejected else response",
        "return response",
    ),
    Mutant(
        "an unknown group is reported before version 9 of OffsetCommit",
        OFFSET_COMMIT,
        "too_old = api_version < GROUP_ID_NOT_FOUND_VERSION",
        "too_old = api_version < GROUP_ID_NOT_FOUND_VERSION - 1",
    ),
    Mutant(
        "a commit of which nothing is accepted creates a group",
        OFFSET_COMMIT,
        "    if not accepted:\n",
        "    if accepted is None:\n",
    ),
    Mutant(
        "a commit does not renew the session",
        OFFSET_COMMIT,
        "sessions = renewal(group.classic, request.member_id)",
        "sessions = ()",
    ),
    Mutant(
        "offsets are committed in CompletingRebalance",
        OFFSET_COMMIT,
        "if error is NONE and classic.state is COMPLETING_REBALANCE:",
        "if error is NONE and classic.state is EMPTY:",
    ),
    Mutant(
        "commits of an older generation are accepted",
        OFFSET_COMMIT,
        "if error is NONE and generation_id != group.generation_id:",
        "if error is NONE and generation_id > group.generation_id:",
    ),
    Mutant(
        "a commit without a member is accepted by a group that has members",
        OFFSET_COMMIT,
        "    if generation_id < 0 and classic.state is EMPTY:\n",
        "    if generation_id < 0:\n",
    ),
    Mutant(
        "a commit without a retention time expires at once",
        OFFSET_COMMIT,
        "None if retention_ms == NO_RETENTION_TIME else",
        "None if retention_ms < NO_RETENTION_TIME else",
    ),
    Mutant(
        "a large retention time overflows",
        OFFSET_COMMIT,
        "return min(max(committed_ms + retention_time_ms, 0), INT64_MAX)",
        "return max(committed_ms + retention_time_ms, 0)",
    ),
    Mutant(
        "a retention time before the epoch is stored",
        OFFSET_COMMIT,
        "return min(max(committed_ms + retention_time_ms, 0), INT64_MAX)",
        "return min(committed_ms + retention_time_ms, INT64_MAX)",
    ),
    Mutant(
        "a transactional commit of which nothing is accepted creates a group",
        TRANSACTIONS,
        "    if not accepted:\n",
        "    if accepted is None:\n",
    ),
    Mutant(
        "a transaction is completed in groups that have none of its offsets",
        TRANSACTIONS,
        "        if not count:\n            continue\n",
        "        if not group.offsets.pending:\n            continue\n",
    ),
)

FETCH_AND_DELETE_MUTANTS: Final = (
    Mutant(
        "OffsetFetch version 0 is answered",
        OFFSET_FETCH,
        "    if context.api_version == ZOOKEEPER_VERSION:\n",
        "    if context.api_version < ZOOKEEPER_VERSION:\n",
    ),
    Mutant(
        "pending offsets hide committed ones from every reader",
        OFFSET_FETCH,
        "    if request.require_stable and offsets.pending is not None:\n",
        "    if offsets.pending is not None:\n",
    ),
    Mutant(
        "OffsetDelete of an empty group id looks for that group",
        OFFSET_DELETE,
        "    if not request.group_id:\n",
        "    if request.group_id is None:\n",
    ),
    Mutant(
        "offsets of topics that the group reads are deleted",
        OFFSET_DELETE,
        "        if is_subscribed(group.classic, subscribed, topic.name):\n",
        "        if not count:\n",
    ),
    Mutant(
        "OffsetDelete names a topic twice though a partition is unknown",
        OFFSET_DELETE,
        "            known.partitions.extend(topic.partitions)\n",
        "            unknown[str(topic)] = topic\n",
    ),
    Mutant(
        "OffsetDelete deletes partitions that do not exist",
        OFFSET_RECORDS,
        "(existing if 0 <= partition.partition_index < count else missing)",
        "(existing if True else missing)",
    ),
    Mutant(
        "offsets of members of another protocol type are deleted",
        OFFSET_DELETE,
        "        return ErrorCode.NON_EMPTY_GROUP\n",
        "        return NONE\n",
    ),
    Mutant(
        "offsets that are not committed are deleted",
        OFFSET_DELETE,
        "forgotten = tuple(tp for tp in dict.fromkeys(partitions) if group.offsets.has_any(tp))",
        "forgotten = tuple(dict.fromkeys(partitions))",
    ),
    Mutant(
        "an offset that is named twice is deleted twice",
        OFFSET_DELETE,
        "forgotten = tuple(tp for tp in dict.fromkeys(partitions) if group.offsets.has_any(tp))",
        "forgotten = tuple(tp for tp in partitions if group.offsets.has_any(tp))",
    ),
    Mutant(
        "a load keeps the offsets of a topic that was deleted and created again",
        OFFSET_DELETE,
        "return topic in self.deleted or (self.existing is not None and topic not in self.existing)",
        "return topic in self.deleted if self.existing is None else topic not in self.existing",
    ),
    Mutant(
        "a load keeps the offsets of topics that did not exist when it began",
        OFFSET_DELETE,
        "return topic in self.deleted or (self.existing is not None and topic not in self.existing)",
        "return topic in self.deleted",
    ),
    Mutant(
        "offsets expire a moment late",
        OFFSET_EXPIRY,
        "return wall_ms - since_ms >= retention_ms",
        "return wall_ms - since_ms > retention_ms",
    ),
    Mutant(
        "offsets with a retention time of their own expire a moment late",
        OFFSET_EXPIRY,
        "return wall_ms >= offset.expire_timestamp_ms",
        "return wall_ms > offset.expire_timestamp_ms",
    ),
    Mutant(
        "offsets age while their group has members",
        OFFSET_EXPIRY,
        "since_ms = group.state_since_ms",
        "since_ms = offset.commit_timestamp_ms",
    ),
    Mutant(
        "offsets expire while a transaction has others pending",
        OFFSET_EXPIRY,
        " and not group.offsets.has_pending(tp)",
        "",
    ),
    Mutant(
        "a group with an open transaction is removed",
        OFFSET_EXPIRY,
        "if group.classic.state is not EMPTY or left or group.offsets.pending:",
        "if group.classic.state is not EMPTY or left:",
    ),
    Mutant(
        "the decision that removes a group keeps the sessions of its pending members",
        OFFSET_EXPIRY,
        "return Decision((*events, removed), effects=sessions_of_pending_members(group.classic))",
        "return Decision((*events, removed))",
    ),
)

ADMIN_MUTANTS: Final = (
    Mutant(
        "a group that rebalances is deleted",
        ADMIN,
        "    if group.classic.state is not EMPTY:\n",
        "    if group.classic.state is STABLE:\n",
    ),
    Mutant(
        "a group that is named twice is deleted twice",
        ADMIN,
        "        if group_id not in named:\n",
        "        if True:\n",
    ),
    Mutant(
        "the offsets of a deleted group are not forgotten",
        ADMIN,
        "return replying(context, response, *forget_all(group, context), removed, effects=ended)",
        "return replying(context, response, removed, effects=ended)",
    ),
    Mutant(
        "the decision that deletes a group keeps the sessions of its pending members",
        ADMIN,
        "    return replying(context, response, *forget_all(group, context), removed, effects=ended)\n",
        "    return replying(context, response, *forget_all(group, context), removed)\n",
    ),
    Mutant(
        "an unknown group is reported before version 6 of DescribeGroups",
        ADMIN,
        "if api_version >= GROUP_ID_NOT_FOUND_VERSION:",
        "if api_version >= GROUP_ID_NOT_FOUND_VERSION - 1:",
    ),
)

MUTANTS: Final = (*COMMITTED_MUTANTS, *COMMIT_MUTANTS, *FETCH_AND_DELETE_MUTANTS, *ADMIN_MUTANTS)
