"""Topics that a regular expression matches, without those that the client may not know of: asked in its name.

They are found beside the requests, for the client whose heartbeat has begun it. So that client is remembered until its
connection is closed.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.rights.probes import NAMES_AT_ONCE, Permission
from coordinator.cluster.rights.rights import RightsQuestions
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps, awaited
from coordinator.security.acls.model import AclOperation, ResourceType


class VisibleTopics:
    """Made before what it asks by, as that needs the group coordinator."""

    def __init__(self, topics: ClusterTopics) -> None:
        self._topics: Final = topics
        self._calls: dict[object, tuple[RightsQuestions, RequestContext]] = {}
        """Principal, which is that of one connection → who asks for it, and a request of it."""

    def remember(self, questions: RightsQuestions, call: RequestContext) -> None:
        """A client sends a heartbeat by which regular expressions may be resolved."""
        if call.principal not in self._calls:
            self._calls[call.principal] = questions, call

    def forget(self, principal: object) -> None:
        """The connection of a client is closed."""
        self._calls.pop(principal, None)

    def visible(self, principal: object, client_host: str, names: Sequence[str]) -> Steps[Sequence[str] | None]:
        """Those of the topics that the client may describe, all of which are known then; None: that is not known now.

        Then nothing changes for the group, and the next heartbeat begins again.
        """
        found: list[str] = []
        for first in range(0, len(names), NAMES_AT_ONCE):
            portion = names[first : first + NAMES_AT_ONCE]
            if principal not in self._calls:
                return None
            questions, call = self._calls[principal]
            permissions = [Permission(AclOperation.DESCRIBE, ResourceType.TOPIC, name) for name in portion]
            rights = yield from questions.answers(permissions, call)
            if rights is None:
                return None
            found += [name for name, permission in zip(portion, permissions, strict=True) if rights.get(permission)]
        has_topics = yield from awaited(partial(self._topics.know, found))
        return found if has_topics else None
