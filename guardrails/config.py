"""Configurations: YAML, or a mapping, to a pipeline and its cases."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from pydantic import BaseModel

from guardrails._invalid import Fault, InvalidError, build
from guardrails._settings import Settings
from guardrails._yaml import Node, Place, YamlError, node_of, read_yaml
from guardrails.cases import Case, ExpectedFinding, ExpectedTripwire
from guardrails.choices import ChoiceError, nearest, shortened
from guardrails.document import INPUT, OUTPUT, VERSION, Document, Limits, Versioned, is_meant
from guardrails.inputs import sees_nothing
from guardrails.pipeline import Pipeline
from guardrails.problems import LONGEST_MESSAGE, MOST_TOLD, ConfigError, Path, Problem, written
from guardrails.processor import Processor
from guardrails.registry import Registry, UnusableTypeError, described, presets
from guardrails.release import CULPRIT
from guardrails.stream import OnFinding
from guardrails.text.processor import Parallel, TextProcessor

Source: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""A file, the bare name of a preset, or a mapping of the same shape."""

M = TypeVar("M", bound=BaseModel)

_BARE_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_KEYS: Final = tuple(Document.model_fields)
_BOUNDS: Final = {"max_hold", "max_waiting"}
"""The limits that are settings of text processors."""

_MOST_COMPARED: Final = 10 * MOST_TOLD
"""Problems up to which nearest words are looked for: that takes long among many ids."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a configuration says.

    Attributes:
        pipeline: ready to guard streams.
        cases: the cases it carries.
        file: where it was read from; None for a mapping.
        lines: for each case, the line at which it begins; None for a mapping.
        types: the type of each processor, by its id, as the configuration names it.
    """

    pipeline: Pipeline
    cases: tuple[Case, ...]
    file: str | None
    lines: tuple[int | None, ...]
    types: Mapping[str, str]


def load_pipeline(source: Source, *, on_finding: OnFinding | None = None) -> Pipeline:
    """Build the pipeline that a configuration describes.

    Args:
        source: a file (YAML 1.2 in UTF-8, at most 1 MiB); a bare name such as `strict`, which finds the
            preset of that name and never a file (`./strict` is a file); or a mapping of the same shape. In
            a file, relative paths are relative to its folder; in a mapping, to the current directory.
        on_finding: told of each finding, see `Pipeline`.

    Returns:
        A pipeline that has been checked as far as it can be without a stream.

    Raises:
        ConfigError: the configuration cannot be read, or something in it is not right.
        TypeError: `source` is neither a path or name nor a mapping.
    """
    return load_config(source, on_finding=on_finding).pipeline


def load_config(source: Source, *, on_finding: OnFinding | None = None) -> Config:
    """Build all that a configuration describes: the pipeline, and the cases to test it with.

    Arguments and errors are those of `load_pipeline`.
    """
    if isinstance(source, Mapping):
        return _Loader(None).load(_read(None, source), on_finding)
    if not isinstance(source, str | os.PathLike):
        raise TypeError("a configuration is a path, the name of a preset, or a mapping")
    file = find(source)
    return _Loader(file).load(_read(file, None), on_finding)


def find(source: str | os.PathLike[str]) -> str:
    """The file of a configuration that is given as a path or as the bare name of a preset.

    Raises:
        ConfigError: it is empty, or a bare name of which there is no preset.
    """
    name = os.fspath(source)
    if not name:
        raise ConfigError([Problem("no file is named; give a path, or the bare name of a preset")])
    if not isinstance(source, str) or not is_bare_name(name):
        return name
    known = presets()
    if name in known:
        return str(known[name])
    hint = f" (the file of that name is ./{shortened(name)})" if FilePath(name).exists() else ""
    unknown = ChoiceError(f"there is no preset {shortened(repr(name))}{hint}", name, known)
    raise ConfigError([Problem(str(unknown), nearest=unknown.nearest)])


def is_bare_name(source: str) -> bool:
    """Whether a string is taken for the name of a preset, and not of a file."""
    return _BARE_NAME.fullmatch(source) is not None


def _read(file: str | None, mapping: Mapping[str, Any] | None) -> Node:
    try:
        root = read_yaml(file) if file is not None else node_of(mapping)
    except YamlError as error:
        raise ConfigError([_placed(file, error.place, error.keys, str(error))]) from None
    if root is None:
        raise ConfigError([Problem(f"the file is empty; it needs the keys version and {OUTPUT}", file=file)])
    if not isinstance(root.value, dict):
        wrong = f"the file must be a mapping with the keys {', '.join(_KEYS)}"
        raise ConfigError([_placed(file, root.place, (), wrong)])
    return root


class _Loader:
    """Builds what one configuration describes, and collects all that is wrong with it."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._folder = FilePath(file).parent if file is not None else None
        self._registry = Registry()
        self._ids: dict[str, Place | None] = {}
        self._all_ids = True  # whether each entry says what its id is
        self._types: dict[str, str] = {}
        self._problems: list[tuple[Place, Problem]] = []
        self._more = 0  # what is wrong besides
        self._cause: Exception | None = None

    def load(self, root: Node, on_finding: OnFinding | None) -> Config:
        """Build everything.

        Raises:
            ConfigError: something is wrong; it has all that could be found.
        """
        document = self._document(root)
        limits = document.limits if document is not None else _limits(root)
        bounds: dict[str, int] = limits.model_dump(include=_BOUNDS, exclude_unset=True)
        lists = {key: self._processors(root, key, bounds) for key in (INPUT, OUTPUT)}
        for key in root.value.keys() - lists.keys():
            if nearest(key, (INPUT, OUTPUT)):  # the key is misspelt, and what stands there is looked at
                self._processors(root, key, bounds)
        if document is not None:
            self._check_cases(document.tests, root)
        if document is None or self._problems:
            self._raise()
        return Config(
            Pipeline(
                lists[OUTPUT],
                input_processors=lists[INPUT],
                release=document.release,
                max_buffer=limits.max_buffer,
                max_checks=limits.max_checks,
                on_finding=on_finding,
            ),
            document.tests,
            self._file,
            tuple(_line(root.value["tests"].value[index]) for index in range(len(document.tests))),
            self._types,
        )

    def _raise(self) -> NoReturn:
        problems = [problem for _, problem in sorted(self._problems, key=lambda each: each[0])]
        told = problems[:MOST_TOLD]
        if more := self._more + len(problems) - len(told):
            told.append(Problem(f"… and {more:,} more", file=self._file))
        raise ConfigError(told) from self._cause

    def _note(self, place: Place | None, path: Path, message: str, nearest: str | None = None) -> None:
        problem = _placed(self._file, place, path, message, nearest)
        self._problems.append((place or (0, 0), problem))

    def _model(
        self, kind: type[M], node: Node, path: Path, data: dict[str, Any], more_keys: Sequence[str] = ()
    ) -> M | None:
        """A model of a node; None if something is wrong, which is noted."""
        settings = Settings(self._folder)
        data = settings.ready(kind, data)
        faults = settings.faults
        try:
            model = build(kind, data, more_keys=more_keys)
            if not faults:
                return model
        except InvalidError as error:
            faults = [*faults, *(fault for fault in error.faults if not _follows(fault, settings.faults))]
            self._more += error.more
        except Exception:
            if not faults:  # otherwise its own code may have stumbled over what is faulty
                raise
        for fault in faults:
            place, keys = _locate(fault, node, path)
            self._note(place, keys, fault.message, fault.nearest)
        return None

    def _document(self, root: Node) -> Document | None:
        """All but the processors. A file of another version may be meant quite differently."""
        data = {key: node.plain() for key, node in root.value.items() if key not in {INPUT, OUTPUT}}
        version = {"version": data.pop("version")} if "version" in data else {}
        if version and self._model(Versioned, root, (), version) is None:
            if not is_meant(version["version"]):
                self._raise()
            version = {"version": VERSION}
        if not any(key in {INPUT, OUTPUT} or nearest(key, (INPUT, OUTPUT)) for key in root.value):
            self._note(root.place, (), f"give {OUTPUT}, {INPUT} or both")
        return self._model(Document, root, (), {**version, **data})

    def _processors(self, root: Node, key: str, bounds: Mapping[str, int]) -> list[Processor]:
        """The processors of a list, in order, as far as they can be built."""
        entries = self._entries(root, key, ()) if key in root.value else []
        built = [self._entry(node, path, bounds) for node, path in entries]
        return [processor for processor in built if processor is not None]

    def _entries(self, node: Node, key: str, path: Path) -> list[tuple[Node, Path]]:
        """The items of the list of processors under a key, each with its path."""
        items = node.value[key]
        if not isinstance(items.value, list) or not items.value:
            self._note(items.place, (*path, key), "must be a list of one or more processors")
            self._all_ids = False
            return []
        return [(item, (*path, key, index)) for index, item in enumerate(items.value)]

    def _entry(self, node: Node, path: Path, bounds: Mapping[str, int]) -> Processor | None:
        if not isinstance(node.value, dict) or "parallel" not in node.value:
            return self._single(node, path, bounds)
        for key, place in node.keys.items():
            if key != "parallel":
                alone = "`parallel` stands alone; its members have keys of their own"
                self._note(place, (*path, key), alone)
        built = [self._member(item, at, bounds) for item, at in self._entries(node, "parallel", path)]
        members = tuple(member for member in built if member is not None)
        return Parallel(members=members) if members else None

    def _member(self, node: Node, path: Path, bounds: Mapping[str, int]) -> TextProcessor | None:
        if isinstance(node.value, dict) and "parallel" in node.value:
            nested = "groups cannot be nested; put its members here instead"
            self._note(node.keys["parallel"], path, nested)
            self._all_ids = False
            return None
        processor = self._single(node, path, bounds)
        if processor is None or isinstance(processor, TextProcessor):
            return processor
        type_ = node.value["type"]
        self._note(
            type_.place,
            (*path, "type"),
            f"{shortened(repr(type_.value))} does not look for spans in texts, so it cannot stand in "
            "`parallel`; give it an entry of its own",
        )
        return None

    def _single(self, node: Node, path: Path, bounds: Mapping[str, int]) -> Processor | None:
        """The processor of an entry; None if something is wrong, which is noted."""
        kind = self._kind(node, path)
        self._note_id(node, path)
        if kind is None:
            return None
        data = node.plain()
        type_ = data.pop("type")
        defaults = bounds if issubclass(kind, TextProcessor) else {}
        try:
            processor = self._model(kind, node, path, {"id": type_, **defaults, **data}, more_keys=["type"])
        except Exception as error:  # noqa: BLE001 - its own code may raise anything
            self._cause = self._cause or error
            self._note(node.place, path, f"setting up the processor failed: {described(error)}")
            return None
        if processor is not None:
            self._types[processor.id] = type_
            if path[0] == INPUT and (wrong := sees_nothing(processor)):
                self._note(*_locate(Fault(("surfaces",), wrong), node, path), wrong)
        return processor

    def _kind(self, node: Node, path: Path) -> type[Processor] | None:
        """The class that an entry names."""
        if not isinstance(node.value, dict):
            self._note(node.place, path, "must be a mapping with the key `type` or `parallel`")
            return None
        name, path = node.value.get("type"), (*path, "type")
        if name is None:
            self._note_no_type(node, path)
        elif not isinstance(name.value, str):
            self._note(name.place, path, f"must be text; {self._registry.choices()}")
        else:
            try:
                return self._registry.find(name.value)
            except UnusableTypeError as error:
                self._cause = self._cause or error
                self._note(name.place, path, str(error), error.nearest)
        return None

    def _note_no_type(self, node: Node, path: Path) -> None:
        """A key that looks like `type` is most likely meant to be it."""
        meant = [key for key in node.keys if nearest(key, ("type", "parallel"))]
        if not meant:
            self._note(node.place, path, f"this key is required; {self._registry.choices()}")
        for key in meant:
            unknown = ChoiceError("unknown key", key, ("type", "parallel"), "an entry begins with")
            self._note(node.keys[key], (*path[:-1], key), str(unknown), unknown.nearest)

    def _note_id(self, node: Node, path: Path) -> None:
        """Note the id of an entry, whatever else is wrong with it, and that no other has it."""
        named = node.value if isinstance(node.value, dict) else {}
        said = named.get("id", named.get("type"))
        if said is None or not isinstance(said.value, str):
            self._all_ids = False
            return
        id_, place = said.value, said.place if "id" in named else node.place
        if id_ in self._ids:
            at = self._ids[id_]
            first = f" at {self._file}:{at[0]}:{at[1]}" if at is not None else " before"
            taken = f"{shortened(repr(id_))} is the id of the processor{first}; give another"
            self._note(place, (*path, "id"), taken)
        self._ids.setdefault(id_, place)

    def _check_cases(self, cases: Sequence[Case], root: Node) -> None:
        """Cases may name only what there is."""
        names: set[str] = set()
        for index, case in enumerate(cases):
            path: Path = ("tests", index)
            wanted, other = (INPUT, OUTPUT) if case.input is not None else (OUTPUT, INPUT)
            if wanted not in root.value and other in root.value:  # without either, that has been told
                self._note_at(root, path, f"what it gives goes to `{wanted}`, and there are none")
            if case.name in names:
                self._note_at(root, (*path, "name"), "each case needs a name of its own; this stands twice")
            names.add(case.name)
            self._check_id(case.expect.tripwire, root, (*path, "expect", "tripwire", "processor"))
            for place, finding in enumerate(case.expect.findings or ()):
                self._check_id(finding, root, (*path, "expect", "findings", place, "processor"))

    def _check_id(self, expected: ExpectedTripwire | ExpectedFinding | None, root: Node, path: Path) -> None:
        id_ = expected.processor if expected is not None else None
        if id_ is None or not self._all_ids or id_ in self._ids or id_ == CULPRIT:
            return
        if len(self._problems) > _MOST_COMPARED:  # none of these will be told
            self._more += 1
        else:
            unknown = ChoiceError(f"no processor has the id {shortened(repr(id_))}", id_, self._ids)
            self._note_at(root, path, str(unknown), unknown.nearest)

    def _note_at(self, root: Node, path: Path, message: str, nearest: str | None = None) -> None:
        place, keys = _locate(Fault(path, message), root, ())
        self._note(place, keys, message, nearest)


def _follows(fault: Fault, others: Sequence[Fault]) -> bool:
    """Whether a fault may only say that a faulty text could not be used."""
    return any(
        fault.path[: len(other.path)] == other.path or other.path[: len(fault.path)] == fault.path
        for other in others
    )


def _limits(root: Node) -> Limits:
    """The limits of a document with faults: they may be right, and processors may rely on them."""
    try:
        return build(Limits, root.value["limits"].plain())
    except (KeyError, InvalidError):
        return Limits()


def _line(node: Node) -> int | None:
    return None if node.place is None else node.place[0]


def _placed(
    file: str | None, place: Place | None, path: Path, message: str, nearest: str | None = None
) -> Problem:
    line, column = place or (None, None)
    told = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"
    return Problem(told, written(path), file, line, column, nearest)


def _locate(fault: Fault, node: Node, path: Path) -> tuple[Place | None, Path]:
    """Where a fault is: the place of its key or value, or that of what is nearest around it."""
    place = node.place
    last = len(fault.path) - 1
    for at, part in enumerate(fault.path):
        if isinstance(node.value, dict) and part in node.value:
            place = node.keys[str(part)]
            node = node.value[part]
        elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif fault.absent and at == last:
            return node.place, (*path, part)
        else:
            continue  # the name of a case of a union
        path = (*path, part)
        if not fault.on_key:
            place = node.place
    return place, path
