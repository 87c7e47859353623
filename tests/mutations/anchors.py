"""The place in the sources that a mutant changes, found by the name of a definition and a fragment of it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.mutations.mutant import Mutant

PACKAGES: Final = ("_wire", "coordinator")
GENERATED: Final = "_wire/messages"
TOKEN: Final = re.compile(r"\w+|\S")
CYTHON_DEFINITION: Final = re.compile(r"(?P<indent> *)(?:cdef|cpdef|def|class)\b[^=(:]*?(?P<name>\w+) *(?:\(|:$)")
"""A class or a function with the types before its name. An attribute (`cdef int x`) has no bracket, an array `[`."""


class AnchorError(Exception):
    """A mutant matches no place, or several."""


class Definition(NamedTuple):
    """`name` has its module before it. `start` and `end` are offsets in the text of `file`, a path from the root."""

    name: str
    file: str
    start: int
    end: int


class Anchor(NamedTuple):
    """What a mutant replaces: offsets in the text of `file`."""

    file: str
    start: int
    end: int


class Sources:
    """The sources of the packages under `root`, and their definitions."""

    def __init__(self, root: Path) -> None:
        self.texts: dict[str, str] = {}
        self._by_last_name: dict[str, list[Definition]] = defaultdict(list)
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py*")):
                file = path.relative_to(root).as_posix()
                if path.suffix in (".py", ".pyx") and not file.startswith(f"{GENERATED}/"):
                    self._read(file, path.read_text(encoding="utf-8"))

    def _read(self, file: str, text: str) -> None:
        self.texts[file] = text
        module = file.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
        found = python_definitions(text) if file.endswith(".py") else cython_definitions(text)
        for name, start, end in found:
            self._by_last_name[name.rpartition(".")[2]].append(Definition(f"{module}.{name}", file, start, end))

    def definitions(self, scope: str) -> list[Definition]:
        """Those whose name is `scope`, or ends with it."""
        return [each for each in self._by_last_name[scope.rpartition(".")[2]] if f".{each.name}".endswith(f".{scope}")]

    def find(self, mutant: Mutant) -> Anchor:
        """Find what `mutant` replaces.

        Raises:
            AnchorError: there is no such definition, or the fragment does not stand in it once.
        """
        definitions = self.definitions(mutant.scope)
        if not definitions:
            raise AnchorError(f"mutant {mutant.name!r}: {' and '.join(PACKAGES)} define no {mutant.scope}")
        fragment = pattern(mutant.old)
        anchors = {
            Anchor(definition.file, match.start(), match.end()): definition.name
            for definition in definitions
            for match in fragment.finditer(self.texts[definition.file], definition.start, definition.end)
        }
        if len(anchors) == 1:
            return next(iter(anchors))
        places = sorted(anchors.values()) if anchors else [definition.name for definition in definitions]
        count = f"{len(anchors)} times: in" if anchors else "nowhere in"
        raise AnchorError(f"mutant {mutant.name!r}: {mutant.old!r} stands {count} {', '.join(places)}")

    def mutate(self, mutant: Mutant) -> tuple[str, str]:
        """The file that `mutant` changes, and its text with that change.

        Raises:
            AnchorError: as `find`.
        """
        file, start, end = self.find(mutant)
        text = self.texts[file]
        line = text[text.rfind("\n", 0, start) + 1 : start]
        indent = line[: len(line) - len(line.lstrip())]
        new = mutant.new.replace("\n", f"\n{indent}")
        return file, text[:start] + new + text[end:]


def pattern(fragment: str) -> re.Pattern[str]:
    """What matches `fragment` with any white space, and with or without a comma before a closing bracket."""
    tokens = TOKEN.findall(fragment)
    parts = []
    before = ""
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if token == "," and after and after in ")]}":
            continue
        if token in ")]}" and before:
            parts.append(r"\s*,?\s*")
        elif before:
            parts.append(r"\s+" if is_word(before) and is_word(token) else r"\s*")
        parts.append(re.escape(token))
        before = token
    starts = r"(?<!\w)" if is_word(tokens[0]) else ""
    ends = r"(?!\w)" if is_word(tokens[-1]) else ""
    return re.compile(starts + "".join(parts) + ends)


def is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def python_definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of each function, class and assigned name: of the module, its classes and functions."""
    line_starts = [0]
    for line in text.splitlines(keepends=True):
        line_starts.append(line_starts[-1] + len(line))

    def walk(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, int, int]]:
        for node in body:
            first = node.lineno
            names: list[str] = []
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [node.name]
                first = min([first, *(each.lineno for each in node.decorator_list)])
                yield from walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                yield prefix + name, line_starts[first - 1], line_starts[node.end_lineno or first]

    yield from walk(ast.parse(text).body, "")


def cython_definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """As `python_definitions`, of a .pyx: its functions and classes, by their indentation."""
    open_ones: list[tuple[int, str, int]] = []
    position = 0
    for line in text.splitlines(keepends=True):
        indent = len(line) - len(line.lstrip())
        if line.strip() and line.lstrip()[0] not in "#)":
            while open_ones and open_ones[-1][0] >= indent:
                _, name, start = open_ones.pop()
                yield name, start, position
            if found := CYTHON_DEFINITION.match(line.rstrip("\n")):
                prefix = f"{open_ones[-1][1]}." if open_ones else ""
                open_ones.append((indent, prefix + found["name"], position))
        position += len(line)
    for _, name, start in open_ones:
        yield name, start, position
