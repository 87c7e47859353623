"""Handlers that are made, and imported, for the first request of one of their APIs."""

import subprocess
import sys
from typing import Any, cast

from _wire.apis import APIS
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext
from coordinator.node.handlers_made_later import LATER, LATER_WITH_DATA_PLANE
from coordinator.node.requirements import REQUIREMENTS
from tests.front.handlers.group_node import GroupNode
from tests.front.routes import noting


def test_handlers_are_made_for_the_first_request_of_one_of_their_apis_once_and_get_all_steps():
    node = GroupNode()
    made: list[str] = []

    def answer(request: Any, call: RequestContext) -> str:
        return "handled"

    class TwoApis:
        def __init__(self) -> None:
            made.append("handlers")

        def add_to(self, table: DispatchTable) -> None:
            table.add("DescribeAcls", answer)
            table.add("CreateAcls", answer)

    passed: list[str] = []
    table = DispatchTable(REQUIREMENTS)
    table.add_later({"DescribeAcls": (1, 2), "CreateAcls": (2, 3)}, TwoApis)
    describe, create, delete = map(APIS.key_of, ("DescribeAcls", "CreateAcls", "DeleteAcls"))
    chain = RequestChain(table, node.server.sessions, node.throttling)
    chain.add(lambda route, proceed: noting(passed, route.api.name, proceed))
    chain.compose_route(describe)
    assert (sorted(chain.served), chain.routes, made) == ([describe, create], {}, [])
    first = chain.route(create)
    assert first is not None
    assert (first.min_version, first.max_version, made) == (2, 3, ["handlers"])
    second = chain.route(describe)
    assert second is chain.routes[describe]
    assert (chain.route(create), chain.route(delete), made) == (first, None, ["handlers"])
    assert second is not None
    assert [route.handler(None, cast(Any, None)) for route in (first, second)] == ["handled", "handled"]
    assert passed == ["CreateAcls", "DescribeAcls"]


def test_few_modules_of_handlers_are_imported_before_the_first_request_that_needs_them():
    """Also those that say what becomes of denied requests wait for an authorizer."""
    program = """
import sys
from coordinator.testing import Coordinator
with Coordinator():
    print(*(name for name in sys.modules if name.startswith(("coordinator.front", "coordinator.node"))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.split(".", 2)[-1] for name in done.stdout.split()}
    assert "handlers.groups" in imported
    later = {make.__name__.removeprefix("_") for _, make in (*LATER, *LATER_WITH_DATA_PLANE)}
    assert not {f"handlers.{name}" for name in later} & imported
    assert not {"authorization_step", "partial_denials"} & imported
