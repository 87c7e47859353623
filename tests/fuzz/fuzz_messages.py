"""Every message in every version: bytes are read or refused, and what was read can be written and read again.

    FUZZ_SECONDS=60 python -m tests.fuzz.fuzz_messages

The first two bytes of an input choose message and version, the rest is the body.
"""

from collections.abc import Callable, Iterator

from _wire.apis import APIS
from _wire.embedded import record_formats
from _wire.errors import MalformedMessage
from _wire.messages import RECORD_MODULES
from _wire.messages.connect_protocol_assignment import ConnectProtocolAssignment
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.structs import Message
from tests.fuzz.harness import fuzz
from tests.golden_vectors import GOLDEN_DIR, golden_vectors

CHOICE_BYTES = 2

KINDS: list[type[Message]] = [
    *(kind for api in APIS.values() for kind in (api.request, api.response)),
    *dict.fromkeys(
        kind
        for topic in RECORD_MODULES
        for record_format in record_formats(topic).values()
        for kind in (record_format.key, record_format.value)
    ),
    *(ConsumerProtocolAssignment, ConsumerProtocolSubscription, ConnectProtocolAssignment),
]
CHOICES = [(kind, version) for kind in KINDS for version in range(kind.MIN_VERSION, kind.MAX_VERSION + 1)]


def one_input(data: bytes, saw: Callable[[str], None]) -> None:
    kind, version = CHOICES[int.from_bytes(data[:CHOICE_BYTES], "big") % len(CHOICES)]
    try:
        message = kind.decode(data, version, min(CHOICE_BYTES, len(data)))
    except MalformedMessage as malformed:
        saw(f"{kind.__name__} v{version} {malformed.field} {malformed.why}")
        return
    saw(f"{kind.__name__} v{version} read")
    body = message.encode(version)
    again = kind.decode(body, version)
    assert again == message, (message, again)
    assert again.encode(version) == body, body.hex()


def seeds() -> Iterator[bytes]:
    names = {kind.__name__: kind for kind in KINDS}
    for path in sorted((GOLDEN_DIR / "wire").glob("[A-Z]*.jsonl.gz")):
        for vector in golden_vectors(f"wire/{path.name}"):
            kind = names[vector["api"] + vector["kind"].capitalize()]
            yield seed(kind, vector["version"], bytes.fromhex(vector["body_hex"]))
    for name in ("_records", "_records.old"):
        for vector in golden_vectors(f"wire/{name}.jsonl.gz"):
            kind = names[vector["record"].removeprefix("Legacy")]
            yield seed(kind, vector["prefix"], bytes.fromhex(vector["hex"])[CHOICE_BYTES:])


def seed(kind: type[Message], version: int, body: bytes) -> bytes:
    return CHOICES.index((kind, version)).to_bytes(CHOICE_BYTES, "big") + body


if __name__ == "__main__":
    fuzz("messages", one_input, seeds())
