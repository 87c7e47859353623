"""The notation for Kafka's messages: one short file per API in `schemas/`, from which the extensions are built.

    # A member asks to be in the next generation of its group.
    api JoinGroup 11   versions 0-9   flexible 6+

    request
      group_id              string                                # the group
      rebalance_timeout_ms  int32   1+   default -1               # how long the group waits for it in a rebalance
      group_instance_id     string  5+   nullable   default null  # the static member's id; null: a dynamic member
      protocols             [JoinGroupRequestProtocol]            # the member's assignors in its order
        name                string                                # the name of the assignor
        metadata            bytes                                 # what the member sends to the assignor

The comment says what the message is for; then name and API key (`flexible never` where KIP-482 came too late). The
blocks `request` and `response` have one line per field, with a comment that says what it is: name, type, versions (all
of them, if none are given), and

    nullable      null is allowed; `nullable 7+`: from version 7 on
    default x     what the field is in versions that do not have it: zero or empty, if nothing is said
    tag 0         it is a tagged field of the flexible versions

`[...]` is an array. The fields of a struct follow, further in; a struct that is used twice has a block of its own,
`struct Name`. Types: bool, int8, int16, uint16, int32, int64, float64, string, bytes, records, uuid.

Formats that lie inside other bytes come behind an int16, mostly their version:

    record GroupMetadata 2 of __consumer_offsets   versions 0-4   flexible 4+

is a record of an internal topic, with the blocks `key` and `value`. Versions and flexibility are the value's. The int16
of the key is no version but the number after the name, by which a reader knows what record it is; we take it for the
key's version, as Kafka did until 4.0 (the bytes are the same). `0-1` are two record types with the same fields.

    data ConsumerProtocolAssignment   versions 0-3   flexible never

is anything else, with the one block `fields`.

A tagged field is written if it differs from its default. A tagged struct that is not sent is None; but one that is
`nullable` without a `default null` is a struct of defaults then, as in Kafka, and None is written as a null.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SCALARS = ("bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid")
TEXTS = ("string", "bytes", "records")

SCHEMAS = Path(__file__).parent / "schemas"
INDENT = 2
FIELD = re.compile(r"(?P<name>[a-z][a-z0-9_]*)\s+(?P<type>\w+|\[\w+\])(?:\s+(?P<versions>\d\S*))?(?P<rest>(?:\s+.*)?)")
OPTION = re.compile(
    r"""\s*(?P<option>nullable|default|tag)(?:\s+(?P<value>"[^"]*"|(?!nullable\b|default\b|tag\b)\S+))?"""
)
API = re.compile(r"api (?P<name>[A-Z]\w*) (?P<key>\d+)\s+versions (?P<versions>\S+)\s+flexible (?P<flexible>\S+)")
RECORD = re.compile(
    r"record (?P<name>[A-Z]\w*) (?P<types>\S+) of (?P<topic>\w+)"
    r"\s+versions (?P<versions>\S+)\s+flexible (?P<flexible>\S+)"
)
DATA = re.compile(r"data (?P<name>[A-Z]\w*)\s+versions (?P<versions>\S+)\s+flexible (?P<flexible>\S+)")
BLOCK = re.compile(r"request|response|key|value|fields|struct (?P<struct>[A-Z]\w*)")
BLOCKS = {"api": ["request", "response"], "record": ["key", "value"], "data": ["fields"]}
BLOCK_NAMES = [name for names in BLOCKS.values() for name in names]


class NotationError(Exception):
    """A line is not valid. The text is one line and begins with the file and the line number."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions, both ends included."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def covers(self, other: Versions) -> bool:
        return self.first <= other.first and other.last <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


Default = bool | int | float | str | None


@dataclass(slots=True)
class Field:
    """One line of a definition. `type` (in arrays of an element) is one of SCALARS or TEXTS or a struct name."""

    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions | None
    default: Default | list[object]
    tag: int | None
    where: str
    has_default: bool
    doc: str = ""
    """What the field is; empty if its line has no comment."""

    @property
    def is_struct(self) -> bool:
        return self.type not in SCALARS and self.type not in TEXTS


@dataclass(slots=True)
class Struct:
    """Fields in the order of their encoding.

    `path` leads from the message to them (`protocols.`), for errors; where a struct has a block of its own it begins
    with the struct's name instead (`Cursor.`). `flexible_from` lies above the versions where none is flexible.
    """

    name: str
    path: str
    versions: Versions
    flexible_from: int
    fields: list[Field] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """The topic of the records, and the record types that their keys begin with."""

    topic: str
    types: Versions


@dataclass(slots=True)
class Definition:
    """One file. `messages` names the structs that stand alone: request and response, key and value, or the format.

    `key` is the API key, `place` where a record is stored; neither is there for any other format.
    """

    name: str
    key: int | None
    place: RecordPlace | None
    doc: str
    versions: Versions
    flexible_from: int
    messages: list[str]
    structs: dict[str, Struct]

    @property
    def module(self) -> str:
        return snake_case(self.name) + ("_record" if self.place else "")

    @property
    def kind(self) -> str:
        """The first word of the definition."""
        return "record" if self.place else "data" if self.key is None else "api"


def snake_case(name: str) -> str:
    """groupInstanceId, GroupInstanceId → group_instance_id."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def read_definitions(folder: Path = SCHEMAS) -> list[Definition]:
    """The definitions of all files in the folder, in the order of their modules."""
    return sorted((read_definition(path) for path in folder.glob("*.schema")), key=lambda definition: definition.module)


def read_definition(path: Path) -> Definition:
    """Read the definition in a file. Raises NotationError if it is not valid."""
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, file_name: str) -> Definition:
    """Parse the definition in `text`; errors name `file_name` and the line."""
    return _Parser(text, file_name).definition()


class _Parser:
    def __init__(self, text: str, file_name: str) -> None:
        self.file_name = file_name
        self.lines = list(self._significant_lines(text))
        self.at = 0
        comment = text.partition("\n\n")[0] if text.startswith("#") else ""
        self.doc = " ".join(line.lstrip("# ") for line in comment.splitlines() if line.startswith("#"))
        self.structs: dict[str, Struct] = {}

    def _significant_lines(self, text: str) -> Iterator[tuple[int, int, str]]:
        for number, raw in enumerate(text.splitlines(), 1):
            line = raw.rstrip()
            content = line.lstrip(" ")
            if not content or content.startswith("#"):
                continue
            if "\t" in line:
                raise NotationError(f"{self.file_name}:{number}: tab in the line")
            yield number, len(line) - len(content), content

    def where(self, number: int) -> str:
        return f"{self.file_name}:{number}"

    def definition(self) -> Definition:
        if not self.lines:
            raise NotationError(f"{self.where(1)}: no definition in the file")
        if not self.doc:
            raise NotationError(
                f"{self.where(1)}: the file must begin with a comment that says what the message is for"
            )
        number, indent, line = self.lines[0]
        declared = API.fullmatch(line) or RECORD.fullmatch(line) or DATA.fullmatch(line)
        if indent or declared is None:
            raise NotationError(
                f"{self.where(number)}: expected `api Name key   versions a-b   flexible c+`, `record ...`, `data ...`"
            )
        self.at = 1
        said = declared.groupdict()
        versions = self.versions(said["versions"], number, None)
        definition = Definition(
            name=said["name"],
            key=int(said["key"]) if "key" in said else None,
            place=RecordPlace(said["topic"], self.versions(said["types"], number, None)) if "topic" in said else None,
            doc=self.doc,
            versions=versions,
            flexible_from=self.flexible_from(said["flexible"], number, versions),
            messages=[],
            structs=self.structs,
        )
        while self.at < len(self.lines):
            self.block(definition)
        self.check_whole(definition, number)
        return definition

    def flexible_from(self, text: str, number: int, versions: Versions) -> int:
        if text == "never":
            return versions.last + 1
        if not re.fullmatch(r"\d+\+", text):
            raise NotationError(f"{self.where(number)}: flexible is `never` or a version with a plus, not `{text}`")
        return int(text[:-1])

    def versions(self, text: str, number: int, within: Versions | None) -> Versions:
        """Parse `3`, `3-5` or `3+`, which ends at the end of `within`."""
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
        if match is None or (match[2] and within is None):
            raise NotationError(f"{self.where(number)}: `{text}` is no range of versions")
        first = int(match[1])
        last = within.last if match[2] and within is not None else int(match[3] or first)
        found = Versions(first, last)
        if first > last or (within is not None and not within.covers(found)):
            raise NotationError(f"{self.where(number)}: versions {text} lie outside of {within or 'any range'}")
        return found

    def block(self, definition: Definition) -> None:
        number, indent, line = self.lines[self.at]
        match = BLOCK.fullmatch(line)
        if indent or match is None:
            raise NotationError(f"{self.where(number)}: expected `struct Name` or one of {', '.join(BLOCK_NAMES)}")
        self.at += 1
        versions, flexible_from = definition.versions, definition.flexible_from
        if match["struct"]:
            name, path = match["struct"], match["struct"] + "."
        else:
            if line not in BLOCKS[definition.kind]:
                raise NotationError(f"{self.where(number)}: `{line}` does not go with this kind of definition")
            name, path = definition.name + ("" if line == "fields" else line.capitalize()), ""
            definition.messages.append(name)
            if definition.place and line == "key":
                versions, flexible_from = definition.place.types, definition.place.types.last + 1
        self.struct(Struct(name, path, versions, flexible_from), INDENT, number)

    def struct(self, struct: Struct, indent: int, number: int) -> None:
        if struct.name in self.structs:
            raise NotationError(f"{self.where(number)}: {struct.name} is defined twice")
        self.structs[struct.name] = struct
        while self.at < len(self.lines) and self.lines[self.at][1] >= indent:
            number, found_indent, line = self.lines[self.at]
            if found_indent != indent:
                raise NotationError(
                    f"{self.where(number)}: expected {indent} spaces before the name, not {found_indent}"
                )
            self.at += 1
            new = self.field(line, number, struct.versions)
            if any(new.name == other.name for other in struct.fields):
                raise NotationError(f"{self.where(number)}: {struct.name} has two fields {new.name}")
            struct.fields.append(new)
            if self.at < len(self.lines) and self.lines[self.at][1] > indent:
                if not new.is_struct:
                    raise NotationError(f"{self.where(self.lines[self.at][0])}: {new.type} has no fields of its own")
                inner = Struct(new.type, f"{struct.path}{new.name}.", new.versions, struct.flexible_from)
                self.struct(inner, indent + INDENT, number)

    def field(self, line: str, number: int, within: Versions) -> Field:
        line, _, doc = line.partition(" # ")
        match = FIELD.fullmatch(line.rstrip())
        if match is None:
            raise NotationError(f"{self.where(number)}: expected `name type [versions] [nullable] [default x] [tag n]`")
        versions = self.versions(match["versions"], number, within) if match["versions"] else within
        type_name, is_array = match["type"].strip("[]"), match["type"].startswith("[")
        if type_name[0].islower() and type_name not in SCALARS + TEXTS:
            raise NotationError(f"{self.where(number)}: {type_name} is no type")
        options = self.options(match["rest"], number)
        nullable = None
        if "nullable" in options:
            nullable = self.versions(options["nullable"], number, versions) if options["nullable"] else versions
            if not is_array and type_name in SCALARS:
                raise NotationError(f"{self.where(number)}: {type_name} cannot be null")
        if "tag" in options and not options["tag"].isdecimal():
            raise NotationError(f"{self.where(number)}: a tag is a number, not `{options['tag']}`")
        new = Field(
            name=match["name"],
            type=type_name,
            is_array=is_array,
            versions=versions,
            nullable=nullable,
            default=None,
            tag=int(options["tag"]) if "tag" in options else None,
            where=self.where(number),
            has_default="default" in options,
            doc=doc.strip(),
        )
        new.default = self.default(new, options.get("default"))
        return new

    def options(self, rest: str, number: int) -> dict[str, str]:
        options: dict[str, str] = {}
        position = 0
        while position < len(rest):
            match = OPTION.match(rest, position)
            if match is None or match["option"] in options or (match["option"] != "nullable" and not match["value"]):
                raise NotationError(f"{self.where(number)}: `{rest[position:].strip()}` is not understood")
            options[match["option"]] = match["value"] or ""
            position = match.end()
        return options

    def default(self, new: Field, text: str | None) -> Default | list[object]:
        if text == "null":
            if new.nullable is None:
                raise NotationError(f"{new.where}: default null, but never nullable")
            return None
        if text is not None and (new.is_array or new.is_struct or new.type in ("bytes", "records", "uuid")):
            raise NotationError(f"{new.where}: only null can be the default of {new.type}")
        if new.is_array:
            return []
        literals = {
            "bool": ({"true": True, "false": False}.get(text or "false")),
            "string": _literal(text or '""', str),
        }
        if new.type in literals:
            value = literals[new.type]
        elif new.type == "float64":
            value = _literal(text or "0.0", float)
        elif new.type in SCALARS and new.type != "uuid":
            value = _literal(text or "0", int)
        else:
            return None
        if value is None:
            raise NotationError(f"{new.where}: `{text}` is no {new.type}")
        return value

    def check_whole(self, definition: Definition, number: int) -> None:
        """Check what is known only after all lines are read."""
        blocks = BLOCKS[definition.kind]
        if len(definition.messages) != len(blocks):
            raise NotationError(f"{self.where(number)}: expected the blocks {' and '.join(blocks)}")
        for struct in self.structs.values():
            for struct_field in struct.fields:
                if struct_field.is_struct and struct_field.type not in self.structs:
                    raise NotationError(f"{struct_field.where}: {struct_field.type} is defined nowhere in this file")
                if struct_field.tag is not None and struct_field.versions.first < struct.flexible_from:
                    raise NotationError(
                        f"{struct_field.where}: tagged in version {struct_field.versions.first}, which is not flexible"
                    )
            tags = [field.tag for field in struct.fields if field.tag is not None]
            if tags != sorted(set(tags)):
                raise NotationError(
                    f"{struct.fields[0].where}: the tags of {struct.name} must be different and in order"
                )


def _literal(text: str, literal_type: type[int] | type[float] | type[str]) -> int | float | str | None:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, literal_type) and not isinstance(value, bool) else None
