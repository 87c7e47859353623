"""A story as JSON, its sentences as runs of text and names of members, which the page makes links of."""

import re
from typing import Any, Final

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from coordinator.explain.words import Names

Json = dict[str, Any]
Run = str | tuple[str, str]
"""A text, or a name with the member id that it stands for."""

_BEGIN, _MIDDLE, _END = "\x02", "\x1f", "\x03"
"""Around the member id, as hexadecimal digits, and the name. No text of a client has them: stories are printable."""
_MARKED: Final = re.compile(f"{_BEGIN}([0-9a-f]*){_MIDDLE}([^{_BEGIN}{_MIDDLE}{_END}]*){_END}")
_MARKS: Final = re.compile(f"{_BEGIN}[0-9a-f]*{_MIDDLE}|[{_BEGIN}{_MIDDLE}{_END}]")


class _MarkedNames(Names):
    """Names that can be found again in the sentences which have them."""

    def of(self, member: MemberRef) -> str:
        return f"{_BEGIN}{member.member_id.encode('utf-8', 'surrogatepass').hex()}{_MIDDLE}{super().of(member)}{_END}"


def linked_story(history: GroupHistory, one: Generation) -> Json:
    """The story in words, as its parts, and under `runs` its sentences with the members that have a page."""
    story = story_of(history, one, names=_MarkedNames)
    found = {"headline": runs(story.headline, history)}
    parts = {"paragraphs": story.paragraphs, "advice": story.advice}
    plain = {name: tuple(map(_without_marks, texts)) for name, texts in parts.items()}
    unmarked = msgspec.structs.replace(story, headline=_without_marks(story.headline), **plain)
    linked = {name: [runs(text, history) for text in texts] for name, texts in parts.items()}
    return {**msgspec.to_builtins(unmarked), "runs": {**found, **linked}}


def runs(text: str, history: GroupHistory) -> list[Run]:
    """A text of a story with marked names. A member of whom nothing is known beside its name stays text."""
    found: list[Run] = []
    at = 0
    for match in _MARKED.finditer(text):
        found.append(_without_marks(text[at : match.start()]))
        member_id = bytes.fromhex(match[1]).decode("utf-8", "surrogatepass")
        found.append((match[2], member_id) if _has_a_page(history, member_id) else match[2])
        at = match.end()
    found.append(_without_marks(text[at:]))
    return [run for run in found if run]


def _has_a_page(history: GroupHistory, member_id: str) -> bool:
    return member_id in history.members or any(member_id in generation.members for generation in history.generations)


def _without_marks(text: str) -> str:
    return _MARKS.sub("", text)
