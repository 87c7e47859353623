"""The configs of groups, as the cluster tells them."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.groups import group_settings
from coordinator.cluster.groups.group_settings import ClusterGroupSettings
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource

NODE = Config({"group.consumer.session.timeout.ms": "50000"})
OF_NODE = (50_000, 5_000, 1_000)
SESSION = "consumer.session.timeout.ms"


class ConfiguredBrokers:
    """Has configs of groups, and counts what is asked."""

    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str]] = {}
        self.asked: list[list[str]] = []
        self.error = ErrorCode.NONE
        self.answers = True

    async def any_connection(self) -> Any:
        return SimpleNamespace(request=self._request)

    async def _request(self, request: DescribeConfigsRequest, version_max: int) -> DescribeConfigsResponse:
        self.asked.append([resource.resource_name for resource in request.resources])
        await asyncio.sleep(0)
        if not self.answers:
            raise BrokerError("no broker answers")
        return DescribeConfigsResponse(results=[self._described(name) for name in self.asked[-1]])

    def _described(self, group_id: str) -> DescribeConfigsResult:
        own = self.configs.get(group_id, {})
        configs = [
            DescribeConfigsResourceResult(name=name, value=value, config_source=ConfigSource.GROUP)
            for name, value in own.items()
        ]
        if SESSION not in own:
            broker = DescribeConfigsResourceResult(
                name=SESSION, value="60000", config_source=ConfigSource.STATIC_BROKER
            )
            configs.append(broker)
        return DescribeConfigsResult(resource_name=group_id, error_code=self.error, configs=configs)


async def known(settings: ClusterGroupSettings, group_id: str) -> tuple[int, ...]:
    answered = asyncio.get_running_loop().create_future()
    settings.know(group_id, answered.set_result)
    await answered
    return settings.of(group_id)


def played(play: Callable[[ConfiguredBrokers, ClusterGroupSettings], Awaitable[None]]) -> None:
    async def main() -> None:
        brokers = ConfiguredBrokers()
        settings = ClusterGroupSettings(NODE, cast(Brokers, brokers))
        settings.start()
        try:
            async with asyncio.timeout(10):
                await play(brokers, settings)
        finally:
            settings.stop()

    asyncio.run(main())


def test_what_the_group_has_counts_and_what_brokers_have_does_not():
    async def play(brokers: ConfiguredBrokers, settings: ClusterGroupSettings) -> None:
        brokers.configs["slow"] = {SESSION: "70000", "consumer.assignment.interval.ms": "0"}
        assert settings.of("slow") == OF_NODE
        assert await known(settings, "slow") == (70_000, 5_000, 0)
        assert await known(settings, "other") == OF_NODE
        assert settings.are_fresh("slow")
        assert not settings.are_fresh("unknown")

    played(play)


def test_groups_that_are_asked_for_together_are_asked_for_in_one_request():
    async def play(brokers: ConfiguredBrokers, settings: ClusterGroupSettings) -> None:
        await asyncio.gather(*[known(settings, f"g{number % 3}") for number in range(9)])
        assert brokers.asked == [["g0", "g1", "g2"]]

    played(play)


def test_a_change_is_noticed_without_a_member_that_joins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(group_settings, "REFRESH_SECONDS", 0)

    async def play(brokers: ConfiguredBrokers, settings: ClusterGroupSettings) -> None:
        changed: list[tuple[int, ...]] = []
        settings.on_change(lambda: changed.append(settings.of("g")))
        assert await known(settings, "g") == OF_NODE
        brokers.configs["g"] = {SESSION: "6000"}
        while not changed:
            await asyncio.sleep(0)
        assert changed == [(6_000, 5_000, 1_000)]

    played(play)


@pytest.mark.parametrize(
    ("error", "warnings"), [(ErrorCode.GROUP_AUTHORIZATION_FAILED, 1), (ErrorCode.INVALID_REQUEST, 0)]
)
def test_without_the_right_or_on_an_older_kafka_those_of_the_node_count(
    monkeypatch: pytest.MonkeyPatch, error: ErrorCode, warnings: int
):
    lines: list[str] = []
    logger = SimpleNamespace(warning=lambda text, **fields: lines.append(text))
    monkeypatch.setattr(group_settings, "logger", logger)

    async def play(brokers: ConfiguredBrokers, settings: ClusterGroupSettings) -> None:
        brokers.error = error
        for group_id in ("a", "b"):
            assert await known(settings, group_id) == OF_NODE

    played(play)
    assert len(lines) == warnings


def test_what_was_known_counts_while_the_cluster_does_not_answer():
    async def play(brokers: ConfiguredBrokers, settings: ClusterGroupSettings) -> None:
        brokers.configs["g"] = {SESSION: "6000"}
        assert await known(settings, "g") == (6_000, 5_000, 1_000)
        brokers.answers = False
        assert await known(settings, "g") == (6_000, 5_000, 1_000)

    played(play)
