"""Both ways of a connection without sockets: whatever is sent, and however it is cut, the order of responses holds."""

from collections import deque
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.frames import FrameSplitter
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.relay.expected_responses import ExpectedResponses
from coordinator.cluster.relay.request_flow import RequestFlow
from coordinator.cluster.relay.request_heads import HEAD
from coordinator.cluster.relay.response_flow import ResponseFlow
from coordinator.runtime.slices import Slices
from tests.cluster.relay.scripted import OWNED, FixedDirectory, encoded, frame, request, response
from tests.examples import examples

FETCH, DESCRIBE_GROUPS, FIND_COORDINATOR, PRODUCE = 1, 15, 10, 0
KINDS = ["fetch", "newer", "owned", "other", "silent", "produce", "find"]


def request_of(kind: str, number: int) -> bytes:
    match kind:
        case "fetch":
            return request(FETCH, 12, number, b"f" * (number % 7))
        case "newer":
            return request(FETCH, 16 + number % 3, number, b"f" * (number % 7))
        case "owned" | "other":
            group_id = OWNED if kind == "owned" else "other"
            return encoded(number, DescribeGroupsRequest(groups=[group_id]), 5)
        case "find":
            return encoded(number, FindCoordinatorRequest(coordinator_keys=[OWNED]), 4)
        case _:
            return encoded(number, ProduceRequest(acks=0 if kind == "silent" else -1, transactional_id="t"), 8)


class Pair:
    """Both ways, and a broker that answers what reaches it when it is told to."""

    address = "client"
    client_id = ""
    software = ""

    def __init__(self, answers_later: bool) -> None:
        self.directory = FixedDirectory(answers_later=answers_later)
        self.soon: deque[Callable[[], None]] = deque()
        self.to_broker, self.to_client = bytearray(), bytearray()
        self.expected = ExpectedResponses()
        slices = Slices(self.soon.append)
        self.requests = RequestFlow(self, self.expected, self.directory, slices, 1 << 20)
        self.responses = ResponseFlow(self, self.expected, self.directory, slices)
        self.requests.open()
        self.requests.update()
        self._arrived = FrameSplitter(1 << 20)
        self._seen_bytes = 0
        self.answers = bytearray()
        """What the broker has answered and the relay has not read."""

    def write_upstream(self, data: bytes | memoryview) -> None:
        self.to_broker += data

    def write_client(self, data: bytes | memoryview) -> None:
        self.to_client += data

    def abort(self, reason: str) -> None:
        raise AssertionError(reason)

    def fail(self, problem: Exception) -> None:
        raise problem

    def go_on(self) -> None:
        self.soon.append(self.resume)

    def logged_in(self) -> None:
        raise AssertionError("clients need no login here")

    def resume(self) -> None:
        for flow in (self.responses, self.requests):
            flow.update()
            if not flow.stream.is_stopped:
                flow.stream.feed(b"")

    def broker_answers(self) -> None:
        new, self._seen_bytes = bytes(self.to_broker[self._seen_bytes :]), len(self.to_broker)
        for arrived in self._arrived.feed(new):
            api_key, _, number = HEAD.unpack_from(arrived)
            if api_key == FIND_COORDINATOR:
                body = FindCoordinatorResponse(coordinators=[Coordinator(key=OWNED, node_id=1)])
                self.answers += frame(number.to_bytes(4, "big") + b"\x00" + body.encode(4))
            elif api_key != PRODUCE or b"\xff\xff\x00" in arrived:
                self.answers += response(number, b"a" * (number % 5))

    def run(self) -> None:
        """Let everything happen that waits."""
        while self.soon or self.directory.asked:
            self.directory.answer_all()
            if self.soon:
                self.soon.popleft()()


STEPS = st.lists(st.tuples(st.sampled_from("qars"), st.integers(1, 60)), max_size=60)
"""(requests come, the broker answers, responses come, what waits happens; how many bytes come)"""


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(KINDS), max_size=20), STEPS, st.booleans())
def test_each_request_is_answered_once_in_its_order(kinds, steps, answers_later):
    sent = [request_of(kind, number) for number, kind in enumerate(kinds)]
    unsent = b"".join(sent)
    pair = Pair(answers_later)
    for step, count in [*steps, ("q", 1 << 20)]:
        if step == "q":
            pair.requests.stream.feed(unsent[:count])
            unsent = unsent[count:]
        elif step == "a":
            pair.broker_answers()
        elif step == "r":
            pair.responses.stream.feed(bytes(pair.answers[:count]))
            del pair.answers[:count]
        else:
            pair.run()
    while pair.soon or pair.directory.asked or pair.answers or len(pair.to_broker) != pair._seen_bytes:
        pair.run()
        pair.broker_answers()
        pair.responses.stream.feed(bytes(pair.answers))
        pair.answers.clear()
    passed = [
        each[:6] + b"\0\x0f" + each[8:] if kind == "newer" else each
        for each, kind in zip(sent, kinds, strict=True)
        if kind != "owned"
    ]
    assert pair.to_broker == b"".join(passed)
    answered = FrameSplitter(1 << 20).feed(bytes(pair.to_client))
    numbers = [int.from_bytes(each[:4], "big") for each in answered]
    assert numbers == [number for number, kind in enumerate(kinds) if kind != "silent"]
    for each, number in zip(answered, numbers, strict=True):
        if kinds[number] in ("fetch", "newer"):
            assert each == response(number, b"a" * (number % 5))[4:]
    assert pair.expected.first is None
    assert pair.requests.held_bytes == pair.responses.held_bytes == pair.expected.own_bytes == 0
