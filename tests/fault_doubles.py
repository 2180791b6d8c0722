"""Processors that go wrong at a word, a source that tells how it was used, and what a consumer saw."""

import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from guardrails import (
    END,
    WAKE,
    Check,
    Chunk,
    Detection,
    Item,
    Parallel,
    Pipeline,
    Processor,
    Report,
    Result,
    Run,
    Segment,
    Step,
    TextProcessor,
    dump_json,
)
from guardrails.processor import End, Wake
from guardrails.testing import Patterns, SlowWords
from guardrails.testing.endings import unbalanced
from guardrails.text.member import Member
from guardrails.text.pattern import Pattern
from guardrails.text.view import View
from tests.helpers import types

FUSE: Final = "fuse-8843" + "a" * 60
"""The word at which a fused processor goes wrong; what it raises repeats it, so that it would be seen."""

Way: TypeAlias = Literal["raises", "hangs", "lies"]
"""How a processor goes wrong: `lies` gives an answer of the wrong shape."""

At: TypeAlias = Literal["open", "begin", "look", "end"]
"""When: as the stream or its first text is opened, as it sees the fuse, or after it has seen all."""

LIMIT: Final = 0.02
"""Seconds that the answer of a processor which hangs may take."""


PAUSES: Final = 6
"""Turns of the event loop in which a question is asked, answered and its answer taken in."""


def limit_of(way: Way) -> dict[str, float]:
    """The setting of a limit, for who runs into it."""
    return {"timeout": LIMIT} if way == "hangs" else {}


async def burn(way: Way) -> Any:
    """Go wrong slowly."""
    await checkpoint()
    if way == "hangs":
        await anyio.sleep(60)
    return burn_at_once(way)


def burn_at_once(way: Way) -> Any:
    """Go wrong at once; what cannot wait cannot hang."""
    if way == "raises":
        raise ValueError(f"cannot bear {FUSE}")


class Fused(TextProcessor):
    """Goes wrong in a way of its own, or before it looks at anything."""

    way: Way = "raises"
    at: At = "look"

    def view(self) -> View:
        if self.at == "begin":
            raise ValueError(FUSE)
        return super().view()

    def member(self, run: Run, order: int) -> Member:
        if self.at == "open":
            raise ValueError(FUSE)
        return super().member(run, order)


class FusedPattern(Fused):
    """Its pattern, or the check of what matches, goes wrong at the fuse."""

    @property
    def search_seconds(self) -> float | None:
        return LIMIT / 4 if self.way == "hangs" else super().search_seconds

    def patterns(self) -> Sequence[Pattern]:
        slow = r"fuse-8843(?:a|a)+b"
        find = slow if self.way == "hangs" else r"fuse-8843a{1,500}"
        return [Pattern("FUSE", find, "test.fuse", verify=lambda _found: int(burn_at_once(self.way)))]


class FusedDetector(Fused):
    """Its detector goes wrong at the fuse."""

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        if any(FUSE in segment.text for segment in segments):
            return await burn(self.way)  # type: ignore[no-any-return]  # as somebody may write it
        return [[] for _ in segments]


class FusedStep(Processor):
    """A step that goes wrong at the chunk with the fuse, or keeps it and goes wrong at the end."""

    way: Way = "raises"
    at: At = "look"
    later: bool = False

    def open(self, run: Run) -> Step:
        del run
        if self.at == "open":
            raise ValueError(FUSE)
        kept: list[Item] = []

        def go_wrong() -> Iterable[Item] | Awaitable[Iterable[Item]]:
            wrong: Any = burn(self.way) if self.later else burn_at_once(self.way)
            return wrong  # type: ignore[no-any-return]  # as somebody may write it

        def step(item: Item) -> Iterable[Item] | Awaitable[Iterable[Item]]:
            if item is END and kept:
                return go_wrong()
            if not fused(item):
                return (item,)
            kept.append(item)
            return () if self.at == "end" else go_wrong()

        return step


class FusedCheck(Processor):
    """A step that asks about the chunk with the fuse beside the stream; all else waits behind it."""

    way: Way = "raises"
    at: At = "look"

    @property
    def waits(self) -> bool:
        return True

    def open(self, run: Run) -> Step:
        if self.at == "open":
            raise ValueError(FUSE)
        checks: list[Check[Any]] = []
        kept: list[Item] = []

        def step(item: Item) -> Iterable[Item]:
            if item is WAKE and checks:
                return checks[0].value  # type: ignore[no-any-return]  # it raises, or gives nothing
            if fused(item):
                kept.append(item)
            if not kept:
                return (item,)
            if not checks and (self.at != "end" or item is END):
                checks.append(run.start(burn, self.way))
            return ()

        return step


def fused(item: Item) -> bool:
    """Whether an item is a chunk with the fuse in it."""
    return says(item, FUSE)


def says(item: Item, word: str) -> bool:
    """Whether an item is a chunk with a word in it."""
    return not isinstance(item, End | Wake | Report) and word in dump_json(item)


Make: TypeAlias = Callable[..., Processor]


def _grouped(make: Make, sibling: Make) -> Make:
    def grouped(*args: Any, **how: Any) -> Processor:
        return Parallel(members=(sibling(), make(*args, **how)))

    return grouped


def _made(kind: type[Processor], **settings: Any) -> Make:
    def make(way: Way = "raises", **how: Any) -> Processor:
        return kind(**{"id": "fused", "way": way, **limit_of(way), **settings, **how})

    return make


_pattern, _detector = _made(FusedPattern), _made(FusedDetector)


def _calm_pattern() -> Processor:
    return Patterns(id="calm", find="nowhere")


def _calm_detector() -> Processor:
    return SlowWords(id="calm", find="nowhere", patience=1)


TEXT_FORMS: Final[dict[str, Make]] = {
    "pattern": _pattern,
    "detector": _detector,
    "pattern in a group": _grouped(_pattern, _calm_detector),
    "detector in a group": _grouped(_detector, _calm_pattern),
}
"""Text processors with a fuse, alone and beside one that finds nothing."""

STEP_FORMS: Final[dict[str, Make]] = {
    "step": _made(FusedStep),
    "async step": _made(FusedStep, later=True),
    "check": _made(FusedCheck),
}
"""Plain processors with a fuse."""

FORMS: Final = {**TEXT_FORMS, **STEP_FORMS}


@dataclass
class Line:
    """A source that lets all checks be answered before each chunk, and counts how it is used.

    Attributes:
        chunks: what it gives.
        error: what it raises after them; None if it ends.
        hangs: whether it waits for ever after them instead.
        fails_to_close: whether closing it raises.
        asked: how many chunks it was asked for.
        closed: how many times it was closed.
        let_go: how many times it could finish that.
        strays: times it was asked after it had been closed, or while it was being asked.
    """

    chunks: Sequence[Any]
    error: Exception | None = None
    hangs: bool = False
    fails_to_close: bool = False
    asked: int = 0
    closed: int = 0
    let_go: int = 0
    strays: int = 0
    busy: bool = field(default=False, repr=False)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        self.strays += self.closed > 0 or self.busy
        self.busy = True
        try:
            return await self._next()
        finally:
            self.busy = False

    async def _next(self) -> Any:
        for _ in range(PAUSES):
            await checkpoint()
        self.asked += 1
        if self.asked <= len(self.chunks):
            return self.chunks[self.asked - 1]
        if self.hangs:
            await anyio.sleep(60)
        raise self.error or StopAsyncIteration

    async def aclose(self) -> None:
        self.strays += self.busy
        self.closed += 1
        if self.fails_to_close:
            raise OSError(f"cannot close {FUSE}")
        await checkpoint()
        self.let_go += 1


@dataclass(frozen=True)
class Seen:
    """What a consumer saw of one stream."""

    received: Sequence[Chunk]
    error: Exception | None
    result: Result

    @property
    def tripwire(self) -> Any:
        """The payload of the one tripwire."""
        (found,) = [one for one in self.received if one.type == "tripwire"]
        return found.payload  # type: ignore[union-attr]  # of a tripwire


async def watch(pipeline: Pipeline, line: Line) -> Seen:
    """Guard a line to its end; it is closed once, and no task is left."""
    before = running()
    seen = await read(pipeline, line)
    settled(line, before)
    return seen


async def read(pipeline: Pipeline, line: Line, pauses: int = 0) -> Seen:
    """Guard a line to its end, letting others run so many times before each chunk is taken."""
    received: list[Chunk] = []
    error: Exception | None = None
    async with pipeline.stream(line) as chunks:
        try:
            async for one in chunks:
                received.append(one)
                for _ in range(pauses):
                    await checkpoint()
        except Exception as raised:  # noqa: BLE001 - whatever the source raises
            error = raised
    return Seen(received, error, chunks.result)


def running() -> set[int]:
    """The tasks that run now."""
    return {task.id for task in anyio.get_running_tasks()}


def settled(line: Line, before: set[int]) -> None:
    """A stream has been left: its source is closed once and in full, and no task more runs."""
    assert (line.closed, line.let_go, line.strays) == (1, not line.fails_to_close, 0)
    assert running() == before


def balanced(received: Sequence[Chunk]) -> None:
    """The stream was refused, and every block, the step and the stream are closed around the one tripwire."""
    faults = unbalanced(received)
    assert "tripwire" in types(received)
    assert not faults, faults


def silent(seen: Seen, *secrets: str) -> None:
    """What is said about a stream, its tripwire and its findings, has none of these in it."""
    told = [json.dumps(seen.tripwire.metadata), seen.tripwire.reason] if seen.result.tripwire else []
    told += [repr(seen.result.findings), repr(seen.error)]
    assert not [secret for secret in secrets for each in told if secret in each]
