"""YAML 1.2, or a mapping of Python, as plain values, each with its place in the file.

It takes ruamel.yaml's parsing events and reads scalars by YAML 1.2's core schema itself, so that nothing in
a file can construct objects, each value knows its place, and what is too deep or too large is refused on
the way.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from guardrails.choices import shortened

MAX_BYTES: Final = 1024 * 1024
"""How large a file may be."""

MAX_DEPTH: Final = 50
"""How many lists and mappings may stand in one another, aliases followed."""

MAX_VALUES: Final = 100_000
"""How many values a file may stand for, aliases followed: a short file can stand for billions."""

_ADVICE: Final = {
    "'\\t'": "; indent with spaces, YAML takes no tabs",
    "unknown escape character": "; put patterns in single quotes, which take them as they are",
    "'<scalar>'": "; a text with brackets or braces, such as a pattern, needs single quotes",
    "expected <block end>": "; is this line indented as much as those that it stands beside?",
    "but got '{'": "; a text with braces, such as `${NAME}`, needs quotes here",
    "expected '<document start>'": "; is this a configuration, or a file of chunks?",
}
"""What people mostly meant where the parser stumbles, by a part of what it says."""

Place: TypeAlias = tuple[int, int]
"""Line and column, counted from 1."""

Keys: TypeAlias = tuple[str | int, ...]
"""Keys and positions that lead to a value."""


class YamlError(Exception):
    """A file is no YAML that can be used.

    Attributes:
        place: where, if it is a place in the text.
        keys: the keys and positions that lead there, as far as they are known.
    """

    def __init__(self, message: str, place: Place | None = None, keys: Keys = ()) -> None:
        super().__init__(message)
        self.place = place
        self.keys = keys


@dataclass(slots=True)
class Node:
    """A value and where it stands.

    Attributes:
        place: where it begins; None if it comes from no file.
        value: None, a bool, int, float or str, a list of nodes, or a dict of nodes.
        keys: where each key of a mapping begins.
        size: how many values it stands for, itself included.
        depth: how many lists and mappings deep it is, itself included.
    """

    place: Place | None
    value: Any
    keys: dict[str, Place | None] = field(default_factory=dict)
    size: int = 1
    depth: int = 0

    def plain(self) -> Any:
        """The value without places; no container in it is shared."""
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return self.value


def read_yaml(path: str) -> Node | None:
    """The one document of a file; None if the file holds nothing.

    Raises:
        YamlError: the file cannot be read, is no UTF-8 or no YAML, or holds what is not allowed here: tags,
            several documents, doubled keys, keys that are no text, an alias of what it stands in, too much.
    """
    text = _read_text(path)
    builder = _Builder()
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            builder.feed(event)
    except ReaderError as error:
        before = text[: error.position]
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise YamlError("a control character cannot stand in YAML", place) from None
    except MarkedYAMLError as error:
        raise _syntax_error(error) from None
    except (YAMLError, ValueError, OverflowError, LookupError) as error:
        # What the parser lets through, as for an escape that names no character.
        raise YamlError(f"this is no YAML: {_one_line(error)}", builder.place) from None
    return builder.root


def node_of(value: object) -> Node:
    """A mapping as a configuration in Python has it, as if it had been read.

    Raises:
        YamlError: a key is no text, a text is none that UTF-8 can say, it is nested too deeply, or there is
            too much.
    """
    return _Copier().copy(value, ())


class _Copier:
    """Makes nodes of plain values."""

    def __init__(self) -> None:
        self._size = 0

    def copy(self, value: object, keys: Keys) -> Node:
        """The node of a value that these keys lead to."""
        self._size += 1
        if self._size > MAX_VALUES:
            raise YamlError(f"more than {MAX_VALUES} values", None, keys)
        if len(keys) > MAX_DEPTH:
            raise YamlError(f"nested deeper than {MAX_DEPTH} levels", None, keys)
        if isinstance(value, Mapping):
            nodes = {self._key(key, keys): self.copy(below, (*keys, key)) for key, below in value.items()}
            return Node(None, nodes, dict.fromkeys(nodes))
        if isinstance(value, list | tuple):
            return Node(None, [self.copy(below, (*keys, place)) for place, below in enumerate(value)])
        if isinstance(value, str) and not _is_whole(value):
            raise YamlError(_HALF, None, keys)
        return Node(None, value)

    def _key(self, key: object, keys: Keys) -> str:
        self._size += 1
        if not isinstance(key, str):
            raise YamlError(f"a key must be text, not {shortened(repr(key))}", None, keys)
        if not _is_whole(key):
            raise YamlError(_HALF, None, keys)
        return str(key)


_HALF: Final = "half of a surrogate pair is no character; write the character itself"


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can say it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise YamlError("there is no such file") from None
    except IsADirectoryError:
        raise YamlError("this is a directory; name a YAML file") from None
    except (OSError, ValueError) as error:
        raise YamlError(f"the file cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise YamlError(f"the file is larger than {MAX_BYTES} bytes, the most that is read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode()) + 1
        raise YamlError("the file is not UTF-8; save it as UTF-8", place) from None


def _syntax_error(error: MarkedYAMLError) -> YamlError:
    mark = error.problem_mark or error.context_mark
    words = ": ".join(part for part in (error.context, error.problem) if part)
    advice = next((said for sign, said in _ADVICE.items() if sign in words), "")
    return YamlError(
        f"this is no YAML: {_one_line(words)}{advice}", (mark.line + 1, mark.column + 1) if mark else None
    )


def _one_line(words: object) -> str:
    return " ".join(str(words).split())


class _Builder:
    """Makes nodes of parsing events.

    Attributes:
        root: the document, once it is whole.
        place: where the last event began.
    """

    def __init__(self) -> None:
        self.root: Node | None = None
        self.place: Place = (1, 1)
        self._open: list[Node] = []
        self._pending: list[str | None] = []  # per open container, the key whose value comes next
        self._anchors: dict[str, Node] = {}

    def feed(self, event: Event) -> None:
        """Take the next event."""
        self.place = event.start_mark.line + 1, event.start_mark.column + 1
        match event:
            case ScalarEvent():
                if not event.value and not event.style:
                    self.place = self._place_of_nothing()
                self._add(self._named(event, Node(self.place, self._scalar(event))))
            case SequenceStartEvent():
                self._begin(self._named(event, Node(self.place, [], depth=1)))
            case MappingStartEvent():
                self._begin(self._named(event, Node(self.place, {}, depth=1)))
            case SequenceEndEvent() | MappingEndEvent():
                self._pending.pop()
                self._add(self._open.pop())
            case AliasEvent():
                self._add(self._aliased(event.anchor))
            case DocumentStartEvent():
                self._start(event)
            case _:
                pass

    def _fail(self, message: str, place: Place | None = None, key: str | None = None) -> NoReturn:
        keys = self._keys() if key is None else (*self._keys(), key)
        raise YamlError(message, place or self.place, keys)

    def _keys(self) -> Keys:
        """What leads to the value that comes next; to the mapping itself, where a key comes next."""
        both = zip(self._open, self._pending, strict=True)
        steps = (len(box.value) if isinstance(box.value, list) else key for box, key in both)
        return tuple(step for step in steps if step is not None)

    def _start(self, event: DocumentStartEvent) -> None:
        if self.root is not None:
            self._fail("a second document begins here; a file holds one")
        if event.version not in {None, (1, 2)}:
            self._fail("this file is read as YAML 1.2; leave out `%YAML`", (1, 1))

    def _named(self, event: ScalarEvent | CollectionStartEvent, node: Node) -> Node:
        if event.tag is not None:
            self._fail(f"tags are not allowed; leave out `{shortened(_short_tag(event.tag))}`")
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _aliased(self, name: str) -> Node:
        node = self._anchors.get(name)
        if node is None:
            self._fail(f"no anchor `&{shortened(name)}` stands before this alias")
        if any(node is box for box in self._open):
            self._fail(f"`*{shortened(name)}` stands in what it refers to; that has no end")
        return replace(node, place=self.place)

    def _place_of_nothing(self) -> Place:
        """Where a value is left out: at its key, since the parser says where the next one stands."""
        key = self._pending[-1] if self._pending else None
        place = self._open[-1].keys[key] if key is not None else None
        return place or self.place

    def _begin(self, node: Node) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")
        self._open.append(node)
        self._pending.append(None)

    def _add(self, node: Node) -> None:
        if not self._open:
            self.root = node
            return
        box = self._open[-1]
        box.size += node.size
        box.depth = max(box.depth, node.depth + 1)
        if box.size > MAX_VALUES:
            self._fail(f"more than {MAX_VALUES} values, aliases followed")
        if box.depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels, aliases followed")
        if isinstance(box.value, list):
            box.value.append(node)
        elif (key := self._pending[-1]) is None:
            self._pending[-1] = self._key(box, node)
        else:
            box.value[key] = node
            self._pending[-1] = None

    def _key(self, box: Node, node: Node) -> str:
        # An aliased or a whole container as a key ends after where it began.
        place = self.place if node.depth == 0 else node.place
        if not isinstance(node.value, str):
            self._fail("a key must be text; put it in quotes if it is meant so", place)
        if node.value in box.keys:
            line, column = box.keys[node.value] or self.place
            self._fail(f"this key stands here twice, first at {line}:{column}", place, node.value)
        box.keys[node.value] = place
        return node.value

    def _scalar(self, event: ScalarEvent) -> Any:
        text: str = event.value
        if not _is_whole(text):
            self._fail(_HALF)
        if event.style:  # in quotes or a block: text, whatever it looks like
            return text
        try:
            return next((read(text) for form, read in _CORE_SCHEMA if form.fullmatch(text)), text)
        except ValueError:  # int() limits the digits it reads
            self._fail("a number with more digits than can be read")


_CORE_SCHEMA: Final[tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...]] = (
    (re.compile(r"null|Null|NULL|~|"), lambda _: None),
    (re.compile(r"true|True|TRUE"), lambda _: True),
    (re.compile(r"false|False|FALSE"), lambda _: False),
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text, 0)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(inf|Inf|INF)"), lambda text: float(text.replace(".", ""))),
    (re.compile(r"\.(nan|NaN|NAN)"), lambda _: float("nan")),
)
"""YAML 1.2.2, 10.3.2: how plain scalars are read; whatever fits none is text."""


def _short_tag(tag: str) -> str:
    return tag.replace("tag:yaml.org,2002:", "!!")
