"""What the authorizer adds to a request, with 10,000 ACLs: the time of its step, in process, beside the bare handler.

    python tests/bench/bench_acls.py

Environment: ACLS=10000, ROUNDS=20000 requests per measurement. Prints the best of five measurements of each request.
"""

import os
import sys
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from _wire.apis import APIS  # noqa: E402
from _wire.messages.fetch import FetchRequest, FetchTopic  # noqa: E402
from _wire.messages.heartbeat import HeartbeatRequest  # noqa: E402
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic  # noqa: E402
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic  # noqa: E402
from _wire.messages.produce import ProduceRequest, TopicProduceData  # noqa: E402
from coordinator.front.authorization_step import AuthorizationStep  # noqa: E402
from coordinator.metadata.image import MetadataImage  # noqa: E402
from coordinator.metadata.records import TopicRecord  # noqa: E402
from coordinator.node.partial_denials import rows_of  # noqa: E402
from coordinator.node.requirements import REQUIREMENTS  # noqa: E402
from coordinator.security.acls.authorizer import StandardAuthorizer  # noqa: E402
from coordinator.security.acls.model import Acl, ResourceType  # noqa: E402
from coordinator.security.principal import Principal  # noqa: E402

ACLS: Final = int(os.environ.get("ACLS", "10000"))
ROUNDS: Final = int(os.environ.get("ROUNDS", "20000"))
MEASUREMENTS: Final = 5
ALICE: Final = Principal("User", "alice")
HOST: Final = "/10.0.0.1"
READ, ALLOW, LITERAL, PREFIXED, ALL = 3, 3, 3, 4, 2
REQUESTS: Final = (
    (HeartbeatRequest(group_id="group-7", member_id="m"), 4),
    (ProduceRequest(topic_data=[TopicProduceData(name="topic-7")]), 9),
    (FetchRequest(topics=[FetchTopic(topic="topic-7")]), 11),
    (OffsetCommitRequest(group_id="group-7", topics=[OffsetCommitRequestTopic(name="topic-7")]), 8),
    (MetadataRequest(topics=[MetadataRequestTopic(name="topic-7")]), 9),
)


class Ignored:
    """In place of sessions and of the log of denials."""

    authorizations = 0

    def authorize(self, group_id: str, member_id: str, connection: int, since: int = -1) -> None:
        """Nothing is kept."""

    def denied(self, *what: Any) -> None:
        raise AssertionError(what)


def authorizer() -> StandardAuthorizer:
    """One with as many ACLs of many users, half of them prefixed; alice has some of them."""
    made = StandardAuthorizer(("User:admin",), allows_without_acl=False)
    for number in range(ACLS // 2):
        user = "User:alice" if number % 10 == 7 else f"User:user-{number % 500}"
        made.add(Acl(ResourceType.TOPIC.value, f"topic-{number}", LITERAL, user, "*", ALL, ALLOW))
        made.add(Acl(ResourceType.GROUP.value, f"group-{number}", PREFIXED, user, "*", ALL, ALLOW))
    return made


def main() -> None:
    rules = authorizer()
    image = MetadataImage()
    image.apply(TopicRecord("topic-7", "00" * 16, 1))
    step = AuthorizationStep(
        rules,
        Ignored(),
        Ignored(),
        rows_of(image),
        topic_name=image.topic_name,
        creates_topic=lambda name: name not in image.topics,
    )
    print(f"{ACLS} ACLs; µs that the step adds to a request, and a decision that is not kept")
    for request, version in REQUESTS:
        name = APIS[request.API_KEY].name
        api = SimpleNamespace(name=name)
        route: Any = SimpleNamespace(api=api, requirements=REQUIREMENTS[name])
        call: Any = SimpleNamespace(
            principal=ALICE,
            client_host=HOST,
            route=route,
            api_version=version,
            request=request,
            connection=SimpleNamespace(serial=1, principal=ALICE),
        )
        handler: Any = bare
        authorized = step(route, handler)
        assert authorized(request, call) == "handled"
        added = best(authorized, request, call) - best(handler, request, call)
        print(f"  {name:16}{added:6.2f} µs")
    began = perf_counter()
    for _ in range(ROUNDS):
        rules.rule(ALICE, HOST, REQUIREMENTS["Fetch"][1].operation, ResourceType.TOPIC, "topic-7")
    print(f"  {'not kept':16}{(perf_counter() - began) / ROUNDS * 1e6:6.2f} µs")


def bare(request: Any, call: Any) -> str:
    return "handled"


def best(handler: Any, request: Any, call: Any) -> float:
    """µs of one call."""
    times = []
    for _ in range(MEASUREMENTS):
        began = perf_counter()
        for _ in range(ROUNDS):
            handler(request, call)
        times.append((perf_counter() - began) / ROUNDS * 1e6)
    return min(times)


if __name__ == "__main__":
    main()
