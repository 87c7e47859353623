"""Where the tables lie: a local folder, or a folder of another file system that Hadoop's clients can reach."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/")

Location = Path | str
"""A local folder, or the URI of a folder without a slash at its end."""


class InvalidLocation(ValueError):
    """The text names no folder. The message is one line."""


def location(text: str) -> Location:
    """Return what a path, `file:///path` or `scheme://authority/path` names.

    Raises:
        InvalidLocation: it is empty, a URI without a path, or one with a query, which no file system has.
    """
    if not text:
        raise InvalidLocation("the location of the tables is empty")
    if not _SCHEME.match(text):
        return Path(text)
    parts = urlsplit(text)
    path = parts.path.rstrip("/")
    if not path or parts.query or parts.fragment:
        raise InvalidLocation(f"{text} is no folder; write it as scheme://authority/path")
    if parts.scheme.lower() == "file":
        if parts.netloc not in ("", "localhost"):
            raise InvalidLocation(f"{text} is on another machine; write it as file:///path")
        return Path(unquote(path))
    return f"{parts.scheme}://{parts.netloc}{path}"
