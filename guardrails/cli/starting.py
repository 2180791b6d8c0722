"""`guardrails init`: a configuration to start from."""

import json
import re
import shlex
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from guardrails.cli.commands import Command
from guardrails.cli.terminal import fail, reason_of, strong, write_lines
from guardrails.config import is_bare_name
from guardrails.registry import presets
from guardrails.schema import json_schema

SCHEMA: Final = "guardrails.schema.json"
"""The file that an editor finds the schema in."""

_SCHEMA_LINE: Final = re.compile(r"^# yaml-language-server: .*\n", re.MULTILINE)


def _presets() -> "click.Choice[str]":
    return click.Choice(sorted(presets()))


def _known(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """The name of a preset; which there are is asked here, and not at the start of every command."""
    return _presets().convert(value, param, ctx)


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _presets().shell_complete(ctx, param, incomplete)


@click.command(cls=Command, short_help="Write a commented configuration to start from.")
@click.argument("file", default="guard.yaml", type=click.Path(dir_okay=False))
@click.option(
    "--from",
    "preset",
    default="default",
    show_default=True,
    metavar="PRESET",
    callback=_known,
    shell_complete=_completed,
    help="The preset to start from; `guardrails list` has them.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there.")
def init(file: str, preset: str, force: bool) -> None:
    """Write a commented configuration to FILE, to start from.

    Beside it goes guardrails.schema.json, with which an editor completes and checks the file; one that is
    there is brought up to date.

    \b
    Examples:
      guardrails init
      guardrails init strict.yaml --from strict
      guardrails init --force
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    if not file:
        fail("the name of the file to write is empty")
    if Path(file).name == SCHEMA:
        fail(f"{file} is where the schema goes that stands beside the configuration; give another name")
    text = presets()[preset].read_text("utf-8")
    text = f"# yaml-language-server: $schema={SCHEMA}\n{_SCHEMA_LINE.sub('', text)}"
    schema = json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"
    target = Path(file)
    try:
        with target.open("w" if force else "x", encoding="utf-8") as opened:
            opened.write(text)
        target.with_name(SCHEMA).write_text(schema, "utf-8")
    except FileExistsError:
        fail(f"{file} is already there; give another name, or --force to overwrite it")
    except (OSError, ValueError) as error:
        fail(f"{getattr(error, 'filename', None) or file}: {reason_of(error)}")
    name = _as_argument(file)
    write_lines(
        [
            f"wrote {strong(file)} and {SCHEMA}, with which an editor completes it; next:",
            f"  guardrails check {name}",
            f"  guardrails test {name}",
        ]
    )


def _as_argument(file: str) -> str:
    """The file as one gives it to a command: a bare name would be a preset, a leading dash an option."""
    taken_otherwise = is_bare_name(file) or file.startswith("-")
    return shlex.quote(f"./{file}" if taken_otherwise else file)
