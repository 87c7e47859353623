"""The format of a file: what is taken off each of its lines. It is recognised by the first lines.

A line of another format is read too, and is doubtful: a client can write line feeds, and after them what looks like a
line of any format.
"""

import re
from collections.abc import Iterable
from typing import Final

from coordinator.observe.logs.layouts import HEAD, split_logger
from coordinator.observe.logs.lines import Line, decoded
from coordinator.observe.logs.messages import PREFIX
from coordinator.observe.logs.wrappings import STEPS, Whole

STEPS_MAX: Final = 4
SAMPLE_LINES: Final = 2_000
SHARE_MIN: Final = 0.1
"""A format that fewer of the lines have is not the file's."""

NEEDLE: Final = re.compile(rb"Group(?:Coordinator |MetadataManager |Metadata\b| leader \[)")
"""In all lines of coordinators."""
NUMBERS: Final = re.compile(rb'"MESSAGE" ?: ?\[')
NEEDLE_OR_NUMBERS: Final = re.compile(NEEDLE.pattern + b"|" + NUMBERS.pattern)
"""journald writes a text that is not printable as the numbers of its bytes."""

Chain = tuple[str, ...]
"""Names of steps, outermost first."""

FORMATS: Final = {
    "auto": None,
    "text": (),
    "kubectl": ("kubectl-prefix", "timestamp", "containerd"),
    "docker": ("object",),
    "compose": ("compose",),
    "journal": ("journal", "journal-iso", "object"),
    "loki": ("logcli", "object"),
    "cloudwatch": ("timestamp", "aws-tail", "object"),
    "json": ("object",),
}
"""`log_format` → steps that a line may have. None: all. With `text` nothing is taken off."""


class Unwrapping:
    """Takes off what is around the lines of one file.

    `has_loggers`: they end with the name of a logger. `has_heads`: they begin with a time and a level. `has_numbers`:
    texts are written as the numbers of their bytes.
    """

    def __init__(
        self, chains: Iterable[Chain], *, has_loggers: bool, has_heads: bool, has_numbers: bool = False
    ) -> None:
        self.chains = tuple(chains)
        self.has_loggers, self.has_heads = has_loggers, has_heads
        self.has_numbers = has_numbers
        self.needle = NEEDLE_OR_NUMBERS if has_numbers else NEEDLE

    def __call__(self, data: bytes) -> Line:
        text = decoded(data)
        for chain in self.chains:
            line = unwrapped(text, chain)
            if line is not None:
                return line
        found = recognised(text, None)
        return Line(text) if found is None else found[1]._replace(is_foreign=True)


def unwrapped(text: str, chain: Chain) -> Line | None:
    """The line without what the chain takes off. None: it has another format."""
    stream, received_ms, is_part = "", None, False
    for name in chain:
        part = STEPS[name](text)
        if part is None:
            return None
        if isinstance(part, Whole):
            return Line(part.message, stream, received_ms, True, part.time_ms or received_ms, part.logger)
        text, is_part = part.text, is_part or part.is_part
        stream = f"{stream} {part.stream}" if stream and part.stream else stream or part.stream
        received_ms = part.received_ms if received_ms is None else received_ms
    return Line(text, stream, received_ms, is_part=is_part)


def recognised(text: str, allowed: tuple[str, ...] | None, begins: re.Pattern[str] = HEAD) -> tuple[Chain, Line] | None:
    """What is to be taken off until what `begins` a line, or a coordinator's message, is there. None: neither."""
    chain: Chain = ()
    for _ in range(STEPS_MAX + 1):
        line = unwrapped(text, chain)
        assert line is not None, chain
        if line.is_whole or begins.match(line.text) or (chain and PREFIX.match(line.text)):
            return chain, line
        names = STEPS if allowed is None else [name for name in STEPS if name in allowed]
        step = next((name for name in names if STEPS[name](line.text) is not None), None)
        if step is None:
            return None
        chain = (*chain, step)
    return None


def unwrapping(sample: Iterable[bytes], log_format: str = "auto", begins: re.Pattern[str] = HEAD) -> Unwrapping | None:
    """Recognise the format of a file by its first lines. None: no line has a known one."""
    allowed = FORMATS[log_format]
    found: dict[Chain, int] = {}
    heads = loggers = 0
    has_numbers = False
    for number, data in enumerate(sample):
        if number >= SAMPLE_LINES:
            break
        one = recognised(decoded(data), allowed, begins)
        if one is None:
            continue
        chain, line = one
        has_numbers = has_numbers or (b'"MESSAGE"' in data and NUMBERS.search(data) is not None)
        found[chain] = found.get(chain, 0) + 1
        if not line.is_whole and HEAD.match(line.text):
            heads += 1
            loggers += split_logger(line.text)[1] is not None
    if not found:
        return None
    all_lines = sum(found.values())
    chains = sorted(
        (steps for steps in found if found[steps] >= SHARE_MIN * all_lines), key=lambda steps: -found[steps]
    )
    # What takes off more is tried first: less would also do for its lines.
    chains.sort(key=len, reverse=True)
    return Unwrapping(
        chains, has_loggers=heads == 0 or loggers * 10 >= heads, has_heads=heads > 0, has_numbers=has_numbers
    )
