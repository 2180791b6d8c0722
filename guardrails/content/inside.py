"""Chunks that stand in other chunks."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from guardrails.chunks import Chunk, ChunkError, Part, parse_chunk
from guardrails.surfaces import CARRIERS

Path: TypeAlias = tuple[str, ...]
"""Where something stands in the JSON of a chunk: keys, and places such as `[2]`."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The innermost chunk of one that may carry another.

    Attributes:
        chunk: the innermost chunk; the outer one itself if it carries none.
        path: the keys by which it stands in the JSON of the outer one.
        roots: the paths of all chunks in the outer one, each within the one before.
        owners: whose streams these are, the outermost first; a nested text belongs to them.
    """

    chunk: Chunk
    path: Path = ()
    roots: tuple[Path, ...] = ((),)
    owners: tuple[str, ...] = ()


def innermost(chunk: Chunk) -> Inside:
    """Look into a chunk that may carry another one."""
    inside = Inside(chunk)
    while (below := _below(inside)) is not None:
        inside = below
    return inside


def _below(inside: Inside) -> Inside | None:
    for place in CARRIERS.get(type(inside.chunk), ()):
        carried = _at(inside.chunk, place)
        if carried is None:
            continue
        path = (*inside.path, *place)
        return Inside(carried, path, (*inside.roots, path), (*inside.owners, owner_of(inside.chunk)))
    return None


def _at(chunk: Chunk, place: Path) -> Chunk | None:
    """The chunk that stands at a place of another one, if one does."""
    value: Any = chunk
    for key in place:
        value = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
    if isinstance(value, Part):
        return value if hasattr(value, "type") else None  # type: ignore[return-value]  # a chunk as Python object
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    if not ({"payload", "object", "data"} & value.keys()):
        return None
    try:
        return parse_chunk(value)
    except ChunkError:
        return None  # it only looks like one, and is guarded as the value that it is


def owner_of(chunk: Chunk) -> str:
    """Whose stream a chunk carries or ends: the call, task or step that it names."""
    payload = getattr(chunk, "payload", None)
    beside: Any = payload
    if isinstance(payload, Part):
        beside = {**payload.__dict__, **(payload.__pydantic_extra__ or {})}
    if not isinstance(beside, dict):
        return ""
    for key in ("task_id", "tool_call_id", "taskId", "toolCallId", "id", "stepId", "agentId"):
        if isinstance(beside.get(key), str):
            return str(beside[key])
    return ""


def put(outer: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The JSON of a chunk with another value at a place; what is not on the way there is shared."""
    if not path:
        return value  # type: ignore[no-any-return]  # the object that takes the place of all
    first, *rest = path
    return {**outer, first: put(outer[first], tuple(rest), value)}
