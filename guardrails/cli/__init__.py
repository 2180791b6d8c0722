"""The command line, `guardrails`: each module has the commands of one kind."""

from typing import Final

import click

from guardrails.cli.checking import check, test
from guardrails.cli.commands import Group
from guardrails.cli.running import run
from guardrails.cli.starting import init
from guardrails.cli.types import list_types, schema, show

DISTRIBUTION: Final = "guardrail-processors"
"""Whose package this is; `guardrail_processors_command` asks, since other packages have its name too."""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION, prog_name="guardrails", message="%(prog)s %(version)s")
def command() -> None:
    """Guard what a language model says while it says it.

    CONFIG is a YAML file, or the bare name of a preset (`guardrails list` has them).

    \b
    Examples:
      guardrails init guard.yaml             a commented file to start from
      guardrails check guard.yaml            is it right?
      guardrails test guard.yaml             does it do what its cases say?
      echo 'Mail me@example.com' | guardrails run guard.yaml --text
      my-agent | guardrails run guard.yaml   guard a stream of chunks

    Shell completion of commands, presets and types comes with a line in ~/.bashrc (zsh and fish have their
    own, with zsh_source and fish_source):

    \b
      eval "$(_GUARDRAILS_COMPLETE=bash_source guardrails)"
    """  # noqa: D301 - \b is click's mark for lines to be left as they are


for _each in (run, check, test, list_types, show, schema, init):
    command.add_command(_each)
