"""Due timers go to the owners of their keys, which each handler has to name."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

import coordinator

PACKAGE: Final = Path(coordinator.__file__).parent
KEY: Final = re.compile(r"\b[A-Z]\w*Key\b")


def handlers() -> Iterator[Any]:
    """The classes with a method that handles due timers."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any(_handles(each) for each in node.body):
                module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
                yield getattr(import_module(module), node.name)


def _handles(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == "due" and len(node.args.args) == 3


HANDLERS: Final = list(handlers())


def test_the_handlers_are_found() -> None:
    assert len(HANDLERS) > 15


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda each: each.__name__)
def test_a_handler_names_the_keys_that_it_looks_for(handler: Any) -> None:
    methods = [each.__dict__["due"] for each in handler.__mro__ if "due" in each.__dict__]
    looked_for = {name for method in methods for name in KEY.findall(inspect.getsource(method))}
    assert {timer_key.__name__ for timer_key in handler.timer_keys} == looked_for
