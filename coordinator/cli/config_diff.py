"""`coordinator config diff`: how the settings of a file differ from those of another one, or of a running server."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from coordinator.cli.server_options import BOOTSTRAP_HELP, COMMAND_CONFIG_OPTION, with_security
from coordinator.cli.server_settings import read_settings
from coordinator.cli.terminal import one_line_errors, output_option, print_records
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.broker_configs import Described, broker_configs
from coordinator.config.key import ConfigError
from coordinator.config.password import HIDDEN, Password
from coordinator.config.settings import ALL_KEYS, Config
from coordinator.printable import printable

DIFFERENT: Final = 1


class Difference(NamedTuple):
    """A setting with two values: that of A, and that of B or of the server. None: it has none."""

    setting: str
    a: str | None
    b: str | None


@click.command
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", required=False, type=click.Path(path_type=Path))
@click.option("--bootstrap", metavar="HOST:PORT", help=f"In place of B: a running server. {BOOTSTRAP_HELP}")
@COMMAND_CONFIG_OPTION
@output_option
@with_security
def diff(first: Path, second: Path | None, bootstrap: Bootstrap | None, output: str) -> None:
    """Show how a server that is started with the file A differs from one with the file B, or from one that runs (b).

    A server may be a Kafka. It does not tell secrets, so these are only compared between files. Exit code 0: the
    values are the same, 1: some differ.
    """
    if (second is None) == (bootstrap is None):
        raise click.UsageError("give a second file, or a running server: --bootstrap HOST:PORT")
    with one_line_errors():
        try:
            found = _differences(first, second, bootstrap)
        except ConfigError as problem:
            raise click.ClickException(printable(str(problem))) from problem
    records = [difference._asdict() for difference in found]
    print_records(records, Difference._fields, output, "the values of all settings are the same")
    sys.exit(DIFFERENT if found else 0)


def _differences(first: Path, second: Path | None, bootstrap: Bootstrap | None) -> list[Difference]:
    """Raises ConfigError or ClientError."""
    ours = _config_of(first)
    if second is not None:
        theirs = _config_of(second)
        return _compared(_described(ours), _described(theirs), _secrets(ours, theirs))
    assert bootstrap is not None, "one of both is given"
    return _compared(_described(ours), broker_configs(bootstrap), [])


def _config_of(path: Path) -> Config:
    try:
        understood = read_settings(path, with_environment=False, settings=())
        return Config(understood.texts, unused=understood.unused_texts)
    except ConfigError as problem:
        text = str(problem)
        raise ConfigError(text if str(path) in text else f"{path}: {text}") from None


def _described(config: Config) -> dict[str, Described]:
    """What a server with these settings says of itself."""
    from coordinator.node.handlers import broker_configs as handler

    return {
        broker_config.name: Described(broker_config.value, broker_config.is_sensitive)
        for broker_config in handler.broker_configs(config, {})
    }


def _compared(
    first: Mapping[str, Described], second: Mapping[str, Described], secrets: list[Difference]
) -> list[Difference]:
    """What one of two does not have at all is no difference: other versions have other settings.

    An empty value is none, and `broker.id` has the value of `node.id`.
    """
    found = secrets + [
        Difference(name, first[name].value or None, second[name].value or None)
        for name in (first.keys() & second.keys()) - {"broker.id"}
        if not first[name].is_sensitive and (first[name].value or None) != (second[name].value or None)
    ]
    return sorted(found)


def _secrets(first: Config, second: Config) -> list[Difference]:
    ours, theirs = _secrets_of(first), _secrets_of(second)
    return [
        Difference(name, HIDDEN if name in ours else None, HIDDEN if name in theirs else None)
        for name in ours.keys() | theirs.keys()
        if ours.get(name) != theirs.get(name)
    ]


def _secrets_of(config: Config) -> dict[str, Password]:
    """Those that are given, by name; those of single listeners, too."""
    of_server = [(key.name, key, config[key]) for key in ALL_KEYS]
    return {name: value for name, key, value in [*of_server, *config.override_values()] if key.is_secret and value}
