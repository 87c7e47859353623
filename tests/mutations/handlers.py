"""Mutants of the handlers of the group APIs: how requests are split, deferred and merged."""

from typing import Final

from tests.mutations.mutant import Mutant

GROUPS: Final = "coordinator/server/handlers/groups.py"
PORTIONS: Final = "coordinator/server/handlers/portions.py"
ADMIN: Final = "coordinator/core/groups/admin.py"
OFFSET_FETCH: Final = "coordinator/core/offsets/fetch.py"
DISPATCHER: Final = "coordinator/server/request_dispatcher.py"
EPOCHS: Final = "coordinator/broker/leader_epochs.py"
TIMEOUTS: Final = "coordinator/server/handlers/request_timeouts.py"
INTERNAL_CONFIGS: Final = "coordinator/broker/internal_topic_configs.py"
BROKER_CONFIGS: Final = "coordinator/server/handlers/broker_configs.py"
DATA: Final = "coordinator/server/handlers/data.py"
CLUSTER: Final = "coordinator/server/handlers/cluster.py"

MUTANTS: Final = (
    Mutant(
        "a request about one group is not prepared",
        GROUPS,
        "                return prepared.response\n        else:\n",
        "            prepared = request\n        else:\n",
    ),
    Mutant(
        "a request is queued although it was answered at once",
        GROUPS,
        "            if isinstance(request, Answer):\n                return request.response\n",
        "            if isinstance(request, Answer):\n                return DEFERRED\n",
    ),
    Mutant(
        "a request about no group is not answered",
        GROUPS,
        "            return api.merge(())\n",
        "            return DEFERRED\n",
    ),
    Mutant(
        "the groups of a request are answered in the wrong order",
        PORTIONS,
        "for part_id, (key, part) in zip(part_ids, parts, strict=True):",
        "for part_id, (key, part) in zip(part_ids, reversed(parts), strict=True):",
    ),
    Mutant(
        "only the first partitions are listed",
        GROUPS,
        "        shards = self._node.coordinator.shards\n",
        "        shards = self._node.coordinator.shards[:2]\n",
    ),
    Mutant(
        "the parts of a request have no version",
        PORTIONS,
        "        part_id, context.api_version, context.client_id,",
        "        part_id, 0, context.client_id,",
    ),
    Mutant(
        "JoinGroup is not converted to old versions",
        GROUPS,
        "OneGroup(operations.JOIN_GROUP, 0, 9, downgrade=joining.downgrade)",
        "OneGroup(operations.JOIN_GROUP, 0, 9)",
    ),
    Mutant(
        "OffsetFetch is not converted to old versions",
        GROUPS,
        "        offset_fetch.downgrade,\n",
        "        None,\n",
    ),
    Mutant(
        "a partition that another node leads makes ListGroups fail",
        ADMIN,
        "NONE if error is ErrorCode.NOT_COORDINATOR else error",
        "error",
    ),
    Mutant(
        "ListGroups hides that a partition could not be listed",
        ADMIN,
        "            merged.error_code = response.error_code\n",
        "            pass\n",
    ),
    Mutant(
        "authorized operations are described for a lone group only",
        ADMIN,
        "DescribeGroupsRequest(groups=[group_id], include_authorized_operations=with_operations)",
        "DescribeGroupsRequest(groups=[group_id])",
    ),
    Mutant(
        "OffsetFetch v1 has no error for a partition",
        OFFSET_FETCH,
        "        if api_version < GROUP_ERROR_VERSION:\n",
        "        if api_version < 0:\n",
    ),
    Mutant(
        "a request is kept when its client disconnects",
        DISPATCHER,
        "            self._pending.forget(connection.call.request_id)\n",
        "            pass\n",
    ),
    Mutant(
        "ApiVersions v3 offers a feature from level 0 on",
        CLUSTER,
        "    if api_version < FEATURE_LEVEL_0_VERSION and LOWEST_LEVEL == 0:\n",
        "    if False:\n",
    ),
    Mutant(
        "a client that knows a newer leader epoch is answered FENCED_LEADER_EPOCH",
        EPOCHS,
        "    return ErrorCode.UNKNOWN_LEADER_EPOCH if claimed > current else ErrorCode.FENCED_LEADER_EPOCH\n",
        "    return ErrorCode.FENCED_LEADER_EPOCH\n",
    ),
    Mutant(
        "a timeout of 0 is not over",
        TIMEOUTS,
        "        if request.timeout_ms <= 0:\n",
        "        if request.timeout_ms < 0:\n",
    ),
    Mutant(
        "any config of an internal topic may be set",
        INTERNAL_CONFIGS,
        "    if topic not in LEAST:\n",
        "    if True:\n",
    ),
    Mutant(
        "a setting that is not set has a default where another one decides",
        BROKER_CONFIGS,
        "    has_default = kafka is None or kafka.default is not None or setting in ALWAYS_SET\n",
        "    has_default = True\n",
    ),
    Mutant(
        "an epoch before the first one ends at the end of the log",
        DATA,
        "    end_offset = log.log_end_offset if wanted.leader_epoch >= 0 else log.log_start_offset\n",
        "    end_offset = log.log_end_offset\n",
    ),
)
