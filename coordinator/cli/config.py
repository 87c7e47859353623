"""`coordinator config`: the settings of a server, before it is started with them and while it runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from coordinator.cli.config_diff import diff
from coordinator.cli.server_settings import read_settings, settings_options
from coordinator.cli.terminal import output_option, print_records
from coordinator.config.cluster_keys import CLUSTER_BOOTSTRAP_SERVERS
from coordinator.config.effective import Effective, effective_settings
from coordinator.config.key import ConfigError
from coordinator.config.problems import Problem, find_problems
from coordinator.config.settings import Config
from coordinator.config.understood import Understood
from coordinator.printable import printable

if TYPE_CHECKING:
    from coordinator.front.listener import Listener

PROBLEMS: Final = 1
"""The exit code of settings with problems; with --strict also of those that others may use."""


@click.group
def command() -> None:
    """Check the settings of a server, show them, compare them."""


command.add_command(diff)


@command.command
@click.argument("file", required=False, type=click.Path(path_type=Path))
@settings_options
@click.option("--strict", is_flag=True, help="End with exit code 1 if there is a warning.")
def check(
    file: Path | None, config_file: Path | None, with_environment: bool, settings: tuple[str, ...], strict: bool
) -> None:
    """Check settings as a start does, keys and certificates included, and warn of what they leave open to others.

    FILE is a server.properties. Each problem is one line with the file and the line; unknown names are problems, too.
    Nothing is bound, written or started. Exit code 0: none, 1: there are problems.
    """
    from coordinator.front.security_warnings import security_warnings

    understood = _read(_one_file(file, config_file), with_environment, settings)
    checked: list[tuple[Config, list[Listener]]] = []
    problems = list(find_problems(understood, lambda config: checked.append((config, _check_start(config)))))
    if problems:
        _end(problems)
    for kind, about in understood.lines():
        click.echo(f"note: {kind}: {printable(about)}")
    ((config, listeners),) = checked
    warnings = list(security_warnings(config, listeners))
    for warning in warnings:
        click.echo(f"warning: {warning}")
    names = ", ".join(f"{listener.name} ({listener.security_protocol.value})" for listener in listeners)
    click.echo(f"a server starts with these settings; its listeners are {names}")
    if warnings and strict:
        sys.exit(PROBLEMS)


@command.command
@click.argument("file", required=False, type=click.Path(path_type=Path))
@settings_options
@click.option("--all", "with_defaults", is_flag=True, help="Show those that have their default, too.")
@output_option
def show(
    file: Path | None,
    config_file: Path | None,
    with_environment: bool,
    settings: tuple[str, ...],
    with_defaults: bool,
    output: str,
) -> None:
    """Show the settings that a server starts with, each with its source: default, file, environment or option.

    FILE is a server.properties. Secrets are hidden.
    """
    understood = _read(_one_file(file, config_file), with_environment, settings)
    try:
        found = list(effective_settings(understood, with_defaults=with_defaults))
    except ConfigError as problem:
        raise click.ClickException(printable(str(problem))) from problem
    records = [effective._asdict() for effective in found]
    print_records(records, Effective._fields, output, "all settings have their defaults; --all shows them")


def _one_file(file: Path | None, config_file: Path | None) -> Path | None:
    if file is not None and config_file is not None:
        raise click.UsageError("FILE and --config are the same: give one of them")
    return file or config_file


def _read(config_file: Path | None, with_environment: bool, settings: tuple[str, ...]) -> Understood:
    """The settings. What cannot be read is the one problem, and ends the command."""
    try:
        return read_settings(config_file, with_environment, settings)
    except ConfigError as problem:
        _end([Problem("", str(problem))])
        raise


def _end(problems: list[Problem]) -> None:
    for problem in problems:
        click.echo(printable(str(problem)), err=True)
    sys.exit(PROBLEMS)


def _check_start(config: Config) -> "list[Listener]":
    """What a start makes of settings that are each allowed. Raises ConfigError."""
    from coordinator.front.metered import check_admin
    from coordinator.node.listener_check import make_listeners

    listeners = make_listeners(config)
    check_admin(config)
    if config[CLUSTER_BOOTSTRAP_SERVERS]:
        from coordinator.cluster.node import node_listener
        from coordinator.cluster.security import node_security

        node_security(config, node_listener(config).security_protocol)
    return listeners
