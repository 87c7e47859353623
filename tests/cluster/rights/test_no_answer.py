"""A client whose broker does not tell what it may do."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from coordinator.cluster.rights.probes import Permission
from coordinator.cluster.rights.rights import ClusterAuthorization, KnownRights
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import AclOperation, ResourceType
from coordinator.server.dispatch import DEFERRED


class LostUpstream:
    """A connection to a broker that is gone."""

    def ask(self, call: Any, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        answered(None)


def test_it_is_disconnected_and_not_denied() -> None:
    closed: list[bool] = []
    connection = SimpleNamespace(close=lambda: closed.append(True))
    call: Any = SimpleNamespace(connection=connection, client_id="c", principal=None)
    authorization = ClusterAuthorization(KnownRights(), LostUpstream(), MetadataImage(), None, None)
    read = Permission(AclOperation.READ, ResourceType.GROUP, "g")
    steps = authorization._closing(authorization._asked([read], lambda request, call: "denied", None, call), call)
    assert at_once(steps) is DEFERRED
    assert closed == [True]
