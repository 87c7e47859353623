"""Mutants of the request chain: who is asked, in which order, and what is off."""

from typing import Final

from tests.mutations.mutant import Mutant

CHAIN: Final = "coordinator/server/request_chain.py"
REQUIREMENTS: Final = "coordinator/server/requirements.py"
DISPATCH: Final = "coordinator/server/dispatch.py"
DISPATCHER: Final = "coordinator/server/request_dispatcher.py"
THROTTLING: Final = "coordinator/server/throttling.py"

MUTANTS: Final = (
    Mutant(
        "the steps of the chain are in the reverse order",
        CHAIN,
        "        for step in reversed(self._steps):\n",
        "        for step in self._steps:\n",
    ),
    Mutant(
        "requests are throttled before they are authorized",
        CHAIN,
        "[authorization(authorizer), throttling.step]",
        "[throttling.step, authorization(authorizer)]",
    ),
    Mutant(
        "a denied request is handled",
        CHAIN,
        "            if not _is_allowed(authorizer, requirement, name, call):\n",
        "            if not _is_allowed(authorizer, requirement, name, call) and False:\n",
    ),
    Mutant(
        "only the first requirement of a request is asked",
        CHAIN,
        "        return partial(_authorize, authorizer, needed, proceed)\n",
        "        return partial(_authorize, authorizer, needed[:1], proceed)\n",
    ),
    Mutant(
        "heartbeats are answered without the authorizer",
        CHAIN,
        "self._authorizer is not ALLOW_ALL or self._throttling.times_requests or self._has_added",
        "self._throttling.times_requests or self._has_added",
    ),
    Mutant(
        "heartbeats are answered without being measured",
        CHAIN,
        "self._authorizer is not ALLOW_ALL or self._throttling.times_requests or self._has_added",
        "self._authorizer is not ALLOW_ALL or self._has_added",
    ),
    Mutant(
        "a quota that is set later measures no request",
        CHAIN,
        "        throttling.on_switch(self.compose)\n",
        "",
    ),
    Mutant(
        "an API that does not say what it needs is served",
        DISPATCH,
        "        assert name in REQUIREMENTS, ",
        "        assert name, ",
    ),
    Mutant(
        "a route without a check is not noticed",
        DISPATCH,
        "answer_error, REQUIREMENTS[name], downgrade",
        "answer_error, (), downgrade",
    ),
    Mutant(
        "topics that are named by id need nothing",
        REQUIREMENTS,
        "                yield topic_id\n",
        "                continue\n",
    ),
    Mutant(
        "followers need what consumers need",
        REQUIREMENTS,
        "    return request.replica_state is not None and bool(request.replica_state.replica_id >= 0)\n",
        "    return False\n",
    ),
    Mutant(
        "requests are measured only from their handler on",
        DISPATCHER,
        "        self._throttling.begin(connection, len(frame))\n        self._serve(connection, frame)\n",
        "        self._serve(connection, frame)\n        self._throttling.begin(connection, len(frame))\n",
    ),
)
