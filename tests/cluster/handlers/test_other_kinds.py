"""A node answers for share groups and streams groups as Kafka does for a group of another kind."""

from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup
from coordinator.cluster.found import FOUND, NOT_FOUND, Finding, Unknown
from coordinator.cluster.handlers.other_kinds import DESCRIBED, OtherKindHandlers
from coordinator.cluster.relay.rules import OF_OTHER_KINDS
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.front.dispatch import DispatchTable
from coordinator.runtime.slices import Steps

OWNED, LOADING = "owned", "loading"


def owns(group_id: str, answered: Callable[[Finding[None]], None]) -> None:
    if group_id == LOADING:
        answered(Unknown(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    else:
        answered(FOUND if group_id == OWNED else NOT_FOUND)


def answer(name: str, *group_ids: str) -> Any:
    """The response, as its bytes in the newest version say it."""
    table = DispatchTable(CLUSTER_REQUIREMENTS)
    OtherKindHandlers(owns).add_to(table)
    api = APIS.named(name)
    request: Any
    if name == "DescribeShareGroupOffsets":
        request = DescribeShareGroupOffsetsRequest(groups=[RequestGroup(group_id=each) for each in group_ids])
    elif name in DESCRIBED:
        request = api.request(group_ids=list(group_ids))  # type: ignore[call-arg]
    else:
        request = api.request(group_id=group_ids[0])  # type: ignore[call-arg]
    route = table.routes[api.key]
    context: Any = SimpleNamespace(api_version=api.max_version)
    response = finished(route.handler(request, context))
    failed = route.error_response(request, ErrorCode.NOT_COORDINATOR, api.max_version)
    assert ErrorCode.NOT_COORDINATOR in [each.error_code for each in getattr(failed, "groups", [failed])]
    data = response.encode(api.max_version)
    return api.response.decode(data, api.max_version, 0)


def finished(steps: Steps[Any]) -> Any:
    """What steps return for which everything is answered at once."""
    assert isinstance(steps, Generator)
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("name", [name for name in OF_OTHER_KINDS if name not in DESCRIBED])
def test_a_group_of_the_nodes_is_of_another_kind(name: str) -> None:
    kind = "streams" if "Streams" in name else "share"
    response = answer(name, OWNED)
    assert (response.error_code, response.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group owned is not a {kind} group.",
    )
    for elsewhere in ("other", LOADING):
        response = answer(name, elsewhere)
        assert (response.error_code, response.error_message) == (ErrorCode.NOT_COORDINATOR, None)


@pytest.mark.parametrize("name", DESCRIBED)
def test_descriptions_answer_for_each_group(name: str) -> None:
    kind = "streams" if "Streams" in name else "share"
    response = answer(name, OWNED, "other")
    assert [(group.group_id, group.error_code, group.error_message) for group in response.groups] == [
        (OWNED, ErrorCode.GROUP_ID_NOT_FOUND, f"Group owned is not a {kind} group."),
        ("other", ErrorCode.NOT_COORDINATOR, None),
    ]
