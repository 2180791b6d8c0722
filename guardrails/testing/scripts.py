"""Streams to test with: texts, cuttings of them, and what came out, in a form that can be compared."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeAlias, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from guardrails.chunks import (
    Chunk,
    ReasoningEnd,
    ReasoningStart,
    TextEnd,
    TextStart,
    dump_chunk,
    parse_chunk,
)
from guardrails.surfaces import DELTAS, Delta, whole_characters

Lane: TypeAlias = tuple[str, str]
"""Surface and id of one text."""

LANES: Sequence[Lane] = (("text", "t1"), ("reasoning", "r1"), ("text", "t2"))

Passage: TypeAlias = tuple[Lane, str] | dict[str, Any]
"""A stretch of one text, or another chunk as JSON."""

Transcript: TypeAlias = list[Any]
"""What a consumer read: `(surface, id, character)` for each character, JSON for every other chunk."""

NEUTRAL: Sequence[dict[str, Any]] = tuple(
    {"runId": "run", "from": "AGENT", **body}
    for body in (
        {"type": "response-metadata", "payload": {"model": "m"}},
        {"type": "data-note", "data": {"n": 1}},
        {"type": "something-new", "payload": {"kept": None}},
    )
)
"""Chunks that may stand anywhere and are nobody's business."""
_FILLING = st.text(st.sampled_from("ab .,\n12@-é漢\u200b👍"), max_size=8)


def texts_of(fragments: Sequence[str]) -> SearchStrategy[str]:
    """Texts in which whole fragments, cut-off ones and filling follow one another.

    Args:
        fragments: things that the processor under test finds, and things that look like them.
    """
    whole = st.sampled_from(fragments)
    cut_off = st.builds(lambda text, size: text[: size % (len(text) + 1)], whole, st.integers(0, 999))
    return st.lists(st.one_of(whole, cut_off, _FILLING, st.just(" ")), max_size=6).map("".join)


@st.composite
def passages(draw: st.DrawFn, texts: SearchStrategy[str]) -> list[Passage]:
    """Stretches of up to three texts that take turns, with other chunks between them."""
    lanes = LANES[: draw(st.integers(1, len(LANES)))]
    out: list[Passage] = []
    for _ in range(draw(st.integers(1, 4))):
        out.append((draw(st.sampled_from(lanes)), draw(texts)))
        if draw(st.integers(0, 3)) == 0:
            out.append(draw(st.sampled_from(NEUTRAL)))
    return out


def chunks_of(parts: Sequence[Passage], cut: Callable[[str], list[str]]) -> list[Chunk]:
    """The chunks of a whole answer: frame, openings, deltas as `cut` makes them, closings."""
    lanes = list(dict.fromkeys(part[0] for part in parts if isinstance(part, tuple)))
    usage = {"usage": {"inputTokens": 3, "outputTokens": 4}}
    bodies: list[dict[str, Any]] = [
        {"type": "start", "payload": {}},
        {"type": "step-start", "payload": {"messageId": "m1", "request": {}}},
        *({"type": f"{surface}-start", "payload": {"id": id_}} for surface, id_ in lanes),
    ]
    for part in parts:
        if isinstance(part, dict):
            bodies.append(part)
            continue
        (surface, id_), text = part
        deltas = [{"id": id_, "text": piece} for piece in cut(text)]
        bodies += [{"type": f"{surface}-delta", "payload": delta} for delta in deltas]
    bodies += [{"type": f"{surface}-end", "payload": {"id": id_}} for surface, id_ in lanes]
    bodies.append({"type": "step-finish", "payload": {"stepResult": {"reason": "stop"}, "output": usage}})
    bodies.append({"type": "finish", "payload": {"stepResult": {"reason": "stop"}, "output": usage}})
    return [parse_chunk({"runId": "run", "from": "AGENT", **body}) for body in bodies]


def closings_after(script: Sequence[Chunk], place: int) -> list[Chunk]:
    """The chunks that close the texts which are open at a place of a script."""
    opened = {chunk.payload.id for chunk in script[:place] if isinstance(chunk, TextStart | ReasoningStart)}
    ends = [chunk for chunk in script[place:] if isinstance(chunk, TextEnd | ReasoningEnd)]
    return [end for end in ends if end.payload.id in opened]


def uncut(text: str) -> list[str]:
    """One delta."""
    return [text]


def cuts(seeds: Sequence[int]) -> Callable[[str], list[str]]:
    """A cutting into pieces whose sizes follow the seeds, again and again; a size of 0 gives an empty delta.

    Characters beyond the basic plane are cut between their surrogates, as a UTF-16 producer cuts them.
    """

    def cut(text: str) -> list[str]:
        units = "".join(_halves(character) for character in text)
        pieces, at, turn = [], 0, 0
        while at < len(units):
            size = seeds[turn % len(seeds)] if any(seeds) else 1
            pieces.append(units[at : at + size])
            at, turn = at + size, turn + 1
        return pieces

    return cut


def _halves(character: str) -> str:
    code = ord(character) - 0x10000
    return character if code < 0 else chr(0xD800 + (code >> 10)) + chr(0xDC00 + (code & 0x3FF))


cuttings: SearchStrategy[Callable[[str], list[str]]] = st.lists(
    st.integers(0, 5), min_size=1, max_size=5
).map(cuts)
"""Random cuttings."""


def transcript(chunks: Sequence[Chunk]) -> Transcript:
    """What a consumer read, whatever deltas it came in."""
    out: Transcript = []
    for lane, group in groupby(chunks, _lane):
        if lane is None:
            out += [dump_chunk(chunk) for chunk in group]
        else:
            text = whole_characters("".join(cast("Delta", chunk).payload.text for chunk in group))
            out += [(*lane, character) for character in text]
    return out


def _lane(chunk: Chunk) -> Lane | None:
    surface = DELTAS.get(type(chunk))
    return None if surface is None else (surface, cast("Delta", chunk).payload.id)


@dataclass
class Tape:
    """A source that notes what had been received when each of its chunks was asked for.

    Attributes:
        chunks: what it gives.
        fails_at: index before which it raises `Dropped`; None for never.
        received: filled by the consumer.
        marks: how many chunks had been received when the chunk of that index was asked for.
        closed: how many times it has been closed.
    """

    chunks: Sequence[Chunk]
    fails_at: int | None = None
    received: list[Chunk] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    closed: int = 0

    async def play(self) -> AsyncIterator[Chunk]:
        """Give the chunks."""
        try:
            for index, chunk in enumerate(self.chunks):
                self.marks.append(len(self.received))
                if index == self.fails_at:
                    raise Dropped
                yield chunk
        finally:
            self.closed += 1


class Dropped(Exception):  # noqa: N818 - what happened to the line
    """A source was cut off."""
