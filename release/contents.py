"""What must be in a wheel and in the source archive, and what must not."""

import tarfile
import zipfile
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

IN_A_WHEEL: Final = (
    "*.dist-info/licenses/LICENSE",
    "_wire/structs.*.so",
    "_wire/py.typed",
    "_wire/schemas/join_group.schema",
    "coordinator/audit/schema.json",
    "coordinator/config/kafka_broker_configs.json",
    "coordinator/dashboard/static/index.html",
    "coordinator/dashboard/static/vendor/echarts.LICENSE",
    "coordinator/dashboard/static/vendor/echarts.min.js",
    "coordinator/py.typed",
    "coordinator/front/connection.*.so",
)
NOT_IN_A_WHEEL: Final = ("*.c", "*.pyc", "build/*", "docs/*", "interop/*", "release/*", "setup.py", "tests/*")
IN_THE_ARCHIVE: Final = (
    "CHANGELOG.md",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "_wire/schemas/join_group.schema",
    "coordinator/dashboard/static/index.html",
    "coordinator/front/connection.pyx",
    "docs/guides/test-a-rebalance.md",
    "pyproject.toml",
    "setup.py",
    "tests/conftest.py",
    "tests/core/classic/test_joining.py",
)
NOT_IN_THE_ARCHIVE: Final = ("*.pyc", "*.so", "_wire/*.c", "_wire/messages/*", "build/*", "coordinator/*.c")


class WrongContents(Exception):
    """An archive lacks something, or has what it should not have. The message has a line for each."""


def check_wheel(wheel: Path) -> int:
    """Check the names in a wheel. Returns how many there are; raises WrongContents."""
    names = zipfile.ZipFile(wheel).namelist()
    _check(wheel, names, IN_A_WHEEL, NOT_IN_A_WHEEL)
    return len(names)


def check_source_archive(archive: Path) -> int:
    """The same of the source archive, whose names begin below its folder."""
    with tarfile.open(archive) as opened:
        names = [entry.name.partition("/")[2] for entry in opened if entry.isfile()]
    _check(archive, names, IN_THE_ARCHIVE, NOT_IN_THE_ARCHIVE)
    return len(names)


def _check(archive: Path, names: Iterable[str], needed: Iterable[str], unwanted: Iterable[str]) -> None:
    names = list(names)
    wrong = [f"lacks {each}" for each in needed if not any(fnmatchcase(name, each) for name in names)]
    wrong += [f"has {name}" for name in names if any(fnmatchcase(name, each) for each in unwanted)]
    if wrong:
        raise WrongContents("\n".join(f"{archive.name} {each}" for each in wrong))
