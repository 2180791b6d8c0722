"""Reading chunks from whatever a caller has, and closing it once."""

import inspect
import logging
from collections.abc import AsyncIterable, Iterable, Mapping
from time import perf_counter
from typing import Any, Final, Generic, TypeAlias, TypeVar

from anyio.lowlevel import checkpoint
from pydantic import BaseModel

from guardrails.chunks import CHUNK_CLASSES, Chunk, ChunkError, parse_chunk

T = TypeVar("T")

logger = logging.getLogger("guardrails")

ChunkLike: TypeAlias = Chunk | Mapping[str, Any] | str | bytes
SourceLike: TypeAlias = AsyncIterable[ChunkLike] | Iterable[ChunkLike]
"""An async or sync iterable of chunks, dicts or JSON lines."""

CLOSE_SECONDS: Final = 5
"""How long closing a source may hold a caller who is cancelled, or for whom another task reads it."""

_OVER: Final = object()
_HOLD_SECONDS: Final = 0.005
"""A sync source never waits; after so long it lets others run and cancellation in."""


class Feed(Generic[T]):
    """What an iterable gives, one at a time; closed once.

    What is also an async context manager, such as a guarded stream, is entered and left.

    Attributes:
        entered: whether it was, and is to be left.

    Raises:
        TypeError: it is no iterable, or one that is a single item.
    """

    def __init__(self, iterable: AsyncIterable[Any] | Iterable[Any], *, of: str) -> None:
        iterates = hasattr(iterable, "__aiter__") or hasattr(iterable, "__iter__")
        if not iterates or isinstance(iterable, str | bytes | Mapping | BaseModel):
            raise TypeError(f"an async or sync iterable of {of} is needed, not {type(iterable).__name__}")
        self._iterable: Any = iterable
        self._iterator: Any = None
        self._is_async = hasattr(iterable, "__aiter__")
        self.entered = False
        self._closed = False
        self._read, self._since = 0, 0.0

    async def open(self) -> None:
        """Begin; to be called in the task that will read and close."""
        if hasattr(self._iterable, "__aenter__"):
            await self._iterable.__aenter__()
            self.entered = True
        self._iterator = aiter(self._iterable) if self._is_async else iter(self._iterable)

    async def next(self) -> T:
        """The next item.

        Raises:
            StopAsyncIteration: there is none.
            Exception: whatever the iterable raises.
        """
        while True:
            if self._is_async:
                item = await self._iterator.__anext__()
            else:
                if perf_counter() - self._since > _HOLD_SECONDS:
                    await checkpoint()
                    self._since = perf_counter()
                item = next(self._iterator, _OVER)
                if item is _OVER:
                    raise StopAsyncIteration
            self._read += 1
            wanted = self._take(item)
            if wanted is not None:
                return wanted

    def _take(self, item: Any) -> T | None:
        """What an item is to the reader; None passes over it."""
        taken: T = item
        return taken

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
        if self.entered:
            await self._iterable.__aexit__(None, None, None)
            return
        same = self._iterator is None or self._iterator is self._iterable
        for owner in (self._iterable,) if same else (self._iterator, self._iterable):
            close = getattr(owner, "aclose", None) or getattr(owner, "close", None)
            pending = close() if close is not None else None
            if inspect.isawaitable(pending):
                await pending


class Source(Feed[Chunk]):
    """Chunks from an iterable of chunks, dicts or JSON lines; blank lines are passed over.

    What is no chunk raises `ChunkError`, which says the how manieth item it is.
    """

    def __init__(self, iterable: SourceLike) -> None:
        super().__init__(iterable, of="chunks, dicts or JSON lines")

    def _take(self, item: Any) -> Chunk | None:
        if type(item) in CHUNK_CLASSES:
            chunk: Chunk = item
            return chunk
        if isinstance(item, str | bytes) and not item.strip():
            return None
        try:
            return parse_chunk(item)
        except ChunkError as error:
            raise ChunkError(f"item {self._read} of the source: {error}") from None
