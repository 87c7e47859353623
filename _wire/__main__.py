"""Decodes bytes of the Kafka protocol, and describes its messages.

python -m _wire decode --api JoinGroup --version 7 00066f7264657273...
python -m _wire decode --header < request.hex          # key and version are in the header of a request
python -m _wire decode --api GroupMetadataValue -      # an embedded format begins with its version
python -m _wire describe JoinGroup
"""

import argparse
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import import_module

from _wire import layout, show
from _wire.apis import APIS
from _wire.embedded import decode_versioned
from _wire.errors import MalformedMessage
from _wire.headers import decode_request_header, decode_response_header
from _wire.notation import Definition, read_definitions
from _wire.structs import Message


class UsageError(Exception):
    """The command cannot be executed as given. The message is one line."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code, which is 1 after an error (one line on stderr)."""
    options = parser().parse_args(arguments)
    try:
        for line in options.run(options):
            print(line)
    except MalformedMessage as malformed:
        if malformed.understood is not None:
            for line in understood(malformed):
                print(line)
        print(malformed, file=sys.stderr)
        return 1
    except (UsageError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(prog="python -m _wire", description="Look at bytes of the Kafka protocol.")
    commands = whole.add_subparsers(required=True, metavar="decode|describe")
    decode = commands.add_parser("decode", help="show what bytes mean, one line per field")
    decode.add_argument("--api", help="JoinGroup, ...; or an embedded format, ConsumerProtocolSubscription, ...")
    decode.add_argument("--version", type=int)
    decode.add_argument("--response", action="store_true", help="the bytes are a response, not a request")
    decode.add_argument("--header", action="store_true", help="the bytes start with a header")
    decode.add_argument("hex", metavar="HEX", nargs="?", default="-", help="the bytes; `-`, or nothing: from stdin")
    decode.set_defaults(run=run_decode)
    describe = commands.add_parser("describe", help="show the fields of a message, version by version")
    describe.add_argument("name", help="JoinGroup, OffsetCommitValue, ...")
    describe.set_defaults(run=lambda options: layout.describe(definition_of(options.name)))
    return whole


def run_decode(options: argparse.Namespace) -> Iterator[str]:
    data = bytes_from(sys.stdin.read() if options.hex == "-" else options.hex)
    api, version, body_start = options.api, options.version, 0
    if options.header and not options.response:
        header, body_start = decode_request_header(data)
        api_of_key = APIS.get(header.api_key)
        yield f"header = {header}"
        if api_of_key is None:
            raise UsageError(f"API key {header.api_key} is not defined")
        api, version = api_of_key.name, header.api_version
    if api is None:
        raise UsageError("unknown message: give --api NAME, or --header if the bytes start with a request header")
    definition = definition_of(api)
    if definition.key is None:
        message = decode_versioned(kind_of(definition, api), data)
        version = int.from_bytes(data[:2], "big", signed=True)
    else:
        kind = kind_of(definition, f"{definition.name}{'Response' if options.response else 'Request'}")
        if version is None:
            raise UsageError(f"unknown version of {api}: give --version 0 to {kind.MAX_VERSION}")
        if options.header and options.response:
            correlation_id, body_start = decode_response_header(data, definition.key, version)
            yield f"header.correlation_id = {correlation_id}"
        message = kind.decode(data, version, body_start)
    yield f"{type(message).__name__} v{version}"
    yield from show.lines(message, definition, version)


def understood(malformed: MalformedMessage) -> Iterator[str]:
    """Yield the lines of the fields before the malformed one."""
    definition = definition_of(malformed.message)
    yield f"{malformed.message} v{malformed.version}, up to the malformed field"
    yield from show.lines(malformed.understood, definition, malformed.version, until=malformed.field or None)


def bytes_from(text: str) -> bytes:
    """Parse hex digits, which may be separated by spaces, line breaks and colons."""
    digits = "".join(text.split()).replace(":", "").removeprefix("0x")
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise UsageError(f"not hex: {digits[:40]!r}") from None


def definition_of(name: str) -> Definition:
    """Find a definition by its name or by the name of one of its messages."""
    definitions = read_definitions()
    for definition in sorted(definitions, key=lambda definition: definition.key is None):
        if name in (definition.name, *definition.messages):
            return definition
    names = {definition.name for definition in definitions} | {
        name for definition in definitions for name in definition.messages
    }
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    raise UsageError(f"there is no message {name}" + (f"; did you mean {', '.join(close)}?" if close else ""))


def kind_of(definition: Definition, message_name: str) -> type[Message]:
    if message_name not in definition.messages:
        raise UsageError(f"{message_name} is a record: give {' or '.join(definition.messages)}")
    kind: type[Message] = getattr(import_module(f"_wire.messages.{definition.module}"), message_name)
    return kind


if __name__ == "__main__":
    sys.exit(main())
