"""Every setting at each of its bounds: a server starts with it, and a group joins and commits.

Where the bound itself keeps a group from joining, `INSTEAD` says what happens.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import uvloop

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from coordinator.config.authorizer_keys import AUTHORIZER_CLASS_NAME, SUPER_USERS
from coordinator.config.cluster_keys import (
    CLUSTER_ADOPT,
    CLUSTER_BOOTSTRAP_SERVERS,
    CLUSTER_COMMAND_CONFIG,
    CLUSTER_NODES_GROUP_ID,
    CLUSTER_WATCH,
)
from coordinator.config.consumer_group_keys import (
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS,
    GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
)
from coordinator.config.group_keys import (
    GROUP_COORDINATOR_REBALANCE_PROTOCOLS,
    GROUP_INITIAL_REBALANCE_DELAY_MS,
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MIN_SESSION_TIMEOUT_MS,
    OFFSETS_RETENTION_CHECK_INTERVAL_MS,
)
from coordinator.config.key import INT32_MAX, ConfigError, ConfigKey, Scope
from coordinator.config.listener_keys import (
    ADVERTISED_LISTENERS,
    INTER_BROKER_LISTENER_NAME,
    LISTENER_SECURITY_PROTOCOL_MAP,
    LISTENERS,
)
from coordinator.config.log_keys import MESSAGE_MAX_BYTES
from coordinator.config.metrics_keys import ADMIN_ALLOWED_HOSTS, ADMIN_LISTENER, ADMIN_LOGIN_FILE, METRICS_GROUPS_ALLOW
from coordinator.config.network_keys import (
    CONNECTIONS_MAX_IDLE_MS,
    MAX_CONNECTIONS_PER_IP,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
    SOCKET_REQUEST_MAX_BYTES,
)
from coordinator.config.sasl_keys import JAVA_SECURITY_AUTH_LOGIN_CONFIG
from coordinator.config.server_keys import LOG_DIRS, METADATA_LOG_DIR
from coordinator.config.settings import ALL_KEYS, Config
from coordinator.config.share_group_keys import (
    GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MAX_SESSION_TIMEOUT_MS,
    GROUP_SHARE_MAX_SHARE_SESSIONS,
    GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MIN_SESSION_TIMEOUT_MS,
    GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_SESSION_TIMEOUT_MS,
)
from coordinator.config.streams_group_keys import (
    GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS,
    GROUP_STREAMS_HEARTBEAT_INTERVAL_MS,
    GROUP_STREAMS_MAX_ASSIGNMENT_INTERVAL_MS,
    GROUP_STREAMS_MAX_HEARTBEAT_INTERVAL_MS,
    GROUP_STREAMS_MAX_SESSION_TIMEOUT_MS,
    GROUP_STREAMS_MIN_ASSIGNMENT_INTERVAL_MS,
    GROUP_STREAMS_MIN_HEARTBEAT_INTERVAL_MS,
    GROUP_STREAMS_MIN_SESSION_TIMEOUT_MS,
    GROUP_STREAMS_NUM_STANDBY_REPLICAS,
    GROUP_STREAMS_SESSION_TIMEOUT_MS,
)
from coordinator.node.node import Node
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, WireClient, join_request

UNBOUNDED: Final = {
    LISTENERS,
    ADVERTISED_LISTENERS,
    LISTENER_SECURITY_PROTOCOL_MAP,
    INTER_BROKER_LISTENER_NAME,
    LOG_DIRS,
    METADATA_LOG_DIR,
    ADMIN_LISTENER,
    ADMIN_ALLOWED_HOSTS,
    ADMIN_LOGIN_FILE,
    METRICS_GROUPS_ALLOW,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
    JAVA_SECURITY_AUTH_LOGIN_CONFIG,
    # What listeners with TLS or a login have; a server without them does not look at it.
    *(
        key
        for key in ALL_KEYS
        if key.scope is not Scope.BROKER and isinstance(key.default, str | tuple) and not key.one_of
    ),
    *(key for key in ALL_KEYS if key.is_secret),
    AUTHORIZER_CLASS_NAME,
    SUPER_USERS,
    CLUSTER_BOOTSTRAP_SERVERS,
    CLUSTER_COMMAND_CONFIG,
    CLUSTER_NODES_GROUP_ID,
    CLUSTER_ADOPT,
    CLUSTER_WATCH,
}
"""Texts of any form."""

GROUP: Final = "at-the-bounds"
OFFSET: Final = 42


def bounds(key: ConfigKey[Any]) -> list[str]:
    """The values at which a setting is tried."""
    if isinstance(key.default, bool):
        return ["true", "false"]
    if isinstance(key.default, int | float):
        assert key.at_least is not None and key.at_most is not None, f"{key.name} has no bounds"
        return [str(key.at_least), str(key.at_most)]
    every = [",".join(key.one_of)] if isinstance(key.default, tuple) and key.one_of else []
    return [*key.one_of, *every]


CASES: Final = [(key, text) for key in ALL_KEYS for text in bounds(key)]


# ---- what happens


def is_loaded(client: WireClient) -> bool:
    (group,) = client.request(DescribeGroupsRequest(groups=[GROUP]), 0).groups
    return bool(group.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def joins_and_commits(bootstrap: str, config: Config) -> None:
    """A consumer finds its coordinator, joins with the longest session allowed, lives, commits, and reads it back."""
    with WireClient(bootstrap) as client:
        assert client.request(FindCoordinatorRequest(key=GROUP), 2).error_code == ErrorCode.NONE
        client.create_topic("orders")
        wait_for(lambda: is_loaded(client), 20, "the load of 10,000 partitions")
        member_id = client.join_alone(GROUP, session_timeout_ms=config[GROUP_MAX_SESSION_TIMEOUT_MS])
        assert client.heartbeat_error(GROUP, member_id) == ErrorCode.NONE
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=OFFSET, committed_metadata="")
        commit = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=1,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])],
        )
        (topic,) = client.request(commit, 7).topics
        assert [each.error_code for each in topic.partitions] == [ErrorCode.NONE]
        wanted = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
        (topic,) = client.request(OffsetFetchRequest(group_id=GROUP, topics=wanted), 5).topics
        assert [each.committed_offset for each in topic.partitions] == [OFFSET]


def closes_the_connection(bootstrap: str, config: Config) -> None:
    with WireClient(bootstrap) as client, pytest.raises(ConnectionClosed):
        client.request(ApiVersionsRequest(), 0)


def waits_for_more_members(bootstrap: str, config: Config) -> None:
    """The join is held back, and nothing else is."""
    with WireClient(bootstrap) as joining, WireClient(bootstrap) as other:
        joining.send(join_request(GROUP), 3)

        def state() -> str:
            (group,) = other.request(DescribeGroupsRequest(groups=[GROUP]), 4).groups
            text: str = group.group_state
            return text

        wait_for(lambda: state() == "PreparingRebalance", 5, "the group to wait")


def stores_no_group(bootstrap: str, config: Config) -> None:
    """No record of a group fits into a batch of the log, so none is created: as on Kafka the request fails."""
    with WireClient(bootstrap) as client:
        joined = client.request(join_request(GROUP), 3)
        assert joined.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        (group,) = client.request(DescribeGroupsRequest(groups=[GROUP]), 4).groups
        assert group.group_state == "Dead"


Outcome = Callable[[str, Config], None]
NOT_TAKEN: Final = None
"""The settings contradict each other: there is no server."""

INSTEAD: Final[dict[tuple[ConfigKey[Any], str], Outcome | None]] = {
    (SOCKET_REQUEST_MAX_BYTES, "1"): closes_the_connection,
    (MAX_CONNECTIONS_PER_IP, "0"): closes_the_connection,
    (MESSAGE_MAX_BYTES, "0"): stores_no_group,
    (GROUP_INITIAL_REBALANCE_DELAY_MS, str(INT32_MAX)): waits_for_more_members,
    (GROUP_MIN_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,  # above the default of the longest timeout
    (GROUP_MAX_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,  # below the default of the shortest timeout
    # Of consumer, share and streams groups each value has a least and a most one, with defaults.
    (GROUP_CONSUMER_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_CONSUMER_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS, "0"): NOT_TAKEN,
    (GROUP_SHARE_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_SHARE_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MIN_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MAX_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_SHARE_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_SHARE_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_SHARE_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS, "0"): NOT_TAKEN,
    (GROUP_SHARE_RECORD_LOCK_DURATION_MS, "1000"): NOT_TAKEN,
    (GROUP_SHARE_RECORD_LOCK_DURATION_MS, "3600000"): NOT_TAKEN,
    (GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS, "10000"): NOT_TAKEN,
    (GROUP_SHARE_MAX_SHARE_SESSIONS, "1"): NOT_TAKEN,  # fewer than a group may have members
    (GROUP_STREAMS_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_STREAMS_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MIN_SESSION_TIMEOUT_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MAX_SESSION_TIMEOUT_MS, "1"): NOT_TAKEN,
    (GROUP_STREAMS_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_STREAMS_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MIN_HEARTBEAT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MAX_HEARTBEAT_INTERVAL_MS, "1"): NOT_TAKEN,
    (GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MIN_ASSIGNMENT_INTERVAL_MS, str(INT32_MAX)): NOT_TAKEN,
    (GROUP_STREAMS_MAX_ASSIGNMENT_INTERVAL_MS, "0"): NOT_TAKEN,
    (GROUP_STREAMS_NUM_STANDBY_REPLICAS, str(INT32_MAX)): NOT_TAKEN,
    # Classic groups cannot be switched off.
    (GROUP_COORDINATOR_REBALANCE_PROTOCOLS, "consumer"): NOT_TAKEN,
    (GROUP_COORDINATOR_REBALANCE_PROTOCOLS, "share"): NOT_TAKEN,
    (GROUP_COORDINATOR_REBALANCE_PROTOCOLS, "streams"): NOT_TAKEN,
}


# ---- the tests


async def serve(folder: Path, settings: dict[str, str], outcome: Outcome) -> None:
    """Start a server in this process, let clients do as `outcome` says, and stop it."""
    own = {
        LOG_DIRS.name: str(folder / "data"),
        LISTENERS.name: "PLAINTEXT://127.0.0.1:0",
        GROUP_INITIAL_REBALANCE_DELAY_MS.name: "0",
    }
    config = Config(own | settings)
    node = Node(config)
    await node.start()
    try:
        await asyncio.get_running_loop().run_in_executor(None, outcome, node.bootstrap, config)
    finally:
        await node.stop()


def test_every_setting_with_bounds_is_tried():
    assert {key for key, _ in CASES} == set(ALL_KEYS) - UNBOUNDED
    assert INSTEAD.keys() <= set(CASES)


@pytest.mark.parametrize(("key", "text"), CASES, ids=lambda each: each.name if isinstance(each, ConfigKey) else each)
def test_a_server_works_with_a_setting_at_its_bound(tmp_path, key, text):
    outcome = INSTEAD.get((key, text), joins_and_commits)
    if outcome is NOT_TAKEN:
        with pytest.raises(ConfigError, match=f"^{key.name}={text}: must"):
            Config({key.name: text})
        return
    uvloop.run(serve(tmp_path, {key.name: text}, outcome))


@pytest.mark.parametrize(
    "settings",
    [
        {GROUP_MIN_SESSION_TIMEOUT_MS.name: str(INT32_MAX), GROUP_MAX_SESSION_TIMEOUT_MS.name: str(INT32_MAX)},
        {CONNECTIONS_MAX_IDLE_MS.name: str(2**63 - 1), OFFSETS_RETENTION_CHECK_INTERVAL_MS.name: str(2**63 - 1)},
    ],
    ids=["longest sessions", "longest intervals"],
)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_a_server_works_with_several_settings_at_their_bounds(tmp_path, settings, run):
    run(serve(tmp_path, settings, joins_and_commits))
