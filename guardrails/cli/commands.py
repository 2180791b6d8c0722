"""What all commands do alike: tell that what they print, or something that they need, cannot be had."""

from typing import Any

import click

from guardrails.cli.terminal import fail, no_output, reason_of


class Command(click.Command):
    """A command; what its options print (help, the version) can fail to be written, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; such options print meanwhile, and end the process."""
        try:
            return super().parse_args(ctx, args)
        except OSError as error:
            fail(str(no_output(error)))


class Group(Command, click.Group):
    """A command of commands."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run it; what the operating system refuses (another open file) is told on one line."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            fail(reason_of(error))
