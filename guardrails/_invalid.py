"""Builds models from plain values, and says in plain sentences what is wrong with those."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeVar, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from guardrails.choices import ChoiceError, nearest, shortened
from guardrails.problems import MOST_TOLD, Path

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
        faults: what is wrong with them, at most `MOST_TOLD` and those of one value.
        more: how much more is wrong.
    """

    def __init__(self, faults: list[Fault], more: int = 0) -> None:
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults
        self.more = more


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
    mixed = {error["loc"][:end] for error in errors for end in range(len(error["loc"]) + 1)}
    try:
        model = kind.model_validate(data)
    except ValidationError as error:
        # What is told of a value that is mixed up, or of what it stands in, may come of the mix-up.
        errors += [e for e in error.errors(include_url=False) if e["loc"] not in mixed]
    if errors:
        faults, more = _faults(kind, data, errors, more_keys)
        raise InvalidError(_without_misspelt(faults), more)
    return model


def _faults(
    kind: type[BaseModel], data: dict[str, Any], errors: Sequence[ErrorDetails], more_keys: Sequence[str]
) -> tuple[list[Fault], int]:
    """What errors say, without those that only follow from others, and at how many places there are more.

    Each case of a union has errors of its own. Where one fits as far as something in the value, the others
    are not meant; where none does, one sentence tells them all. Pydantic counts only the items of a list that
    are right.
    """
    at: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        at.setdefault(_path(error, data), []).append(error)
    leading = {path[:end] for path in at for end in range(len(path))}
    faults: list[Fault] = []
    more = 0
    for path, here in at.items():
        if len(faults) >= MOST_TOLD:
            more += 1
            continue
        if path in leading:
            here = [e for e in here if len(e["loc"]) == len(path) and e["type"] != "too_short"]  # noqa: PLW2901
        kinds = list(dict.fromkeys(_KINDS.get(error["type"], "") for error in here))
        if len(kinds) > 1 and all(kinds):
            found = _found(here[0]["input"], secret=_is_hidden(kind, path, here[0]["input"]))
            faults.append(Fault(path, f"must be {' or '.join(kinds)}, not {found}"))
        else:
            faults += dict.fromkeys(_fault(kind, path, error, more_keys) for error in here)
    return faults, more


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
    type_, secret = error["type"], _is_hidden(kind, path, error["input"])
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
    if secret and isinstance(value, str | bytes):
        return "what stands here"
    return "a number" if secret and type(value) in (int, float) else _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, dict | BaseModel):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    words = {None: "null", True: "true", False: "false"}
    shown = words[value] if value is None or isinstance(value, bool) else repr(value)
    return shortened(shown)


def _keys_at(kind: type[BaseModel], loc: Path) -> list[str]:
    """The keys of the model at `loc`; of all models that may stand there, if there are several."""
    keys = [
        field.alias or name
        for each in models_in(_setting_at(kind, loc)[0])
        for name, field in each.model_fields.items()
    ]
    return list(dict.fromkeys(keys))


def _is_hidden(kind: type[BaseModel], path: Path, value: Any) -> bool:
    """Whether a value is not shown: a secret, or a path, which may hold what a variable holds."""
    annotation, _ = _setting_at(kind, path)
    may_be_path = any(issubclass(each, PurePath) for each in classes_in(annotation))
    return _is_secret(kind, path) or (isinstance(value, str) and may_be_path)


def _is_secret(kind: type[BaseModel], path: Path) -> bool:
    """Whether a secret, or what a setting shall not show, may stand there, or a model that has one."""
    annotation, shown = _setting_at(kind, path)
    fields = list(_fields_below(annotation, set()))
    annotations = [annotation, *(field.annotation for field in fields)]
    classes = [each for below in annotations for each in classes_in(below)]
    return not (shown and all(field.repr for field in fields)) or any(
        issubclass(each, SECRETS) for each in classes
    )


def _fields_below(annotation: Any, seen: set[type[BaseModel]]) -> Iterator[FieldInfo]:
    """The fields of the models that may stand in a place, and of the models in these."""
    for model in set(models_in(annotation)) - seen:
        seen.add(model)
        for field in model.model_fields.values():
            yield field
            yield from _fields_below(field.annotation, seen)


def _setting_at(kind: type[BaseModel], loc: Path) -> tuple[Any, bool]:
    """What may stand at `loc`, as an annotation, and whether it may be shown."""
    annotation: Any = kind
    shown = True
    for part in loc:
        fields = [
            field
            for each in models_in(annotation)
            for name, field in each.model_fields.items()
            if part in {name, field.alias}
        ]
        if fields:  # otherwise a position in a list, or the name of a case of a union
            shown = shown and all(field.repr for field in fields)
            annotations = [field.annotation for field in fields]
            annotation = annotations[0] if len(fields) == 1 else tuple[tuple(annotations)]  # type: ignore[misc]
    return annotation, shown


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
