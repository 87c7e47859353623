"""What a client may do is asked of the cluster, however many names a request has."""

import asyncio
from types import SimpleNamespace
from typing import Any

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.headers import decode_request_header, encode_response
from _wire.messages.offset_delete import OffsetDeleteResponse
from coordinator.cluster.relay.upstream_connection import REQUESTS_MAX
from coordinator.cluster.rights.clients import ClientOfCluster
from coordinator.cluster.rights.probes import Permission
from coordinator.cluster.rights.rights import ClusterAuthorization, KnownRights
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.waiting_steps import WaitingSteps
from coordinator.security.acls.model import AclOperation, ResourceType
from tests.cluster.rights.at_a_node import NO_TOPICS

DENIED = "denied"


class Broker:
    """Answers when it is told to, and takes as many requests at a time as the connection of a client."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, Any]] = []

    def ask(self, call: Any, frame: bytes, answered: Any) -> None:
        if len(self.waiting) >= REQUESTS_MAX:
            answered(None)
        else:
            self.waiting.append((frame, answered))

    def answer_all(self) -> None:
        waiting, self.waiting = self.waiting, []
        for frame, answered in waiting:
            header, body_start = decode_request_header(frame)
            request: Any = APIS[header.api_key].request.decode(frame, header.api_version, body_start, False)
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED if request.group_id == DENIED else ErrorCode.NONE
            response = OffsetDeleteResponse(error_code=error)
            answered(encode_response(header.correlation_id, response, header.api_version)[4:])


def test_more_rights_than_requests_may_wait_are_found_out():
    groups = [f"g{number}" for number in range(3 * REQUESTS_MAX)]
    asked = [Permission(AclOperation.DELETE, ResourceType.GROUP, name) for name in (*groups, DENIED)]
    client = ClientOfCluster(1)

    async def story() -> list[bool]:
        broker, known = Broker(), KnownRights()
        authorization = ClusterAuthorization(known, broker, NO_TOPICS, MetadataImage(), None, None)
        call: Any = SimpleNamespace(principal=client, client_id="c")
        steps = WaitingSteps(authorization.find_out(asked, call), lambda: None)
        while not steps.run(lambda: False):
            assert broker.waiting
            broker.answer_all()
        known.close()
        return [known.authorize(client, "/h", *each) for each in asked]

    assert asyncio.run(story()) == [*(True for _ in groups), False]
