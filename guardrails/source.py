"""Reading chunks from whatever a caller has, and closing it once."""

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, NoReturn, Self, TypeAlias, TypeVar, cast

from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from guardrails.chunks import CHUNK_CLASSES, Chunk, ChunkError, parse_chunk

T = TypeVar("T")

logger = logging.getLogger("guardrails")

ChunkLike: TypeAlias = Chunk | Mapping[str, Any] | str | bytes
SourceLike: TypeAlias = AsyncIterable[ChunkLike] | Iterable[ChunkLike]
"""An async or sync iterable of chunks, dicts or JSON lines."""

CLOSE_SECONDS: Final = 5
"""How long a source that is being closed may take; a caller that leaves is not held for ever."""

_CHECKPOINT_EVERY: Final = 64
"""A sync source never waits; after so many chunks it lets others run and cancellation in."""


class Items(Generic[T]):
    """What an iterable gives, one at a time; closed once.

    What is also an async context manager, such as a guarded stream, is entered and left.

    Raises:
        TypeError: it is no iterable, or one that is a single item.
    """

    def __init__(self, iterable: AsyncIterable[T] | Iterable[T], *, of: str) -> None:
        iterates = hasattr(iterable, "__aiter__") or hasattr(iterable, "__iter__")
        if not iterates or isinstance(iterable, str | bytes | Mapping | BaseModel):
            raise TypeError(f"an async or sync iterable of {of} is needed, not {type(iterable).__name__}")
        self._iterable: Any = iterable
        self._iterator: Any = None
        self._next: Callable[[], Awaitable[T]] = _not_open
        self._entered = False
        self._closed = False

    async def open(self) -> None:
        """Begin; to be called in the task that will read and close."""
        if hasattr(self._iterable, "__aenter__"):
            await self._iterable.__aenter__()
            self._entered = True
        is_async = hasattr(self._iterable, "__aiter__")
        self._iterator = aiter(self._iterable) if is_async else _Async(iter(self._iterable))
        self._next = self._iterator.__anext__

    async def next(self) -> T:
        """The next item.

        Raises:
            StopAsyncIteration: there is none.
            Exception: whatever the iterable raises.
        """
        return await self._next()

    async def close(self) -> None:
        """Close the iterable; a second call does nothing, and what cannot be closed is left."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._close()
        except Exception as error:  # noqa: BLE001 - its stream is over; what it said stands
            logger.warning("closing the source failed (%s)", type(error).__name__)

    async def _close(self) -> None:
        if self._entered:
            await self._iterable.__aexit__(None, None, None)
            return
        iterator = self._iterator.iterator if isinstance(self._iterator, _Async) else self._iterator
        for owner in (iterator, self._iterable) if iterator is not self._iterable else (iterator,):
            close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
            pending = close() if close is not None else None
            if inspect.isawaitable(pending):
                await pending


class Source(Items[ChunkLike]):
    """Chunks from an iterable of chunks, dicts or JSON lines; blank lines are passed over."""

    def __init__(self, iterable: SourceLike) -> None:
        super().__init__(iterable, of="chunks, dicts or JSON lines")
        self._read = 0

    async def next_chunk(self) -> Chunk:
        """The next chunk.

        Raises:
            StopAsyncIteration: there is none.
            ChunkError: what came is no chunk.
            Exception: whatever the iterable raises.
        """
        while True:
            item = await self._next()
            self._read += 1
            if type(item) in CHUNK_CLASSES:
                return cast("Chunk", item)
            if isinstance(item, str | bytes) and not item.strip():
                continue
            try:
                return parse_chunk(cast("str | bytes | Mapping[str, Any]", item))
            except ChunkError as error:
                raise ChunkError(f"item {self._read} of the source: {error}") from None


def _not_open() -> NoReturn:
    raise RuntimeError("a source is opened before it is read")


class _Async:
    """A sync iterator read as an async one."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self.iterator, self._read = iterator, 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        self._read += 1
        if self._read % _CHECKPOINT_EVERY == 0:
            await checkpoint()
        for item in self.iterator:
            return item
        raise StopAsyncIteration
