"""Between chunks and JSON: parse and dump."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from guardrails.chunks._base import Part, json_names, nested_fields
from guardrails.chunks._errors import ChunkError, explain, kind_of, label_of
from guardrails.chunks._json import (
    NO_ROOM,
    find_fault,
    fresh_part,
    is_plain,
    is_shallow,
    read_json,
    write_json,
)
from guardrails.chunks.content import DATA_PREFIX, Data
from guardrails.chunks.union import CHUNK_TYPES, Chunk, UnknownChunk

_SURROGATE = re.compile("[\ud800-\udfff]")
_Model = TypeVar("_Model", bound=Part)


def parse_chunk(source: str | bytes | Mapping[str, Any]) -> Chunk:
    """The chunk that a JSON text or object stands for.

    Only the JSON names of the fields are read. Unknown keys and unknown types are kept.

    Args:
        source: One JSON object, as text, as UTF-8, or decoded. Of a decoded one, the chunk keeps the values
            that the protocol does not settle as they are: do not change them afterwards.

    Returns:
        A chunk of the class that `CHUNK_TYPES` names for its type, a `Data` or an `UnknownChunk`.

    Raises:
        ChunkError: It is no chunk. The message says where and why, and never repeats a value.
    """
    value: object
    if isinstance(source, str | bytes):
        value = read_json(source)
        checked = is_shallow(source)
    else:
        value = source if type(source) is dict else _as_dict(source)
        checked = False
    if not isinstance(value, dict):
        raise ChunkError(f"chunk: an object is required, got {kind_of(value)}")
    name = value.get("type")
    if not (checked or is_plain(value)):
        fault = find_fault(value)
        if fault:
            raise ChunkError(f"{label_of(name)}: {fault}")
    if not isinstance(name, str):
        found = f"got {kind_of(name)}" if "type" in value else "but the key is missing"
        raise ChunkError(f"chunk: type: a string is required, {found}")
    return _read(_class_of(name), value, name)


def _as_dict(source: object) -> object:
    return dict(source) if isinstance(source, Mapping) else source


def _class_of(name: str) -> type[Chunk]:
    kind = CHUNK_TYPES.get(name)
    if kind is None:
        return Data if name.startswith(DATA_PREFIX) else UnknownChunk
    return kind


def _read(kind: type[_Model], value: dict[str, Any], name: str) -> _Model:
    model, faults = _validated(kind, value)
    if model is None:
        return _read_again(kind, value, name, faults)
    if _has_python_names(model):
        _restore(model, value)
    return model


def _read_again(kind: type[_Model], value: dict[str, Any], name: str, faults: list[ErrorDetails]) -> _Model:
    """Read what pydantic refused, if that was for keys that hold a lone surrogate."""
    if any(fault["type"] == "string_unicode" for fault in faults):
        try:
            model, faults = _validated(kind, _without_odd_keys(value))
        except RecursionError:
            raise ChunkError(f"{label_of(name)}: {NO_ROOM}") from None
        if model is not None:
            _restore(model, value)
            return model
    # Raised outside of any handler, so that pydantic's error, which holds the values, is not its context.
    raise ChunkError(f"{label_of(name)}: {explain(faults)}")


def _validated(kind: type[_Model], value: dict[str, Any]) -> tuple[_Model | None, list[ErrorDetails]]:
    try:
        # What `model_validate` does, without the half microsecond of its wrapper.
        return kind.__pydantic_validator__.validate_python(value, by_alias=True, by_name=False), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _without_odd_keys(value: Any) -> Any:
    """Pydantic refuses keys that hold a lone surrogate: it gets the others, and `_restore` adds these."""
    if isinstance(value, dict):
        return {key: _without_odd_keys(item) for key, item in value.items() if not _SURROGATE.search(key)}
    if isinstance(value, list):
        return [_without_odd_keys(item) for item in value]
    return value


def _has_python_names(model: Part) -> bool:
    """Whether an unknown key equals the Python name of a field; pydantic then takes that field as given."""
    kind = type(model)
    extra = model.__pydantic_extra__
    if extra and not json_names(kind).keys().isdisjoint(extra):
        return True
    for name in nested_fields(kind):
        below = model.__dict__[name]
        if isinstance(below, Part):
            if _has_python_names(below):
                return True
        elif below and any(map(_has_python_names, below)):
            return True
    return False


def _restore(model: Any, value: Any) -> Any:
    """Give a model that was read from `value`, or from a part of it, all that `value` holds."""
    if isinstance(model, list) and any(isinstance(item, Part) for item in model):
        return [_restore(item, below) for item, below in zip(model, value, strict=True)]
    if not isinstance(model, Part):
        return value
    names = json_names(type(model))
    given = {name: key for name, key in names.items() if key in value}
    model.__dict__.update({name: _restore(model.__dict__[name], value[key]) for name, key in given.items()})
    known = set(names.values())
    object.__setattr__(model, "__pydantic_extra__", {key: value[key] for key in value if key not in known})
    object.__setattr__(model, "__pydantic_fields_set__", set(given))
    return model


def dump_chunk(chunk: Chunk, *, keep_bytes: bool = False) -> dict[str, Any]:
    """The JSON object of a chunk.

    It holds what was given: an absent field is absent, null is null. Its containers are fresh, so it can be
    changed freely. Bytes become base64 strings.

    Args:
        chunk: Any chunk.
        keep_bytes: Whether bytes stay bytes, for those who look at them.

    Returns:
        An object equal to the one that the chunk was parsed from.

    Raises:
        ChunkError: A value is nested deeper than 200 levels.
    """
    try:
        return fresh_part(chunk, 1, bytes) if keep_bytes else fresh_part(chunk, 1)
    except ChunkError as error:
        fault = str(error)
    except RecursionError:
        fault = NO_ROOM
    raise ChunkError(f"{label_of(chunk.type)}: {fault}")


def dump_json(chunk: Chunk) -> str:
    r"""The JSON text of a chunk, in one line.

    Characters beyond ASCII are written as they are, line separators apart; if there is a lone surrogate among
    them, all are written as `\u` escapes. So the line can always be encoded as UTF-8.

    Args:
        chunk: Any chunk.

    Returns:
        The line, without its end.

    Raises:
        ChunkError: The chunk holds something that JSON has not, or is nested deeper than 200 levels.
    """
    value = dump_chunk(chunk)
    try:
        return write_json(value)
    except ChunkError as error:
        fault = str(error)
    raise ChunkError(f"{label_of(chunk.type)}: {fault}")
