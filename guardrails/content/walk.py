"""A walk over a chunk: every string, key and number in it that is no name, visited and put back."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from guardrails.content.files import (
    BINARY_MEDIA,
    DATA_URI,
    FILE_KEYS,
    MEDIA_KEYS,
    SHORT_FILE,
    bytes_of,
    text_of,
    written_like,
)
from guardrails.content.inside import Path
from guardrails.surfaces import (
    CLOSED_TYPES,
    DATA_KEYS,
    NAMES,
    OWN_TYPES,
    PIECES,
    Surface,
    is_data,
    is_time,
    names,
    surface_of,
    surface_under,
)

Visit: TypeAlias = Callable[[Surface, Path, str], str]
"""Given the surface, path and text of a leaf, gives what takes its place; the text if nothing does."""

_Context: TypeAlias = Literal["closed", "open", "data"]
"""What an object is: of the protocol with its own keys or with others besides, or somebody's value."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_-]{1,40}")
_KNOWN_KEYS: Final = DATA_KEYS | NAMES | PIECES | {"payload", "output", "metadata", "kind", "transient"}
"""Keys that a path may tell wherever they stand; others may be content themselves."""
_WHOLE_NUMBER: Final = 1e21
"""Floats below it are written without an exponent in JavaScript."""


def rewritten(
    outer: dict[str, Any], roots: tuple[Path, ...], visit: Visit, skipped: Path | None = None
) -> dict[str, Any]:
    """The JSON of a chunk with its leaves visited; the object that was given if each of them stays.

    Args:
        outer: the JSON of the outermost chunk.
        roots: where chunks stand in it, see `Inside`.
        visit: called for each leaf, in order; paths tell keys that may be content by their place, `[2]`, and
            what such a key is called by `{2}`.
        skipped: a place that is not visited, since it is guarded otherwise.
    """
    return _Walk(visit, frozenset(roots), skipped).chunk(outer, ())


def rewritten_value(value: Any, surface: Surface, path: Path, visit: Visit) -> Any:
    """The same for a value of somebody else, such as the arguments of a tool."""
    return _Walk(visit, frozenset(), None).value(value, _Spot(surface, "data", path))


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a walk is: the surface, what kind of object this is, the path, the key of the object around."""

    surface: Surface
    context: _Context
    path: Path
    under: str = ""


def told(path: Path) -> str:
    """A path for people: `result[2][0]`, and `result{1}` for the name of its second key."""
    return ".".join(path).removeprefix("payload.").replace(".[", "[").replace(".{", "{")


class _Walk:
    """One walk over a JSON value."""

    def __init__(self, visit: Visit, roots: frozenset[Path], skipped: Path | None) -> None:
        self._visit, self._roots, self._skipped = visit, roots, skipped

    def chunk(self, given: dict[str, Any], path: Path) -> dict[str, Any]:
        """The object of a chunk."""
        name = given["type"]
        context: _Context = "closed" if name in CLOSED_TYPES else "open"
        if path and context == "open" and not name.startswith(OWN_TYPES):
            context = "data"  # an object with a type, which may be anybody's
        return self._object(given, _Spot(surface_of(name), context, path, name))

    def value(self, value: Any, spot: _Spot) -> Any:
        """Any value."""
        if isinstance(value, str):
            return self._text(value, spot)
        if isinstance(value, dict):
            is_chunk = spot.path in self._roots
            return self.chunk(value, spot.path) if is_chunk else self._object(value, spot)
        if isinstance(value, list):
            items = [
                self.value(item, _Spot(spot.surface, spot.context, (*spot.path, f"[{at}]"), spot.under))
                for at, item in enumerate(value)
            ]
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, bytes):
            said, encoding = text_of(value, "")
            answer = self._plain(said, spot)
            return value if answer is said else written_like(value, answer, encoding)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = written(value)
            answer = self._plain(text, spot)
            return value if answer is text else answer
        return value

    def _text(self, text: str, spot: _Spot) -> str:
        if not text:
            return text
        uri = DATA_URI.match(text)
        if uri is None:
            return self._plain(text, spot)
        before, data = uri[0], text[uri.end() :]
        parted = self._plain(before, spot) + self._file(data, uri[1], spot)
        whole = self._plain(text, spot)
        return whole if parted == text else parted

    def _object(self, given: dict[str, Any], spot: _Spot) -> dict[str, Any]:
        out: dict[str, Any] = {}
        alike: Counter[str] = Counter()
        media = next((given[key] for key in MEDIA_KEYS if isinstance(given.get(key), str)), None)
        for at, (key, value) in enumerate(given.items()):
            new_key = self._key(key, at, spot)
            new = self._item(key, value, at, spot, media)
            hidden = new_key
            while new_key in out or (new_key != key and new_key in given):
                alike[hidden] += 1  # keys that were hidden alike are counted
                new_key = f"{hidden}'{alike[hidden]}" if alike[hidden] > 1 else f"{hidden}'"
            out[new_key] = new
        same = out.keys() == given.keys() and all(out[key] is given[key] for key in given)
        return given if same else out

    def _key(self, key: str, at: int, spot: _Spot) -> str:
        if spot.context == "closed" and _PLAIN_KEY.fullmatch(key):
            return key
        plain = _PLAIN_KEY.fullmatch(key)
        named = spot.context == "open" and plain and (key in _KNOWN_KEYS or names(key, "", spot.under))
        if named or not key:
            return key
        return self._visit(spot.surface, (*spot.path, f"{{{at}}}"), key)

    def _item(self, key: str, value: Any, at: int, spot: _Spot, media: str | None) -> Any:
        of_protocol = spot.context == "closed" and _PLAIN_KEY.fullmatch(key)
        path = (*spot.path, key if of_protocol or key in _KNOWN_KEYS else f"[{at}]")
        if path == self._skipped or self._is_name(key, value, spot):
            return value
        surface, context = spot.surface, spot.context
        if context != "data":
            surface = surface_under(key, spot.under, surface)
            if is_data(key, spot.under) and path not in self._roots:
                context = "data"
        under = spot.under if key == "payload" else key
        below = _Spot(surface, context, path, under)
        if key in FILE_KEYS and media is not None and not isinstance(value, list) and not _is_uri(value):
            return self._file(value, media, below)
        return self.value(value, below)

    @staticmethod
    def _is_name(key: str, value: Any, spot: _Spot) -> bool:
        if spot.context == "data":
            return isinstance(value, int | float) and is_time(key)
        return _PLAIN_KEY.fullmatch(key) is not None and names(key, value, spot.under)

    def _file(self, data: Any, media: str, spot: _Spot) -> Any:
        """The content of a file: what can be read as text is, unless its media type says it is none."""
        raw = bytes_of(data)
        if raw is None:  # no file after all
            return self.value(data, spot) if not isinstance(data, str) else self._plain(data, spot)
        if BINARY_MEDIA.match(media):
            said = isinstance(data, str) and (len(data) < SHORT_FILE or " " in data.strip())
            return self._plain(data, spot) if said else data
        text, encoding = text_of(raw, media)
        answer = self._plain(text, spot)
        # What is base64 may be meant as it stands all the same, so it is looked at both ways.
        as_it_stands = self._plain(data, spot) if isinstance(data, str) else data
        return as_it_stands if answer == text else written_like(data, answer, encoding)

    def _plain(self, text: str, spot: _Spot) -> str:
        answer = self._visit(spot.surface, spot.path, text) if text else text
        return text if answer == text else answer  # so that what is the same is the same object


def _is_uri(value: Any) -> bool:
    return isinstance(value, str) and DATA_URI.match(value) is not None


def written(number: Any) -> str:
    """A number as JSON has it; a whole one without its `.0`, as JavaScript writes it."""
    if isinstance(number, float) and number.is_integer() and abs(number) < _WHOLE_NUMBER:
        return str(int(number))
    try:
        return json.dumps(number)
    except ValueError:  # with more digits than Python writes, so that nobody can be given it
        return ""
