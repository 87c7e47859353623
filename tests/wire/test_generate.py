"""The generator: same input, same bytes, and nothing is touched that did not change."""

import os
from pathlib import Path

import pytest

from _wire.codegen.modules import pyx
from _wire.generate import MESSAGES, generate
from _wire.notation import SCHEMAS, parse

PING = """# Is anybody there?
api Ping 99   versions 0-5   flexible 3+

request
  name      string    1+
  depth     int64     1-3  default -1
  limit     float64   4    default 0.5
  spot      Spot           nullable 2+   default null
    x       uint16
  home      Home
    id      uuid
  loud      bool      3+   default true   tag 0
  sound     bytes     3+   nullable   default null   tag 1
  echoes    [string]  3+   tag 2
  cave      Cave      3+   nullable   tag 3
    y       uint16
  well      Well      3+   nullable   default null   tag 4
    z       uint16
response
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_definitions_give_the_same_bytes(tmp_path: Path) -> None:
    generate(SCHEMAS, tmp_path)
    first = contents(tmp_path)
    generate(SCHEMAS, tmp_path)
    assert contents(tmp_path) == first
    assert {name: text for name, text in contents_of_sources(MESSAGES).items() if name in first} == first


def contents_of_sources(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".py", ".pyx", ".pxd", ".pyi")}


def test_what_did_not_change_is_not_written_again(tmp_path: Path) -> None:
    generate(SCHEMAS, tmp_path)
    for path in tmp_path.iterdir():
        os.utime(path, ns=(1, 1))
    (tmp_path / "heartbeat.pyx").write_text("changed")
    generate(SCHEMAS, tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mtime_ns != 1] == ["heartbeat.pyx"]


def test_sources_without_a_definition_are_removed(tmp_path: Path) -> None:
    for name in ("gone.pyx", "gone.pxd", "gone.pyi", "gone.cpython-311-x86_64-linux-gnu.so"):
        (tmp_path / name).touch()
    generate(SCHEMAS, tmp_path)
    assert not list(tmp_path.glob("gone.*"))


@pytest.mark.parametrize(
    "line",
    [
        # in versions that lack it, a field is what its default says
        'm.name = read_string(at(r, b"name"), flexible) if version >= 1 else ""',
        'm.depth = read_int64(at(r, b"depth")) if 1 <= version <= 3 else -1',
        'm.limit = read_float64(at(r, b"limit")) if version == 4 else 0.5',
        # a struct that may be null has an int8 before it that says whether it is there
        'if version < 2 or read_int8(at(r, b"spot")) >= 0:',
        # what is read hangs on the message before it is read
        "m.home = Home.__new__(Home)",
        "fill_home(r, m.home, version)",
        # a struct that is never null is there even if nobody gave one
        "self.home = Home() if home is None else home",
        # a tagged field is written if it differs from its default
        "if not self.loud:",
        "if self.sound is not None:",
        "if self.echoes is None or len(self.echoes) > 0:",
        "elif tag == 2:",
        # a tagged struct that may be null has an unsigned varint before it; without `default null`, null is written
        "if self.cave is None or self.cave != Cave():",
        "self.cave = Cave() if cave is ... else cave",
        "write_uvarint(w, 0 if self.cave is None else 1)",
        'if read_uvarint(at(r, b"cave")) != 0:',
        "m.cave = None",
        "if self.well is not None:",
        'if read_uvarint(at(r, b"well")) != 0:',
    ],
)
def test_the_code_reads_like_the_definition(line: str) -> None:
    assert line in [splitline.strip() for splitline in pyx(parse(PING, "ping.schema")).splitlines()]
