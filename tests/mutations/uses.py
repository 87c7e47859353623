"""Where what a mutant changes is used, if it is not recorded itself: the code of an extension, and what is executed
when a module is imported. The lines that name it are recorded."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import PurePosixPath

from tests.covering import cython_imports, name_of


class Uses:
    """The uses of names of one module in the Python modules of `texts`: file, a path from the root → its text."""

    def __init__(self, file: str, texts: Mapping[str, str], names: Collection[str] = ()) -> None:
        """`names` are those of a Python module; of an extension all count."""
        self._python = {module_of(text): text for text in texts if text.endswith(".py")}
        self._texts = texts
        self._extensions = set() if names else _with_importers(module_of(file), texts)
        self._names: dict[str, set[str]] = defaultdict(set)
        """Module → the names in it that stand for one of `names`, or of an extension, also by way of other modules."""
        if names:
            self._names[module_of(file)].update(names)
        while self._follow_imports():
            pass

    def lines(self) -> Iterator[tuple[str, int]]:
        """File and line of each use in a function."""
        for module, names in self._names.items():
            file = self._python[module]
            for function in ast.walk(parsed(self._texts[file])):
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    nodes = [node for statement in function.body for node in ast.walk(statement)]
                    yield from (
                        (file, node.lineno) for node in nodes if isinstance(node, ast.Name) and node.id in names
                    )

    def _follow_imports(self) -> bool:
        """Whether a module was found to have another such name."""
        has_found = False
        for module, file in self._python.items():
            for node in parsed(self._texts[file]).body:
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = {alias.asname or alias.name for alias in node.names if self._is_of(node.module, alias.name)}
                    has_found = has_found or not names <= self._names[module]
                    self._names[module] |= names
        return has_found

    def _is_of(self, module: str, name: str) -> bool:
        is_extension = module in self._extensions or f"{module}.{name}" in self._extensions
        return is_extension or name in self._names.get(module, ())


def module_of(file: str) -> str:
    return name_of(PurePosixPath(file))


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _with_importers(module: str, texts: Mapping[str, str]) -> set[str]:
    """The extension, and those that import it, at any number of steps."""
    imports = {module_of(file): set(cython_imports(text)) for file, text in texts.items() if file.endswith(".pyx")}
    found = {module}
    while more := {each for each, imported in imports.items() if imported & found} - found:
        found |= more
    return found
