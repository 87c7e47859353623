"""The step of the chain that authorizes, for a node of a test."""

from typing import Any, Final

from coordinator.groups.sessions import SessionTable
from coordinator.metadata.image import MetadataImage
from coordinator.security.acls.model import AclOperation, ResourceType
from coordinator.server.authorization import Authorizer
from coordinator.server.authorization_step import AuthorizationStep
from coordinator.server.request_context import RequestContext


class NotedDenials:
    """Notes what is reported as denied."""

    def __init__(self) -> None:
        self.noted: Final[list[tuple[str, AclOperation, ResourceType, str]]] = []

    def denied(self, call: RequestContext, operation: AclOperation, resource_type: ResourceType, name: str) -> None:
        self.noted.append((call.route.api.name, operation, resource_type, name))


def authorization(
    authorizer: Authorizer, sessions: SessionTable, image: MetadataImage | None = None, denials: Any = None
) -> AuthorizationStep:
    return AuthorizationStep(
        authorizer, image or MetadataImage(), denials or NotedDenials(), sessions, creates_topics=True
    )
