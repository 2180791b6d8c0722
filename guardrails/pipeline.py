"""A pipeline: processors in order, ready to guard any number of streams at once."""

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, Self, get_args
from uuid import uuid4

from anyio.from_thread import BlockingPortal, start_blocking_portal

from guardrails.chunks import Chunk
from guardrails.ending import OpenParts, UsageMeter
from guardrails.inputs import GuardedInput, Message, guard_messages, sees_nothing
from guardrails.loop import Loop, Stage
from guardrails.processor import Processor, Record, Run, Spawn
from guardrails.release import Release, StepOutlet
from guardrails.source import Source, SourceLike
from guardrails.stream import GuardedStream, OnFinding, Outlet, Result
from guardrails.waiting import DirectInlet, Inlet, WaitingInlet

LEAST_BUFFER: Final = 64
"""Characters that a step may have at least."""

MAX_BUFFER: Final = 1_048_576
MAX_CHECKS: Final = 16
"""Limits of a pipeline that does not say otherwise."""


class Pipeline:
    """Processors between a source of chunks and its consumer. It has no state of its own.

    Args:
        processors: in the order in which they see the stream.
        input_processors: the same for messages that go to the model; `guard_input` asks them.
        release: `stream` lets each chunk out as soon as it is decided. `step` holds a step of the answer
            until it has ended and every processor has accepted it, so that nothing of a refused step is seen.
            Findings are told at once all the same, and what is held when the source fails leaves then.
        max_buffer: with `step`, characters that a step may have, 64 or more; a longer one blocks in the name
            of `pipeline` (`limit.buffer`). Characters beyond U+FFFF count two; chunks that are neither text
            nor reasoning count as long as their `repr`, each at most a quarter of the limit.
        on_finding: told of each finding as it is decided; it must be quick and is not waited for.
        max_checks: slow checks of one processor (or group) that may be under way in one stream before
            reading waits for them.

    Attributes:
        processors: the processors.
        input_processors: those for messages.
        release: when chunks leave.
        max_buffer: how long a step may be.

    Raises:
        ValueError: two processors have the same id, a setting is none of its choices, or an input processor
            looks only at surfaces that messages do not have.
        TypeError: `processors` is no list of processors, or `on_finding` would have to be awaited.
    """

    def __init__(  # noqa: PLR0913 - settings by name, each with a default
        self,
        processors: Sequence[Processor],
        *,
        input_processors: Sequence[Processor] = (),
        release: Release = "stream",
        max_buffer: int = MAX_BUFFER,
        on_finding: OnFinding | None = None,
        max_checks: int = MAX_CHECKS,
    ) -> None:
        self.processors, self.input_processors = _listed(processors), _listed(input_processors)
        if inspect.iscoroutinefunction(on_finding):
            raise TypeError("on_finding is called and not awaited; give it a plain function")
        both = (*self.processors, *self.input_processors)
        ids = Counter(part.id for processor in both for part in processor.parts)
        doubled = [id_ for id_, count in ids.items() if count > 1]
        if doubled:
            raise ValueError(f"each processor needs an id of its own; used twice: {', '.join(doubled)}")
        for part in (part for processor in self.input_processors for part in processor.parts):
            if wrong := sees_nothing(part):
                raise ValueError(f"surfaces of the input processor {part.id}: {wrong}")
        if release not in get_args(Release):
            raise ValueError(f"release must be one of {', '.join(get_args(Release))}, not {release!r}")
        if max_buffer < LEAST_BUFFER:
            raise ValueError(f"max_buffer must be at least {LEAST_BUFFER} characters")
        if max_checks < 1:
            raise ValueError("max_checks must be at least 1")
        self.release, self.max_buffer = release, max_buffer
        self._on_finding, self._max_checks = on_finding, max_checks

    def stream(self, source: SourceLike, *, run_id: str | None = None, collect: bool = True) -> GuardedStream:
        """Guard a stream: `async with pipeline.stream(source) as chunks: async for chunk in chunks: …`.

        Args:
            source: an async or sync iterable of chunks, dicts or JSON lines; closed when the stream is.
            run_id: the run of chunks that are made here when the source names none; a new one if None.
            collect: whether the result keeps text, tool calls and findings.

        Raises:
            TypeError: `source` is no such iterable.
        """
        return self._guard(source, run_id or str(uuid4()), collect=collect)

    async def run(self, source: SourceLike, *, run_id: str | None = None) -> Result:
        """Guard a stream to its end.

        Raises:
            Exception: whatever the source raises.
        """
        async with self.stream(source, run_id=run_id) as chunks:
            async for _ in chunks:
                pass
        return chunks.result

    @contextmanager
    def stream_sync(
        self, source: SourceLike, *, run_id: str | None = None, collect: bool = True
    ) -> Iterator["BlockingStream"]:
        """`stream` for callers without an event loop: `with pipeline.stream_sync(source) as chunks:`."""
        # The calls come in tasks of their own, so the source is read by a task that stays.
        guarded = self._guard(source, run_id or str(uuid4()), collect=collect, reader=True)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(guarded):
            yield BlockingStream(guarded, portal)

    def run_sync(self, source: SourceLike, *, run_id: str | None = None) -> Result:
        """`run` for callers without an event loop."""
        with self.stream_sync(source, run_id=run_id) as chunks:
            for _ in chunks:
                pass
        return chunks.result

    async def guard_input(self, messages: Sequence[Message], *, run_id: str | None = None) -> GuardedInput:
        """Guard what goes to a model with the input processors, each text by itself and complete.

        Every string of a message is guarded, at any depth and whatever its key is called (texts, reasoning,
        refusals, citations, each string in what a tool gave), except what `guardrails.inputs` lists: messages
        of the roles `system` and `developer`, which are the application's own words; in the parts of a
        message what names and does not say (role, type, ids, names, states, times, signatures, settings for
        the provider), files, images and their addresses, and the arguments of tool calls. Numbers and the
        keys of mappings pass everywhere. The given messages are not modified.

        Args:
            messages: mappings in the form of OpenAI, Anthropic, the Vercel AI SDK or Mastra.
            run_id: names the run for processors and in the tripwire; a new one if None.

        Returns:
            The messages for the model; none, and the tripwire, if a processor blocked.

        Raises:
            ValueError: there are no input processors.
            TypeError: the messages are no list of mappings, or there is something in one that cannot be
                looked into, such as bytes, a set or an object of an SDK.
        """
        if not self.input_processors:
            raise ValueError("this pipeline has no input_processors, so it would pass everything")
        run = run_id or str(uuid4())
        return await guard_messages(messages, run, partial(self.input_pipeline().stream, run_id=run))

    def input_pipeline(self) -> "Pipeline":
        """The input processors as a pipeline of their own, for what is a stream already."""
        return Pipeline(self.input_processors, on_finding=self._on_finding, max_checks=self._max_checks)

    def _guard(
        self, source: SourceLike, run_id: str, *, collect: bool, reader: bool = False
    ) -> GuardedStream:
        quiet = all(not processor.waits and processor.silence is None for processor in self.processors)
        spawn: Spawn | None = None
        inlet: Inlet
        if quiet and not reader:
            inlet = DirectInlet(Source(source))
        else:
            inlet = waiting = WaitingInlet(Source(source))
            spawn = waiting.spawn
        stages = [
            Stage(Run(run_id, processor, Record(), spawn if processor.waits else None), processor)
            for processor in self.processors
        ]
        outlet = self._outlet(run_id, collect=collect)
        return GuardedStream(Loop(inlet, stages, outlet, UsageMeter(), self._max_checks))

    def _outlet(self, run_id: str, *, collect: bool) -> Outlet:
        parts = OpenParts(run_id)
        if self.release == "step":
            return StepOutlet(parts, collect, self._on_finding, max_buffer=self.max_buffer)
        return Outlet(parts, collect, self._on_finding)


class BlockingStream:
    """A guarded stream that blocks its caller instead of being awaited."""

    def __init__(self, guarded: GuardedStream, portal: BlockingPortal) -> None:
        self._guarded, self._portal = guarded, portal

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Chunk:
        chunk = self._portal.call(self._next)
        if chunk is None:
            raise StopIteration
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk

    @property
    def result(self) -> Result:
        """What came of the stream, once it has ended or has been left.

        Raises:
            RuntimeError: it is still going on.
        """
        return self._guarded.result

    async def _next(self) -> Chunk | BaseException | None:
        try:
            return await anext(self._guarded, None)
        except (SystemExit, KeyboardInterrupt) as error:
            return error  # raised here, it would end the event loop and not the caller


def _listed(processors: object) -> tuple[Processor, ...]:
    if isinstance(processors, Iterable) and not isinstance(processors, Processor | str):
        listed = tuple(processors)
        if all(isinstance(item, Processor) for item in listed):
            return listed
    raise TypeError("a pipeline is made of a list of processors")
