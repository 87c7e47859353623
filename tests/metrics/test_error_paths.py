"""The table of error paths has every error code that a served response can have."""

from collections.abc import Iterator

import pytest

from _wire.notation import Definition, Struct, read_definitions
from coordinator.metrics.error_paths import error_paths
from tests.front.routes import served

ROUTES = served().routes
DEFINITIONS = {definition.key: definition for definition in read_definitions() if definition.key is not None}


def paths_in(definition: Definition, struct: Struct, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The lists that lead to each field `error_code` of a struct."""
    for field in struct.fields:
        if field.name == "error_code":
            yield path
        if field.is_struct:
            yield from paths_in(definition, definition.structs[field.type], (*path, field.name))


@pytest.mark.parametrize("key", sorted(ROUTES))
def test_the_paths_of_an_api_are_those_of_its_definition(key):
    paths, definition = error_paths(key), DEFINITIONS[key]
    _, response = definition.messages
    assert set(paths) == set(paths_in(definition, definition.structs[response]))
    assert () not in paths[:-1], "its own code comes last"


def test_an_api_that_is_not_served_has_none():
    assert error_paths(127) == ()
