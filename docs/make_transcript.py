"""Runs the commands of the tutorial, and writes down what they print: `make transcript`.

The page is its own source. Lines of its `console` blocks that begin with `$ ` are run in one shell, in an empty folder,
and what they print replaces the lines below them. A file is what follows "this as `NAME`:". At a comment
`<!-- until: COMMAND -->` the shell waits until that command succeeds.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "tutorials" / "from-install-to-why.md"
PART: Final = re.compile(
    r"this as `(?P<file>[\w.]+)`:\n\n```python\n(?P<source>.*?)^```$"
    r"|^<!-- until: (?P<until>.*?) -->$"
    r"|^```console\n(?P<console>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHOWN: Final = "127.0.0.1:9092"
"""The address on the page. The commands run with a free port."""
WAIT_SECONDS: Final = 60
COLUMNS: Final = "100"
END: Final = "--- end of the command"


class Shell:
    """A bash with job control, in which commands run one after the other."""

    def __init__(self, folder: Path, address: str) -> None:
        self._address = address
        commands = folder / "bin"
        commands.mkdir()
        for name, module in (("coordinator", "-m coordinator.cli"), ("python", "")):
            command = commands / name
            command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
            command.chmod(0o755)
        self._folder = folder / "work"
        self._folder.mkdir()
        environment = os.environ | {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COORDINATOR_BOOTSTRAP": address,
            "COLUMNS": COLUMNS,
        }
        self._bash = subprocess.Popen(
            ["bash", "-m"],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.run("true")  # what bash says of having no terminal comes first

    def write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")

    def run(self, command: str) -> tuple[str, int]:
        """What a command printed, and its exit code."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.write(f"{command.replace(SHOWN, self._address)}\necho '{END}' $?\n")
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(END):
                return "".join(lines).replace(self._address, SHOWN), int(line.removeprefix(END))
            lines.append(line)
        raise SystemExit(f"the shell ended in: {command}")

    def wait_until(self, condition: str) -> None:
        deadline = monotonic() + WAIT_SECONDS
        while self.run(f"{{ {condition}; }} > /dev/null 2>&1")[1] != 0:
            if monotonic() > deadline:
                raise SystemExit(f"waited {WAIT_SECONDS} s for: {condition}")
            sleep(0.2)

    def close(self) -> None:
        """End what was started and is still running."""
        self.run("jobs -p | xargs -r kill 2> /dev/null; wait")
        self._bash.communicate()


def console(text: str, shell: Shell) -> Iterator[str]:
    """The lines of a block, with what its commands print now."""
    commands = [line for line in text.splitlines() if line.startswith("$ ")]
    for command in commands:
        printed, code = shell.run(command.removeprefix("$ "))
        if code != 0:
            raise SystemExit(f"exit code {code} of: {command}\n{printed}")
        yield f"{command}\n{printed}"


def transcript(page: str, shell: Shell) -> str:
    """The page with what its commands print now."""

    def replaced(part: re.Match[str]) -> str:
        if part["file"]:
            shell.write(part["file"], part["source"])
        elif part["until"]:
            shell.wait_until(part["until"])
        else:
            return f"```console\n{''.join(console(part['console'], shell))}```"
        return part[0]

    return PART.sub(replaced, page)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="coordinator-transcript-") as folder:
        shell = Shell(Path(folder), f"127.0.0.1:{free_port()}")
        try:
            page = transcript(PAGE.read_text(encoding="utf-8"), shell)
        finally:
            shell.close()
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
