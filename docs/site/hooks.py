"""What the pages of docs need to be a site: MkDocs calls the functions that begin with `on_`.

The pages are written for the place where the repository is shown, so they link to source files, and their lists are
those of CommonMark. A link out of docs becomes the path as text, and a link to a folder leads to its README.md.
"""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^()\s]+)\)")
FENCE: Final = re.compile(r"^\s*(```|~~~)")
ITEM: Final = re.compile(r"^ *(?:[-*]|\d+\.) +")
SPACES_PER_LEVEL: Final = 4
"""Python-Markdown's indentation of a list in a list; CommonMark is content with that of the text, 2 or 3."""
FRONT_PAGE: Final = "README.md"
WIDE: Final = ("configuration.md", "interop.md", "messages.md")
"""Pages whose tables need the room of the table of contents."""
RECORDS: Final = ("decisions/", "benchmarks", "interop", "kafka-tools", "sentences", "audit-cases", "streams-cases")
"""Pages that record something: the search shows those that tell how to use it first."""
RECORDS_BOOST: Final = 0.3
log = logging.getLogger("mkdocs.hooks.coordinator")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """The page as Python-Markdown understands it."""
    if page.file.src_uri.startswith(RECORDS):
        page.meta["search"] = {"boost": RECORDS_BOOST}
    if page.file.src_uri == FRONT_PAGE:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["toc"]
    published = {file.src_uri for file in files if file.inclusion.is_included()}
    links = _Links(page.file.src_uri, published)
    lists = _Lists()
    lines: list[str] = []
    is_code = False
    for line in markdown.split("\n"):
        if FENCE.match(line):
            is_code = not is_code
        if is_code or FENCE.match(line):
            lines.append(lists.indented(line))
            continue
        if lists.item(line) and not lists.contents and lines and lines[-1].strip():
            lines.append("")
        lines.append(LINK.sub(links.replaced, lists.next(line)))
    return "\n".join(lines)


class _Lists:
    """The lists that a line is in."""

    def __init__(self) -> None:
        self.contents: list[int] = []
        """Where the text of the present item begins, of each list from the outside in."""

    def item(self, line: str) -> re.Match[str] | None:
        """The head of a list's item; outside of lists, what is indented by four spaces is code."""
        return ITEM.match(line) if self.contents or not line.startswith("    ") else None

    def next(self, line: str) -> str:
        """The line with the indentation of Python-Markdown."""
        if not line.strip():
            return line
        item = self.item(line)
        indent = len(line) - len(line.lstrip(" "))
        if item is None and indent == 0:
            self.contents.clear()
            return line
        while self.contents and indent < self.contents[-1] and (item is not None or len(self.contents) > 1):
            self.contents.pop()
        shown = self.indented(line)
        if item is not None:
            self.contents.append(item.end())
        return shown

    def indented(self, line: str) -> str:
        """A line of code, or of text: what it is indented by beyond the item that it belongs to stays."""
        if not self.contents or not line.startswith(" "):
            return line
        text = line.lstrip(" ")
        beyond = max(0, len(line) - len(text) - self.contents[-1])
        return " " * (SPACES_PER_LEVEL * len(self.contents) + beyond) + text


class _Links:
    """The links of one page."""

    def __init__(self, page: str, published: set[str]) -> None:
        self._page, self._published = page, published

    def replaced(self, link: re.Match[str]) -> str:
        """The link as the site has it; one that leads nowhere is reported, and fails a strict build."""
        text, target = link[1], link[2]
        if "://" in target or target.startswith(("#", "mailto:")):
            return link[0]
        path, mark, anchor = target.partition("#")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(self._page), path))
        if name in self._published:
            return link[0]
        if posixpath.join(name, "README.md") in self._published:
            return f"[{text}]({posixpath.join(path, 'README.md')}{mark}{anchor})"
        source = posixpath.normpath(posixpath.join("docs", name))
        if source.startswith("..") or not (ROOT / source).exists():
            log.warning("Doc file '%s' contains a link '%s', but the repository has no such file.", self._page, target)
            return link[0]
        code = f'<code class="outside">{source}</code>'
        return code if text.strip("`") in (source, posixpath.basename(source)) else f"{text} ({code})"
