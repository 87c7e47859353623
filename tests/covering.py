"""The test files that cover files of this project: `python -m tests.covering FILE...`, `make tests-of FILES=...`.

Nearest first: those named as the file, those of the folder that mirrors its folder, those that import it, and those
whose helpers import it. The imports are read from the sources each time, so there is nothing to keep up to date. A test
of a whole server executes most files, and is not listed for that.
"""

import argparse
import ast
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("_wire", "coordinator", "interop", "tests")
CYTHON_IMPORT: Final = re.compile(
    r"^\s*(?:from\s+([\w.]+)\s+c?import\s+\(?([\w, ]*)|c?import\s+([\w.]+))", re.MULTILINE
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.covering", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", help="paths from the root of the project")
    chosen = parser.parse_args()
    missing = [file for file in chosen.files if not (ROOT / file).exists()]
    if missing:
        print(f"no such file: {', '.join(missing)}", file=sys.stderr)
        return 2
    found = Project(ROOT).tests_of(chosen.files)
    print(*found, sep="\n", end="\n" if found else "")
    return 0


class Project:
    """The modules of the packages under `root`. Paths are relative to it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        paths = [each for package in PACKAGES for each in sorted((root / package).rglob("*.py*"))]
        self.modules: Final = {
            name_of(file): file
            for file in (PurePosixPath(path.relative_to(root)) for path in paths)
            if file.suffix in (".py", ".pyx")
        }

    def tests_of(self, files: list[str]) -> list[str]:
        """Those that cover one of `files`, nearest first, each once."""
        found: dict[str, None] = {}
        paths = [PurePosixPath(os.path.normpath(file)) for file in files]
        for nearest in (self._named_as, self._beside, self._importing):
            for path in paths:
                found |= dict.fromkeys(str(each) for each in nearest(path))
        return list(found)

    @cached_property
    def _tests(self) -> list[PurePosixPath]:
        return sorted(file for file in self.modules.values() if is_test(file))

    def _named_as(self, path: PurePosixPath) -> list[PurePosixPath]:
        """`path` if it is a test; those named as it, or with more words behind: first those of the mirroring folder."""
        if is_test(path):
            return [path]
        name = f"test_{path.stem.lstrip('_')}"
        named = [test for test in self._tests if test.stem == name or test.stem.startswith(f"{name}_")]
        return sorted(named, key=lambda each: (each.parent != mirror_of(path), each.stem != name))

    def _beside(self, path: PurePosixPath) -> list[PurePosixPath]:
        """Those of the folder that mirrors the folder of `path`, or the nearest one above that has tests."""
        folder = mirror_of(path)
        while not is_test(path) and len(folder.parts) > 1:
            if beside := [test for test in self._tests if test.parent == folder]:
                return beside
            folder = folder.parent
        return []

    def _importing(self, path: PurePosixPath) -> list[PurePosixPath]:
        """Those that import the module `path`, then those with a helper or a conftest.py that imports it."""
        found: dict[str, None] = {}
        ring = [name_of(path)]
        while ring:
            ring = sorted({importer for name in ring for importer in self._importers[name]} - found.keys())
            found |= dict.fromkeys(ring)
        return [self.modules[name] for name in found if is_test(self.modules[name])]

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """The modules of `tests` that import a module, by the name of that."""
        importers: dict[str, set[str]] = defaultdict(set)
        for name, file in self.modules.items():
            if file.parts[0] == "tests":
                for imported in self.imports_of(file):
                    importers[imported].add(name)
        return importers

    def imports_of(self, file: PurePosixPath) -> set[str]:
        """The modules of the project that `file` names in an import; for a test also the conftest.py of its folders.

        The conftest.py of `tests` does not count, as it is the same for all tests.
        """
        text = (self._root / file).read_text(encoding="utf-8")
        named = python_imports(text) if file.suffix == ".py" else cython_imports(text)
        imported = {name if name in self.modules else name.rpartition(".")[0] for name in named}
        if is_test(file):
            imported |= {name_of(folder / "conftest.py") for folder in file.parents if len(folder.parts) > 1}
        return {name for name in imported if name in self.modules}


def is_test(file: PurePosixPath) -> bool:
    return file.parts[0] == "tests" and file.name.startswith("test_") and file.suffix == ".py"


def name_of(file: PurePosixPath) -> str:
    return ".".join(file.with_suffix("").parts).removesuffix(".__init__")


def mirror_of(file: PurePosixPath) -> PurePosixPath:
    """The folder of tests for a file: `tests/wire` for `_wire`, `tests/core` for `coordinator/core`."""
    package, *folders = file.parent.parts or ("",)
    if package == "tests":
        return file.parent
    return PurePosixPath("tests", *([] if package == "coordinator" else [package.lstrip("_")]), *folders)


def python_imports(text: str) -> Iterator[str]:
    """The dotted names that import statements name: `a.b` and `a.b.c` for `from a.b import c`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def cython_imports(text: str) -> Iterator[str]:
    for module, names, alone in CYTHON_IMPORT.findall(text):
        yield module or alone
        yield from (f"{module}.{name.strip().partition(' ')[0]}" for name in names.split(",") if name.strip())


if __name__ == "__main__":
    sys.exit(main())
