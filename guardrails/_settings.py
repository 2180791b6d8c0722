"""`${NAME}` and relative paths in the settings of a configuration, before they are validated.

Only a setting that is declared as a path or a secret takes `${NAME}`: whoever may write a text that is
looked for or shown is not to read the environment with it.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from guardrails._invalid import SECRETS, Fault
from guardrails.problems import Path

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Settings:
    """Makes plain values ready for a model.

    Args:
        folder: what relative paths are relative to; None for the current directory.

    Attributes:
        faults: what is wrong with them.
    """

    def __init__(self, folder: FilePath | None) -> None:
        self._folder = folder
        self.faults: list[Fault] = []

    def ready(self, kind: type[BaseModel], data: Mapping[str, Any], path: Path = ()) -> dict[str, Any]:
        """The values of a model, paths made whole and variables read."""
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        return {key: self._value(fields.get(key), value, (*path, key)) for key, value in data.items()}

    def _value(self, annotation: Any, value: Any, path: Path) -> Any:
        forms = list(_alternatives(annotation))
        if isinstance(value, str):
            return self._text(forms, value, path)
        if isinstance(value, list):
            below = _within(forms, Collection)
            return [self._value(below, item, (*path, place)) for place, item in enumerate(value)]
        if isinstance(value, dict):
            kinds = [form for form in _classes(forms) if issubclass(form, BaseModel)]
            if kinds:  # the one that fits best, if there are several
                kind = min(kinds, key=lambda kind: len(value.keys() - kind.model_fields.keys()))
                return self.ready(kind, value, path)
            below = _within(forms, Mapping)
            return {key: self._value(below, item, (*path, key)) for key, item in value.items()}
        return value

    def _text(self, forms: Sequence[Any], text: str, path: Path) -> str:
        classes = _classes(forms)
        if any(issubclass(each, SECRETS) for each in classes):
            return self._expanded(text, path)
        if any(issubclass(each, PurePath) for each in classes):
            whole = self._expanded(text, path)
            return str(self._folder / whole) if self._folder else whole
        if str in classes and isinstance(path[-1], str) and _VARIABLE.fullmatch(text):
            self._fault(path, "variables are read only in settings that are paths or secrets")
        return text

    def _expanded(self, text: str, path: Path) -> str:
        for name in dict.fromkeys(_VARIABLE.findall(text)):
            if not os.environ.get(name):
                self._fault(path, f"the environment variable {name} is not set or empty")
        if "${" in _VARIABLE.sub("", text):
            self._fault(path, "`${` begins a variable: `${NAME}`, in letters, digits and `_`")
        return _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), text)

    def _fault(self, path: Path, message: str) -> None:
        self.faults.append(Fault(path, message))


def _alternatives(annotation: Any) -> Iterator[Any]:
    """What may stand in one place: the cases of a union, without what is annotated to them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in {Union, UnionType}:
        for case in get_args(annotation):
            yield from _alternatives(case)
    else:
        yield annotation


def _classes(forms: Sequence[Any]) -> list[type]:
    return [form for form in forms if isinstance(form, type)]


def _within(forms: Sequence[Any], container: type) -> Any:
    """What may stand in a list, or as a value of a mapping, that may stand here."""
    inner: list[Any] = []
    for form in forms:
        origin = get_origin(form)
        if not isinstance(origin, type) or not issubclass(origin, container):
            continue
        if issubclass(origin, Mapping):
            inner += get_args(form)[1:] if container is Mapping else ()
        else:
            inner += (part for part in get_args(form) if part is not Ellipsis)
    return Union[tuple(inner)] if inner else Any  # noqa: UP007 - made of what is found
