"""Mutants of the handlers of the group APIs: how requests are split, deferred and merged."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "a request about one group is not prepared",
        "GroupHandlers.enqueue",
        "operation.prepare(request, context)",
        "request",
    ),
    Mutant(
        "a request is queued although it was answered at once",
        "GroupHandlers.enqueue_parts",
        "if isinstance(request, Answer):\n    return request.response",
        "if isinstance(request, Answer):\n    return DEFERRED",
    ),
    Mutant(
        "a request about no group is not answered",
        "GroupHandlers.enqueue_parts",
        "return api.merge(())",
        "return DEFERRED",
    ),
    Mutant(
        "the groups of a request are answered in the wrong order",
        "Portions.begin",
        "for part_id, (key, part) in zip(part_ids, parts, strict=True):",
        "for part_id, (key, part) in zip(part_ids, reversed(parts), strict=True):",
    ),
    Mutant(
        "only the first partitions are listed",
        "GroupHandlers._list",
        "shards = self._coordinator.shards",
        "shards = self._coordinator.shards[:2]",
    ),
    Mutant(
        "the parts of a request have no version",
        "part_of",
        "part_id, context.api_version, context.client_id,",
        "part_id, 0, context.client_id,",
    ),
    Mutant(
        "JoinGroup is not converted to old versions",
        "ONE_GROUP",
        "OneGroup(operations.JOIN_GROUP, 0, 9, downgrade=joining.downgrade)",
        "OneGroup(operations.JOIN_GROUP, 0, 9)",
    ),
    Mutant(
        "OffsetFetch is not converted to old versions",
        "MANY_GROUPS",
        "offset_fetch.downgrade,",
        "None,",
    ),
    Mutant(
        "a partition that another node leads makes ListGroups fail",
        "list_error",
        "NONE if error is ErrorCode.NOT_COORDINATOR else error",
        "error",
    ),
    Mutant(
        "ListGroups hides that a partition could not be listed",
        "merge_listed",
        "merged.error_code = response.error_code",
        "pass",
    ),
    Mutant(
        "authorized operations are described for a lone group only",
        "describe_per_group",
        "DescribeGroupsRequest(groups=[group_id], include_authorized_operations=with_operations)",
        "DescribeGroupsRequest(groups=[group_id])",
    ),
    Mutant(
        "OffsetFetch v1 has no error for a partition",
        "error_response",
        "if api_version < GROUP_ERROR_VERSION:",
        "if api_version < 0:",
    ),
    Mutant(
        "a request is kept when its client disconnects",
        "RequestDispatcher.closed",
        "self._pending.forget(connection.call.request_id)",
        "pass",
    ),
    Mutant(
        "ApiVersions v3 offers a feature from level 0 on",
        "_supported_features",
        "if api_version < FEATURE_LEVEL_0_VERSION and LOWEST_LEVEL == 0:",
        "if False:",
    ),
    Mutant(
        "a client that knows a newer leader epoch is answered FENCED_LEADER_EPOCH",
        "epoch_error",
        "return ErrorCode.UNKNOWN_LEADER_EPOCH if claimed > current else ErrorCode.FENCED_LEADER_EPOCH",
        "return ErrorCode.FENCED_LEADER_EPOCH",
    ),
    Mutant(
        "a timeout of 0 is not over",
        "within_timeout",
        "if request.timeout_ms <= 0:",
        "if request.timeout_ms < 0:",
    ),
    Mutant(
        "any config of an internal topic may be set",
        "check_internal",
        "if topic not in LEAST:",
        "if True:",
    ),
    Mutant(
        "a setting that is not set has a default where another one decides",
        "_static",
        "if kafka is None or kafka.default is not None or setting in ALWAYS_SET:",
        "if True:",
    ),
    Mutant(
        "an epoch before the first one ends at the end of the log",
        "_epoch_end",
        "end_offset = log.log_end_offset if requested.leader_epoch >= 0 else log.log_start_offset",
        "end_offset = log.log_end_offset",
    ),
)
