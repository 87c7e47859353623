"""The table of the operations of the group coordinator, by name.

The server, the simulation, the generated pages and the tests read this one table. An operation that serves an API has
the API's name.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from coordinator.core.classic import describe as classic_describe
from coordinator.core.classic import joining, members
from coordinator.core.classic.kind import CLASSIC
from coordinator.core.consumer import conversion, heartbeat_requests
from coordinator.core.consumer.describe import DESCRIPTIONS as CONSUMER_DESCRIPTIONS
from coordinator.core.consumer.kind import CONSUMER
from coordinator.core.groups import admin, old_clients, rejections, release
from coordinator.core.groups.session_expiry import expiry_failed
from coordinator.core.kinds.table import KINDS, by_kind, failed_by_kind, too_large_by_kind
from coordinator.core.offsets import checks as offset_checks
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import delete as offset_delete
from coordinator.core.offsets import expiry as offset_expiry
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.core.offsets import transactional as transactional_offsets
from coordinator.core.operation import Operation, Scope
from coordinator.core.share import heartbeat as share_heartbeat
from coordinator.core.share import heartbeat_requests as share_heartbeat_requests
from coordinator.core.share import offset_alteration, state_deletion
from coordinator.core.share.describe import DESCRIPTIONS as SHARE_DESCRIPTIONS
from coordinator.core.share.kind import SHARE
from coordinator.core.streams import heartbeat as streams_heartbeat
from coordinator.core.streams import heartbeat_requests as streams_heartbeat_requests
from coordinator.core.streams.describe import DESCRIPTIONS as STREAMS_DESCRIPTIONS
from coordinator.core.streams.kind import STREAMS

JOIN_GROUP: Final = Operation(
    "JoinGroup",
    by_kind("JoinGroup", CLASSIC, of_other_kind=joining.reject_other_kind),
    joining.error_response,
    joining.prepare,
)
SYNC_GROUP: Final = Operation(
    "SyncGroup",
    by_kind("SyncGroup", CLASSIC),
    members.sync_error,
    members.prepare_sync,
    too_large=too_large_by_kind("SyncGroup", CLASSIC),
)
HEARTBEAT: Final = Operation(
    "Heartbeat", by_kind("Heartbeat", CLASSIC), members.heartbeat_error, members.prepare_heartbeat
)
LEAVE_GROUP: Final = Operation("LeaveGroup", by_kind("LeaveGroup", CLASSIC), members.leave_error, members.prepare_leave)

CONSUMER_GROUP_HEARTBEAT: Final = Operation(
    "ConsumerGroupHeartbeat",
    by_kind("ConsumerGroupHeartbeat", CONSUMER, of_other_kind=partial(conversion.join_classic, CONSUMER)),
    heartbeat_requests.error_response,
    heartbeat_requests.prepare,
    too_large=too_large_by_kind("ConsumerGroupHeartbeat", CONSUMER),
)
CONSUMER_GROUP_DESCRIBE: Final = Operation(
    "ConsumerGroupDescribe",
    by_kind("ConsumerGroupDescribe", CONSUMER, of_other_kind=CONSUMER_DESCRIPTIONS.describe_other_kind),
    CONSUMER_DESCRIPTIONS.error_response,
    CONSUMER_DESCRIPTIONS.prepare,
)
SHARE_GROUP_HEARTBEAT: Final = Operation(
    "ShareGroupHeartbeat",
    by_kind("ShareGroupHeartbeat", SHARE, of_other_kind=share_heartbeat.reject_other_kind),
    share_heartbeat_requests.error_response,
    share_heartbeat_requests.prepare,
    too_large=too_large_by_kind("ShareGroupHeartbeat", SHARE),
)
SHARE_GROUP_DESCRIBE: Final = Operation(
    "ShareGroupDescribe",
    by_kind("ShareGroupDescribe", SHARE, of_other_kind=SHARE_DESCRIPTIONS.describe_other_kind),
    SHARE_DESCRIPTIONS.error_response,
    SHARE_DESCRIPTIONS.prepare,
)
STREAMS_GROUP_HEARTBEAT: Final = Operation(
    "StreamsGroupHeartbeat",
    by_kind("StreamsGroupHeartbeat", STREAMS, of_other_kind=partial(streams_heartbeat.join_classic, STREAMS)),
    streams_heartbeat_requests.error_response,
    streams_heartbeat_requests.prepare,
    too_large=too_large_by_kind("StreamsGroupHeartbeat", STREAMS),
)
STREAMS_GROUP_DESCRIBE: Final = Operation(
    "StreamsGroupDescribe",
    by_kind("StreamsGroupDescribe", STREAMS, of_other_kind=STREAMS_DESCRIPTIONS.describe_other_kind),
    STREAMS_DESCRIPTIONS.error_response,
    STREAMS_DESCRIPTIONS.prepare,
)
ALTER_SHARE_OFFSETS: Final = Operation(
    "alter share offsets",
    by_kind("alter share offsets", SHARE, of_other_kind=offset_alteration.no_share_group),
    offset_alteration.alteration_error,
)
FIND_INITIALIZED: Final = Operation(
    "find initialized share partitions",
    by_kind("find initialized share partitions", SHARE),
    offset_alteration.initialized_error,
)
BEGIN_DELETING_STATES: Final = Operation(
    "begin deleting share states",
    by_kind("begin deleting share states", SHARE, of_other_kind=state_deletion.no_other_kind),
    state_deletion.begin_error,
)
END_DELETING_STATES: Final = Operation(
    "end deleting share states",
    by_kind("end deleting share states", SHARE),
    state_deletion.end_error,
)
REPORT_SHARE_RECORDS: Final = Operation("report share records", by_kind("report share records", SHARE))

OFFSET_COMMIT: Final = Operation(
    "OffsetCommit",
    offset_commit.commit,
    offset_commit.error_response,
    offset_commit.prepare,
    check=Operation("check OffsetCommit", offset_checks.check_commit, offset_commit.request_error),
)
TXN_OFFSET_COMMIT: Final = Operation(
    "TxnOffsetCommit",
    transactional_offsets.commit,
    transactional_offsets.error_response,
    check=Operation(
        "check TxnOffsetCommit", offset_checks.check_transactional_commit, transactional_offsets.error_response
    ),
)
OFFSET_FETCH: Final = Operation(
    "OffsetFetch",
    offset_fetch.fetch,
    offset_fetch.error_response,
    offset_fetch.prepare,
    check=Operation("check OffsetFetch", offset_checks.check_fetch, offset_fetch.error_response),
)
OFFSET_DELETE: Final = Operation(
    "OffsetDelete",
    offset_delete.delete,
    offset_delete.error_response,
    check=Operation("check OffsetDelete", offset_checks.check_delete, offset_delete.error_response),
)

DESCRIBE_GROUPS: Final = Operation(
    "DescribeGroups",
    by_kind("DescribeGroups", CLASSIC, of_other_kind=classic_describe.describe_other_kind),
    admin.describe_error,
)
LIST_GROUPS: Final = Operation("ListGroups", admin.list_groups, admin.list_error, scope=Scope.SHARD)
DELETE_GROUPS: Final = Operation("DeleteGroups", admin.delete, admin.delete_error)

EXPIRE_SESSION: Final = Operation("expire session", by_kind("expire session", CLASSIC), failed=expiry_failed)
REMOVE_PENDING_MEMBER: Final = Operation("remove pending member", by_kind("remove pending member", CLASSIC))
EXPIRE_OFFSETS: Final = Operation("expire offsets", offset_expiry.expire)
REBALANCE_OVERSIZED_GROUP: Final = Operation("rebalance oversized group", by_kind("rebalance oversized group", CLASSIC))
JOIN_AS_INSTANCE: Final = Operation("take instance", by_kind("take instance", CLASSIC), joining.join_as_instance_error)
FORCE_REBALANCE: Final = Operation("force rebalance", by_kind("force rebalance", CLASSIC))
RELEASE_GROUP: Final = Operation("release group", release.release, release.error_response)
REPORT_REJECTION: Final = Operation("report rejection", rejections.report)
REPORT_OLD_CLIENT: Final = Operation("report old client", old_clients.report)
FORGET_TOPICS: Final = Operation("forget topics", offset_delete.forget_topics, scope=Scope.SHARD)
COMPLETE_TRANSACTION: Final = Operation(
    "complete transaction",
    transactional_offsets.complete,
    transactional_offsets.completion_error,
    scope=Scope.TRANSACTION,
)


def results_of_work() -> Iterator[Operation]:
    """The operations that get the results of work beside requests, from the rows of the kinds."""
    for kind in KINDS.values():
        for worker in kind.workers.values():
            name = worker.operation
            failed = failed_by_kind(name) if name in kind.failure_handlers else None
            yield Operation(name, by_kind(name, kind), failed=failed, is_divisible=worker.is_divisible)


OPERATIONS: Final[dict[str, Operation]] = {
    operation.name: operation
    for operation in (*[value for value in globals().values() if isinstance(value, Operation)], *results_of_work())
}
"""Operation name → operation."""
