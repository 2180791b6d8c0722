"""What goes on in a stream while nobody pulls: slow checks, and the one task that reads the source."""

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar

import anyio

from guardrails.chunks import Chunk
from guardrails.processor import Ask, Check, Run
from guardrails.source import CLOSE_SECONDS, Source

T = TypeVar("T")


class Inlet(Protocol):
    """Where the loop gets chunks from.

    Attributes:
        silent: whether `next` gave None because nothing happened for a while.
    """

    silent: bool

    async def open(self) -> None:
        """Begin; nothing is read yet."""

    def next(self, read: bool, /) -> Awaitable[Chunk | None]:
        """The next chunk, or None when a check is done or the source has been silent.

        Args:
            read: whether a chunk is wanted; otherwise only checks are waited for.

        Raises:
            StopAsyncIteration: the source has ended.
            Exception: the source failed.
        """

    async def stop(self) -> None:
        """Read no more, and close the source."""

    async def close(self, *, cancelled: bool) -> None:
        """End every task and close the source.

        Args:
            cancelled: whether the consumer is being cancelled, so that closing needs a shield.
        """


class DirectInlet:
    """Reads the source in the consumer's task, for streams in which nothing else goes on."""

    def __init__(self, source: Source) -> None:
        self.silent = False
        self._source = source
        self.open, self.stop = source.open, source.close

    def next(self, _read: bool, /) -> Awaitable[Chunk | None]:
        """The next chunk; without checks, one is always wanted."""
        return self._source.next()

    async def close(self, *, cancelled: bool) -> None:
        """Close the source.

        A source may hold cancel scopes, which must be left in their order, so there is no scope around
        its closing unless it could not run without one.
        """
        if not cancelled:
            await self._source.close()
            return
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await self._source.close()


class WaitingInlet:
    """Reads the source in a task of its own, when a chunk is wanted, and runs checks beside it.

    All of a source's life is in that one task, which no cancellation of the consumer reaches: it is
    asked to stop, and cancelled only where it waits for the source.
    """

    def __init__(self, source: Source, silence: float | None) -> None:
        self.silent = False
        self._source, self._silence = source, silence
        self._chunk: Chunk | None = None
        self._ended: Exception | None = None
        self._pulling, self._stopping = False, False

    async def open(self) -> None:
        """Enter a task group and start the reader."""
        self._tasks, self._reading = anyio.create_task_group(), anyio.CancelScope(shield=True)
        self._wanted, self._news, self._stopped = anyio.Event(), anyio.Event(), anyio.Event()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read)

    async def next(self, read: bool, /) -> Chunk | None:
        """See `Inlet.next`."""
        if read and self._chunk is None and self._ended is None:
            self._wanted.set()
        if not read or (self._chunk is None and self._ended is None):
            with anyio.move_on_after(self._silence) as scope:
                await self._news.wait()
            self.silent = scope.cancelled_caught
            self._news = anyio.Event()
        if not read:
            return None
        if self._chunk is None and self._ended is not None:
            raise self._ended
        chunk, self._chunk = self._chunk, None
        return chunk

    async def stop(self) -> None:
        """Let the reader close the source, and wait for it as long as that may take."""
        self._stopping = True
        self._wanted.set()
        if self._pulling:
            self._reading.cancel()
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await self._stopped.wait()

    async def close(self, *, cancelled: bool) -> None:
        """Stop, and end every task; the group must be left in the task that entered it."""
        del cancelled
        await self.stop()
        self._reading.cancel()
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(None, None, None)

    def spawn(self, run: Run, ask: Ask[Any], args: tuple[Any, ...], check: Check[Any]) -> None:
        """Put a check under way in the stream's task group."""
        self._tasks.start_soon(self._answer, run, ask, args, check)

    async def _answer(self, run: Run, ask: Ask[Any], args: tuple[Any, ...], check: Check[Any]) -> None:
        record = run.record
        with anyio.CancelScope() as scope:
            record.scopes.add(scope)
            try:
                check.answer(await limited(ask(*args), run.timeout))
            except Exception as error:  # noqa: BLE001 - what it raises is its answer; the step decides
                check.answer(None, error)
        record.scopes.discard(scope)
        record.under_way -= 1
        record.news = True
        self._news.set()

    async def _read(self) -> None:
        try:
            with self._reading:
                await self._read_on_demand()
        except Exception as error:  # noqa: BLE001 - the loop raises it where the consumer is
            self._ended = error
        finally:
            self._stopped.set()
            self._news.set()

    async def _read_on_demand(self) -> None:
        try:
            if not self._stopping:
                await self._source.open()
            while not self._stopping:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                if not self._stopping:
                    self._chunk = await self._pull()
                    self._news.set()
        finally:
            await self._source.close()

    async def _pull(self) -> Chunk:
        self._pulling = True
        try:
            return await self._source.next()
        finally:
            self._pulling = False


async def limited(awaitable: Awaitable[T], seconds: float | None) -> T:
    """Await something for so many seconds at most; None for no limit.

    Raises:
        TimeoutError: it took longer.
    """
    with anyio.move_on_after(seconds):
        return await awaitable
    raise TimeoutError
