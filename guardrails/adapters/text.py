"""Plain strings as chunks, and chunks as plain strings."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import suppress

from guardrails.chunks import (
    Chunk,
    TextDelta,
    TextDeltaPayload,
    TextEnd,
    TextEndPayload,
    TextStart,
    TextStartPayload,
)
from guardrails.source import Items


async def to_chunks(
    pieces: AsyncIterable[str] | Iterable[str], *, run_id: str = "run", id_: str = "text"
) -> AsyncIterator[Chunk]:
    """Pieces of one text as the chunks of one text block.

    Args:
        pieces: an async or sync iterable of strings; closed when the chunks are.
        run_id: the run the chunks belong to.
        id_: the id of the text.
    """
    items: Items[str] = Items(pieces, of="strings")
    try:
        await items.open()
        yield TextStart(run_id=run_id, from_="AGENT", payload=TextStartPayload(id=id_))
        with suppress(StopAsyncIteration):
            while True:
                payload = TextDeltaPayload(id=id_, text=await items.next())
                yield TextDelta(run_id=run_id, from_="AGENT", payload=payload)
        yield TextEnd(run_id=run_id, from_="AGENT", payload=TextEndPayload(id=id_))
    finally:
        await items.close()


async def to_text(chunks: AsyncIterable[Chunk]) -> AsyncIterator[str]:
    """The text of chunks, piece by piece; everything that is no text is left out."""
    async for chunk in chunks:
        if isinstance(chunk, TextDelta):
            yield chunk.payload.text
