from collections.abc import Callable

from _wire.structs import Buffer, Message

class RequestHeader:
    """The header of a request, read-only. `client_id` is None if the client sent none."""

    @property
    def api_key(self) -> int: ...
    @property
    def api_version(self) -> int: ...
    @property
    def correlation_id(self) -> int: ...
    @property
    def client_id(self) -> str | None: ...
    def __init__(self, api_key: int, api_version: int, correlation_id: int, client_id: str | None = None) -> None: ...

def request_header_version(api_key: int, api_version: int) -> int: ...
def response_header_version(api_key: int, api_version: int) -> int: ...
def decode_request_header(frame: Buffer, start: int = 0) -> tuple[RequestHeader, int]:
    """Return the header, of any key and version, and the position of the body in `frame`, which has no length field.

    Raises:
        MalformedMessage: the frame is too short for a header.
    """

def decode_response_header(frame: Buffer, api_key: int, api_version: int, start: int = 0) -> tuple[int, int]:
    """Return correlation id and position of the body in `frame`, the response to a request of this key and version."""

def encode_request(correlation_id: int, client_id: str | None, message: Message, version: int) -> bytes:
    """Encode a complete frame, with its length field."""

def encode_response(
    correlation_id: int,
    message: Message,
    version: int,
    apart: list[tuple[int, bytes | memoryview]] | None = None,
    pause: Callable[[int], object] | None = None,
) -> bytes:
    """Encode a complete frame, with its length field. `pause` is as in `Message.decode`.

    Records of 16 KiB or more are left out and appended to `apart`, if that is given, with their position in what is
    returned: they can be sent without being copied.
    """
