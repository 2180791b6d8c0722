"""Builds models from plain values, and says in plain sentences what is wrong with those."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from guardrails.choices import ChoiceError, nearest
from guardrails.problems import Path

M = TypeVar("M", bound=BaseModel)

SECRETS: Final = (Secret, SecretStr, SecretBytes)
"""Types of settings whose values are never shown."""

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
    "path_type": "a path",
}
_WORDS: Final = {
    "Input should be ": "must be ",
    "Input should ": "should ",
    "String should ": "the text should ",
    "Tuple should ": "the list should ",
    "List should ": "the list should ",
    "Assertion failed, ": "",
}
_QUOTED: Final = re.compile("'([^']*)'")
_LEAD: Final = re.compile(r"(\w+)((?:\[\d+\]|\.\w+)*): ")
_PART: Final = re.compile(r"\w+")
_MOST_SHOWN: Final = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the values of a model.

    Attributes:
        path: keys and positions from the model to it.
        message: what is wrong and what would be right.
        absent: whether the last key of the path is missed.
        on_key: whether the key is at fault and not its value.
        nearest: the valid word that was probably meant.
    """

    path: Path
    message: str
    absent: bool = False
    on_key: bool = False
    nearest: str | None = None


class InvalidError(Exception):
    """Values of which no model can be built.

    Attributes:
        faults: all that is wrong with them.
    """

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


def build(kind: type[M], data: dict[str, Any], *, more_keys: Sequence[str] = ()) -> M:
    """A model from values as YAML gives them.

    Pydantic's lax mode takes `timeout: "10"` for a number and `retry: "yes"` for true; its strict mode takes
    no list for a tuple and no text for a path or an enumeration. (Strict JSON would do, but what a "before"
    validator has seen is validated as Python.) So: strict, with each list handed over as a tuple where the
    strict errors ask for one. If something else is left, the lax mode decides, and what strict found mixed
    up among texts, numbers and truth values stays an error.

    Args:
        kind: the model.
        data: its values.
        more_keys: keys that are valid beside its own, for the message about one that is not.

    Raises:
        InvalidError: something is wrong with the values.
        Exception: whatever the model's own code raises besides `ValueError`.
    """
    strict = _strict(kind, data)
    if not isinstance(strict, list):
        return strict
    errors = [error for error in strict if error["type"] in _MIXED]
    mixed = [error["loc"] for error in errors]
    try:
        model = kind.model_validate(data)
    except ValidationError as error:
        # What is told of a value that is mixed up, or of what it stands in, may come of the mix-up.
        errors += [e for e in error.errors(include_url=False) if not _leads_to(e["loc"], mixed)]
    if errors:
        raise InvalidError(_without_misspelt(_faults(kind, data, errors, more_keys)))
    return model


def _faults(
    kind: type[BaseModel], data: dict[str, Any], errors: Sequence[ErrorDetails], more_keys: Sequence[str]
) -> list[Fault]:
    """What errors say, without those that only follow from others.

    Each case of a union has errors of its own. Where one fits as far as something in the value, the others
    are not meant; where none does, one sentence tells them all. Pydantic counts only the items of a list that
    are right.
    """
    at: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        at.setdefault(_path(error, data), []).append(error)
    faults = []
    for path, here in at.items():
        if any(len(other) > len(path) and other[: len(path)] == path for other in at):
            here = [e for e in here if len(e["loc"]) == len(path) and e["type"] != "too_short"]  # noqa: PLW2901
        kinds = list(dict.fromkeys(_KINDS.get(error["type"], "") for error in here))
        if len(kinds) > 1 and all(kinds):
            found = _found(here[0]["input"], secret=_is_secret(kind, path))
            faults.append(Fault(path, f"must be {' or '.join(kinds)}, not {found}"))
        else:
            faults += dict.fromkeys(_fault(kind, path, error, more_keys) for error in here)
    return faults


def _path(error: ErrorDetails, data: Any) -> Path:
    """Keys and positions that lead to an error, without the names of the cases of unions."""
    path: Path = ()
    for part in error["loc"]:
        known: Any = data if isinstance(data, dict) else ()
        if isinstance(data, list | tuple):
            known = range(len(data))
        if part in known:
            data = data[part]
            path = (*path, part)
    return (*path, error["loc"][-1]) if error["type"] == "missing" else path


def _without_misspelt(faults: list[Fault]) -> list[Fault]:
    """Without keys that are missed only because they are misspelt."""
    misspelt = {(*fault.path[:-1], fault.nearest) for fault in faults if fault.on_key}
    return [fault for fault in faults if not (fault.absent and fault.path in misspelt)]


def _leads_to(loc: Path, others: list[Path]) -> bool:
    return any(other[: len(loc)] == loc for other in others)


def _strict(kind: type[M], data: Any) -> M | list[ErrorDetails]:
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


def _fault(kind: type[BaseModel], path: Path, error: ErrorDetails, more_keys: Sequence[str]) -> Fault:
    type_, secret = error["type"], _is_secret(kind, path)
    if type_ == "missing":
        return Fault(path, "this key is required", absent=True)
    if type_ == "extra_forbidden":
        keys = _keys_at(kind, path[:-1])
        if len(path) == 1:
            keys = [*more_keys, *keys]
        choice = ChoiceError("unknown key", path[-1], keys, "valid keys are")
        return Fault(path, str(choice), on_key=True, nearest=choice.nearest)
    if type_ == "value_error":
        raised = error["ctx"]["error"]
        return _of_whole(kind, Fault(path, str(raised), nearest=getattr(raised, "nearest", None)))
    if type_ in {"literal_error", "enum"} and not secret:
        return _of_choice(path, error)
    return Fault(path, _sentence(error, secret=secret))


def _of_whole(kind: type[BaseModel], fault: Fault) -> Fault:
    """An error of a model as a whole may begin with the key that it is about, `rules` or `rules[1].name`."""
    lead = _LEAD.match(fault.message)
    if lead is None or lead[1] not in _keys_at(kind, fault.path):
        return fault
    parts = [int(part) if part.isdigit() else part for part in _PART.findall(lead[2])]
    message = fault.message[lead.end() :]
    return replace(fault, path=(*fault.path, lead[1], *parts), message=message, absent=True)


def _of_choice(path: Path, error: ErrorDetails) -> Fault:
    expected = error["ctx"]["expected"]
    meant = nearest(error["input"], _QUOTED.findall(expected))
    advice = "" if meant is None else f"; did you mean {meant!r}?"
    return Fault(path, f"must be {expected}, not {_shown(error['input'])}{advice}", nearest=meant)


def _sentence(error: ErrorDetails, *, secret: bool) -> str:
    type_, message = error["type"], error["msg"]
    found = _found(error["input"], secret=secret)
    if type_ in _KINDS:
        return f"must be {_KINDS[type_]}, not {found}"
    for start, words in _WORDS.items():
        if message.startswith(start):
            said = words + message.removeprefix(start).replace(" after validation", "")
            return f"{said}, not {found}" if words == "must be " else said
    return message


def _found(value: Any, *, secret: bool) -> str:
    return "what stands here" if secret and not isinstance(value, dict | list) else _shown(value)


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
    keys = [
        field.alias or name
        for each in models_in(_annotation_at(kind, loc))
        for name, field in each.model_fields.items()
    ]
    return list(dict.fromkeys(keys))


def _is_secret(kind: type[BaseModel], path: Path) -> bool:
    """Whether a secret may stand there, or a model that has one somewhere."""
    classes = list(classes_in(_annotation_at(kind, path)))
    for each in classes:  # grows as it is read
        if issubclass(each, BaseModel):
            fields = each.model_fields.values()
            classes += {below for field in fields for below in classes_in(field.annotation)}.difference(
                classes
            )
    return any(issubclass(each, SECRETS) for each in classes)


def _annotation_at(kind: type[BaseModel], loc: Path) -> Any:
    """What may stand at `loc`, as an annotation."""
    annotation: Any = kind
    for part in loc:
        fields = [
            field.annotation
            for each in models_in(annotation)
            for name, field in each.model_fields.items()
            if part in {name, field.alias}
        ]
        if fields:  # otherwise a position in a list, or the name of a case of a union
            annotation = fields[0] if len(fields) == 1 else tuple[tuple(fields)]  # type: ignore[misc]
    return annotation


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes that an annotation names, in whatever they stand."""
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type):
        yield kind
    for part in get_args(annotation):
        yield from classes_in(part)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models among them."""
    return (each for each in classes_in(annotation) if issubclass(each, BaseModel))
