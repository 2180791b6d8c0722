"""Texts that stream in pieces through chunks which are no deltas."""

import re
from collections.abc import Callable
from typing import Any, Final

from guardrails.chunks import Raw, UnknownChunk
from guardrails.content.inside import Inside, Path
from guardrails.content.walk import written
from guardrails.surfaces import PIECES, STREAMED, STREAMED_WITHIN

_SIDES: Final = ("item_id", "output_index", "content_index", "contentBlockIndex", "index")
"""Keys by which providers tell items, contents, blocks, choices and calls apart that stream side by side."""

_WHOLE: Final = (".done", ".added", ".completed", "_stop", "-end")
"""How the types of a provider's events end that say a text once more, or none."""

_PLACE: Final = re.compile(r"\[([0-9]+)\]")


def growing(inside: Inside) -> Callable[[Path], str | None] | None:
    """Names the text of which a leaf is a piece, given its path; None for a leaf that is complete.

    Names are those among the texts of one owner. Gives None for a chunk that has no pieces.
    """
    chunk: Any = inside.chunk
    kind, start = chunk.type, (*inside.path, "payload")
    if kind in STREAMED:
        return _streamed(chunk.payload, (*start, STREAMED[kind]))
    is_raw = type(chunk) is Raw
    if not is_raw and not (type(chunk) is UnknownChunk and kind.endswith("-delta")):
        return None
    event = chunk.payload.get("type") if is_raw and isinstance(chunk.payload, dict) else None
    if isinstance(event, str) and event.endswith(_WHOLE):
        return None

    def name(path: Path) -> str | None:
        below = path[len(start) :]
        if path[: len(start)] != start or (below and below[-1] not in PIECES):
            return None
        leaf, sides = _leaf(chunk.payload, below)
        return f"{sides if is_raw else ''} {path[-1]}" if isinstance(leaf, str) else None

    return name


def _streamed(payload: Any, start: Path) -> Callable[[Path], str | None]:
    """What a tool or a step streams: strings, or objects; those with a type are told apart by their ids."""
    part = payload.get(start[-1]) if isinstance(payload, dict) else getattr(payload, start[-1], None)
    below = part.get("payload") if isinstance(part, dict) else None
    typed = (part, below) if isinstance(part, dict) and isinstance(part.get("type"), str) else ()
    ids = [one["id"] for one in typed if isinstance(one, dict) and isinstance(one.get("id"), str)]
    pieces = {
        (*start, *at, key)
        for at, given in (((), part), (("payload",), below))
        for key in STREAMED_WITHIN
        if isinstance(given, dict) and isinstance(given.get(key), str)
    }
    if isinstance(part, str):
        pieces = {start}
    return lambda path: " ".join((*ids, path[-1])) if path in pieces else None


def _leaf(value: Any, below: Path) -> tuple[Any, str]:
    """What stands at a place of a payload, and which of the texts that stream side by side it belongs to."""
    sides: list[str] = []
    for step in below:
        place = _PLACE.fullmatch(step)
        if isinstance(value, dict):
            given = ((key, value[key]) for key in _SIDES if isinstance(value.get(key), str | int))
            sides += [f"{key}={one if isinstance(one, str) else written(one)}" for key, one in given]
            value = [*value.values()][int(place[1])] if place else value[step]
        else:
            value = value[int(step[1:-1])]
    return value, " ".join(sides)
