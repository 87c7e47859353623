"""docs/security.md names settings and tests that exist."""

import re
from pathlib import Path

from coordinator.config.settings import ALL_KEYS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def named(pattern: str) -> list[str]:
    found = sorted(set(re.findall(pattern, PAGE)))
    assert found, pattern
    return found


def test_its_tests_exist():
    assert [path for path in named(r"`(tests/[^`]+)`") if not (ROOT / path).exists()] == []


def test_its_settings_exist():
    names = {key.name for key in ALL_KEYS}
    assert [name for name in named(r"`([a-z]+(?:\.[a-z]+)+)`") if name not in names] == []
