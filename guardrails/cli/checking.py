"""`guardrails check` and `guardrails test`: is a configuration right, and does it do what it says it does?"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import click

from guardrails.cases import Outcome, run_case
from guardrails.cli.arguments import configs_argument, json_option
from guardrails.cli.logs import tell_warnings
from guardrails.cli.terminal import (
    FAILED,
    WRONG,
    bad,
    faint,
    good,
    one_line,
    problems_as_dicts,
    say_problems,
    show,
    show_json,
    strong,
    table,
)
from guardrails.config import Config, load_config
from guardrails.problems import ConfigError
from guardrails.processor import Processor
from guardrails.text.processor import Parallel, TextProcessor


@click.command(short_help="Check configurations and list their processors.")
@configs_argument
@json_option
def check(configs: Sequence[str], as_json: bool) -> None:
    """Check each CONFIG and list its processors.

    \b
    Exit status:
      0  each can be used
      2  one cannot; standard error says what is wrong and where

    \b
    Examples:
      guardrails check guard.yaml
      guardrails check --json configs/*.yaml
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    checked = [(config, _loaded(config)) for config in configs]
    if as_json:
        show_json([{"config": config, **_as_dict(came)} for config, came in checked])
    else:
        for config, came in checked:
            if isinstance(came, ConfigError):
                say_problems(came)
            else:
                show(_described(config, came))
    if any(isinstance(came, ConfigError) for _, came in checked):
        sys.exit(WRONG)


@click.command(short_help="Run the cases that configurations carry.")
@configs_argument
@json_option
def test(configs: Sequence[str], as_json: bool) -> None:
    """Run the cases that each CONFIG carries under `tests`.

    Each case is run as it is given, uncut, and in several cuttings, and must come out the same.

    \b
    Exit status:
      0  all passed
      1  one failed, or a configuration has no cases
      2  a configuration is not right; standard error says what and where

    \b
    Examples:
      guardrails test guard.yaml
      guardrails test strict --json
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    tell_warnings(quiet=as_json)
    loaded = [(config, _loaded(config)) for config in configs]
    wrong = [came for _, came in loaded if isinstance(came, ConfigError)]
    right = [(config, came) for config, came in loaded if isinstance(came, Config)]
    outcomes = {}
    if not as_json:
        for error in wrong:
            say_problems(error)
    for config, came in right:
        outcomes[config] = _tested(config, came, quiet=as_json)
    if as_json:
        show_json(
            [{"config": name, **_tested_as_dict(came, outcomes.get(name, ()))} for name, came in loaded]
        )
    elif any(outcomes.values()):
        show([_totals([outcome for each in outcomes.values() for outcome in each])])
    if wrong:
        sys.exit(WRONG)
    if not all(_passed(each) for each in outcomes.values()):
        sys.exit(FAILED)


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
    return {"ok": False, "problems": problems_as_dicts(error.problems)}


def _as_dict(came: Config | ConfigError) -> dict[str, Any]:
    if isinstance(came, ConfigError):
        return _wrong_as_dict(came)
    return {"ok": True, "file": came.file, "processors": _rows(came), "cases": len(came.cases)}


def _tested(name: str, config: Config, *, quiet: bool) -> list[Outcome]:
    """Run the cases of a configuration and, unless it shall be quiet, tell of each at once."""

    async def run_all() -> list[Outcome]:
        outcomes = []
        for case, line in zip(config.cases, config.lines, strict=True):
            outcome = await run_case(config.pipeline, case)
            outcomes.append(outcome)
            if not quiet:
                show(_told(outcome, f"{config.file}:{line}"))
        return outcomes

    if not quiet:
        show([strong(one_line(name))])
        if not config.cases:
            show([f"  {bad('no cases')}; add some under `tests:`"])
    return anyio.run(run_all)


def _passed(outcomes: Sequence[Outcome]) -> bool:
    return bool(outcomes) and not any(outcome.failures for outcome in outcomes)


def _told(outcome: Outcome, place: str) -> Iterator[str]:
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


def _tested_as_dict(came: Config | ConfigError, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if isinstance(came, ConfigError):
        return _wrong_as_dict(came)
    cases = [
        {
            "name": outcome.name,
            "line": line,
            "ok": not outcome.failures,
            "cutting": outcome.cutting or None,
            "failures": list(outcome.failures),
        }
        for outcome, line in zip(outcomes, came.lines, strict=True)
    ]
    return {"ok": _passed(outcomes), "file": came.file, "cases": cases}
