"""The vectors of the APIs, one file or two for each, and the checks of all vectors of an API in one test."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from _wire.apis import APIS
from _wire.structs import Message
from tests.golden_vectors import GOLDEN_DIR, golden_vectors

Vector = dict[str, Any]

FOLDERS = ("wire", "share-wire", "streams-wire")


def _by_api() -> dict[str, list[str]]:
    """The files of each API: versions that Kafka has since dropped are in a second file."""
    files: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((GOLDEN_DIR / folder).glob("[A-Z]*.jsonl.gz")):
            files.setdefault(path.name.partition(".")[0], []).append(f"{folder}/{path.name}")
    return files


API_FILES = _by_api()
FLEXIBLE = [name for name in API_FILES if APIS.named(name).flexible_from <= APIS.named(name).max_version]
by_api = pytest.mark.parametrize("api", API_FILES)


@cache
def vectors_of(api: str) -> list[Vector]:
    vectors = [vector for file in API_FILES[api] for vector in golden_vectors(file)]
    assert {vector["api"] for vector in vectors} == {api}, "vectors of another API"
    return vectors


def untagged(api: str) -> list[Vector]:
    """The vectors without tags that the schemas do not know: what was read of these is written as it was."""
    return [vector for vector in vectors_of(api) if not vector.get("unknown_tags")]


def kind_of(vector: Vector) -> type[Message]:
    api = APIS[vector["key"]]
    return api.request if vector["kind"] == "request" else api.response


def name_of(vector: Vector) -> str:
    what = f"{vector['api']}-{vector['kind']}" if "api" in vector else vector["record"]
    return f"{what}-v{vector['version']}-{vector['variant']}"


@contextmanager
def failing_in(vector: Vector) -> Iterator[None]:
    """Add the name of the vector to a failure: a test covers all vectors of an API."""
    try:
        yield
    except Exception as failure:
        failure.add_note(f"in the vector {name_of(vector)}")
        raise


def check_each(vectors: list[Vector], check: Callable[[Vector], None]) -> None:
    assert vectors, "no vectors"
    for vector in vectors:
        with failing_in(vector):
            check(vector)
