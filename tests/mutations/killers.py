"""Which test noticed which mutant, from run to run."""

import json
import threading
from pathlib import Path

from tests.mutations.mutant import Mutant


class Killers:
    """Name of a mutant → the test that noticed it in an earlier run, which is tried first; kept in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tests: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
        self._lock = threading.Lock()

    def test_of(self, mutant: Mutant) -> str | None:
        return self._tests.get(mutant.name)

    def remember(self, mutant: Mutant, test: str) -> None:
        if "::" not in test or " " in test.partition("[")[0] or self._tests.get(mutant.name) == test:
            return
        with self._lock:
            self._tests[mutant.name] = test
            text = json.dumps(self._tests, indent=1, sort_keys=True, ensure_ascii=False)
            self._path.write_text(text + "\n", encoding="utf-8")
