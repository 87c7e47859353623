"""Writes docs/protocol.md from the definitions and the dispatch table: `make docs`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from _wire.notation import Definition, Versions, read_definitions  # noqa: E402  (the script may be run from anywhere)
from coordinator.server.dispatch import Route  # noqa: E402
from coordinator.server.node import dispatch_table  # noqa: E402

PAGE = Path(__file__).with_name("protocol.md")
HEAD = """# Protocol

Made by `make docs` from `_wire/schemas` and the dispatch table; not to be edited.

*Defined* are the versions that can be read and written, which are all that Kafka 3.9 or 4.3 serves. *Served* are those
that this server answers, and what ApiVersions says; but it offers Produce from version 0 on, as Kafka does because of
librdkafka (KAFKA-18659). Flexible versions have compact lengths and tagged fields (KIP-482).

`python -m _wire describe NAME` shows the fields of any of these, version by version."""


def page() -> str:
    definitions = read_definitions()
    table, _ = dispatch_table(Mock())  # the handlers are listed, none of them is called
    lines = [HEAD, "", "## APIs", "", *apis(definitions, table.routes)]
    lines += ["", "## Records of internal topics", "", *records(definitions)]
    lines += ["", "## Other embedded formats", "", *others(definitions)]
    return "\n".join(lines) + "\n"


def apis(definitions: list[Definition], routes: dict[int, Route]) -> Iterator[str]:
    yield "| key | API | defined | served | flexible from | what it is for |"
    yield "|---:|---|---|---|---|---|"
    for key, each in sorted((each.key, each) for each in definitions if each.key is not None):
        route = routes.get(key)
        served = span(Versions(route.min_version, route.max_version)) if route else "no"
        yield f"| {key} | {each.name} | {span(each.versions)} | {served} | {flexible(each)} | {each.doc} |"


def records(definitions: list[Definition]) -> Iterator[str]:
    yield "| topic | type | record | versions of its value | flexible from | what it is |"
    yield "|---|---:|---|---|---|---|"
    places = [(each.place.topic, each.place.types.first, each) for each in definitions if each.place is not None]
    for topic, _, each in sorted(places, key=lambda place: place[:2]):
        assert each.place is not None
        types = span(each.place.types)
        yield f"| `{topic}` | {types} | {each.name} | {span(each.versions)} | {flexible(each)} | {each.doc} |"


def others(definitions: list[Definition]) -> Iterator[str]:
    yield "| format | versions | what it is |"
    yield "|---|---|---|"
    for each in definitions:
        if each.kind == "data":
            yield f"| {each.name} | {span(each.versions)} | {each.doc} |"


def span(versions: Versions) -> str:
    return str(versions) if versions.last > versions.first else str(versions.first)


def flexible(definition: Definition) -> str:
    return str(definition.flexible_from) if definition.flexible_from <= definition.versions.last else "never"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
