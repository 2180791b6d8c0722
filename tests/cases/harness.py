"""Runs a case as it is given and cut anew; says what is not as it must be."""

from collections.abc import Iterator
from typing import Final

import anyio

from guardrails import ConfigError, Pipeline
from guardrails.surfaces import whole_characters
from tests.cases.checks import check
from tests.cases.cutting import CUTS, Cut, Lane, at_places, recut, texts_of
from tests.cases.doubles import World
from tests.cases.reading import Case
from tests.cases.running import Feed, Outcome, run
from tests.cases.translating import Build, translated

LEFT_OUT: Final = {
    "C32": "no adapter has a signal of its own yet: text is plain, events are the chunks as they are",
    "C41": "a retry only marks the tripwire; nothing is asked again yet",
    "C42": "there are no goals and no scorers yet",
}
"""Cases that cannot run yet, with the reason."""

GIVEN: Final = "as given"
_DELTA_TYPES: Final = {"text": "text-delta", "reasoning": "reasoning-delta"}


def run_case(case: Case, backend: str, build: Build = translated) -> None:
    """Run a case in all its cuttings on one event loop.

    Args:
        case: the case.
        backend: `asyncio` or `trio`.
        build: makes the pipeline, which guards all runs of the case.

    Raises:
        UnknownKeyError: the case says something that the harness does not know.
        AssertionError: something is not as it must be.
    """
    anyio.run(_run_all, case, build, backend=backend)


async def _run_all(case: Case, build: Build) -> None:
    world = World()
    pipeline = _built(case, build, world)
    if isinstance(pipeline, str):
        _judge(case, GIVEN, Outcome(Feed(case.chunks), refused=pipeline))
        return
    given = await _run_once(case, GIVEN, None, pipeline, world)
    for name, cut in _cuts(case, given):
        came = await _run_once(case, name, cut, pipeline, world)
        _compare(case, name, came, given)


def _built(case: Case, build: Build, world: World) -> Pipeline | str:
    """The pipeline, or why the configuration is refused."""
    try:
        return build(case.config, world)
    except (ConfigError, ValueError) as error:
        return str(error)


async def _run_once(case: Case, name: str, cut: Cut | None, pipeline: Pipeline, world: World) -> Outcome:
    chunks = case.chunks if cut is None else recut(case.chunks, cut)
    world.asked, world.errors = 0, 0
    world.side_effects.clear()
    collect = name == GIVEN and "unraisable" in case.expect  # it is slow
    came = await run(pipeline, world, chunks, case.harness, collect=collect)
    _judge(case, name, came)
    return came


def _judge(case: Case, name: str, came: Outcome) -> None:
    try:
        check(came, case.expect, as_given=name == GIVEN)
    except AssertionError as error:
        raise AssertionError(f"{case.id} {name}: {error}") from None


def _compare(case: Case, name: str, came: Outcome, given: Outcome) -> None:
    """The joined outcome does not depend on the cutting."""
    for what, wanted in given.comparable.items():
        if came.comparable[what] != wanted:
            raise AssertionError(
                f"{case.id} {name}: {what} are {came.comparable[what]!r}; as given they are {wanted!r}"
            )


def _cuts(case: Case, given: Outcome) -> Iterator[tuple[str, Cut]]:
    """The cuttings; when a consumer leaves half-way, what it got depends on them, and there are none."""
    if {"break_after_chunks", "cancel_after_chunks"} & case.harness.keys() or not texts_of(case.chunks):
        return
    yield from CUTS.items()
    for name, share in (("the first character", 0.0), ("half", 0.5), ("the last character", 1.0)):
        yield f"cut at {name} of every match", at_places(_places(case, given, share))


def _places(case: Case, given: Outcome, share: float) -> dict[Lane, list[int]]:
    """Places within everything that was found or must not be seen."""
    texts = {lane: whole_characters(text) for lane, text in texts_of(case.chunks).items()}
    places: dict[Lane, list[int]] = {lane: [] for lane in texts}
    for finding in given.result.findings if given.result else ():
        lane = (_DELTA_TYPES.get(finding.surface, ""), finding.channel, 0)
        if lane in places:
            places[lane].append(_within(finding.start, finding.end, share))
    for lane, text in texts.items():
        for unwanted in case.expect.get("must_not_emit", ()):
            at = text.find(unwanted)
            while at >= 0:
                places[lane].append(_within(at, at + len(unwanted), share))
                at = text.find(unwanted, at + 1)
    return places


def _within(start: int, end: int, share: float) -> int:
    return start + 1 + round((end - start - 2) * share)
