"""From a terminal to the page and back: the address of a group on the page, and the command that explains the group."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from coordinator.client.bootstrap import Server, bootstrap_of


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page has its groups from: a server, tables, or both."""

    bootstrap: Server | None = None
    tables: Path | None = None


NO_ORIGIN: Final = Origin()


def page_url(base: str, group_id: str, generation_id: int | None = None) -> str:
    """The address of a group, or of one of its generations, on the page at `base`.

    Raises:
        ValueError: `base` is not the address of a page. The message is one line.
    """
    try:
        parts = urlsplit(base)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.netloc or not base.isprintable():
        raise ValueError(f"{base!r} is not an address such as http://127.0.0.1:8080/")
    generation = "" if generation_id is None else f"/generations/{generation_id}"
    return f"{base.split('#', maxsplit=1)[0].rstrip('/')}/#/groups/{quote(group_id, safe='')}{generation}"


def command_for(origin: Origin, group_id: str, generation_id: int | None, *, has_events: bool) -> str:
    """The command that says in a terminal what the page says of a group; of lag alone where there are no events.

    Empty without an origin.
    """
    if origin.bootstrap is not None:
        source = f"--bootstrap {shell_quoted(str(origin.bootstrap))}"
        if bootstrap_of(origin.bootstrap).security.settings:
            source += " --command-config FILE"
    elif origin.tables is not None:
        source = f"--tables {shell_quoted(str(origin.tables))}"
    else:
        return ""
    if not has_events:
        return _command("describe", group_id, source)
    generation = "" if generation_id is None else f" --generation {generation_id}"
    return _command("why", group_id, source + generation)


def _command(verb: str, group_id: str, options: str) -> str:
    group = shell_quoted(group_id)
    if group_id.startswith("-"):
        return f"coordinator groups {verb} {options} -- {group}"
    return f"coordinator groups {verb} {group} {options}"


def shell_quoted(text: str) -> str:
    """One word of a command line. Characters that a terminal would not show are escapes of bash and zsh ($'...')."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(
        character if character.isprintable() and character not in "\\'" else _escaped(character) for character in text
    )
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
