"""`guardrails check` and `guardrails test`: is a configuration right, and does it do what it says it does?"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import click

from guardrails.cases import Outcome, run_case
from guardrails.cli.arguments import configs_argument, json_option
from guardrails.cli.commands import Command
from guardrails.cli.logs import warnings_to
from guardrails.cli.terminal import (
    FAILED,
    WRONG,
    bad,
    faint,
    good,
    one_line,
    say,
    say_problems,
    strong,
    table,
    write_json,
    write_lines,
)
from guardrails.config import Config, load_config
from guardrails.problems import ConfigError
from guardrails.processor import Processor
from guardrails.text.processor import Parallel, TextProcessor


@click.command(cls=Command, short_help="Check configurations and list their processors.")
@configs_argument
@json_option
def check(configs: Sequence[str], as_json: bool) -> None:
    """Check each CONFIG and list its processors.

    \b
    Exit status:
      0  each can be used
      2  one cannot; what is wrong, and where, is on standard error or in the JSON

    \b
    Examples:
      guardrails check guard.yaml
      guardrails check --json configs/*.yaml
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    checked = [(config, _loaded(config)) for config in configs]
    if as_json:
        write_json([{"config": config, **_as_dict(came)} for config, came in checked])
    else:
        for config, came in checked:
            if isinstance(came, ConfigError):
                say_problems(came)
            else:
                write_lines(_described(config, came))
    if any(isinstance(came, ConfigError) for _, came in checked):
        sys.exit(WRONG)


@click.command(cls=Command, short_help="Run the cases that configurations carry.")
@configs_argument
@json_option
def test(configs: Sequence[str], as_json: bool) -> None:
    """Run the cases that each CONFIG carries under `tests`.

    Each case is run as it is given, uncut, and in several cuttings, and must come out the same.

    \b
    Exit status:
      0  all passed
      1  one failed, or a configuration has no cases
      2  one is not right; what and where is on standard error or in the JSON

    \b
    Examples:
      guardrails test guard.yaml
      guardrails test strict --json
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    loaded = [(config, _loaded(config)) for config in configs]
    if not as_json:
        for _, came in loaded:
            if isinstance(came, ConfigError):
                say_problems(came)
    tested = [_tested(config, came, quiet=as_json) for config, came in loaded]
    if as_json:
        write_json([each.as_dict() for each in tested])
    elif outcomes := [outcome for each in tested for outcome in each.outcomes]:
        write_lines([_totals(outcomes)])
    if any(isinstance(came, ConfigError) for _, came in loaded):
        sys.exit(WRONG)
    if not all(each.passed for each in tested):
        sys.exit(FAILED)


@dataclass(frozen=True, slots=True)
class _Tested:
    """What came of the cases of a configuration; one that is wrong has no outcomes."""

    name: str
    came: Config | ConfigError
    outcomes: Sequence[Outcome] = ()
    warnings: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return bool(self.outcomes) and not any(outcome.failures for outcome in self.outcomes)

    def as_dict(self) -> dict[str, Any]:
        if isinstance(self.came, ConfigError):
            return {"config": self.name, **_wrong_as_dict(self.came)}
        cases = [_case_as_dict(*each) for each in zip(self.outcomes, self.came.lines, strict=True)]
        return {
            "config": self.name,
            "ok": self.passed,
            "file": self.came.file,
            "cases": cases,
            "warnings": self.warnings,
        }


def _loaded(config: str) -> Config | ConfigError:
    try:
        return load_config(config)
    except ConfigError as error:
        return error


def _described(name: str, config: Config) -> Iterator[str]:
    count = len(config.cases)
    cases = f", {count} case{'s' if count != 1 else ''}" if count else ""
    yield f"{strong(one_line(name))}: {good('ok')}{faint(cases)}"
    yield from table([_cells(row) for row in _rows(config)], (faint, str, faint, str))


def _cells(row: dict[str, Any]) -> list[str]:
    kind = f"{row['type']}, in parallel" if row["parallel"] else row["type"]
    return [row["side"], row["id"], kind, row["strategy"] or ""]


def _rows(config: Config) -> list[dict[str, Any]]:
    """The processors of a configuration, one after the other."""
    pipeline = config.pipeline
    sides = (("input", pipeline.input_processors), ("output", pipeline.processors))
    return [
        {
            "side": side,
            "id": part.id,
            "type": config.types[part.id],
            "parallel": isinstance(processor, Parallel),
            "strategy": _strategy(part),
        }
        for side, processors in sides
        for processor in processors
        for part in processor.parts
    ]


def _strategy(processor: Processor) -> str | None:
    return processor.strategy if isinstance(processor, TextProcessor) else None


def _wrong_as_dict(error: ConfigError) -> dict[str, Any]:
    return {"ok": False, "problems": [problem.as_dict() for problem in error.problems]}


def _as_dict(came: Config | ConfigError) -> dict[str, Any]:
    if isinstance(came, ConfigError):
        return _wrong_as_dict(came)
    return {"ok": True, "file": came.file, "processors": _rows(came), "cases": len(came.cases)}


def _tested(name: str, came: Config | ConfigError, *, quiet: bool) -> _Tested:
    """Run the cases of a configuration and, unless it shall be quiet, tell of each at once."""
    if isinstance(came, ConfigError):
        return _Tested(name, came)
    if not quiet:
        write_lines(_heading(name, came))
    warnings: list[str] = []
    with warnings_to(warnings.append if quiet else say):
        outcomes = anyio.run(_run_all, came, quiet)
    return _Tested(name, came, outcomes, list(dict.fromkeys(warnings)))


async def _run_all(config: Config, quiet: bool) -> list[Outcome]:
    outcomes = []
    for case, line in zip(config.cases, config.lines, strict=True):
        outcome = await run_case(config.pipeline, case)
        outcomes.append(outcome)
        if not quiet:
            write_lines(_described_outcome(outcome, f"{config.file}:{line}"))
    return outcomes


def _heading(name: str, config: Config) -> Iterator[str]:
    yield strong(one_line(name))
    if not config.cases:
        yield f"  {bad('no cases')}; add some under `tests:`"


def _described_outcome(outcome: Outcome, place: str) -> Iterator[str]:
    name = one_line(outcome.name)
    if not outcome.failures:
        yield f"  {good('ok')}    {name}"
        return
    yield f"  {bad('FAIL')}  {name}  {faint(f'{one_line(place)}, {outcome.cutting}')}"
    yield from (f"        {one_line(failure)}" for failure in outcome.failures)


def _totals(outcomes: Sequence[Outcome]) -> str:
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    passed = len(outcomes) - failed
    return f"{passed} passed, {bad(f'{failed} failed')}" if failed else good(f"{passed} passed")


def _case_as_dict(outcome: Outcome, line: int | None) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "line": line,
        "ok": not outcome.failures,
        "cutting": outcome.cutting or None,
        "failures": list(outcome.failures),
    }
