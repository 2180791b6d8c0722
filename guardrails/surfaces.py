"""Where content is in each chunk type."""

import re
from typing import Final, Literal, TypeAlias

from guardrails.chunks import ReasoningDelta, ReasoningEnd, TextDelta, TextEnd

Surface: TypeAlias = Literal[
    "text", "reasoning", "tool_args", "tool_results", "object", "data", "sources", "other"
]
"""The kinds of place where content stands in a stream."""

SERVED: Final[tuple[Surface, ...]] = ("text", "reasoning")
"""The surfaces that are guarded so far; naming another one is a configuration error."""

Delta: TypeAlias = TextDelta | ReasoningDelta
Closing: TypeAlias = TextEnd | ReasoningEnd

DELTAS: Final[dict[type, Surface]] = {TextDelta: "text", ReasoningDelta: "reasoning"}
"""Chunk types that carry a piece of a growing text, with the surface it stands on."""

CLOSINGS: Final[dict[type, Surface]] = {TextEnd: "text", ReasoningEnd: "reasoning"}
"""Chunk types after which the text with their id does not grow any more."""


def joinable(first: object, second: object) -> bool:
    """Whether two neighbouring chunks are pieces of one text that can be one delta.

    Pieces that carry anything of their own, such as provider metadata, stay apart.
    """
    if type(first) is not type(second) or type(first) not in DELTAS:
        return False
    return _continues(first, second)  # type: ignore[arg-type]  # `isinstance` is slow on pydantic's models


def _continues(first: Delta, second: Delta) -> bool:
    return (
        first.payload.id == second.payload.id
        and first.run_id == second.run_id
        and first.from_ == second.from_
        and plain(first)
        and plain(second)
    )


def plain(delta: Delta) -> bool:
    """Whether a delta carries nothing beside its text."""
    payload = delta.payload
    return (
        payload.provider_metadata is None
        and delta.metadata is None
        and not payload.__pydantic_extra__
        and not delta.__pydantic_extra__
    )


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def whole_characters(text: str) -> str:
    """The text with surrogates joined that a cut has parted; a half without the other stays."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
