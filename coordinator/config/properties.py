"""Settings as text: KEY=VALUE, one by one or in a file."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from coordinator.config.key import ConfigError

BLANKS: Final = " \t\f"
"""Java's white space within a line."""
LINE: Final = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*([=:]?)[ \t\f]*(.*)", re.DOTALL)
"""Name, separator and value. A separator in the name has a backslash before it."""
ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))", re.DOTALL)
LINE_END: Final = re.compile(r"\r\n|\n|\r")
CONTROLS: Final = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
ESCAPES: Final = str.maketrans({"\\": r"\\"} | {control: rf"\{letter}" for letter, control in CONTROLS.items()})
NAME_ESCAPES: Final = ESCAPES | str.maketrans({character: rf"\{character}" for character in " =:#!"})


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
    r"""Read a file in the form of Kafka's server.properties, by the rules of `java.util.Properties.load`.

    A name ends at the first "=", ":" or white space; blank lines and those that begin with "#" or "!" are left out. A
    line that ends with a backslash is continued in the next one, and `\n`, `\t`, `\\`, `\:` and `\uXXXX` stand for
    characters: a PEM key or a JAAS section is written like this.

    The encoding is UTF-8, and a name alone is refused, which has an empty value in Java: it is the rest of a line that
    was to be continued.

    Raises:
        ConfigError: the file cannot be read, or a line is not of that form. The message has no part of the line, as it
            may be a secret.
    """
    return {name: text for name, (text, _) in read_properties_with_lines(path).items()}


def read_properties_with_lines(path: Path) -> dict[str, tuple[str, int]]:
    """As `read_properties`, each value with the number of its line. Of a name that is there twice the last one counts.

    Raises:
        ConfigError: as by `read_properties`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read {path}: {problem}") from None
    settings = {}
    for number, line in logical_lines(text):
        name, separator, value = parts_of(line)
        if not name or not (separator or value):
            raise ConfigError(f"{path}:{number}: expected KEY=VALUE")
        try:
            settings[unescaped(name)] = unescaped(value), number
        except ValueError as problem:
            raise ConfigError(f"{path}:{number}: {problem}") from None
    return settings


def properties_text(settings: Mapping[str, str]) -> str:
    """The text of a file from which `read_properties` reads these settings."""
    return "".join(f"{name.translate(NAME_ESCAPES)}={_escaped(value)}\n" for name, value in settings.items())


def _escaped(value: str) -> str:
    """White space before a value is no part of it, unless there is a backslash before that."""
    escaped = value.translate(ESCAPES)
    return rf"\{escaped}" if escaped.startswith(" ") else escaped


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are neither blank nor comments, continued ones as one, with the number of the first."""
    begun = ""
    first = 0
    is_continued = False
    for number, line in enumerate(LINE_END.split(text), 1):
        part = line.lstrip(BLANKS)
        if not begun:
            if not part or part[0] in "#!":
                continue
            first = number
        is_continued = (len(part) - len(part.rstrip("\\"))) % 2 == 1
        begun += part[:-1] if is_continued else part
        if not is_continued:
            yield first, begun
            begun = ""
    if begun:
        yield first, begun


def parts_of(line: str) -> tuple[str, str, str]:
    """The name, the separator ("" if that is white space, or if there is none) and the value of a logical line."""
    found = LINE.fullmatch(line)
    assert found is not None, "each line has a name, which may be empty"
    return found[1], found[2], found[3]


def unescaped(text: str) -> str:
    r"""Replace `\n`, `\uXXXX` and the like; a backslash before any other character is left out.

    Raises:
        ValueError: a `\u` is not followed by four hexadecimal digits. The message has no part of the text.
    """
    if "\\" not in text:
        return text
    replaced = ESCAPED.sub(lambda match: _character(match[1], match[2]), text)
    # Java's characters are UTF-16 units: two escapes stand for one character above U+FFFF.
    return replaced.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _character(code: str | None, letter: str) -> str:
    if letter == "u":
        raise ValueError(r"expected four hexadecimal digits after \u")
    return chr(int(code, 16)) if code is not None else CONTROLS.get(letter, letter)
