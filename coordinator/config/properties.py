"""Settings as text: KEY=VALUE, one by one or in a file."""

from collections.abc import Iterable
from pathlib import Path

from coordinator.config.key import ConfigError


def parse_settings(lines: Iterable[str]) -> dict[str, str]:
    """Parse lines of the form KEY=VALUE.

    Raises:
        ConfigError: a line has no "=" or no key.
    """
    settings = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{line.strip()!r}: expected KEY=VALUE")
        settings[name.strip()] = value.strip()
    return settings


def read_properties(path: Path) -> dict[str, str]:
    """Read a file in the form of Kafka's server.properties: KEY=VALUE lines, # or ! comments, blank lines.

    Raises:
        ConfigError: the file cannot be read, or a line is not of that form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"cannot read {path}: {problem}") from None
    lines = (line.strip() for line in text.splitlines())
    return parse_settings(line for line in lines if line and line[0] not in "#!")
