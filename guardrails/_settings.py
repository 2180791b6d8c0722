"""`${NAME}` and relative paths in the settings of a configuration, before they are validated.

Only a setting that is declared as a path or a secret takes `${NAME}`: whoever may write a text that is
looked for or shown is not to read the environment with it. In any other text of a processor's settings, in
lists and mappings too, alone or among other words, `${NAME}` is refused, since it was meant to be read. Only
where a setting is marked with `AsWritten`, because its texts are what is looked for, and in `tests`, it is
text like any other.
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
from guardrails.choices import shortened
from guardrails.problems import Path
from guardrails.processor import AsWritten

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


FAULTY: Final = object()
"""Stands where a text is faulty: no setting takes it, so that whatever else is wrong is told with it."""


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

    def ready(
        self, kind: type[BaseModel], data: Mapping[str, Any], path: Path = (), *, as_written: bool = False
    ) -> dict[str, Any]:
        """The values of a model, paths made whole and variables read; `FAULTY` for what cannot be.

        Args:
            kind: the model.
            data: its values.
            path: keys and positions that lead to it.
            as_written: whether it stands in a setting that is marked with `AsWritten`.
        """
        fields = {field.alias or name: field for name, field in kind.model_fields.items()}
        made = {}
        for key, value in data.items():
            field = fields.get(key)
            marked = as_written or (field is not None and any(map(_is_mark, field.metadata)))
            made[key] = self._value(field and field.annotation, value, (*path, key), as_written=marked)
        return made

    def _value(self, annotation: Any, value: Any, path: Path, *, as_written: bool) -> Any:
        forms = list(_alternatives(annotation))
        if isinstance(value, str):
            return self._text(forms, value, path, as_written=as_written)
        if isinstance(value, list):
            below = _within(forms, Collection)
            return [
                self._value(below, item, (*path, place), as_written=as_written)
                for place, item in enumerate(value)
            ]
        if isinstance(value, dict):
            kinds = [form for form in _classes(forms) if issubclass(form, BaseModel)]
            if kinds:  # the one that fits best, if there are several
                kind = min(kinds, key=lambda kind: len(value.keys() - kind.model_fields.keys()))
                return self.ready(kind, value, path, as_written=as_written)
            below = _within(forms, Mapping)
            return {
                key: self._value(below, item, (*path, key), as_written=as_written)
                for key, item in value.items()
            }
        return value

    def _text(self, forms: Sequence[Any], text: str, path: Path, *, as_written: bool) -> Any:
        classes = _classes(forms)
        if any(issubclass(each, SECRETS) for each in classes):
            return self._expanded(text, path)
        if any(issubclass(each, PurePath) for each in classes):
            if not text:
                return self._fault(path, "no file is named")
            whole = self._expanded(text, path)
            return str(self._folder / whole) if self._folder and whole is not FAULTY else whole
        is_text = any(form in (str, Any, object) for form in forms)
        if not as_written and is_text and _VARIABLE.search(text):
            return self._fault(path, "variables are read only in settings that are paths or secrets")
        return text

    def _expanded(self, text: str, path: Path) -> Any:
        whole: Any = _VARIABLE.sub(lambda found: os.environ.get(found[1], ""), text)
        for name in dict.fromkeys(_VARIABLE.findall(text)):
            if not os.environ.get(name):
                said = f"the environment variable {shortened(name)} is not set or empty"
                whole = self._fault(path, said)
        if "${" in _VARIABLE.sub("", text):
            whole = self._fault(path, "`${` begins a variable: `${NAME}`, in letters, digits and `_`")
        return whole

    def _fault(self, path: Path, message: str) -> object:
        self.faults.append(Fault(path, message))
        return FAULTY


def _is_mark(annotated: object) -> bool:
    return isinstance(annotated, AsWritten)


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
    """What may stand in a list, or as a value of a mapping, that may stand here; None if none may."""
    inner: list[Any] = [form for form in forms if form is Any]
    for form in forms:
        origin = get_origin(form)
        if not isinstance(origin, type) or not issubclass(origin, container):
            continue
        if issubclass(origin, Mapping):
            inner += get_args(form)[1:] if container is Mapping else ()
        else:
            inner += (part for part in get_args(form) if part is not Ellipsis)
    return Union[tuple(inner)] if inner else None  # noqa: UP007 - made of what is found
