"""Settings as text: KEY=VALUE, one by one or in a file."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from coordinator.config.key import ConfigError

ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))", re.DOTALL)
LINE_END: Final = re.compile(r"\r\n|\n|\r")
CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """Parse lines of the form KEY=VALUE.

    Raises:
        ConfigError: a line has no "=" or no key. The message has its first word at most: the rest may be a secret.
    """
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{line.split()[0] if line.strip() else line!r}: expected KEY=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def read_properties(path: Path) -> dict[str, str]:
    r"""Read a file in the form of Kafka's server.properties: KEY=VALUE lines, # or ! comments, blank lines.

    As in Java, a line that ends with a backslash is continued in the next one, and `\n`, `\t`, `\\` and `\uXXXX` stand
    for characters: a PEM key or a JAAS section is written like this.

    Raises:
        ConfigError: the file cannot be read, or a line is not of that form. The message has no part of the line, as it
            may be a secret.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read {path}: {problem}") from None
    settings = {}
    for number, line in logical_lines(text):
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{path}, line {number}: expected KEY=VALUE")
        settings[unescaped(name.strip())] = unescaped(value.strip())
    return settings


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor comments, continued ones as one, with the number of the first."""
    begun: list[str] = []
    first = 0
    for number, line in enumerate(LINE_END.split(text), 1):
        part = line.lstrip()
        if not begun:
            if not part or part[0] in "#!":
                continue
            first = number
        is_continued = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        begun.append(part[:-1] if is_continued else part)
        if not is_continued:
            yield first, "".join(begun)
            begun.clear()
    if begun:
        yield first, "".join(begun)


def unescaped(text: str) -> str:
    r"""Replace `\n`, `\uXXXX` and the like; a backslash before any other character is left out (Properties.load)."""
    if "\\" not in text:
        return text
    replaced = ESCAPED.sub(lambda match: _character(match[1], match[2]), text)
    # Java's characters are UTF-16 units: two escapes stand for one character above U+FFFF.
    return replaced.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _character(code: str | None, letter: str) -> str:
    return chr(int(code, 16)) if code is not None else CONTROLS.get(letter, letter)
