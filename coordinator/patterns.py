"""Regular expressions of clients, matched by RE2 in time that is linear in the length of the text.

Kafka uses RE2/J (KIP-1152 for ListTransactions, KIP-848 for subscriptions); Python's `re` may take exponential time.
"""

from collections.abc import Callable
from typing import Final

PATTERN_LENGTH_MAX: Final = 1_000
"""Characters. Kafka has no bound; a pattern that somebody writes by hand has a tenth of it."""
MEMORY_BYTES_MAX: Final = 1 << 20
"""What RE2 may take for a compiled pattern and for what it remembers while it matches."""
MATCH_STEPS_MAX: Final = 400_000
"""Instructions of the pattern times bytes of the text. RE2 takes up to 70 ns for each if its memory does not suffice,
and a match cannot be interrupted; usually it takes a thousandth of that."""


class InvalidPattern(ValueError):
    """No regular expression of RE2, or one that takes too much. The message is one line."""


class Pattern:
    """A regular expression that a whole text matches or does not."""

    _never_captures = True

    def __init__(self, text: str) -> None:
        """Raises:
        InvalidPattern: RE2 does not know it, as references back and looking around, or it is too large.
        """
        if len(text) > PATTERN_LENGTH_MAX:
            raise InvalidPattern(f"the pattern has {len(text)} characters, more than {PATTERN_LENGTH_MAX}")
        import re2  # only where somebody uses a pattern: a start does not wait for it

        options = re2.Options()
        options.max_mem = MEMORY_BYTES_MAX
        options.never_capture = self._never_captures
        options.log_errors = False
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as problem:
            reason = problem.args[0]
            raise InvalidPattern(
                reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            ) from None
        self.instructions: int = self._compiled.programsize
        """The size of the compiled pattern: a match takes so many steps for each byte of the text, at most."""
        self._text_bytes_max = MATCH_STEPS_MAX // self.instructions

    def check_fits(self, size_bytes: int) -> None:
        """Raises:
        InvalidPattern: the pattern is too complex for texts of this length.
        """
        if size_bytes > self._text_bytes_max:
            raise InvalidPattern(f"the pattern is too complex for texts of {size_bytes} bytes")

    def matches(self, text: str) -> bool:
        """Whether the whole text matches.

        Raises:
            InvalidPattern: the pattern is too complex for a text of this length.
        """
        self.check_fits(len(text) if text.isascii() else len(text.encode()))
        return self._compiled.fullmatch(text) is not None


class CapturingPattern(Pattern):
    """A regular expression whose groups are taken from what it matches."""

    _never_captures = False

    @property
    def groups(self) -> int:
        return int(self._compiled.groups)

    @property
    def group_names(self) -> frozenset[str]:
        return frozenset(self._compiled.groupindex)

    def replace_all(self, text: str, expand: Callable[[Callable[[int | str], str]], str]) -> str:
        """Replace each match by what `expand` makes of its groups, as Java's Matcher.replaceAll does.

        Also the empty match behind one that reaches the end. The text must fit: see `check_fits`.
        """
        parts: list[str] = []
        copied = at = 0
        while at <= len(text):
            found = self._compiled.search(text, at)
            if found is None:
                break
            parts += [text[copied : found.start()], expand(lambda group, found=found: found.group(group) or "")]  # type: ignore[misc]
            copied = found.end()
            at = copied if copied > found.start() else copied + 1
        return "".join([*parts, text[copied:]])
