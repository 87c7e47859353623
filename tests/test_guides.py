"""Every Python and shell snippet of the guides and of docs/testing.md runs as it stands."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "docs" / "testing.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_ONLY = {"go", "js", "java"}
"""Languages whose whole examples `make testing-examples` runs."""
SNIPPET_SECONDS = 60


class Snippet(NamedTuple):
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def snippets() -> Iterator[Snippet]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in FENCED.finditer(text):
            yield Snippet(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])


@pytest.mark.parametrize("snippet", [snippet for snippet in snippets() if snippet.language not in SHOWN_ONLY], ids=str)
def test_a_snippet_runs(snippet: Snippet, tmp_path: Path) -> None:
    command = commands()[snippet.language](snippet.text, tmp_path)
    commands_folder = tmp_path / "bin"
    commands_folder.mkdir()
    for name, arguments in (("coordinator", "-m coordinator.cli"), ("python", "")):
        installed = commands_folder / name
        installed.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        installed.chmod(0o755)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{commands_folder}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SNIPPET_SECONDS, check=False
    )
    assert run.returncode == 0, f"{snippet}\n{run.stdout}\n{run.stderr}"


def commands():
    return {"python": python, "sh": shell}


def python(text: str, folder: Path) -> list[str]:
    """As a file of tests if it has some, otherwise as a program."""
    is_test = "\ndef test_" in text
    file = folder / ("test_snippet.py" if is_test else "snippet.py")
    file.write_text(text)
    if is_test:
        return [sys.executable, "-m", "pytest", "-q", "-p", "coordinator.testing.plugin", str(file)]
    return [sys.executable, str(file)]


def shell(text: str, folder: Path) -> list[str]:
    """With what it started in the background ended, also when it fails."""
    end = "trap 'jobs -p | xargs -r kill 2> /dev/null || true; wait' EXIT"
    return ["bash", "-euo", "pipefail", "-m", "-c", f"{end}\n{text}"]


def test_each_page_has_snippets_and_no_language_is_left_out():
    found = list(snippets())
    assert {each.page for each in found} == set(PAGES)
    assert {each.language for each in found} == {"python", "sh"} | SHOWN_ONLY


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert "://" in target or (page.parent / target).exists(), target
