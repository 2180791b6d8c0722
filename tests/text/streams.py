"""Guarding texts in a test: pieces in, what came of them out."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from types import FrameType
from typing import Any

import anyio

from guardrails import Chunk, Pipeline, Processor, Result, parse_chunk
from guardrails.surfaces import whole_characters
from guardrails.testing import Outcome, Tape, outcome

Script = Sequence[Mapping[str, Any] | Chunk]


def chunk(body: Mapping[str, Any] | Chunk) -> Chunk:
    return parse_chunk({"runId": "run", "from": "AGENT", **body}) if isinstance(body, Mapping) else body


def delta(text: str, id_: str = "t", surface: str = "text", **payload: object) -> Chunk:
    return chunk({"type": f"{surface}-delta", "payload": {"id": id_, "text": text, **payload}})


def start(id_: str = "t", surface: str = "text") -> Chunk:
    return chunk({"type": f"{surface}-start", "payload": {"id": id_}})


def end(id_: str = "t", surface: str = "text") -> Chunk:
    return chunk({"type": f"{surface}-end", "payload": {"id": id_}})


def note(number: int = 1) -> Chunk:
    return chunk({"type": "data-note", "data": {"n": number}})


def guard_chunks(script: Script, *processors: Processor, backend: str = "asyncio") -> Outcome:
    """Guard a whole stream."""
    tape = Tape([chunk(body) for body in script])
    return anyio.run(outcome, Pipeline(processors), tape, backend=backend)


def guard(pieces: Sequence[str] | str, *processors: Processor, surface: str = "text") -> Outcome:
    """Guard one text in pieces; a string is one piece."""
    whole = [pieces] if isinstance(pieces, str) else pieces
    deltas = [delta(piece, surface=surface) for piece in whole]
    return guard_chunks([start(surface=surface), *deltas, end(surface=surface)], *processors)


def said(pieces: Sequence[str] | str, *processors: Processor) -> str:
    """What a consumer reads of one text."""
    return guard(pieces, *processors).result.text


def cause(result: Result) -> str | None:
    """Why a stream was blocked, as its tripwire's metadata says it."""
    assert result.tripwire is not None
    told = result.tripwire.payload.metadata.get("cause")
    return None if told is None else str(told)


def code(result: Result) -> str:
    """The code in the tripwire's metadata."""
    assert result.tripwire is not None
    return str(result.tripwire.payload.metadata["code"])


def ones(text: str) -> list[str]:
    """The text in single characters."""
    return list(text)


def pieces_of(text: str, size: int) -> list[str]:
    """The text in pieces of one size."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def in_random_pieces(text: str, seed: int, most: int) -> list[str]:
    """The text in pieces of 1 to `most` characters."""
    random, pieces, at = Random(seed), [], 0
    while at < len(text):
        size = random.randint(1, most)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def some_cuttings(text: str, most: int = 5) -> Iterator[list[str]]:
    """Whole, in single characters, in fours, and at random."""
    yield [text]
    yield ones(text)
    yield pieces_of(text, 4)
    for seed in range(3):
        yield in_random_pieces(text, seed, most)
    for seed in range(2):
        yield in_random_pieces(text, seed, max(2, len(text) // 2))


def same_in_every_cutting(text: str, make: Callable[[], Sequence[Processor]], most: int = 5) -> Outcome:
    """Guard a text in several cuttings; the outcome, which must be the same for each."""
    outcomes = [guard(pieces, *make()) for pieces in some_cuttings(text, most)]
    for one in outcomes:
        assert one.comparable == outcomes[0].comparable
    return outcomes[0]


def texts_in(chunks: Sequence[Chunk]) -> list[str]:
    """The texts of the deltas among chunks, one entry for each delta."""
    return [
        str(getattr(one, "payload").text)  # noqa: B009 - a chunk of any type
        for one in chunks
        if one.type in ("text-delta", "reasoning-delta")
    ]


def joined_text(chunks: Sequence[Chunk]) -> str:
    """All text of the deltas among chunks."""
    return whole_characters("".join(texts_in(chunks)))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail when what is inside runs on: for what may never end."""

    def fail(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it did not end within {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
