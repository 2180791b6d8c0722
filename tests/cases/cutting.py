"""The texts of a case in other deltas: every other chunk stays where it is."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

from guardrails.surfaces import whole_characters
from tests.cases.reading import Json

Lane: TypeAlias = tuple[str, str, int]
"""Type of the deltas, id, and the how manieth text of that id it is."""

Cut: TypeAlias = Callable[[Lane, str], Sequence[str]]
"""A text, in halves of surrogate pairs, to its pieces."""

TEXT_KEYS: Final[Mapping[str, tuple[str, str]]] = {
    "text-delta": ("id", "text"),
    "reasoning-delta": ("id", "text"),
    "tool-call-delta": ("toolCallId", "argsTextDelta"),
}
"""Types of deltas, with the keys of their id and of their piece of text."""

_ENDS: Final[Mapping[str, str]] = {
    "text-end": "text-delta",
    "reasoning-end": "reasoning-delta",
    "tool-call-input-streaming-end": "tool-call-delta",
}
_ASTRAL: Final = re.compile("[\U00010000-\U0010ffff]")
_WORD: Final = re.compile(r"\S+\s*|\s+")


def halves(text: str) -> str:
    """The text with each character beyond U+FFFF as the two surrogates that a UTF-16 producer sends."""
    return _ASTRAL.sub(lambda match: "".join(_pair(match[0])), text)


def _pair(character: str) -> tuple[str, str]:
    code = ord(character) - 0x10000
    return chr(0xD800 + (code >> 10)), chr(0xDC00 + (code & 0x3FF))


def sized(size: int) -> Cut:
    """Pieces of one size."""
    return lambda _lane, text: [text[at : at + size] for at in range(0, len(text), size)]


def words(_lane: Lane, text: str) -> Sequence[str]:
    """One word a piece, with the white space after it."""
    return _WORD.findall(text)


def lump(_lane: Lane, text: str) -> Sequence[str]:
    """All at once."""
    return [text] if text else []


def at_places(places: Mapping[Lane, Sequence[int]]) -> Cut:
    """Cuts at given places of each text, counted in whole characters."""

    def cut(lane: Lane, text: str) -> Sequence[str]:
        whole = whole_characters(text)
        inside = {place for place in places.get(lane, ()) if 0 < place < len(whole)}
        bounds = [0, *sorted(inside), len(whole)]
        return [whole[start:end] for start, end in pairwise(bounds) if start < end]

    return cut


CUTS: Final[Mapping[str, Cut]] = {
    "one lump": lump,
    "1 character": sized(1),
    "2 characters": sized(2),
    "3 characters": sized(3),
    "7 characters": sized(7),
    "words": words,
}


def lanes_of(chunks: Sequence[Json]) -> Iterator[tuple[Lane | None, str]]:
    """For each chunk, the text it is a piece of and the piece; None for what is no delta."""
    closed: dict[tuple[str, str], int] = {}
    for chunk in chunks:
        kind = chunk["type"]
        if kind in TEXT_KEYS:
            id_key, text_key = TEXT_KEYS[kind]
            id_ = chunk["payload"][id_key]
            yield (kind, id_, closed.get((kind, id_), 0)), halves(chunk["payload"][text_key])
            continue
        if kind in _ENDS:
            ended = (_ENDS[kind], chunk["payload"][TEXT_KEYS[_ENDS[kind]][0]])
            closed[ended] = closed.get(ended, 0) + 1
        yield None, ""


def texts_of(chunks: Sequence[Json]) -> dict[Lane, str]:
    """The whole text of each lane."""
    texts: dict[Lane, str] = {}
    for lane, piece in lanes_of(chunks):
        if lane is not None:
            texts[lane] = texts.get(lane, "") + piece
    return texts


def recut(chunks: Sequence[Json], cut: Cut) -> list[Json]:
    """The chunks with their texts cut anew; a piece stands where its first character stood."""
    pieces = {lane: _placed(cut(lane, text)) for lane, text in texts_of(chunks).items()}
    taken = dict.fromkeys(pieces, 0)
    out: list[Json] = []
    for chunk, (lane, text) in zip(chunks, lanes_of(chunks), strict=True):
        if lane is None:
            out.append(chunk)
            continue
        taken[lane] += len(text)
        while pieces[lane] and pieces[lane][0][0] < taken[lane]:
            out.append(_with_piece(chunk, pieces[lane].pop(0)[1]))
    return out


def _placed(pieces: Sequence[str]) -> list[tuple[int, str]]:
    starts = accumulate((len(halves(piece)) for piece in pieces), initial=0)
    return list(zip(starts, pieces, strict=False))


def _with_piece(chunk: Json, piece: str) -> Json:
    key = TEXT_KEYS[chunk["type"]][1]
    return {**chunk, "payload": {**chunk["payload"], key: piece}}
