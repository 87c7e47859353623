"""The step of the chain that authorizes, for a node of a test."""

from collections.abc import Mapping
from typing import Any, Final

from coordinator.front.authorization import Authorizer
from coordinator.front.authorization_step import AuthorizationStep
from coordinator.front.partial_denials import Row
from coordinator.front.request_context import RequestContext
from coordinator.groups.sessions import SessionTable
from coordinator.metadata.image import MetadataImage
from coordinator.node.partial_denials import rows_of
from coordinator.security.acls.model import AclOperation, ResourceType


class NotedDenials:
    """Notes what is reported as denied."""

    def __init__(self) -> None:
        self.noted: Final[list[tuple[str, AclOperation, ResourceType, str]]] = []

    def denied(self, call: RequestContext, operation: AclOperation, resource_type: ResourceType, name: str) -> None:
        self.noted.append((call.route.api.name, operation, resource_type, name))


def authorization(
    authorizer: Authorizer,
    sessions: SessionTable,
    image: MetadataImage | None = None,
    denials: Any = None,
    rows: Mapping[str, Row] | None = None,
) -> AuthorizationStep:
    topics = image or MetadataImage()
    return AuthorizationStep(
        authorizer,
        denials or NotedDenials(),
        sessions,
        rows_of(topics) if rows is None else rows,
        topic_name=topics.topic_name,
        creates_topic=lambda name: name not in topics.topics,
    )
