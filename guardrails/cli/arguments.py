"""Arguments that several commands take, with what a shell may complete."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from guardrails.registry import Registry, presets

F = TypeVar("F", bound=Callable[..., object])


def _configs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The presets and YAML files that begin so; if there are none, whatever file the shell knows."""
    del ctx, param
    found = [CompletionItem(name, help="preset") for name in presets() if name.startswith(incomplete)]
    found += [CompletionItem(file, help="file") for file in _yaml_files(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def _yaml_files(incomplete: str) -> Iterator[str]:
    folder, slash, begin = incomplete.rpartition("/")
    try:
        names = sorted(file.name for file in Path(folder + slash or ".").iterdir() if file.is_file())
    except OSError:
        return
    for name in names:
        if name.startswith(begin) and name.endswith((".yaml", ".yml")) and (begin or name[0] != "."):
            yield folder + slash + name


def _types(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The types that begin so."""
    del ctx, param
    return [CompletionItem(name) for name in Registry().names() if name.startswith(incomplete)]


def config_argument(command: F) -> F:
    """CONFIG: a YAML file, or the bare name of a preset."""
    return click.argument("config", shell_complete=_configs)(command)


def configs_argument(command: F) -> F:
    """One or more of them."""
    return click.argument("configs", metavar="CONFIG...", nargs=-1, required=True, shell_complete=_configs)(
        command
    )


def type_argument(command: F) -> F:
    """TYPE: a type of processor."""
    return click.argument("type_", metavar="TYPE", shell_complete=_types)(command)


def json_option(command: F) -> F:
    """--json: for machines."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")(command)
