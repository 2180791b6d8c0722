"""One run of a case: what the consumer got, when, and what was left behind."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

from guardrails import Chunk, Pipeline, Result, dump_chunk
from guardrails.surfaces import whole_characters
from tests.cases.cutting import TEXT_KEYS
from tests.cases.doubles import World
from tests.cases.reading import Json, known

LONGEST_RUN: Final = 20
"""Seconds after which a run counts as stuck."""

_SOON: Final = 0.02
"""Seconds after which a consumer that is to be cancelled is."""

HARNESS_KEYS: Final = frozenset(
    {"then_run", "interleave_with", "break_after_chunks", "cancel_after_chunks", "source_raises"}
)


@dataclass
class Feed:
    """A source of JSON that notes how much was asked of it.

    Attributes:
        chunks: what it gives.
        raises: whether it fails after that.
        asked: chunks that it has given.
        closed: how many times it was closed.
    """

    chunks: Sequence[Json]
    raises: bool = False
    asked: int = 0
    closed: int = 0

    async def play(self) -> AsyncIterator[Json]:
        """Give the chunks, letting others run before each."""
        try:
            for chunk in self.chunks:
                self.asked += 1
                await checkpoint()
                yield {"runId": "run", "from": "AGENT", **chunk}
            if self.raises:
                raise ConnectionResetError
        finally:
            self.closed += 1


@dataclass
class Outcome:
    """What came of one run; it is looked at when the run is over.

    Attributes:
        feed: the source.
        world: what the doubles did.
        chunks: what the consumer got.
        asked: for each of those, how many chunks the source had given by then.
        result: the result of the stream; None when the configuration was refused.
        refused: why the configuration was.
        fault: what the stream raised.
        wall_ms: how long it took.
        tasks_leaked: tasks that are left.
        unraisable: exceptions that nobody could catch.
        then: what came of the run after it.
        second: what came of the run beside it.
    """

    feed: Feed
    world: World = field(default_factory=World)
    chunks: list[Chunk] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    result: Result | None = None
    refused: str | None = None
    fault: Exception | None = None
    wall_ms: float = 0
    tasks_leaked: int = 0
    unraisable: list[str] = field(default_factory=list)
    then: "Outcome | None" = None
    second: "Outcome | None" = None

    @cached_property
    def told(self) -> list[dict[str, Any]]:
        """The chunks as JSON."""
        return [dump_chunk(chunk) for chunk in self.chunks]

    @property
    def types(self) -> list[str]:
        """Their types."""
        return [chunk.type for chunk in self.chunks]

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of a type."""
        return [told["payload"] for told in self.told if told["type"] == kind]

    def texts(self, kind: str) -> dict[str, str]:
        """The joined text of each id, of one type of delta."""
        id_key, text_key = TEXT_KEYS[kind]
        texts: dict[str, str] = {}
        for payload in self.payloads(kind):
            texts[payload[id_key]] = texts.get(payload[id_key], "") + payload[text_key]
        return {id_: whole_characters(text) for id_, text in texts.items()}

    def text(self, kind: str) -> str:
        """All of it."""
        return "".join(self.texts(kind).values())

    @cached_property
    def comparable(self) -> Mapping[str, Any]:
        """What may not depend on the cutting."""
        whole = [told for told in self.told if told["type"] not in TEXT_KEYS]
        ending = self.types.index("tripwire") + 1 if "tripwire" in self.types else len(self.types)
        before = sum(kind not in TEXT_KEYS for kind in self.types[:ending])
        texts = {kind: {id_: text for id_, text in self.texts(kind).items() if text} for kind in TEXT_KEYS}
        return {
            "texts": texts,
            "other chunks": whole[:before],  # that a source has told its usage may depend on it
            "types": [told["type"] for told in whole],
            "findings": self.result.findings if self.result else (),
            "status": self.result.status if self.result else None,
            "refused": self.refused,
        }


async def run(
    pipeline: Pipeline, world: World, chunks: Sequence[Json], harness: Json, *, collect: bool = False
) -> Outcome:
    """One run, and those beside and after it; with `collect`, garbage is collected before they are judged."""
    known("harness", harness, HARNESS_KEYS)
    came = Outcome(Feed(chunks, raises=harness.get("source_raises", False)), world)
    before = len(anyio.get_running_tasks())
    with _unraisable(came.unraisable, collect=collect):
        async with anyio.create_task_group() as tasks:
            if "interleave_with" in harness:
                came.second = Outcome(Feed(harness["interleave_with"]), world)
                tasks.start_soon(_consume, pipeline, came.second, {})
            await _consume(pipeline, came, harness)
        came.tasks_leaked = len(anyio.get_running_tasks()) - before
    if "then_run" in harness:
        came.then = await run(pipeline, world, harness["then_run"], {})
    return came


async def _consume(pipeline: Pipeline, came: Outcome, harness: Json) -> None:
    began = perf_counter()
    patience = anyio.CancelScope()
    with anyio.fail_after(LONGEST_RUN), patience:
        async with pipeline.stream(came.feed.play(), run_id="run") as stream:
            try:
                async for chunk in stream:
                    _note(came, chunk)
                    if len(came.chunks) == harness.get("break_after_chunks"):
                        break
                    if len(came.chunks) == harness.get("cancel_after_chunks"):
                        patience.deadline = anyio.current_time() + _SOON
            except Exception as error:  # noqa: BLE001 - whatever it is, the checks are told
                came.fault = error
    came.result = stream.result
    came.wall_ms = (perf_counter() - began) * 1000


def _note(came: Outcome, chunk: Chunk) -> None:
    came.chunks.append(chunk)
    came.asked.append(came.feed.asked)


@contextmanager
def _unraisable(told: list[str], *, collect: bool) -> Iterator[None]:
    """Note what nobody could catch: exceptions of finalizers, and of tasks that nobody waits for."""
    hook, loop = sys.unraisablehook, _asyncio_loop()
    sys.unraisablehook = lambda problem: told.append(repr(problem.exc_value))
    if loop is not None:
        loop.set_exception_handler(lambda _loop, context: told.append(str(context)))
    try:
        yield
        if collect:
            gc.collect()
    finally:
        sys.unraisablehook = hook
        if loop is not None:
            loop.set_exception_handler(None)


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    """The running loop; None on trio."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
