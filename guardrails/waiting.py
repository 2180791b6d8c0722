"""What goes on in a stream while nobody pulls: slow checks, and the one task that reads the source."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import anyio

from guardrails.chunks import Chunk
from guardrails.processor import Ask, Check, MisuseError, Run
from guardrails.source import CLOSE_SECONDS, Source

T = TypeVar("T")


class Inlet(Protocol):
    """Where the loop gets chunks from.

    Attributes:
        resumes: whether `next` may be cancelled and asked again without losing anything.
    """

    resumes: bool

    async def open(self) -> None:
        """Begin; nothing is read yet."""

    def next(self, read: bool, until: float, /) -> Awaitable[Chunk | None]:
        """The next chunk, or None when a check is done or it is later than `until`.

        Args:
            read: whether a chunk is wanted; otherwise only checks are waited for.
            until: a time of the event loop's clock, in seconds.

        Raises:
            StopAsyncIteration: the source has ended.
            Exception: the source failed.
            BaseException: a check wants the program to end.
        """

    async def stop(self) -> None:
        """Read no more, and close the source."""

    async def close(self) -> None:
        """End every task and close the source."""


class DirectInlet:
    """Reads the source in the consumer's task, for streams in which nothing else goes on.

    One scope is around all of the source's life, since it may hold scopes of its own; it lets the source
    close in peace when the consumer is cancelled, and not take for ever.
    """

    resumes = False

    def __init__(self, source: Source) -> None:
        self._source = source
        self._failed: Exception | None = None
        self.stop = source.close

    async def open(self) -> None:
        """Begin; an error is kept for who reads, so that the source is closed all the same."""
        self._life = anyio.CancelScope()
        self._life.__enter__()
        try:
            await self._source.open()
        except Exception as error:  # noqa: BLE001 - raised where the source is read
            self._failed = error
        except BaseException:
            await self.close()
            raise

    def next(self, _read: bool, _until: float, /) -> Awaitable[Chunk | None]:
        """The next chunk; without checks, one is always wanted."""
        if self._failed is not None:
            raise self._failed
        return self._source.next()

    async def close(self) -> None:
        """Close the source, and leave the scope."""
        self._life.shield, self._life.deadline = True, anyio.current_time() + CLOSE_SECONDS
        try:
            await self._source.close()
        except anyio.get_cancelled_exc_class():
            if not self._life.cancel_called:
                raise
        finally:
            self._life.__exit__(None, None, None)


class WaitingInlet:
    """Reads the source in a task of its own, when a chunk is wanted, and runs checks beside it.

    All of a source's life is in that one task, which no cancellation of the consumer reaches: it is
    asked to stop, and cancelled only where it waits for the source.
    """

    resumes = True

    def __init__(self, source: Source) -> None:
        self._source = source
        self._chunk: Chunk | None = None
        self._ended: Exception | None = None
        self._exit: BaseException | None = None
        self._pulling, self._stopping = False, False

    async def open(self) -> None:
        """Enter a task group and start the reader."""
        self._tasks, self._reading = anyio.create_task_group(), anyio.CancelScope(shield=True)
        self._wanted, self._news, self._stopped = anyio.Event(), anyio.Event(), anyio.Event()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read)

    async def next(self, read: bool, until: float, /) -> Chunk | None:
        """See `Inlet.next`."""
        if read and self._chunk is None and self._ended is None:
            self._wanted.set()
        if not read or (self._chunk is None and self._ended is None):
            with anyio.CancelScope(deadline=until):
                await self._news.wait()
            self._news = anyio.Event()
        if self._exit is not None:
            raise self._exit
        if not read:
            return None
        if self._chunk is None and self._ended is not None:
            raise self._ended
        chunk, self._chunk = self._chunk, None
        return chunk

    async def stop(self) -> None:
        """Let the reader close the source, and wait for it, once, as long as that may take."""
        if self._stopping:
            return
        self._stopping = True
        self._wanted.set()
        if self._pulling:
            self._reading.cancel()
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            await self._stopped.wait()

    async def close(self) -> None:
        """Stop, and end every task; the group must be left in the task that entered it."""
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
                check.answer(await limited(_awaitable(ask, args), run.timeout))
            except Exception as error:  # noqa: BLE001 - what it raises is its answer; the step decides
                check.answer(None, error)
            except anyio.get_cancelled_exc_class():
                if scope.cancel_called or self._tasks.cancel_scope.cancel_called:
                    raise
                check.answer(None, RuntimeError("the check cancelled itself"))
            except BaseException as error:  # noqa: BLE001 - it wants the program to end; not within a group
                self._exit = error
            finally:
                record.scopes.discard(scope)
                record.under_way -= 1
                record.news = True
                self._news.set()

    async def _read(self) -> None:
        try:
            await self._read_and_close()
        except Exception as error:  # noqa: BLE001 - the loop raises it where the consumer is
            self._ended = error
        except anyio.get_cancelled_exc_class():
            if self._tasks.cancel_scope.cancel_called:
                raise
            self._ended = RuntimeError("the source was cancelled from within")
        finally:
            self._stopped.set()
            self._news.set()

    async def _read_and_close(self) -> None:
        try:
            with self._reading:
                await self._read_on_demand()
        finally:
            # What was cancelled while it was read can still close in peace.
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await self._source.close()

    async def _read_on_demand(self) -> None:
        try:
            if not self._stopping:
                await self._pull(self._source.open)
            while not self._stopping:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                if not self._stopping:
                    self._chunk = await self._pull(self._source.next)
                    self._wanted = anyio.Event()  # one chunk is wanted at a time, however often it was said
                    self._news.set()
        finally:
            # One that was entered may hold scopes of its own, which must end before this one does.
            if self._source.entered or not self._reading.cancel_called:
                await self._source.close()

    async def _pull(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for the source, where it may be cancelled."""
        self._pulling = True
        try:
            return await ask()
        finally:
            self._pulling = False


def _awaitable(ask: Ask[T], args: tuple[Any, ...]) -> Awaitable[T]:
    asked: object = ask(*args)
    if not isinstance(asked, Awaitable):
        raise MisuseError(f"`{getattr(ask, '__name__', ask)}` must be `async def`")
    return asked


async def limited(awaitable: Awaitable[T], seconds: float | None) -> T:
    """Await something for so many seconds at most; None for no limit.

    Raises:
        TimeoutError: it took longer, whether it let itself be cancelled or answered all the same.
    """
    with anyio.move_on_after(seconds) as scope:
        answer = await awaitable
        if anyio.current_time() < scope.deadline:
            return answer
    raise TimeoutError
