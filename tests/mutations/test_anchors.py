"""A mutant stays as it is when its definition moves or is formatted differently."""

from pathlib import Path

import pytest

from tests.mutations.anchors import AnchorError, Sources
from tests.mutations.mutant import Mutant

LIMITS = """
SIZE_MAX = 3


class Limits:
    size_max = 4

    @property
    def room(self):
        def count():
            return self.size - 1

        return max(0, self.size_max - count())
"""
JOINING = """
def decide(group, request):
    if group.is_full and request.member_id:
        group.reject(request)
    return group.members
"""
CYTHON = """
cdef class Scan:
    cdef int position

    cdef int check(
        self,
        int end,
    ) except -1 nogil:
        # the end
        if self.position != end:
            return 1
        return 0

    cdef int reset(self) except -1:
        return 0


cdef inline bint is_over(Scan scan) noexcept:
    return scan.position != 0
"""


def sources(root: Path, **files: str) -> Sources:
    """Those of a tree with these files in `coordinator`: a name is the path, with `__` for each `/`."""
    (root / "_wire").mkdir()
    for name, text in files.items():
        path = root / "coordinator" / name.replace("__", "/").replace("_pyx", ".pyx").replace("_py", ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Sources(root)


@pytest.mark.parametrize(
    ("scope", "old", "replaced"),
    [
        ("SIZE_MAX", "3", "SIZE_MAX = 3"),
        ("Limits.size_max", "4", "    size_max = 4"),
        ("Limits.room", "self.size_max - count()", "        return max(0, self.size_max - count())"),
        ("Limits.room", "@property", "    @property"),
        ("Limits.room.count", "- 1", "            return self.size - 1"),
        ("limits.Limits", "size_max = 4", "    size_max = 4"),
        ("coordinator.core.limits.SIZE_MAX", "3", "SIZE_MAX = 3"),
        ("Scan.check", "!= end", "        if self.position != end:"),
        ("Scan.check", "return 0", "        return 0"),
        ("Scan.reset", "return 0", "        return 0"),
        ("is_over", "!= 0", "    return scan.position != 0"),
    ],
)
def test_a_mutant_is_found_by_the_name_of_its_definition(tmp_path: Path, scope: str, old: str, replaced: str) -> None:
    found = sources(tmp_path, core__limits_py=LIMITS, core__scan_pyx=CYTHON)
    file, start, end = found.find(Mutant("smaller", scope, old, "2"))
    text = found.texts[file]
    assert text[text.rindex("\n", 0, start) + 1 : text.index("\n", end)] == replaced


@pytest.mark.parametrize(
    "formatted",
    [
        "def decide(group, request):\n    if (\n        group.is_full\n        and request.member_id\n    ): pass",
        "def decide(group, request):\n  if group.is_full and request.member_id: pass",
        "class Joining:\n    def decide(group, request):\n        if group.is_full  and  request.member_id: pass",
    ],
)
def test_white_space_does_not_matter(tmp_path: Path, formatted: str) -> None:
    found = sources(tmp_path, core__classic__joining_py=formatted)
    mutant = Mutant("full groups reject no member", "decide", "group.is_full and request.member_id", "False")
    file, text = found.mutate(mutant)
    assert file == "coordinator/core/classic/joining.py"
    assert "".join(text.split()) == "".join(formatted.split()).replace("group.is_fullandrequest.member_id", "False")


def test_a_comma_before_a_closing_bracket_does_not_matter(tmp_path: Path) -> None:
    found = sources(tmp_path, calls_py="def call():\n    run(\n        first,\n        second,\n    )\n")
    assert found.mutate(Mutant("nothing runs", "call", "run(first, second)", "pass"))[1] == "def call():\n    pass\n"


def test_further_lines_are_indented_from_the_line_that_changes(tmp_path: Path) -> None:
    found = sources(tmp_path, core__joining_py=JOINING)
    mutant = Mutant(
        "a full group loses its members", "decide", "group.reject(request)", "group.clear()\nif group:\n    pass"
    )
    assert "\n        group.clear()\n        if group:\n            pass\n    return" in found.mutate(mutant)[1]


@pytest.mark.parametrize(
    ("scope", "old", "problem"),
    [
        ("decides", "group", "_wire and coordinator define no decides"),
        ("leaving.decide", "group", "_wire and coordinator define no leaving.decide"),
        ("decide", "is_empty", "'is_empty' stands nowhere in coordinator.core.joining.decide"),
        ("decide", "is_ful", "'is_ful' stands nowhere in coordinator.core.joining.decide"),
        ("decide", "request.member_id and", "stands nowhere in coordinator.core.joining.decide"),
        ("decide", "request", "'request' stands 3 times: in coordinator.core.joining.decide, coordinator.core.joi"),
    ],
)
def test_an_anchor_that_matches_no_place_or_several_is_one_clear_error(
    tmp_path: Path, scope: str, old: str, problem: str
) -> None:
    found = sources(tmp_path, core__joining_py=JOINING)
    with pytest.raises(AnchorError) as raised:
        found.find(Mutant("requests are lost", scope, old, ""))
    assert str(raised.value).startswith("mutant 'requests are lost': ") and problem in str(raised.value)


def test_definitions_of_the_same_name_are_told_apart_by_the_fragment_or_the_module(tmp_path: Path) -> None:
    leaving = JOINING.replace("group.reject", "group.remove")
    found = sources(tmp_path, core__joining_py=JOINING, core__leaving_py=leaving)
    assert found.find(Mutant("nobody leaves", "decide", "group.remove(request)", "pass")).file.endswith("leaving.py")
    assert found.find(Mutant("all are full", "joining.decide", "group.is_full", "True")).file.endswith("joining.py")
    with pytest.raises(
        AnchorError, match=r"2 times: in coordinator\.core\.joining\.decide, coordinator\.core\.leaving\.decide"
    ):
        found.find(Mutant("all are full", "decide", "group.is_full", "True"))
