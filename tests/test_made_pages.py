"""The generated pages of docs are up to date with the code."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize(
    "name", ["audit", "claims", "commands", "configuration", "decisions", "messages", "metrics", "protocol", "states"]
)
def test_the_page_is_up_to_date(name: str) -> None:
    maker = maker_of(name)
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), "out of date: run `make docs`"


def test_the_json_schema_of_the_audit_is_up_to_date() -> None:
    maker = maker_of("audit")
    assert maker.SCHEMA.read_text(encoding="utf-8") == maker.json_schema(), "out of date: run `make docs`"


def test_each_warning_and_error_of_the_log_says_what_to_do():
    assert maker_of("messages").without_advice() == [], "add it to docs/message_advice.py"


def test_no_advice_is_about_a_line_that_nothing_logs():
    assert maker_of("messages").stale_advice() == [], "remove it from docs/message_advice.py"


@cache
def maker_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"make_{name}", DOCS / f"make_{name}.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return maker
