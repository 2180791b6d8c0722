"""Streams to test with: texts, cuttings of them, and what came out, in a form that can be compared."""

import json
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
    ToolCallDelta,
    ToolOutput,
    dump_chunk,
    parse_chunk,
)
from guardrails.surfaces import DELTAS, Delta, whole_characters

Lane: TypeAlias = tuple[str, str]
"""Surface and id of one text."""

LANES: Sequence[Lane] = (("text", "t1"), ("reasoning", "r1"), ("text", "t2"))

NESTED: Lane = ("text", "call/n1")
"""A text of a sub-agent, whose chunks stand in `tool-output`."""

CALLS: Sequence[Lane] = (("tool_args", "c1"), ("tool_args", "c2"))
"""Tool calls whose arguments stream."""

Passage: TypeAlias = tuple[Lane, str] | dict[str, Any]
"""A stretch of one text, a whole tool call, or another chunk as JSON."""

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


def carriers(text: str) -> dict[str, dict[str, Any]]:
    """Chunks that carry a complete text, by the surface on which it stands."""
    call = {"toolCallId": "c9", "toolName": "t"}
    chunks: dict[str, dict[str, Any]] = {
        "tool_args": {"type": "tool-call", "payload": {**call, "args": {"say": [text]}}},
        "tool_results": {"type": "tool-result", "payload": {**call, "result": {"said": [1, text]}}},
        "object": {"type": "object-result", "object": {"said": text}},
        "data": {"type": "data-note", "data": {"n": 1, "said": text}},
        "sources": {"type": "source", "payload": {"id": "s", "sourceType": "url", "title": text}},
        "other": {"type": "something-new", "payload": {"said": text}},
    }
    return {surface: {"runId": "run", "from": "AGENT", **body} for surface, body in chunks.items()}


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
def passages(draw: st.DrawFn, texts: SearchStrategy[str], *, everywhere: bool = True) -> list[Passage]:
    """Stretches of up to three texts that take turns, with other chunks between them.

    Args:
        draw: given by hypothesis.
        texts: what is said.
        everywhere: whether it is also said in tool calls, in results and other chunks, and by a sub-agent.
    """
    lanes = [*LANES[: draw(st.integers(1, len(LANES)))], *([NESTED] if everywhere else [])]
    calls = list(CALLS)
    out: list[Passage] = []
    for _ in range(draw(st.integers(1, 4))):
        out.append((draw(st.sampled_from(lanes)), draw(texts)))
        other = draw(st.integers(0, 9 if everywhere else 1))
        if other < 2:  # noqa: PLR2004
            out.append(draw(st.sampled_from(NEUTRAL)))
        elif other == 2:  # noqa: PLR2004
            out.append(draw(st.sampled_from(list(carriers(draw(texts)).values()))))
        elif other == 3 and calls:  # noqa: PLR2004
            out.append((calls.pop(), draw(texts)))
    return out


def chunks_of(parts: Sequence[Passage], cut: Callable[[str], list[str]]) -> list[Chunk]:
    """The chunks of a whole answer: frame, openings, deltas as `cut` makes them, closings."""
    parted = [part for part in parts if isinstance(part, tuple) and part[0] not in CALLS]
    lanes = list(dict.fromkeys(lane for lane, _ in parted))
    usage = {"usage": {"inputTokens": 3, "outputTokens": 4}}
    ended = {"stepResult": {"reason": "stop"}, "output": usage}
    bodies: list[dict[str, Any]] = [
        {"type": "start", "payload": {}},
        {"type": "step-start", "payload": {"messageId": "m1", "request": {}}},
        *(_part_of(lane, "start") for lane in lanes),
    ]
    for part in parts:
        if isinstance(part, dict):
            bodies.append(part)
        elif part[0] in CALLS:
            bodies += _call(part[0][1], part[1], cut)
        else:
            bodies += [_part_of(part[0], "delta", text=piece) for piece in cut(part[1])]
    bodies += [_part_of(lane, "end") for lane in lanes]
    bodies += [{"type": "step-finish", "payload": ended}, {"type": "finish", "payload": ended}]
    return [parse_chunk({"runId": "run", "from": "AGENT", **body}) for body in bodies]


def _part_of(lane: Lane, what: str, **more: str) -> dict[str, Any]:
    """The opening, a delta or the closing of a text."""
    surface, id_ = lane
    *call, id_ = id_.split("/")
    body: dict[str, Any] = {"type": f"{surface}-{what}", "payload": {"id": id_, **more}}
    if not call:
        return body
    return {"type": "tool-output", "payload": {"toolCallId": call[0], "toolName": "agent", "output": body}}


def _call(id_: str, text: str, cut: Callable[[str], list[str]]) -> list[dict[str, Any]]:
    """A tool call that says a text, with its arguments as they stream."""
    call, args = {"toolCallId": id_, "toolName": "t"}, {"say": text}
    pieces = cut(json.dumps(args))
    return [
        {"type": "tool-call-input-streaming-start", "payload": call},
        *({"type": "tool-call-delta", "payload": {**call, "argsTextDelta": piece}} for piece in pieces),
        {"type": "tool-call-input-streaming-end", "payload": {"toolCallId": id_}},
        {"type": "tool-call", "payload": {**call, "args": args}},
    ]


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
    for lane, group in groupby(chunks, lane_of):
        if lane is None:
            out += [dump_chunk(chunk) for chunk in group]
        else:
            text = whole_characters("".join(_text_of(chunk) for chunk in group))
            out += [(*lane, character) for character in text]
    return out


def lane_of(chunk: Chunk) -> Lane | None:
    """The text of which a chunk is a piece, if it is one."""
    if isinstance(chunk, ToolCallDelta):
        return ("tool_args", chunk.payload.tool_call_id)
    carried = _carried(chunk)
    if carried is not None and carried["type"] == "text-delta":
        return NESTED
    surface = DELTAS.get(type(chunk))
    return None if surface is None else (surface, cast("Delta", chunk).payload.id)


def _text_of(chunk: Chunk) -> str:
    if isinstance(chunk, ToolCallDelta):
        return chunk.payload.args_text_delta
    carried = _carried(chunk)
    return str(carried["payload"]["text"]) if carried else cast("Delta", chunk).payload.text


def _carried(chunk: Chunk) -> dict[str, Any] | None:
    output = chunk.payload.output if isinstance(chunk, ToolOutput) else None
    return output if isinstance(output, dict) else None


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
