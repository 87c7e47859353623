"""What a request of a member waits for before the core decides, and what it is answered if that does not come."""

from collections.abc import Callable
from types import GeneratorType, SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from coordinator.cluster.groups.group_topics import Needed
from coordinator.cluster.handlers.joining import CONSUMER_HEARTBEAT, JOIN_GROUP, JoiningHandlers
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.front.dispatch import DEFERRED
from coordinator.runtime.slices import Steps, at_once
from tests.wire_client import join_request

SENTINEL = Sentinel("g", "sentinel", 1, 0, 1)


class World:
    """A group that a node owns, with its sentinel, and a cluster that tells of topics and configs."""

    def __init__(self) -> None:
        self.is_owned = self.has_sentinel = self.is_active = True
        self.owned: Sentinel | ErrorCode = SENTINEL
        self.topics_known = self.topics_come = True
        self.is_computed_with = True
        self.uses_pattern = False
        self.settings_fresh = True
        self.waited_for: list[str] = []
        self.needed: list[Needed] = []
        self.remembered: list[Any] = []
        self.queued: list[Any] = []
        ownership = SimpleNamespace(
            is_owned=lambda group_id: self.is_owned, has_sentinel=lambda group_id: self.has_sentinel, own=self._own
        )
        topics = SimpleNamespace(
            can_decide=lambda needed: self.topics_known,
            know=self._know,
            uses_pattern=lambda needed: self.uses_pattern,
            are_computed_with=lambda group_id: self.is_computed_with,
        )
        settings = SimpleNamespace(are_fresh=lambda group_id: self.settings_fresh, know=self._know_settings)
        visible = SimpleNamespace(remember=lambda rights, context: self.remembered.append(context))
        shard = SimpleNamespace(is_active=True)
        node = SimpleNamespace(coordinator=SimpleNamespace(shard_of=lambda group_id: self._shard(shard)))
        made: Any = JoiningHandlers.__new__(JoiningHandlers)
        made._enqueue = self._enqueue
        made._groups = node.coordinator
        made._ownership, made._topics, made._rights = ownership, topics, None
        made._visible, made._settings = visible, settings
        self.handlers: JoiningHandlers = made

    def _shard(self, shard: Any) -> Any:
        shard.is_active = self.is_active
        return shard

    def _own(self, group_id: str, answered: Callable[[Any], None]) -> None:
        self.waited_for.append("sentinel")
        answered(self.owned)

    def _know(self, needed: Needed) -> Steps[bool]:
        self.waited_for.append("topics")
        self.needed.append(needed)
        yield
        return self.topics_come

    def _know_settings(self, group_id: str, answered: Callable[[None], None]) -> None:
        self.waited_for.append("settings")
        answered(None)

    def _enqueue(self, api: Any, request: Any, context: Any) -> Any:
        self.queued.append(api)
        return DEFERRED

    def send(self, request: Any) -> ErrorCode | None:
        """What is answered without the core; None: the core gets the request."""

        def error_response(request: Any, error: ErrorCode, version: int) -> ErrorCode:
            return error

        context: Any = SimpleNamespace(
            api_version=1,
            client_host="/h",
            route=SimpleNamespace(error_response=error_response),
            environment=SimpleNamespace(may_create_group=lambda host: True),
        )
        heartbeats = isinstance(request, ConsumerGroupHeartbeatRequest)
        response = (self.handlers.consumer_heartbeat if heartbeats else self.handlers.join_group)(request, context)
        if type(response) is GeneratorType:
            response = at_once(response)
        return None if response is DEFERRED else response


def heartbeat(epoch: int, *names: str, pattern: str | None = None) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=epoch,
        subscribed_topic_names=list(names) or None,
        subscribed_topic_regex=pattern,
    )


def classic() -> JoinGroupRequest:
    return join_request("g")


@pytest.fixture
def world() -> World:
    return World()


def test_nothing_waits_where_all_is_known(world: World) -> None:
    for request in (heartbeat(0, "t"), heartbeat(3), heartbeat(-1), classic()):
        assert world.send(request) is None
    assert world.waited_for == []
    assert world.queued == [CONSUMER_HEARTBEAT] * 3 + [JOIN_GROUP]


def test_the_first_member_waits_for_the_sentinel_and_the_configs_and_the_topics(world: World) -> None:
    world.is_owned = world.has_sentinel = world.settings_fresh = world.topics_known = False
    assert world.send(heartbeat(0, "t", pattern="a.*")) is None
    assert world.waited_for == ["sentinel", "settings", "topics"]
    (needed,) = world.needed
    assert (needed.named, needed.pattern, needed.joins, needed.converts) == (["t"], "a.*", True, True)


def test_a_group_that_cannot_be_owned_is_not_decided_about(world: World) -> None:
    world.has_sentinel, world.owned = False, ErrorCode.NOT_COORDINATOR
    for request in (heartbeat(0, "t"), classic()):
        assert world.send(request) is ErrorCode.NOT_COORDINATOR
    assert world.queued == []


@pytest.mark.parametrize("epoch", [-2, -1, 3])
def test_a_member_of_a_group_of_the_cluster_is_sent_there(world: World, epoch: int) -> None:
    """GROUP_ID_NOT_FOUND, as the core would answer, ends a consumer."""
    world.is_owned = False
    assert world.send(heartbeat(epoch)) is ErrorCode.NOT_COORDINATOR
    assert (world.queued, world.waited_for) == ([], [])


def test_while_a_partition_is_loaded_the_core_answers(world: World) -> None:
    world.is_owned = world.is_active = False
    assert world.send(heartbeat(3)) is None
    assert world.queued == [CONSUMER_HEARTBEAT]


def test_a_member_that_goes_on_needs_no_sentinel(world: World) -> None:
    world.has_sentinel = world.topics_known = False
    assert world.send(heartbeat(3, "other")) is None
    assert world.waited_for == ["topics"]


def test_nothing_is_decided_by_topics_that_nobody_knows(world: World) -> None:
    world.topics_known = world.topics_come = False
    for request in (heartbeat(0, "t"), heartbeat(3, "t"), classic()):
        assert world.send(request) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.queued == []
    assert world.send(heartbeat(-1)) is None, "who leaves names none"


def test_a_classic_group_does_not_need_them(world: World) -> None:
    world.topics_known = world.topics_come = world.is_computed_with = False
    assert world.send(classic()) is None
    assert world.queued == [JOIN_GROUP]


def test_whoever_may_begin_a_resolution_is_remembered(world: World) -> None:
    world.send(heartbeat(3))
    assert world.remembered == []
    world.uses_pattern = True
    for request in (heartbeat(3), classic()):
        world.send(request)
    assert len(world.remembered) == 2
