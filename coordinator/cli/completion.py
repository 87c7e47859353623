"""`coordinator completion`: the script by which a shell completes the command."""

import os
from typing import Final

import click
from click.shell_completion import get_completion_class

SHELLS: Final = ("bash", "zsh", "fish")
NAME: Final = "coordinator"
VARIABLE: Final = "_COORDINATOR_COMPLETE"
"""By which the script asks the command; click answers it."""


@click.command
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def command(context: click.Context, shell: str | None) -> None:
    """Print the script for SHELL, by default the one of $SHELL.

    For bash, add to ~/.bashrc: source <(coordinator completion bash); for zsh the same with ~/.zshrc; for fish:
    coordinator completion fish > ~/.config/fish/completions/coordinator.fish
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise click.UsageError(f"name a shell: {', '.join(SHELLS)}")
    found = get_completion_class(name)
    assert found is not None, name
    script = found(context.find_root().command, {}, NAME, VARIABLE)
    # Not `source()`: for bash it runs bash for its version, which need not be installed where the script is made.
    click.echo(script.source_template % script.source_vars())
