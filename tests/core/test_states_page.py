"""docs/states.md says which states there are, and what is answered in them now."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("make_states", DOCS / "make_states.py")
    assert spec is not None and spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (DOCS / "states.md").read_text(encoding="utf-8") == maker.page(), "`make docs` makes it anew"
