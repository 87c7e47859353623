"""The configs of groups that the cluster has (KIP-848), for groups that the nodes coordinate.

A group that has none has the settings of the node. The cluster has checked the values when they were set.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from _wire.errors import ErrorCode
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResult
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.config.consumer_group_keys import (
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
)
from coordinator.config.group_keys import GROUP_COORDINATOR_REBALANCE_PROTOCOLS
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource
from coordinator.core.group_settings import GroupSettings
from coordinator.core.groups.kind import CONSUMER_NAME
from coordinator.logger import logger

GROUP_RESOURCE: Final = 32
"""The type of groups as resources with configs (`ConfigResource.Type`). Kafka before 3.8 has no such configs."""
VERSION_MAX: Final = 4
REFRESH_SECONDS: Final = 30
"""How soon a change of a config is noticed by a group that no member joins."""
FRESH_SECONDS: Final = 1
"""What was told so short ago is fresh: members that join together cause few requests."""
GROUPS_AT_ONCE: Final = 200
GROUPS_MAX: Final = 20_000
"""So many groups are asked for. Above it, those are forgotten that nobody has joined for the longest."""
OF_CONSUMER_GROUPS: Final = {
    "consumer.session.timeout.ms": GROUP_CONSUMER_SESSION_TIMEOUT_MS,
    "consumer.heartbeat.interval.ms": GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    "consumer.assignment.interval.ms": GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
}
"""Config of a group → the setting that counts where it is missing, in the order in which the kind has them."""

Times: TypeAlias = tuple[int, ...]
Answered: TypeAlias = Callable[[None], None]


class ClusterGroupSettings:
    """`GroupSettings` of consumer groups. Lives in the running event loop."""

    def __init__(self, config: Config, brokers: Brokers) -> None:
        self._brokers = brokers
        self._is_enabled = CONSUMER_NAME in config[GROUP_COORDINATOR_REBALANCE_PROTOCOLS]
        self._defaults: Times = tuple(config[key] for key in OF_CONSUMER_GROUPS.values())
        self._own: OrderedDict[str, Times] = OrderedDict()
        self._asked_at: dict[str, float] = {}
        self._waiting: dict[str, list[Answered]] = {}
        self._is_requested = asyncio.Event()
        self._tasks = Tasks()
        self._is_denied = False
        self._on_change: list[Callable[[], None]] = []

    @property
    def by_kind(self) -> Mapping[str, GroupSettings[Any]]:
        return {CONSUMER_NAME: self}

    def is_enabled(self) -> bool:
        return self._is_enabled

    def of(self, group_id: str) -> Times:
        return self._own.get(group_id, self._defaults)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when configs of a group have changed."""
        self._on_change.append(listener)

    def start(self) -> None:
        self._tasks.start(self._run())

    def stop(self) -> None:
        self._tasks.cancel()

    # ---- what the cluster says

    def are_fresh(self, group_id: str) -> bool:
        """Whether the cluster was asked for the configs of a group just now."""
        asked_at = self._asked_at.get(group_id)
        return asked_at is not None and asyncio.get_running_loop().time() - asked_at < FRESH_SECONDS

    def know(self, group_id: str, answered: Answered) -> None:
        """Have the configs of a group asked for.

        `answered` is called also if the cluster does not answer: then what was known before counts.
        """
        self._waiting.setdefault(group_id, []).append(answered)
        self._is_requested.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        refresh_at = loop.time() + REFRESH_SECONDS
        while True:
            try:
                async with asyncio.timeout_at(refresh_at):
                    await self._is_requested.wait()
            except TimeoutError:
                refresh_at = loop.time() + REFRESH_SECONDS
                groups = list(self._own)
            else:
                self._is_requested.clear()
                groups = list(self._waiting)
            for first in range(0, len(groups), GROUPS_AT_ONCE):
                await self._ask(groups[first : first + GROUPS_AT_ONCE])

    async def _ask(self, groups: list[str]) -> None:
        asked_at = asyncio.get_running_loop().time()
        waiting = [answered for group_id in groups for answered in self._waiting.pop(group_id, ())]
        resources = [
            DescribeConfigsResource(
                resource_type=GROUP_RESOURCE, resource_name=group_id, configuration_keys=[*OF_CONSUMER_GROUPS]
            )
            for group_id in groups
        ]
        try:
            connection = await self._brokers.any_connection()
            response = await connection.request(DescribeConfigsRequest(resources=resources), VERSION_MAX)
            self._learn(response.results, asked_at)
        except BrokerError as problem:
            logger.warning("the configs of groups are not known", problem=str(problem))
        for answered in waiting:
            answered(None)

    def _learn(self, results: Iterable[DescribeConfigsResult], asked_at: float) -> None:
        has_changed = False
        for result in results:
            self._warn_once(result)
            group_id, times = result.resource_name, self._times(result)
            has_changed = has_changed or times != self.of(group_id)
            self._own[group_id], self._asked_at[group_id] = times, asked_at
            self._own.move_to_end(group_id)
        while len(self._own) > GROUPS_MAX:
            forgotten, _ = self._own.popitem(last=False)
            del self._asked_at[forgotten]
        if has_changed:
            for listener in self._on_change:
                listener()

    def _times(self, result: DescribeConfigsResult) -> Times:
        own = {
            config.name: int(config.value or 0)
            for config in result.configs
            if config.config_source == ConfigSource.GROUP
        }
        return tuple(own.get(name, default) for name, default in zip(OF_CONSUMER_GROUPS, self._defaults, strict=True))

    def _warn_once(self, result: DescribeConfigsResult) -> None:
        if result.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED and not self._is_denied:
            self._is_denied = True
            logger.warning("the node may not read configs of groups", group=result.resource_name)
