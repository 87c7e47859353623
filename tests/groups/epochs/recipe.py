"""The lines that a new kind of group adds to modules of `coordinator`, and an importer that adds them.

It is for a process of its own (`play.py`): tables are made when their modules are imported.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Final

RECIPE: Final[Mapping[str, Mapping[str, str]]] = {
    "coordinator.core.kinds.table": {
        "from coordinator.core.consumer.kind import CONSUMER\n": "from tests.groups.epochs.kind import KIND\n",
        "for kind in (CLASSIC, CONSUMER": ", KIND",
    },
    "coordinator.audit.projections": {
        "from coordinator.audit.fields import Fields\n": "from tests.groups.epochs.audit import AUDIT\n",
        "    CONSUMER_NAME: consumer.CONSUMER,\n": '    "epochs": AUDIT,\n',
    },
    "coordinator.explain.protocols.table": {
        "from coordinator.explain.protocols.protocol import Protocol\n": (
            "from tests.groups.epochs.protocol import EPOCHS\n"
        ),
        "for protocol in (CLASSIC, CONSUMER": ", EPOCHS",
    },
}
"""Module → what is in its source → what a new kind adds after it: an import, and its place in the table."""


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode()
        for found, added in RECIPE[fullname].items():
            assert text.count(found) == 1, (fullname, found)
            text = text.replace(found, found + added)
        return compile(text, path, "exec")


class Cook(MetaPathFinder):
    """Imports the modules of the recipe with their new lines."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in RECIPE:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None and spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin)
        return spec


def add_kind() -> None:
    """From now on the coordinator has the kind. None of its modules may be imported yet."""
    assert not sys.modules.keys() & RECIPE.keys()
    sys.meta_path.insert(0, Cook())
