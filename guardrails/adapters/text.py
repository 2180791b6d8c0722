"""Plain strings as chunks, and chunks as plain strings."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import suppress
from typing import Any, Self

from guardrails.chunks import (
    Chunk,
    TextDelta,
    TextDeltaPayload,
    TextEnd,
    TextEndPayload,
    TextStart,
    TextStartPayload,
)
from guardrails.source import Feed


def to_chunks(
    pieces: AsyncIterable[str] | Iterable[str], *, run_id: str = "run", id_: str = "text"
) -> "TextChunks":
    """Pieces of one text as the chunks of one text block.

    Args:
        pieces: an async or sync iterable of strings; closed when the chunks are.
        run_id: the run the chunks belong to.
        id_: the id of the text.

    Raises:
        TypeError: `pieces` is no such iterable; a single string is none.
    """
    return TextChunks(Feed(pieces, of="strings"), {"run_id": run_id, "from_": "AGENT"}, id_)


class TextChunks:
    """The chunks of one text, as `to_chunks` makes them."""

    def __init__(self, pieces: Feed[str], envelope: dict[str, Any], id_: str) -> None:
        self._pieces = pieces
        self._chunks = self._make(envelope, id_)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Chunk:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        """Close the pieces, whether or not any has been read."""
        await self._chunks.aclose()
        await self._pieces.close()

    async def _make(self, envelope: dict[str, Any], id_: str) -> AsyncGenerator[Chunk, None]:
        await self._pieces.open()
        yield TextStart(payload=TextStartPayload(id=id_), **envelope)
        with suppress(StopAsyncIteration):
            while True:
                yield TextDelta(payload=TextDeltaPayload(id=id_, text=await self._pieces.next()), **envelope)
        yield TextEnd(payload=TextEndPayload(id=id_), **envelope)


async def to_text(chunks: AsyncIterable[Chunk]) -> AsyncIterator[str]:
    """The text of chunks, piece by piece; everything that is no text is left out."""
    async for chunk in chunks:
        if isinstance(chunk, TextDelta):
            yield chunk.payload.text
