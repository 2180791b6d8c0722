"""Builds processors from plain values, and says in plain sentences what is wrong with those."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from guardrails.processor import Processor

Path: TypeAlias = tuple[str | int, ...]

_MIXED: Final = frozenset({"bool_type", "int_type", "float_type", "string_type"})
_KINDS: Final = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "iterable_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
}
_WORDS: Final = {
    "Input should be ": "must be ",
    "Input should ": "should ",
    "String should ": "the text should ",
    "Tuple should ": "the list should ",
    "List should ": "the list should ",
    "Value error, ": "",
    "Assertion failed, ": "",
}
_MOST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the values of a processor.

    Attributes:
        path: keys and positions from the processor to it; a part may name a case of a union instead.
        message: what is wrong and what would be right.
        absent: whether the last key of the path is missed.
        on_key: whether the key is at fault and not its value.
    """

    path: Path
    message: str
    absent: bool = False
    on_key: bool = False


class InvalidError(Exception):
    """Values of which no processor can be built.

    Attributes:
        problems: all that is wrong with them.
    """

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def build(kind: type[Processor], data: dict[str, Any]) -> Processor:
    """A processor from values as YAML gives them.

    Pydantic's lax mode takes `timeout: "10"` for a number and `retry: "yes"` for true; its strict mode takes
    no list for a tuple and no text for a path or an enumeration. (Strict JSON would do, but what a "before"
    validator has seen is validated as Python.) So: strict, with each list handed over as a tuple where the
    strict errors ask for one. If something else is left, the lax mode decides, and what strict found mixed
    up among texts, numbers and truth values stays an error.

    Raises:
        InvalidError: something is wrong with the values.
        Exception: whatever the processor's own code raises besides `ValueError`.
    """
    strict = _strict(kind, data)
    if isinstance(strict, Processor):
        return strict
    errors = [error for error in strict if error["type"] in _MIXED]
    mixed = [error["loc"] for error in errors]
    try:
        processor = kind.model_validate(data)
    except ValidationError as error:
        # What is told of a value that is mixed up, or of what it stands in, may come of the mix-up.
        errors += [e for e in error.errors(include_url=False) if not _leads_to(e["loc"], mixed)]
    if errors:
        raise InvalidError([_problem(kind, error) for error in errors])
    return processor


def _leads_to(loc: Path, others: list[Path]) -> bool:
    return any(other[: len(loc)] == loc for other in others)


def _strict(kind: type[Processor], data: Any) -> Processor | list[ErrorDetails]:
    while True:
        try:
            return kind.model_validate(data, strict=True)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        wanted = [e["loc"] for e in errors if e["type"] == "tuple_type" and isinstance(e["input"], list)]
        before = data
        for loc in wanted:
            data = _with_tuple(data, loc)
        if data is before:
            return errors


def _with_tuple(value: Any, loc: Path) -> Any:
    """The value with the list at `loc` as a tuple; the same object if there is none."""
    if not loc:
        return tuple(value) if isinstance(value, list) else value
    head, rest = loc[0], loc[1:]
    if isinstance(value, dict) and head in value:
        below = _with_tuple(value[head], rest)
        return value if below is value[head] else {**value, head: below}
    if isinstance(value, list | tuple) and isinstance(head, int) and head < len(value):
        below = _with_tuple(value[head], rest)
        return value if below is value[head] else type(value)((*value[:head], below, *value[head + 1 :]))
    return _with_tuple(value, rest)  # the name of a case of a union


def _problem(kind: type[Processor], error: ErrorDetails) -> Problem:
    loc, type_ = error["loc"], error["type"]
    if type_ == "missing":
        return Problem(loc, "this key is required", absent=True)
    if type_ == "extra_forbidden":
        keys = _keys_at(kind, loc[:-1])
        if len(loc) == 1:
            keys.insert(0, "type")
        return Problem(loc, f"unknown key; valid keys are {', '.join(keys)}", on_key=True)
    if type_ == "value_error" and not loc:
        return _of_whole(kind, _sentence(error))
    return Problem(loc, _sentence(error))


def _of_whole(kind: type[Processor], sentence: str) -> Problem:
    """An error of the processor as a whole may begin with the key that it is about."""
    name, colon, rest = sentence.partition(": ")
    if colon and name in _keys_at(kind, ()):
        return Problem((name,), rest, absent=True)
    return Problem((), sentence)


def _sentence(error: ErrorDetails) -> str:
    type_, message, found = error["type"], error["msg"], _shown(error["input"])
    if type_ in _KINDS:
        return f"must be {_KINDS[type_]}, not {found}"
    if type_ in {"literal_error", "enum"}:
        return f"must be {error['ctx']['expected']}, not {found}"
    for start, words in _WORDS.items():
        if message.startswith(start):
            said = words + message.removeprefix(start).replace(" after validation", "")
            return f"{said}, not {found}" if words == "must be " else said
    return message


def _shown(value: Any) -> str:
    if isinstance(value, dict | BaseModel):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    words = {None: "null", True: "true", False: "false"}
    shown = words[value] if value is None or isinstance(value, bool) else repr(value)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[: _MOST_SHOWN - 1]}…"


def _keys_at(kind: type[BaseModel], loc: Path) -> list[str]:
    """The keys of the model at `loc`; of all models that may stand there, if there are several."""
    kinds = [kind]
    for part in loc:
        fields = [
            field
            for each in kinds
            for name, field in each.model_fields.items()
            if part in {name, field.alias}
        ]
        if fields:  # otherwise a position in a list, or the name of a case of a union
            kinds = [model for field in fields for model in _models_in(field.annotation)]
    keys = [field.alias or name for each in kinds for name, field in each.model_fields.items()]
    return list(dict.fromkeys(keys))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
