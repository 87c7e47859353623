"""CRC-32C, the checksum of record batches and of other files."""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Final, cast

PACKAGE: Final = "crc32c"
EXTENSION: Final = "crc32c._crc32c"

Crc32c = Callable[[bytes | bytearray | memoryview], int]


def _function_of_package() -> Crc32c:
    """The function of the package crc32c, without what the package imports beside it: a command line, and its version.

    Both together take a tenth of a cold start.
    """
    package = PathFinder.find_spec(PACKAGE)
    found = None if package is None else PathFinder.find_spec(EXTENSION, package.submodule_search_locations)
    if found is None or found.loader is None:
        from crc32c import crc32c as whole

        return cast(Crc32c, whole)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return cast(Crc32c, module.crc32c)


crc32c: Final = _function_of_package()


def checksum(data: bytes | memoryview) -> int:
    """Return the CRC-32C of the bytes."""
    return crc32c(data)
