"""Pages lead somewhere, are in the navigation of the site, and count right what they count."""

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, PAGES, ROOT, name_of, without_code

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        found = (page.parent / path) if path else page
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert not dead


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as they are made where the repository is shown."""
    headings = HEADING.findall(page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_each_page_is_in_the_navigation_of_the_site():
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    listed = set(re.findall(r"([\w/-]+\.md)$", navigation(), re.MULTILINE))
    assert {page for page in pages - listed if not re.match(r"decisions/\d", page)} == set()
    assert listed - pages == set()


def navigation() -> str:
    """The part of mkdocs.yml: its extensions are tags that a plain reader does not know."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert yaml.safe_load(text)
    return text


def test_the_readme_counts_the_clients_of_the_matrix():
    page = (DOCS / "interop.md").read_text(encoding="utf-8")
    versions = dict(re.findall(r"^\| ([\w.-]+) \| (\d[\w.]*)(?: \(.*\))? \|$", page, re.MULTILINE))
    # `java-3.7` is an older version, `java-consumer` and `java-share` the same one with another group protocol.
    tried = {(re.sub(r"-(consumer|share|\d.*)$", "", name), version) for name, version in versions.items()}
    libraries = {name for name, _ in tried}
    for name in ("README.md", "docs/from-kafka.md"):
        text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
        assert re.search(rf"{len(libraries)} client libraries,? in {len(tried)} versions", text), name


def test_the_readme_is_read_in_three_minutes():
    words = (ROOT / "README.md").read_text(encoding="utf-8").split()
    assert len(words) < 900


def test_the_architecture_names_each_package_and_module():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "coordinator"
    found = [each for each in package.iterdir() if (each / "__init__.py").exists() or each.suffix in (".py", ".pyx")]
    names = [f"`coordinator/{each.name}/`" if each.is_dir() else each.name for each in found]
    free = {"__init__.py", "internal_topics.py", "listen_address.py", "patterns.py"}
    assert len(names) > 30
    assert [name for name in names if name not in page and name not in free] == []
