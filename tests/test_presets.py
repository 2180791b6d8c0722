"""The presets do what they say, and their cases would notice if they did not."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from jsonschema import Draft7Validator

from guardrails._yaml import read_yaml
from guardrails.cases import run_case
from guardrails.config import Config, load_config
from guardrails.pipeline import Pipeline
from guardrails.processor import Processor
from guardrails.registry import presets
from guardrails.schema import json_schema
from guardrails.text.processor import Parallel

CONFIGS: Final = Path(__file__).parents[1] / "configs"
NAMES: Final = sorted(presets())


def without(processors: Sequence[Processor], id_: str) -> list[Processor]:
    """The processors but one, which may be a member of a group."""
    left: list[Processor] = []
    for processor in processors:
        if isinstance(processor, Parallel):
            members = tuple(member for member in processor.members if member.id != id_)
            left += [Parallel(members=members)] if members else []
        elif processor.id != id_:
            left.append(processor)
    return left


def ids(config: Config) -> Iterator[str]:
    """The ids of all processors of a configuration."""
    pipeline = config.pipeline
    for processor in (*pipeline.input_processors, *pipeline.processors):
        yield from (part.id for part in processor.parts)


PROCESSORS: Final = [(name, id_) for name in NAMES for id_ in ids(load_config(name))]


def test_the_presets_are_found_by_their_names() -> None:
    """Each file in `configs/` is a preset, and those that the documentation names are there."""
    assert [file.stem for file in sorted(CONFIGS.glob("*.yaml"))] == NAMES
    assert {"default", "observe", "strict"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
async def test_the_cases_of_a_preset_pass(name: str) -> None:
    """What a preset promises in its cases is what it does, in every cutting."""
    config = load_config(name)
    assert config.cases
    for case in config.cases:
        assert (await run_case(config.pipeline, case)).failures == (), case.name


@pytest.mark.parametrize(("name", "id_"), PROCESSORS)
async def test_a_case_fails_without_each_processor(name: str, id_: str) -> None:
    """No processor of a preset could be lost unnoticed."""
    config = load_config(name)
    less = Pipeline(
        without(config.pipeline.processors, id_),
        input_processors=without(config.pipeline.input_processors, id_),
        release=config.pipeline.release,
    )
    outcomes = [await run_case(less, case) for case in config.cases]
    assert any(outcome.failures for outcome in outcomes)


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_begins_with_its_schema(name: str) -> None:
    """The first line tells an editor where the schema is, and the schema accepts the file."""
    text = (CONFIGS / f"{name}.yaml").read_text("utf-8")
    assert text.splitlines()[0] == "# yaml-language-server: $schema=schema.json"
    node = read_yaml(str(CONFIGS / f"{name}.yaml"))
    assert node is not None
    Draft7Validator(json_schema()).validate(node.plain())


def test_the_shipped_schema_is_the_current_one() -> None:
    """`configs/schema.json` is what `guardrails schema` prints; `make schema` renews it."""
    assert json.loads((CONFIGS / "schema.json").read_text("utf-8")) == json_schema()


def test_observe_only_warns() -> None:
    """Every processor of `observe` warns of what it finds, and lets pass what it failed to look at."""
    pipeline = load_config("observe").pipeline
    for processor in (*pipeline.input_processors, *pipeline.processors):
        assert (processor.strategy, processor.on_error) == ("warn", "pass")  # type: ignore[attr-defined]


def test_strict_blocks_whatever_it_finds() -> None:
    """Every processor of `strict` blocks, on all surfaces, and a refused step stays unseen."""
    pipeline = load_config("strict").pipeline
    assert pipeline.release == "step"
    for processor in (*pipeline.input_processors, *pipeline.processors):
        for part in processor.parts:
            assert part.strategy == "block"  # type: ignore[attr-defined]
            assert "surfaces" not in part.model_fields_set
