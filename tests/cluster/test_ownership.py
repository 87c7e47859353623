"""Which groups a rule is about."""

import pytest

from coordinator.cluster.ownership import matches


@pytest.mark.parametrize(
    ("pattern", "group_id", "is_match"),
    [
        ("web", "web", True),
        ("web", "web-1", False),
        ("web-*", "web-1", True),
        ("web-*", "web-", True),
        ("*", "", True),
        ("*", "a\nb", True),
        ("web-?", "web-1", True),
        ("web-?", "web-12", False),
        ("a[b]*", "a[b]c", True),
        ("a[b]*", "ab", False),
        ("a.b", "a.b", True),
        ("a.b", "axb", False),
        ("Web*", "web-1", False),
    ],
)
def test_names_and_patterns(pattern: str, group_id: str, is_match: bool) -> None:
    assert matches(pattern, group_id) is is_match
