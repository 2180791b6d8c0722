"""JSON values: read from text, checked when they come as Python objects, copied when they leave."""

import base64
import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from guardrails.chunks._base import Part, json_names
from guardrails.chunks._errors import ChunkError, Path, kind_of, place_of

MAX_DEPTH = 200
"""How many objects and arrays may stand in one another; pydantic and JSON writers give up soon after."""

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_NOT_FINITE = "a finite number is required, got NaN or Infinity, which JSON does not have"
_TOO_LONG = "an integer has more digits than Python reads or writes"
NO_ROOM = "nested too deep for what is left of the call stack"
_LEAVES = frozenset({str, int, bool, type(None), bytes})
# They may stand in JSON as they are, but readers that split text into lines would cut there.
_LINE_BREAKS = {mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def _refuse_constant(_name: str) -> NoReturn:
    raise ChunkError(f"chunk: {_NOT_FINITE}")


def _read_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ChunkError("chunk: a finite number is required, got one too large for a float")
    return number


# Of the standard library, since pydantic's own refuses lone surrogates.
_DECODER = json.JSONDecoder(parse_float=_read_float, parse_constant=_refuse_constant)
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_WRITER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def read_json(source: str | bytes) -> Any:
    """The value that a JSON text stands for.

    Raises:
        ChunkError: The text is not UTF-8, not JSON, or holds a number that Python cannot.
    """
    # An error of the decoder holds the text, so it must not become the context of ours.
    try:
        text = source.decode("utf-8", "surrogatepass") if isinstance(source, bytes) else source
        return _DECODER.decode(text)
    except UnicodeDecodeError as error:
        fault = f"not UTF-8 at byte {error.start + 1}"
    except json.JSONDecodeError as error:
        fault = f"not JSON at line {error.lineno}, column {error.colno}"
    except RecursionError:
        fault = _TOO_DEEP
    except ChunkError:
        raise
    except ValueError:  # of int(), which limits the digits it reads
        fault = _TOO_LONG
    raise ChunkError(f"chunk: {fault}")


def is_shallow(text: str | bytes) -> bool:
    """Whether a JSON text cannot be nested too deep: it does not open that many objects and arrays."""
    if isinstance(text, bytes):
        return text.count(b"{") + text.count(b"[") <= MAX_DEPTH
    return text.count("{") + text.count("[") <= MAX_DEPTH


def is_plain(value: dict[Any, Any]) -> bool:
    """Whether an object holds JSON values (and bytes) only, not too deep.

    False may also mean that a look at each class is not enough, as for a subclass of `str`: ask `find_fault`.
    """
    if type(value) is not dict:
        return False
    pending: list[tuple[Any, int]] = [(value, 1)]  # depth first, so that an object which holds itself ends it
    while pending:
        box, depth = pending.pop()
        items = box
        if type(box) is dict:
            for key in box:
                if type(key) is not str:
                    return False
            items = box.values()
        for item in items:
            kind = type(item)
            if kind is dict or kind is list:
                if depth == MAX_DEPTH:
                    return False
                pending.append((item, depth + 1))
            elif kind not in _LEAVES and not (kind is float and math.isfinite(item)):
                return False
    return True


def find_fault(value: object) -> str | None:
    """Where and why an object is no JSON value, in words; none if it is one."""
    pending: list[tuple[Path, object]] = [((), value)]
    while pending:
        path, item = pending.pop()
        fault = _fault_of(item, len(path))
        if fault:
            return place_of(path) + fault
        if isinstance(item, dict):
            pending.extend(((*path, key), below) for key, below in item.items())
        elif isinstance(item, list):
            pending.extend(((*path, index), below) for index, below in enumerate(item))
    return None


def _fault_of(item: object, depth: int) -> str | None:
    if isinstance(item, dict | list):
        if depth >= MAX_DEPTH:
            return _TOO_DEEP
        odd = next((key for key in item if not isinstance(key, str)), "") if isinstance(item, dict) else ""
        return None if isinstance(odd, str) else f"a string is required as a key, got {kind_of(odd)}"
    if isinstance(item, float):
        return None if math.isfinite(item) else _NOT_FINITE
    if item is None or isinstance(item, str | int | bytes):
        return None
    return f"a JSON value is required, got {kind_of(item)}"


def as_base64(value: bytes) -> str:
    """Bytes as JSON has them."""
    return base64.b64encode(value).decode("ascii")


def fresh(value: Any, depth: int = 1, of_bytes: Callable[[bytes], Any] = as_base64) -> Any:
    """A copy of a value as JSON has it: models are objects, bytes base64, and no container is shared.

    Args:
        value: The value.
        depth: How many containers it stands in, itself included.
        of_bytes: What stands for bytes.

    Raises:
        ChunkError: The value is nested too deep.
    """
    kind = type(value)
    if kind is str:
        return value
    if isinstance(value, bytes):
        return of_bytes(value)
    if not isinstance(value, dict | list | tuple | Part):
        return value
    if depth > MAX_DEPTH:
        raise ChunkError(_TOO_DEEP)
    if isinstance(value, Part):
        return fresh_part(value, depth, of_bytes)
    if isinstance(value, dict):
        return {key: fresh(item, depth + 1, of_bytes) for key, item in value.items()}
    return [fresh(item, depth + 1, of_bytes) for item in value]


def fresh_part(part: Part, depth: int, of_bytes: Callable[[bytes], Any] = as_base64) -> dict[str, Any]:
    """The JSON object of a model: what was given, under the protocol's names, and the unknown keys.

    Args:
        part: The model.
        depth: How many containers it stands in, itself included.
        of_bytes: What stands for bytes.

    Raises:
        ChunkError: A value is nested too deep.
    """
    names = json_names(type(part))
    given = part.__pydantic_fields_set__
    written = {
        names[name]: fresh(value, depth + 1, of_bytes)
        for name, value in part.__dict__.items()
        if name in given or name == "type"  # a type that was left to its default is as good as given
    }
    for key, value in (part.__pydantic_extra__ or {}).items():
        written[key] = fresh(value, depth + 1, of_bytes)
    return written


def write_json(value: dict[str, Any]) -> str:
    """One line of JSON that can be written as UTF-8.

    Raises:
        ChunkError: The object holds something that JSON has not.
    """
    # The text of the writer's error may hold the value, so it must not become the context of ours.
    fault = None
    try:
        text = _WRITER.encode(value)
    except (TypeError, ValueError):
        fault = find_fault(value) or _TOO_LONG
    except RecursionError:
        fault = NO_ROOM
    if fault:
        raise ChunkError(fault)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return _ASCII_WRITER.encode(value)
        for mark, escape in _LINE_BREAKS.items():
            text = text.replace(mark, escape)
    return text
