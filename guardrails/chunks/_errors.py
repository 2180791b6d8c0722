"""Errors in words for the person who reads them, and without any value of the chunk: that is private data."""

import re
from collections.abc import Iterable

from pydantic_core import ErrorDetails

from guardrails.chunks._base import Part, json_names

Path = tuple[int | str, ...]

_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")
_REQUIRED = {"list_type": "an array", "model_type": "an object"}
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "null"),
    (bool, "a boolean"),  # before the numbers: a bool is an int
    ((int, float), "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "an object"),
    (bytes, "bytes"),
)


class ChunkError(ValueError):
    """What was to be a chunk is none, or a chunk cannot be written as JSON.

    The message names the type of the chunk, the place in it, what is wrong and what would be right. It never
    holds a value of the chunk.
    """


def kind_of(value: object) -> str:
    """What a value is, in JSON's words where it has them."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "a Python object")


def label_of(type_name: object) -> str:
    """The type's name if it looks like one; whatever else stands there is not repeated."""
    if isinstance(type_name, str) and _TYPE_NAME.fullmatch(type_name):
        return type_name
    return "chunk"


def place_of(path: Path) -> str:
    """A JSON path, as far as its keys are the protocol's own: any other key may be private data."""
    known = _field_names(Part)
    shown = ""
    for key in path:
        if isinstance(key, int):
            shown += f"[{key}]"
        elif key in known:
            shown += f".{key}"
        else:
            break
    return f"{shown.removeprefix('.')}: " if shown else ""


def explain(faults: Iterable[ErrorDetails]) -> str:
    """All faults that pydantic found in one chunk, joined by semicolons."""
    return "; ".join(f"{place_of(fault['loc'])}{_sentence(fault)}" for fault in faults)


def _sentence(fault: ErrorDetails) -> str:
    if fault["type"] == "missing":
        return "is required, but the key is missing"
    required = fault.get("ctx", {}).get("class") or _REQUIRED.get(fault["type"], "another value")
    return f"{required} is required, got {kind_of(fault['input'])}"


def _field_names(kind: type[Part]) -> set[str]:
    below = (_field_names(each) for each in kind.__subclasses__())
    return set(json_names(kind).values()).union(*below)
