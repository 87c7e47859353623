"""The columns of the tables, and the Arrow tables that rows become.

A row has times as milliseconds since the epoch (`joined_ms`); the column is a timestamp (`joined_at`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from coordinator.audit.schema import ShareRecordCounts
from coordinator.pipeline.names import (
    COMMITS,
    FINDINGS,
    GAPS,
    GENERATIONS,
    MEMBERSHIPS,
    OPEN_GENERATIONS,
    OWNERSHIP,
    REBALANCE_RATES,
    REJECTS,
    SHARE_ASSIGNMENTS,
    SHARE_ENDED_RECORDS,
    SHARE_MEMBERS,
    SHARE_PARTITIONS,
    SHARE_RECORDS,
    SILVER,
    SKIPPED,
    STREAMS_TASKS,
    VOIDS,
)
from coordinator.pipeline.row_columns import RowColumns

TIME: Final = pa.timestamp("us", "UTC")
_T, _N, _B = pa.string(), pa.int64(), pa.binary()
_HEAD: Final = {"group_id": _T, "created_seq": _N, "seq": _N, "time_at": TIME, "generation_id": _N}
_WHERE: Final = {"partition": pa.int32(), "offset": _N, "timestamp_at": TIME}

_GENERATION: Final = {
    "group_id": _T,
    "created_seq": _N,  # the incarnation of the group: each one counts its generations from 0
    "generation_id": _N,
    "outcome": _T,  # stable, superseded, emptied, cut_short, unknown, in_progress
    "cause": _T,
    "cause_member_id": _T,  # null when no member caused it
    "cause_client_id": _T,
    "cause_client_host": _T,
    "cause_group_instance_id": _T,
    "cause_is_inferred": pa.bool_(),  # from records of `__consumer_offsets`, which do not say why
    "reason": _T,  # the text that the client sent (KIP-800)
    "triggers": _T,  # JSON: everything that made it necessary or changed its members, in order
    "rebalance_started_at": TIME,
    "generation_started_at": TIME,
    "stable_at": TIME,  # null unless the outcome is "stable"
    "rebalance_ended_at": TIME,  # whatever the outcome
    "join_ms": _N,
    "slowest_to_join_member_id": _T,
    "slowest_to_join_client_id": _T,
    "slowest_join_ms": _N,
    "sync_ms": _N,
    "slowest_to_sync_member_id": _T,
    "slowest_to_sync_client_id": _T,
    "slowest_sync_ms": _N,
    "rebalance_ms": _N,
    "members": _N,
    "leader": _T,
    "protocol_name": _T,
    "partitions": _N,
    "partitions_moved": _N,
    "partitions_moved_needed": _N,  # how many of them the best balanced assignment would have moved
    "unowned_partition_ms": _N,
    "silent_partition_ms": _N,  # before the rebalance began: the owners were silent already
    "commits_rejected": _N,
    "lag_before": _N,
    "lag_after": _N,
    "first_seq": _N,  # the range of the events of this generation
    "last_seq": _N,
    "coordinator_epoch": _N,  # the latest among the events
    "generations_unseen": _N,  # of `__consumer_offsets`: before this one, without a record of their own
    "sentence": _T,  # the story that `coordinator groups why` tells; null of `__consumer_offsets`
    "group_type": _T,  # as ListGroups calls it: classic, or consumer (KIP-848), whose generations are group epochs
}

_MEMBER: Final = dict.fromkeys(
    (
        "member_id",
        "client_id",
        "client_host",
        "group_instance_id",
        "client_software_name",
        "client_software_version",
        "principal",
    ),
    _T,
)

_SHARE_MEMBER: Final = {"member_id": _T, "client_id": _T}
_SHARE_COUNTS: Final = dict.fromkeys(ShareRecordCounts.__struct_fields__, _N)

TABLES: Final[dict[str, pa.Schema]] = {
    name: pa.schema(list(columns.items()))
    for name, columns in {
        SILVER: {
            **_WHERE,
            "kind": _T,
            "group_id": _T,  # null in events of the server
            "seq": _N,
            "created_seq": _N,
            "time_at": TIME,
            "generation_id": _N,
            "state": _T,
            "coordinator_epoch": _N,
            "cause": _T,
            "member_id": _T,
            "client_id": _T,
            "value": _T,  # the whole event, with the fields that this version does not know
        },
        REJECTS: {**_WHERE, "why": _T, "value": _B},
        GAPS: {
            "group_id": _T,
            "created_seq": _N,
            "first_seq": _N,
            "last_seq": _N,
            "time_at": TIME,
            "is_filled": pa.bool_(),  # true: these came after all, and are in silver
            "is_deleted": pa.bool_(),  # true: older than what the topic still had when it was read; false: missing
            **_WHERE,
        },
        VOIDS: {**_HEAD, "first_seq": _N, "last_seq": _N},  # events that did not take effect, because of a crash
        GENERATIONS: _GENERATION,
        OPEN_GENERATIONS: _GENERATION,
        # Two rows per membership: when it began, and, with left_at, when it ended. `seq` orders them.
        MEMBERSHIPS: {
            **_HEAD,
            **_MEMBER,
            "joined_seq": _N,
            "joined_at": TIME,
            "left_at": TIME,
            "left_cause": _T,
            "left_reason": _T,
            "group_type": _T,
        },
        # A row holds until the next row of the partition: its owner since then, null for none. In a consumer group the
        # owner is who may use it, or was asked to give it up and has not done so.
        OWNERSHIP: {
            **_HEAD,
            "topic": _T,
            "topic_partition": _N,
            "since_at": TIME,
            "member_id": _T,
            "client_id": _T,
            "group_type": _T,
        },
        COMMITS: {
            **_HEAD,
            "interval_ms": _N,
            "commits": _N,
            "partitions": _N,
            "first_log_offset": _N,
            "last_log_offset": _N,
        },
        # A row each time that a finding begins, changes or is over: the latest row of a group, kind and client counts.
        FINDINGS: {
            **_HEAD,
            "kind": _T,
            "about": _T,  # the client that it is about; empty: the group
            "is_over": pa.bool_(),  # true: it is no longer found, and the columns below are null
            "headline": _T,
            "evidence": _T,  # JSON: a list of sentences
            "advice": _T,
            "from_at": TIME,  # the time that its evidence is of
            "until_at": TIME,
            "first_generation_id": _N,  # of those in which its evidence lies
            "last_generation_id": _N,
        },
        # A window may have several rows, one per batch: the rate is their sum. So a partition that is read late counts
        # like any other, however late.
        # Records of `__consumer_offsets` of types that are not known: the number of each is the sum of its rows.
        SKIPPED: {**_WHERE, "record_type": _N, "records": _N, "last_offset": _N},
        REBALANCE_RATES: {"group_id": _T, "window_start_at": TIME, "cause": _T, "rebalances": _N, "group_type": _T},
        # Of share groups, in which several members may have a partition at once. A row holds until the next row of the
        # member and the partition.
        SHARE_ASSIGNMENTS: {
            **_HEAD,
            "topic": _T,
            "topic_partition": _N,
            **_SHARE_MEMBER,
            "since_at": TIME,
            "is_assigned": pa.bool_(),
        },
        # A row for each interval in which there was something to tell of the records of a share group (share.records).
        SHARE_RECORDS: {
            **_HEAD,
            "interval_ms": _N,
            "lock_duration_ms": _N,
            "delivery_count_limit": _N,
            "unnamed_partitions": _N,
            "unnamed_members": _N,
            **_SHARE_COUNTS,
        },
        SHARE_PARTITIONS: {
            **_HEAD,
            "interval_ms": _N,
            "topic": _T,
            "topic_partition": _N,
            "start_offset": _N,
            "in_flight": _N,
            "lag": _N,
            "standing_since_at": TIME,  # null unless the start offset stood still for the whole interval
            "first_delivery_count": _N,  # of the record at the start offset, as the two columns below
            "held_by_member_id": _T,
            "held_by_client_id": _T,
            **_SHARE_COUNTS,
        },
        SHARE_MEMBERS: {**_HEAD, "interval_ms": _N, **_SHARE_MEMBER, **_SHARE_COUNTS},
        SHARE_ENDED_RECORDS: {
            **_HEAD,
            "topic": _T,
            "topic_partition": _N,
            "first_offset": _N,
            "last_offset": _N,
            "delivery_count": _N,
            "ended_by": _T,  # rejected; or what archived them at the limit: released, lock_ended, closed, disconnected
            **_SHARE_MEMBER,
        },
        # Of streams groups. A row holds until the next row of the member and the task.
        STREAMS_TASKS: {
            **_HEAD,
            "subtopology_id": _T,
            "task": _N,
            "member_id": _T,
            "client_id": _T,
            "process_id": _T,
            "since_at": TIME,
            "kind": _T,  # active, standby; none: the member has it no more
            "before_member_id": _T,  # of an active task: who ran it last; null if that was not told
            "was_standby": pa.bool_(),  # of an active task: whether its process had a standby task of it
        },
    }.items()
}

BRONZE_COLUMNS: Final = pa.schema(
    [
        ("topic", _T),
        ("partition", pa.int32()),
        ("offset", _N),
        ("timestamp", TIME),
        ("headers", pa.list_(pa.struct([("key", _T), ("value", _B)]))),
        ("key", _B),
        ("value", _B),
    ]
)


TableRows: TypeAlias = Sequence[Mapping[str, Any]] | RowColumns | pa.Table
"""Rows of one table."""


def arrow_table(table: str, rows: TableRows) -> pa.Table:
    """The rows as an Arrow table with the columns of `table`. What does not fit a column is null, or text of it."""
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, RowColumns):
        return rows.table()
    columns = RowColumns(TABLES[table])
    for row in rows:
        columns.append(row)
    return columns.table()
