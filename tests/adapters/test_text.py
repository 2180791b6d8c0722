"""Plain strings in and out."""

from collections.abc import AsyncIterator

import pytest

from guardrails import Pipeline
from guardrails.adapters.text import to_chunks, to_text
from guardrails.testing import Patterns
from tests.helpers import Source, types


@pytest.mark.parametrize("wrap", [list, lambda pieces: Source(pieces).play()], ids=["sync", "async"])
async def test_strings_go_through(wrap: object) -> None:
    """Pieces of text, sync or async, come out guarded."""
    pieces = wrap(["call 12", "34 or ", "wait"])  # type: ignore[operator]
    async with Pipeline([Patterns(find=r"\d{4}")]).stream(to_chunks(pieces)) as chunks:
        assert "".join([piece async for piece in to_text(chunks)]) == "call [FOUND] or wait"


async def test_the_chunks_are_one_text() -> None:
    """The text is opened and closed, under the ids that were asked for."""
    chunks = [one async for one in to_chunks(["a", "b"], run_id="r", id_="x")]
    assert types(chunks) == ["text-start", "text-delta", "text-delta", "text-end"]
    assert {one.run_id for one in chunks} == {"r"}


async def test_leaving_closes_the_strings() -> None:
    """The source of the strings is closed with the stream, and so when a refusal ends it."""
    source = Source(["good ", "bad ", "never"])
    async with Pipeline([Patterns(find="bad", strategy="block")]).stream(to_chunks(source.play())) as chunks:
        assert [piece async for piece in to_text(chunks)] == ["good "]
    assert source.closed == 1
    assert chunks.result.status == "blocked"


async def test_an_error_of_the_strings_is_raised() -> None:
    """Held text leaves first, then the error is raised; one string is no source of strings."""

    async def pieces() -> AsyncIterator[str]:
        yield "12"
        raise OSError("down")

    out: list[str] = []
    async with Pipeline([Patterns(find=r"\d{4}")]).stream(to_chunks(pieces())) as chunks:

        async def read() -> None:
            async for piece in to_text(chunks):
                out.append(piece)  # noqa: PERF401 - an exception must not lose what came before it

        with pytest.raises(OSError, match="down"):
            await read()
    assert out == ["12"]
    with pytest.raises(TypeError, match="iterable of strings"):
        [one async for one in to_chunks("text")]
