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
from coordinator.cluster.rights.rights import (
    DECISIONS_BYTES_MAX,
    DECISIONS_MAX,
    DECISIONS_OF_ONE_BYTES_MAX,
    DECISIONS_OF_ONE_MAX,
    NAMES_BYTES_MAX,
    NAMES_MAX,
    CachedRights,
    RightsQuestions,
    _bounded,
)
from coordinator.runtime.waiting_steps import WaitingSteps
from coordinator.security.acls.model import AclOperation, ResourceType

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
        broker, known = Broker(), CachedRights()
        authorization = RightsQuestions(known, broker)
        call: Any = SimpleNamespace(principal=client, client_id="c")
        steps = WaitingSteps(authorization.find_out(asked, call), lambda: None)
        while not steps.run(lambda: False):
            assert broker.waiting
            broker.answer_all()
        known.close()
        return [known.authorize(client, "/h", *each) for each in asked]

    assert asyncio.run(story()) == [*(True for _ in groups), False]


def learned(known: CachedRights, serial: int, names: list[str]) -> ClientOfCluster:
    client = ClientOfCluster(serial)
    known.make_room(client)
    known.learn(client, {Permission(AclOperation.READ, ResourceType.GROUP, name): True for name in names})
    return client


def kept(known: CachedRights, client: ClientOfCluster) -> int:
    return len(known.decisions(client, "/h"))


def play(story: Any) -> None:
    async def run() -> None:
        known = CachedRights()
        story(known)
        known.close()

    asyncio.run(run())


def test_invented_names_of_one_client_are_kept_up_to_a_bound():
    def story(known: CachedRights) -> None:
        for turn in range(30):
            client = learned(known, 1, [f"{turn}-{number}" for number in range(NAMES_MAX)])
            assert kept(known, client) <= DECISIONS_OF_ONE_MAX
        for turn in range(30):
            client = learned(known, 1, [f"{turn}-{number}" + "n" * 30_000 for number in range(100)])
            assert known._bytes[client] <= DECISIONS_OF_ONE_BYTES_MAX

    play(story)


def test_those_of_all_clients_are_bounded_and_who_has_few_keeps_them():
    def story(known: CachedRights) -> None:
        modest = learned(known, 0, ["g"])
        for serial in range(1, 40):
            client = learned(known, serial, [f"{serial}-{number}" for number in range(NAMES_MAX)])
            assert kept(known, client) == NAMES_MAX, "what was found out for a request is there until it is decided"
            assert known._decisions == sum(map(len, known._cached.values())) <= DECISIONS_MAX
        for serial in range(40, 60):
            learned(known, serial, [f"{number}" + "n" * 30_000 for number in range(100)])
            assert known._names_bytes == sum(known._bytes.values()) <= DECISIONS_BYTES_MAX
        assert kept(known, modest) == 1
        for serial in range(60):
            known.forget(ClientOfCluster(serial))
        assert (known._decisions, known._names_bytes, known._bytes) == (0, 0, {})

    play(story)


def test_a_request_is_asked_about_as_far_as_its_names_are_bounded():
    names = [str(number) + "n" * 30_000 for number in range(1_000)]
    asked = _bounded(Permission(AclOperation.READ, ResourceType.GROUP, name) for name in names)
    assert [each.name for each in asked] == names[: len(asked)]
    assert 0 < sum(len(each.name) for each in asked) <= NAMES_BYTES_MAX
