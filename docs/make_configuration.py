"""Writes docs/configuration.md from `coordinator/config.py`: `make docs`."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from coordinator.config import ALL_KEYS, INT16_MAX, INT32_MAX, INT64_MAX, ConfigKey  # noqa: E402

PAGE = Path(__file__).with_name("configuration.md")
HEAD = """# Settings

Made by `make docs` from `coordinator/config.py`; not to be edited.

The names are Kafka's. They are given in a file of Kafka's form (`coordinator serve --config server.properties`) or one
by one (`--set group.max.size=100`). A name that is not known, or a value out of bounds, is refused at the start.

| setting | type | default | allowed | what it does |
|---|---|---|---|---|
"""
UNBOUNDED = (INT16_MAX, INT32_MAX, INT64_MAX)


def page() -> str:
    return HEAD + "".join(row(key) for key in sorted(ALL_KEYS, key=lambda key: key.name))


def row(key: ConfigKey[Any]) -> str:
    default = str(key.default).lower() if isinstance(key.default, bool) else key.default
    shown = f"`{default}`" if default != "" else "empty"
    return f"| `{key.name}` | {key.type_name} | {shown} | {allowed(key)} | {key.doc} |\n"


def allowed(key: ConfigKey[Any]) -> str:
    if key.one_of:
        return ", ".join(f"`{word}`" for word in key.one_of)
    if isinstance(key.default, bool):
        return "`true`, `false`"
    if key.at_least is None:
        return ""
    return f"at least {key.at_least}" if key.at_most in UNBOUNDED else f"{key.at_least} to {key.at_most}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
