"""A pipeline: processors in order, ready to guard any number of streams at once."""

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Self
from uuid import uuid4

from anyio.from_thread import BlockingPortal, start_blocking_portal

from guardrails.chunks import Chunk
from guardrails.ending import OpenParts, UsageMeter
from guardrails.loop import Loop, Stage
from guardrails.processor import Processor, Record, Run, Spawn
from guardrails.source import Source, SourceLike
from guardrails.stream import GuardedStream, OnFinding, Outlet, Result
from guardrails.waiting import DirectInlet, Inlet, WaitingInlet


class Pipeline:
    """Processors between a source of chunks and its consumer. It has no state of its own.

    Args:
        processors: in the order in which they see the stream.
        on_finding: told of each finding as it leaves; it must be quick and is not waited for.
        max_checks: slow checks of one processor (or group) that may be under way in one stream before
            reading waits for them.

    Raises:
        ValueError: two processors have the same id.
        TypeError: `processors` is no list of processors, or `on_finding` would have to be awaited.
    """

    def __init__(
        self,
        processors: Sequence[Processor],
        *,
        on_finding: OnFinding | None = None,
        max_checks: int = 16,
    ) -> None:
        items: Sequence[object] = processors
        if isinstance(items, Processor | str) or not all(isinstance(item, Processor) for item in items):
            raise TypeError("a pipeline is made of a list of processors")
        if inspect.iscoroutinefunction(on_finding):
            raise TypeError("on_finding is called and not awaited; give it a plain function")
        ids = Counter(part.id for processor in processors for part in processor.parts)
        doubled = [id_ for id_, count in ids.items() if count > 1]
        if doubled:
            raise ValueError(f"each processor needs an id of its own; used twice: {', '.join(doubled)}")
        if max_checks < 1:
            raise ValueError("max_checks must be at least 1")
        self.processors = tuple(processors)
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
        outlet = Outlet(OpenParts(run_id), collect, self._on_finding)
        return GuardedStream(Loop(inlet, stages, outlet, UsageMeter(), self._max_checks))


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
        return chunk

    @property
    def result(self) -> Result:
        """What came of the stream, once it has ended or has been left.

        Raises:
            RuntimeError: it is still going on.
        """
        return self._guarded.result

    async def _next(self) -> Chunk | None:
        return await anext(self._guarded, None)
