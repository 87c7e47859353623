"""A client whose broker does not tell what it may do, or tells it late."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from _wire.apis import APIS
from _wire.headers import decode_request_header
from coordinator.cluster.rights.probes import Permission
from coordinator.cluster.rights.rights import CachedRights, ClusterRights, RightsQuestions
from coordinator.front.dispatch import DEFERRED
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import AclOperation, ResourceType, question_of
from coordinator.security.principal import ANONYMOUS
from tests.cluster.rights.at_a_node import NO_TOPICS

NOTHING: Any = None


class LostUpstream:
    """A connection to a broker that is gone."""

    def ask(self, call: Any, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        answered(None)


class LateUpstream:
    """Its answers come when the test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, call: Any, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        header, _ = decode_request_header(frame)
        self.asked.append(APIS[header.api_key].name)


def test_all_that_a_request_needs_is_asked_for_again_when_a_part_has_expired() -> None:
    rights, upstream = CachedRights(), LateUpstream()
    rights._cached[ANONYMOUS] = {(question_of(AclOperation.READ, ResourceType.GROUP), "g"): True}
    authorization = RightsQuestions(rights, upstream)
    needs = [
        SimpleNamespace(
            operation=AclOperation.READ, resource_type=kind, names=lambda request, version, name=name: [name]
        )
        for kind, name in ((ResourceType.GROUP, "g"), (ResourceType.TOPIC, "t"))
    ]
    route: Any = SimpleNamespace(requirements=needs)
    call: Any = SimpleNamespace(principal=ANONYMOUS, client_id="c", client_host="/h", api_version=1)
    finding_out = authorization.find_out_for(route, None, call)
    assert finding_out is not None
    next(finding_out)
    assert sorted(upstream.asked) == ["Heartbeat", "Metadata"]


def test_it_is_disconnected_and_not_denied() -> None:
    closed: list[bool] = []
    connection = SimpleNamespace(close=lambda: closed.append(True))
    call: Any = SimpleNamespace(connection=connection, client_id="c", principal=None)
    rights = CachedRights()
    questions = RightsQuestions(rights, LostUpstream())
    step = ClusterRights(rights, questions, NO_TOPICS, NOTHING, NOTHING)
    read = Permission(AclOperation.READ, ResourceType.GROUP, "g")
    steps = step._closing(questions.find_out([read], call), call)
    assert at_once(steps) is DEFERRED
    assert closed == [True]
