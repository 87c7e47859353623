"""Mutants of the request chain: who is asked, in which order, and what is off."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "the steps of the chain are in the reverse order",
        "RequestChain._compose_route",
        "for step in reversed(self._steps):",
        "for step in self._steps:",
    ),
    Mutant(
        "requests are throttled before they are authorized",
        "RequestChain.__init__",
        "self._steps.insert(0, authorization)",
        "self._steps.append(authorization)",
    ),
    Mutant(
        "a denied request is handled",
        "_AuthorizedRoute._steps",
        "return (yield from refused_in_steps(call, requirement.resource_type.denied))",
        "pass",
    ),
    Mutant(
        "only the first requirement of a request is asked",
        "_AuthorizedRoute._steps",
        "for requirement in self._whole:",
        "for requirement in self._whole[:1]:",
    ),
    Mutant(
        "heartbeats are answered without being measured",
        "RequestChain.compose",
        "self._throttling.times_requests or self._has_added",
        "self._has_added",
    ),
    Mutant(
        "a quota that is set later measures no request",
        "RequestChain.__init__",
        "throttling.on_switch(self.compose)",
        "",
    ),
    Mutant(
        "an API that does not say what it needs is served",
        "DispatchTable._serve",
        "assert name in self._requirements,",
        "assert name,",
    ),
    Mutant(
        "a route without a check is not noticed",
        "DispatchTable.add",
        "self._requirements[name],\ndowngrade",
        "(),\ndowngrade",
    ),
    Mutant(
        "handlers are made again for each of their APIs",
        "DispatchTable.load",
        "if other is not make",
        "if key != api_key",
    ),
    Mutant(
        "handlers that are made later get no steps before them",
        "RequestChain.route",
        "self._compose_route(loaded)",
        "self.routes[loaded] = self._table.routes[loaded]",
    ),
    Mutant(
        "a step for an API makes its handlers",
        "RequestChain.compose_route",
        "if api_key in self.routes:",
        "if self.route(api_key):",
    ),
    Mutant(
        "an API whose handlers are not made yet is not listed",
        "DispatchTable.add_later",
        "self._later[self._serve(name, oldest, newest, oldest)] = make",
        "self._later[APIS.key_of(name)] = make",
    ),
    Mutant(
        "topics that are named by id need nothing",
        "requirements.topics",
        "yield topic.topic_id",
        "continue",
    ),
    Mutant(
        "followers need what consumers need",
        "_is_of_replica",
        "return request.replica_state is not None and bool(request.replica_state.replica_id >= 0)",
        "return False",
    ),
    Mutant(
        "requests are measured only from their handler on",
        "RequestDispatcher._serve_measured",
        "self._throttling.begin(connection, len(frame))\nself._serve(connection, frame)",
        "self._serve(connection, frame)\nself._throttling.begin(connection, len(frame))",
    ),
)
