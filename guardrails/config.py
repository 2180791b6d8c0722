"""YAML to a pipeline. Processors are found by entry point: the built-in ones exactly as anyone else's."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NoReturn, TypeAlias

from guardrails._invalid import InvalidError, Problem, build
from guardrails._yaml import Node, Place, YamlError, read_yaml
from guardrails.pipeline import Pipeline
from guardrails.processor import Processor
from guardrails.stream import OnFinding
from guardrails.text.processor import Parallel, TextProcessor

GROUP: Final = "guardrails.processors"
"""The entry point group in which distributions name their processors."""

VERSION: Final = 1
"""The version of the file format."""

_KEYS: Final = ("version", "output_processors")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Path: TypeAlias = tuple[str | int, ...]


class ConfigError(ValueError):
    """A configuration cannot be used.

    The message names the file, the line and column, the keys that lead there, what is wrong and what would
    be right. If several things are wrong with one processor, there is a line for each.
    """


def load_pipeline(path: str | os.PathLike[str], *, on_finding: OnFinding | None = None) -> Pipeline:
    """Build the pipeline that a YAML file describes.

    Args:
        path: the file: YAML 1.2 in UTF-8, at most 1 MiB.
        on_finding: told of each finding, see `Pipeline`.

    Returns:
        A pipeline that has been checked as far as it can be without a stream.

    Raises:
        ConfigError: the file cannot be read, or something in it is not right.
    """
    file = os.fspath(path)
    try:
        root = read_yaml(file)
    except YamlError as error:
        raise ConfigError(f"{_at(file, error.place)}: {error}") from None
    if root is None:
        raise ConfigError(f"{file}: the file is empty; it needs the keys {', '.join(_KEYS)}")
    return Pipeline(_Loader(file).processors(root), on_finding=on_finding)


class _Loader:
    """Builds the processors of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._types = _Types()
        self._ids: dict[str, Place] = {}

    def processors(self, root: Node) -> list[Processor]:
        """The processors of the file, in order."""
        self._check_top(root)
        return [self._entry(node, path) for node, path in self._entries(root, "output_processors", ())]

    def _fail(self, place: Place, path: Path, message: str, cause: Exception | None = None) -> NoReturn:
        raise ConfigError(self._line(place, path, message)) from cause

    def _line(self, place: Place, path: Path, message: str) -> str:
        keys = f"{_written(path)}: " if path else ""
        return f"{_at(self._file, place)}: {keys}{message}"

    def _check_top(self, root: Node) -> None:
        if not isinstance(root.value, dict):
            self._fail(root.place, (), f"the file must be a mapping with the keys {', '.join(_KEYS)}")
        for key, place in root.keys.items():
            if key not in _KEYS:
                self._fail(place, (key,), f"unknown key; valid keys are {', '.join(_KEYS)}")
        for key in _KEYS:
            if key not in root.value:
                self._fail(root.place, (key,), "this key is required")
        version = root.value["version"]
        if type(version.value) is not int or version.value != VERSION:
            self._fail(version.place, ("version",), f"must be {VERSION}, the only version of the format")

    def _entries(self, node: Node, key: str, path: Path) -> list[tuple[Node, Path]]:
        """The items of the list of processors under a key, each with its path."""
        items = node.value[key]
        if not isinstance(items.value, list) or not items.value:
            self._fail(items.place, (*path, key), "must be a list of one or more processors")
        return [(item, (*path, key, index)) for index, item in enumerate(items.value)]

    def _entry(self, node: Node, path: Path) -> Processor:
        if not isinstance(node.value, dict) or "parallel" not in node.value:
            return self._single(node, path)
        for key, place in node.keys.items():
            if key != "parallel":
                self._fail(place, (*path, key), "`parallel` stands alone; its members have keys of their own")
        return Parallel(
            members=tuple(self._member(item, place) for item, place in self._entries(node, "parallel", path))
        )

    def _member(self, node: Node, path: Path) -> TextProcessor:
        if isinstance(node.value, dict) and "parallel" in node.value:
            self._fail(node.keys["parallel"], path, "groups cannot be nested; put its members here instead")
        processor = self._single(node, path)
        if not isinstance(processor, TextProcessor):
            self._fail(
                node.value["type"].place,
                (*path, "type"),
                f"{node.value['type'].value!r} does not look for spans in texts, so it cannot stand in "
                "`parallel`; give it an entry of its own",
            )
        return processor

    def _single(self, node: Node, path: Path) -> Processor:
        kind = self._kind(node, path)
        data = node.plain()
        data.setdefault("id", data["type"])
        del data["type"]
        try:
            processor = build(kind, data)
        except InvalidError as error:
            raise ConfigError(self._all(error.problems, node, path)) from None
        except Exception as error:  # noqa: BLE001 - its own code may raise anything
            self._fail(node.place, path, f"setting up the processor failed: {_described(error)}", error)
        self._note_ids(processor, node, path)
        return processor

    def _kind(self, node: Node, path: Path) -> type[Processor]:
        """The class that an entry names."""
        if not isinstance(node.value, dict):
            self._fail(node.place, path, "must be a mapping with the key `type` or `parallel`")
        if "type" not in node.value:
            self._fail(node.place, (*path, "type"), f"this key is required; {self._types.choices()}")
        name = node.value["type"]
        if not isinstance(name.value, str):
            self._fail(name.place, (*path, "type"), f"must be text; {self._types.choices()}")
        try:
            return self._types.find(name.value)
        except _UnusableTypeError as fault:
            self._fail(name.place, (*path, "type"), str(fault), fault)

    def _note_ids(self, processor: Processor, node: Node, path: Path) -> None:
        place = node.value["id"].place if "id" in node.value else node.place
        for part in processor.parts:
            if part.id in self._ids:
                first = _at(self._file, self._ids[part.id])
                self._fail(
                    place, (*path, "id"), f"{part.id!r} is the id of the processor at {first}; give another"
                )
            self._ids[part.id] = place

    def _all(self, problems: Iterable[Problem], node: Node, path: Path) -> str:
        """A line for each problem, in the order of the file."""
        located = {(*_locate(problem, node, path), problem.message) for problem in problems}
        return "\n".join(
            self._line(*each) for each in sorted(located, key=lambda each: (each[0], str(each[1:])))
        )


class _UnusableTypeError(Exception):
    """A type names no processor that can be used."""


class _Types:
    """The types of processors that the installed distributions name."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[EntryPoint]] = defaultdict(list)
        for point in entry_points(group=GROUP):
            self._found[point.name].append(point)

    def choices(self) -> str:
        """What `type` can be, in words."""
        if not self._found:
            return f"no installed distribution names a type (entry point group {GROUP})"
        return f"choose from {', '.join(sorted(self._found))} (found in the entry point group {GROUP})"

    def find(self, name: str) -> type[Processor]:
        """The class of a type.

        Raises:
            _UnusableTypeError: there is none, or none that can be used; the message says why.
        """
        points = self._found.get(name, [])
        if not points:
            raise _UnusableTypeError(f"there is no processor type {name!r}; {self.choices()}")
        if len(points) > 1:
            owners = " and ".join(sorted(_owner(point) for point in points))
            raise _UnusableTypeError(f"the type {name!r} is registered by {owners}; uninstall one of them")
        (point,) = points
        source = f"the type {name!r}, which is {point.value} of {_owner(point)},"
        try:
            kind: Any = point.load()
        except Exception as error:
            raise _UnusableTypeError(f"{source} cannot be imported: {_described(error)}") from error
        if not isinstance(kind, type) or not issubclass(kind, Processor):
            raise _UnusableTypeError(f"{source} is no subclass of guardrails.Processor")
        return kind


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed distribution"


def _locate(problem: Problem, node: Node, path: Path) -> tuple[Place, Path]:
    """Where a problem is: the place of its key or value, or that of what is nearest around it."""
    place = node.place
    last = len(problem.path) - 1
    for at, part in enumerate(problem.path):
        if isinstance(node.value, dict) and part in node.value:
            place = node.keys[str(part)]
            node = node.value[part]
        elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif problem.absent and at == last:
            return node.place, (*path, part)
        else:
            continue  # the name of a case of a union
        path = (*path, part)
        if not problem.on_key:
            place = node.place
    return place, path


def _at(file: str, place: Place | None) -> str:
    return f"{file}:{place[0]}:{place[1]}" if place else file


def _written(path: Path) -> str:
    """Keys and positions as one writes them: `output_processors[0].rules[1].name`."""
    written = ""
    for part in path:
        if isinstance(part, str) and _NAME.fullmatch(part):
            written += f".{part}"
        else:
            written += f"[{part!r}]"
    return written.removeprefix(".")


def _described(error: Exception) -> str:
    """An error's class and message, in one line."""
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
