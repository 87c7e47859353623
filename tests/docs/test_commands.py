"""Each `coordinator …` in a block of code of a page is a command that exists, with options that it has."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from types import ModuleType

import click
import pytest

from coordinator.cli import main
from tests.docs.pages import DOCS, PAGES, code_lines, name_of

COMMAND = re.compile(r"(?:^|\$ |[$<]\(|\| |&& |; |^\w+=\S+ )(?:exec )?(?:[\w./]+/)?coordinator (?=[a-z-])")
LISTS = {"docs/commands.md", "docs/messages.md"}
"""Made from the commands and the source themselves."""


def commands_in(text: str) -> Iterator[tuple[int, list[str]]]:
    """The line and the words of each command."""
    for number, line in code_lines(text):
        for found in COMMAND.finditer(line):
            yield number, words(line[found.end() :])


def words(text: str) -> list[str]:
    """Those of one command: up to a pipe, a redirection, a comment or what follows."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
    lexer.commenters = "#"
    found = []
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            break
        found.append(word)
    return found


def problem(arguments: list[str]) -> str:
    """What a command does not have; empty if it has all."""
    command: click.Command = main
    context = click.Context(main)
    rest = list(arguments)
    while isinstance(command, click.Group) and rest:
        name = rest.pop(0)
        if name.startswith("-") or name.upper() == name:
            return ""
        below = command.get_command(context, name)
        if below is None:
            return f"there is no command {name}"
        command, context = below, click.Context(below, info_name=name)
    known = {name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)}
    given = [word.partition("=")[0] for word in rest if word.startswith("--") and len(word) > 2]
    return next((f"{context.info_name} has no option {name}" for name in given if name not in known), "")


@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in LISTS], ids=name_of)
def test_the_commands_of_a_page_exist(page):
    found = [
        f"line {number}: coordinator {' '.join(arguments)}: {wrong}"
        for number, arguments in commands_in(page.read_text(encoding="utf-8"))
        if (wrong := problem(arguments))
    ]
    assert not found


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("$ coordinator groups whi billing", "there is no command whi"),
        (".venv/bin/coordinator serve --lisen 127.0.0.1:0 &", "serve has no option --lisen"),
        ("bootstrap=$(coordinator topics list --jsn) # the topics", "list has no option --jsn"),
        ("coordinator groups list --bootstrap HOST:PORT | grep --count Stable", ""),
    ],
)
def test_what_does_not_exist_is_found(line, wrong):
    ((_, arguments),) = commands_in(f"```\n{line}\n```")
    assert problem(arguments) == wrong


def test_most_commands_are_shown_on_some_page():
    shown = {
        tuple(arguments[:1])
        for page in PAGES
        if name_of(page) not in LISTS
        for _, arguments in commands_in(page.read_text(encoding="utf-8"))
    }
    assert {(name,) for name in main.list_commands(click.Context(main))} - shown <= {("demo",)}  # `make demo`


def test_the_page_of_commands_lists_each_environment_variable_of_an_option():
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    table = page.split("## Environment variables")[1].split("\n## ")[0]
    variables = set(re.findall(r"Environment: `(\w+)`", page))
    assert len(variables) > 2
    assert {name for name in variables if f"| `{name}` |" not in table} == set()


def test_text_of_help_is_no_markup():
    assert maker().escaped("`a|b` <c> *d* e_f") == r"`a\|b` \<c\> \*d\* e\_f"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_commands", DOCS / "make_commands.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
