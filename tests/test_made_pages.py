"""The generated pages of docs are up to date with the code."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("name", ["audit", "configuration", "metrics", "protocol", "states"])
def test_the_page_is_up_to_date(name: str) -> None:
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == maker_of(name).page(), "out of date: run `make docs`"


def test_the_json_schema_of_the_audit_is_up_to_date() -> None:
    maker = maker_of("audit")
    assert maker.SCHEMA.read_text(encoding="utf-8") == maker.json_schema(), "out of date: run `make docs`"


def maker_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"make_{name}", DOCS / f"make_{name}.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return maker
