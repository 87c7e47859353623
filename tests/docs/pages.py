"""The pages of the repository that people read, and the blocks of code in them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "interop/README.md")),
    *sorted(DOCS.rglob("*.md")),
]
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of each line in a fenced or an indented block, with what goes on behind a backslash."""
    is_fenced, started, before = False, 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        if not is_fenced and not line.startswith("    "):
            continue
        started = started or number
        if line.endswith("\\"):
            before += line[:-1]
            continue
        yield started, (before + line).strip()
        started, before = 0, ""


def without_code(text: str) -> str:
    """The text without its fenced blocks and code in lines."""
    kept, is_fenced = [], False
    for line in text.split("\n"):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        elif not is_fenced:
            kept.append(re.sub(r"`[^`]*`", "`", line))
    return "\n".join(kept)
