"""Checks a built site: every link leads somewhere, and nothing is loaded from another host. `check.py FOLDER`."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("link", "href")}
"""Tag and attribute of what a browser loads by itself."""


class Page(HTMLParser):
    """The links, the things that are loaded and the anchors of a page, and pictures without a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.untold: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        for name, value in values.items():
            if (tag, name) in LOADED and values.get("rel") != "canonical":
                self.loaded.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
        if tag == "img" and not values.get("alt"):
            self.untold.append(values.get("src", ""))


def problems(site: Path) -> Iterator[str]:
    """One line for each thing that is wrong."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site} has no pages"
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.loaded:
            if urlsplit(target).netloc:
                yield f"{name}: is loaded from another host: {target}"
        for picture in page.untold:
            yield f"{name}: a picture without a text: {picture}"
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or name.name == "404.html":
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if found.is_dir():
                found /= "index.html"
            if not found.is_file():
                yield f"{name}: a dead link: {target}"
            elif parts.fragment and found in pages and unquote(parts.fragment) not in pages[found].anchors:
                yield f"{name}: a link to a heading that is not there: {target}"


def main() -> None:
    site = Path(sys.argv[1])
    found = list(problems(site))
    for problem in found:
        print(problem, file=sys.stderr)
    if found:
        sys.exit(1)
    print(f"open {site}/index.html: {len(list(site.rglob('*.html')))} pages, no dead link, nothing of other hosts")


if __name__ == "__main__":
    main()
