"""The text of a client's line → the ways to read it, with what the library writes before its message."""

import re
from typing import Any, Final, NamedTuple, cast

from coordinator.observe.logs.client_rules import FRANZ_GO, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from coordinator.observe.logs.client_statements import ClientStatement, Library
from coordinator.observe.logs.layouts import split_logger
from coordinator.observe.logs.rules import Rule
from coordinator.observe.logs.templates import Template, TooManyReadings, Values

NEEDLE: Final = re.compile(rb"\[Consumer |kafka\.coordinator|\[thrd:|; group: |; why: ")
RDKAFKA: Final = re.compile(
    r"%\d\|(?P<epoch>\d+)\.(?P<fraction>\d{3})\|[\w-]+\|(?P<client>.*?)\| \[thrd:[^\]]*\]: ", re.DOTALL
)
RDKAFKA_BOUND: Final = re.compile(r"\b[A-Z_]+ \[(?P<client>.*?)\] \[thrd:[^\]]*\]: ", re.DOTALL)
"""As a binding hands it to a logger of its language."""
HANDLE: Final = re.compile(r"#(?:consumer|producer)-\d+$")
PYTHON: Final = re.compile(r"kafka\.coordinator(?:\.\w+)*\W+")
GO: Final = re.compile(r"[a-z][\w ,'-]*; (?:group|why): ")

JAVA_BEGINS: Final = (
    Template("[Consumer instanceId={group_instance_id}, clientId={client_id}, groupId={group_id}] {message}"),
    Template("[Consumer clientId={client_id}, groupId={group_id}] {message}"),
)


class ClientReading(NamedTuple):
    """`statement(**fields)`, if its place is added."""

    library: Library
    statement: type[ClientStatement]
    fields: dict[str, Any]


def client_readings(text: str) -> list[ClientReading]:
    """All the ways to read a line, without its time and level. Raises TooManyReadings."""
    at = text.find("[Consumer ")
    if at >= 0:
        return _java(split_logger(text[at:])[0])
    match = RDKAFKA.search(text) or RDKAFKA_BOUND.search(text)
    if match is not None:
        own = {"client_id": HANDLE.sub("", match["client"])}
        return _made(Library.LIBRDKAFKA, LIBRDKAFKA, text[match.end() :], own)
    match = PYTHON.search(text)
    if match is not None:
        return _made(Library.KAFKA_PYTHON, KAFKA_PYTHON, text[match.end() :], {})
    match = GO.search(text)
    return [] if match is None else _made(Library.FRANZ_GO, FRANZ_GO, text[match.start() :], {})


def _java(text: str) -> list[ClientReading]:
    """`[Consumer …] message`. With `instanceId` the first template is meant, as the second cannot begin so."""
    found: list[ClientReading] = []
    for template in JAVA_BEGINS:
        for values in template.readings(text):
            message = values.pop("message")
            found += _made(Library.JAVA, JAVA, message, values)
    return found


def _made(library: Library, rules: tuple[Rule, ...], text: str, own: Values) -> list[ClientReading]:
    """By the first rule that reads the text: later ones are more general."""
    for rule in rules:
        readings = rule.template.readings(text)
        if len(readings) > 64:
            raise TooManyReadings(text)
        if readings:
            kind = cast(type[ClientStatement], rule.statement)
            return [ClientReading(library, kind, _fields(rule, reading, own)) for reading in readings]
    return []


def _fields(rule: Rule, values: Values, own: Values) -> dict[str, Any]:
    fields: dict[str, Any] = {**own, **rule.values(values)}
    instance = values.get("instance", "")
    if instance and "group_instance_id" not in fields and not instance.startswith(("<nil>", "Optional.empty")):
        fields["group_instance_id"] = instance.removeprefix("Optional[").removesuffix("]")
    if fields.get("member_id") == "":
        del fields["member_id"]
    if "partitions" in rule.statement.__struct_fields__ and "text" in values:
        fields["partitions"] = partitions_of(values["text"])
    if isinstance(fields.get("error"), str):
        fields["error"] = error_of(fields["error"])
    return fields


PYTHON_PARTITION: Final = re.compile(r"TopicPartition\(topic='([^']*)', partition=(\d+)\)")
GO_TOPIC: Final = re.compile(r"([\w.-]+)\[([\d ]*)\]")
ERRORS: Final = (
    ("REBALANCE_IN_PROGRESS", "rebalance in progress", "group is rebalancing", "RebalanceInProgress"),
    ("UNKNOWN_MEMBER_ID", "unknown member", "UnknownMemberId"),
    ("ILLEGAL_GENERATION", "generation id is not valid", "illegal generation", "IllegalGeneration"),
    ("FENCED_INSTANCE_ID", "fenced by other consumer with same group.instance.id", "FencedInstanceId"),
    ("FENCED_MEMBER_EPOCH", "member epoch is fenced"),
    ("STALE_MEMBER_EPOCH", "member epoch is stale"),
    ("UNRELEASED_INSTANCE_ID", "UnreleasedInstanceId"),
    ("GROUP_MAX_SIZE_REACHED", "maximum number of members", "GroupMaxSizeReached", "maximum size"),
    (
        "INCONSISTENT_GROUP_PROTOCOL",
        "inconsistent group protocol",
        "InconsistentGroupProtocol",
        "protocols are incompatible",
        "protocol type or protocols",
    ),
    ("NOT_COORDINATOR", "not the correct coordinator", "not coordinator", "NotCoordinator"),
    ("COORDINATOR_NOT_AVAILABLE", "coordinator is not available", "CoordinatorNotAvailable"),
    ("UNSUPPORTED_ASSIGNOR", "UnsupportedAssignor"),
)
"""Kafka's name of an error, and how the libraries write it."""


def error_of(text: str) -> str:
    """Kafka's name of the error in a text; the text itself if none is known."""
    lower = text.lower()
    for name, *others in ERRORS:
        if name in text or any(other.lower() in lower for other in others):
            return name
    return text


def partitions_of(text: str) -> tuple[str, ...] | None:
    """`TOPIC-INDEX` of a list as one of the libraries prints it. None: it has no names of partitions."""
    found = PYTHON_PARTITION.findall(text)
    if found:
        return tuple(f"{topic}-{index}" for topic, index in found)
    inner = text[1:-1] if text[:1] + text[-1:] in ("[]", "{}") else text
    if inner.strip() in ("", "set()"):
        return ()
    topics = GO_TOPIC.findall(text)
    if topics and not text.startswith("["):
        return tuple(f"{topic}-{index}" for topic, indexes in topics for index in indexes.split())
    parts = inner.split(", ")
    return tuple(parts) if all(re.fullmatch(r"\S+-\d+", part) for part in parts) else None
