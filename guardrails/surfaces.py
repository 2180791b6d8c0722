"""Where content is in each chunk type: on which surface it stands, and which keys only name."""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from guardrails.chunks import (
    CHUNK_CLASSES,
    BackgroundTaskOutput,
    Data,
    Finish,
    ReasoningDelta,
    ReasoningEnd,
    StepFinish,
    StepOutput,
    StepStart,
    TextDelta,
    TextEnd,
    ToolCall,
    ToolCallDelta,
    ToolCallInputStreamingEnd,
    ToolCallInputStreamingStart,
    ToolOutput,
    UnknownChunk,
)

Surface: TypeAlias = Literal[
    "text", "reasoning", "tool_args", "tool_results", "object", "data", "sources", "other"
]
"""The kinds of place where content stands in a stream."""

SURFACES: Final[tuple[Surface, ...]] = get_args(Surface)
"""All surfaces: what `surfaces` may name."""

Delta: TypeAlias = TextDelta | ReasoningDelta
CallPart: TypeAlias = ToolCallInputStreamingStart | ToolCallDelta | ToolCallInputStreamingEnd | ToolCall

DELTAS: Final[dict[type, Surface]] = {TextDelta: "text", ReasoningDelta: "reasoning"}
"""Chunk types that carry a piece of a growing text, with the surface it stands on."""

CLOSINGS: Final[dict[type, Surface]] = {TextEnd: "text", ReasoningEnd: "reasoning"}
"""Chunk types after which the text with their id does not grow any more."""

CALL_PARTS: Final[frozenset[type]] = frozenset(get_args(CallPart))
"""Chunk types that a tool call consists of."""

FRAMES: Final[frozenset[type]] = frozenset({StepFinish, Finish})
"""Chunk types with which a step or a stream ends, and all texts in it."""

COPIES: Final[frozenset[type]] = frozenset({StepStart, StepFinish, Finish})
"""Chunk types that repeat what was said elsewhere: what is found in them is hidden and nothing else."""

CARRIERS: Final[Mapping[type, tuple[tuple[str, ...], ...]]] = {
    ToolOutput: (("payload", "output"),),
    StepOutput: (("payload", "output"),),
    BackgroundTaskOutput: (("payload", "payload"),),
    Data: (("data",),),
    UnknownChunk: (("payload", "output"), ("payload",)),  # `workflow-step-output`, `…-execution-event-…`
}
"""Chunk types in which another chunk may stand, and where it does."""

PIECES: Final = frozenset(
    {"text", "delta", "textDelta", "content", "thinking", "reasoning", "reasoning_content", "refusal"}
    | {
        "arguments",
        "partial_json",
        "input",
        "response",
        "generation",
        "completion",
        "outputText",
        "transcript",
    }
)
"""Keys under which text streams piece by piece in `raw` chunks and in deltas of unknown types."""

STREAMED: Final[Mapping[str, str]] = {
    "tool-output": "output",
    "step-output": "output",
    "workflow-step-output": "output",
    "background-task-output": "payload",
}
"""Keys of payloads whose bare strings are pieces of a text, as of one that is piped to a writer, by type."""

STREAMED_WITHIN: Final = ("delta", "text", "textDelta")
"""Keys of an object that is streamed so, or of its payload, under which such a piece may stand, too."""

_SURFACES: Final[Mapping[str, Surface]] = {
    "text-": "text",
    "reasoning-": "reasoning",
    "redacted-reasoning": "reasoning",
    "tool-call-suspended": "tool_results",
    "tool-call": "tool_args",
    "tool-": "tool_results",
    "step-output": "tool_results",
    "background-task-": "tool_results",
    "workflow-step-output": "tool_results",
    "object": "object",
    "data-": "data",
    "custom": "data",
    "source": "sources",
    "file": "sources",
    "reasoning-file": "sources",
}
"""Where the content of a type stands, by the longest beginning of its name; all else is `other`."""

_BY_LENGTH: Final = sorted(_SURFACES, key=len, reverse=True)

KEY_SURFACES: Final[Mapping[str, Surface]] = {
    "args": "tool_args",
    "input": "tool_args",
    "rawInput": "tool_args",
    "result": "tool_results",
}
"""Keys of the protocol under which there is content of another surface than its chunk's."""

DATA_KEYS: Final = frozenset(
    {"args", "input", "rawInput", "result", "error", "object", "data", "value"}
    | {
        "suspendPayload",
        "suspendData",
        "inputData",
        "resumeData",
        "resumePayload",
        "finalResult",
        "modelOutput",
        "experimentalOutput",
    }
)
"""Keys of the protocol under which there is somebody else's value: whatever its keys are, it is content."""

_OWN_OUTPUT: Final = frozenset({"step-start", "step-finish", "finish"})
"""Types whose `output` is a part of the protocol; anywhere else it is what a tool or a step gave."""

NAMES: Final = frozenset(
    {"type", "from", "id", "toolName", "role", "status", "mimeType", "mediaType", "sourceType"}
)
"""Keys whose value names and says nothing, besides those with these endings, and times."""

_NAME_ENDINGS: Final = ("Id", "Ids")
_TIME_KEYS: Final = frozenset({"timestamp", "eventTimestamp", "duration", "elapsedMs", "created"})
_TIME_ENDING: Final = "At"
_NAMES_WITHIN: Final[Mapping[str, frozenset[str]]] = {
    "stepResult": frozenset({"reason"}),
    "tool-call": frozenset({"title"}),
    "tool-call-input-streaming-start": frozenset({"title"}),
}
_USAGE: Final = frozenset({"usage", "totalUsage"})
_COUNTS_WITHIN: Final[Mapping[str, frozenset[str]]] = {
    "goal": frozenset({"iteration", "maxRuns"}),
    "is-task-complete": frozenset({"iteration"}),
    "results": frozenset({"score"}),
    "background-task-progress": frozenset({"runningCount"}),
}
"""Numbers that the protocol wants to be numbers: they count, and could not be redacted."""

OWN_TYPES: Final = ("workflow-", "agent-", "routing-", "network-", "raw", "error", "start", "abort", "watch")
"""How the types of chunks begin that are the protocol's and have keys besides those that it settles."""

CLOSED_TYPES: Final = frozenset(
    name
    for kind in CHUNK_CLASSES
    if kind is not UnknownChunk
    for name in get_args(kind.model_fields["type"].annotation)  # type: ignore[attr-defined]  # chunk models
) - {"raw", "custom", "error", "response-metadata", "start", "abort", "watch"}
"""Types whose keys the protocol settles, so that only those that are no plain word can be content."""


def surface_of(type_name: str) -> Surface:
    """The surface on which the content of a type of chunk stands."""
    return next((_SURFACES[start] for start in _BY_LENGTH if type_name.startswith(start)), "other")


def surface_under(key: str, under: str, around: Surface) -> Surface:
    """The surface of what stands under a key of the protocol.

    Args:
        key: the key.
        under: the key under which its object stands; for a payload, the type of the chunk.
        around: the surface of that object.
    """
    if key == "output" and under == "tool-call":
        return "tool_results"
    return KEY_SURFACES.get(key, around)


def is_data(key: str, under: str) -> bool:
    """Whether what stands under a key of the protocol is somebody else's value."""
    return key in DATA_KEYS or (key == "output" and under not in _OWN_OUTPUT)


def is_time(key: str) -> bool:
    """Whether what stands under a key is a time or a length of time."""
    return key in _TIME_KEYS or key.endswith(_TIME_ENDING)


def names(key: str, value: object, under: str) -> bool:
    """Whether what stands under a key of the protocol names something and does not say it.

    Args:
        key: the key.
        value: what stands there; only a leaf, or a list of leaves, names.
        under: the key under which its object stands; for a payload, the type of the chunk.
    """
    if isinstance(value, dict):
        return False
    if isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        return False
    if isinstance(value, int | float) and (under in _USAGE or key in _COUNTS_WITHIN.get(under, ())):
        return True
    naming = key in NAMES or key.endswith(_NAME_ENDINGS) or is_time(key)
    return naming or key in _NAMES_WITHIN.get(under, ())


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


def plain(chunk: Any) -> bool:
    """Whether a chunk with a payload carries nothing beside the protocol's own keys."""
    payload = chunk.payload
    return (
        payload.provider_metadata is None
        and chunk.metadata is None
        and not payload.__pydantic_extra__
        and not chunk.__pydantic_extra__
    )


def size_of(item: object, most: int) -> int:
    """Characters that an item counts as while it waits: those of its `repr`, near what it takes in memory.

    Args:
        item: a chunk, or a signal.
        most: what none exceeds.
    """
    try:
        return min(len(repr(item)), most)
    except ValueError:  # a number in it has more digits than Python writes
        return most


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def whole_characters(text: str) -> str:
    """The text with surrogates joined that a cut has parted; a half without the other stays."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
