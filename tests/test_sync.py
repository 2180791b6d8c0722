"""The sync shell: the same pipeline for callers without an event loop."""

import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from guardrails import Chunk, Pipeline
from guardrails.testing import SlowWords
from tests.helpers import Source, answer, delta, four, text


def test_run_sync_gives_the_result() -> None:
    """A list, an async source and slow checks work without an event loop."""
    pipeline = Pipeline([four(), SlowWords(find="bad")])
    assert pipeline.run_sync(answer("bad 12", "34 day")).text == "[WORD] [FOUND] day"
    assert pipeline.run_sync(Source(answer("1234")).play()).text == "[FOUND]"


def test_stream_sync_streams() -> None:
    """Chunks come one by one, as they are decided, while the source is still going."""
    log: list[str] = []

    def source() -> Iterator[Chunk]:
        for piece in ("one ", "two ", "three "):
            log.append(piece)
            yield delta(piece)

    with Pipeline([four()]).stream_sync(source()) as chunks:
        assert text([next(chunks)]) == "one "
        assert len(log) <= 2
        assert text(chunks) == "two three "
        assert list(chunks) == []
    assert chunks.result.text == "one two three "


def test_leaving_early_closes_the_source() -> None:
    """Leaving the block, by a break or an error, closes the source and ends the thread."""
    before = threading.active_count()
    for error in (None, KeyError("mine")):
        source = Source(answer("a", "b"))
        try:
            with Pipeline([]).stream_sync(source.play()) as chunks:
                next(chunks)
                if error is not None:
                    raise error
        except KeyError:
            assert error is not None
        assert source.closed == 1
        assert chunks.result.status == "cancelled"
    assert threading.active_count() == before


def test_errors_come_through() -> None:
    """The source's own exception is raised where the caller is."""
    with pytest.raises(OSError, match="down"):
        Pipeline([]).run_sync(Source([delta("a")], OSError("down")).play())


def test_an_endless_source_can_be_left() -> None:
    """A source that never ends is cancelled when the caller leaves."""

    async def source() -> AsyncIterator[Chunk]:
        while True:
            yield delta("again ")

    with Pipeline([SlowWords(find="bad")]).stream_sync(source()) as chunks:
        for _, one in zip(range(5), chunks, strict=False):
            assert one.type == "text-delta"
