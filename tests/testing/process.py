"""`coordinator testing` as a process, and its control over HTTP."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.waiting import wait_for

START_SECONDS = 20
STOP_SECONDS = 10


class Answer(NamedTuple):
    status: int
    body: Any


class TestingProcess:
    """Leaving its context closes its stdin, which ends it."""

    __test__ = False

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._ready = folder / "ready.json"
        self._arguments = arguments

    def __enter__(self) -> Self:
        self._ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "coordinator.cli", "testing", "--until-stdin-closes"]
        command += ["--ready-file", str(self._ready), *self._arguments]
        process = self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        wait_for(lambda: self._ready.exists() or process.poll() is not None, START_SECONDS, "the ready file")
        said = json.loads(self._ready.read_text())
        self.bootstrap, self.admin = said["bootstrap"], said["admin"]
        return self

    def __exit__(self, *problem: object) -> None:
        self.close_stdin()
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answer:
        connection = http.client.HTTPConnection(self.admin, timeout=START_SECONDS)
        try:
            data = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
            connection.request(method, path, data, {"Content-Type": content_type})
            response = connection.getresponse()
            text = response.read()
            return Answer(response.status, json.loads(text) if text.startswith((b"{", b"[")) else text)
        finally:
            connection.close()

    def post(self, path: str, **body: Any) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == 200, answer
        return answer.body

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body
