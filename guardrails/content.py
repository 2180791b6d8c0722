"""The content of a chunk: every string, key and number in it that is no name, visited and put back."""

import base64
import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from guardrails.chunks import Chunk, ChunkError, Part, Raw, UnknownChunk, parse_chunk
from guardrails.surfaces import (
    CARRIERS,
    CLOSED_TYPES,
    DATA_KEYS,
    NAMES,
    PIECES,
    STREAMED,
    STREAMED_WITHIN,
    Surface,
    is_data,
    is_time,
    names,
    surface_of,
    surface_under,
)

Path: TypeAlias = tuple[str, ...]

Visit: TypeAlias = Callable[[Surface, str, str], str]
"""Given the surface, path and text of a leaf, gives what takes its place; the text if nothing does."""

_Context: TypeAlias = Literal["closed", "open", "data"]
"""What an object is: of the protocol with its own keys or with others besides, or somebody's value."""

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_-]{1,40}")
_KNOWN_KEYS: Final = DATA_KEYS | NAMES | PIECES | {"payload", "output", "metadata", "kind", "transient"}
"""Keys that a path may tell wherever they stand; others may be content themselves."""
_FILE_KEYS: Final = frozenset({"data", "base64", "base64Data", "blob"})
_MEDIA_KEYS: Final = ("mimeType", "mediaType", "media_type", "contentType")
_BINARY_MEDIA: Final = re.compile(
    r"(?:image/(?!svg)|audio/|video/|font/|application/(?:pdf|zip|gzip|wasm|vnd\.(?!.*(?:json|xml))))",
    re.IGNORECASE,
)
_TEXT_MEDIA: Final = re.compile(r"text/|[^;]*(?:json|xml|csv|yaml|javascript)", re.IGNORECASE)
_SHORT_FILE: Final = 200
"""Characters below which what is said to be a picture is looked at as text too."""

_SIDES: Final = ("item_id", "output_index", "content_index", "index")
"""Keys by which providers tell items, contents, blocks, choices and calls apart that stream side by side."""
_STEP: Final = re.compile(r"\[([0-9]+)\]|[^.\[\]]+")
"""A step of a path for people: a place in a list, or that of a key; or a key."""

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_DATA_URI: Final = re.compile(r"data:([\w.+/-]*)(?:;[\w.+=-]*)*;base64,", re.IGNORECASE)

_WHOLE_NUMBER: Final = 1e21
"""Floats below it are written without an exponent in JavaScript."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The innermost chunk of one that may carry another.

    Attributes:
        chunk: the innermost chunk; the outer one itself if it carries none.
        path: the keys by which it stands in the JSON of the outer one.
        roots: the paths of all chunks in the outer one, each within the one before.
        owners: whose streams these are, the outermost first; a nested text belongs to them.
    """

    chunk: Chunk
    path: Path = ()
    roots: tuple[Path, ...] = ((),)
    owners: tuple[str, ...] = ()


def innermost(chunk: Chunk) -> Inside:
    """Look into a chunk that may carry another one."""
    inside = Inside(chunk)
    while (below := _below(inside)) is not None:
        inside = below
    return inside


def _below(inside: Inside) -> Inside | None:
    for place in CARRIERS.get(type(inside.chunk), ()):
        carried = _at(inside.chunk, place)
        if carried is None:
            continue
        path = (*inside.path, *place)
        return Inside(carried, path, (*inside.roots, path), (*inside.owners, owner_of(inside.chunk)))
    return None


def _at(chunk: Chunk, place: Path) -> Chunk | None:
    """The chunk that stands at a place of another one, if one does."""
    value: Any = chunk
    for key in place:
        value = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
    if isinstance(value, Part):
        return value if hasattr(value, "type") else None  # type: ignore[return-value]  # a chunk as Python object
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    if not ({"payload", "object", "data"} & value.keys()):
        return None
    try:
        return parse_chunk(value)
    except ChunkError:
        return None  # it only looks like one, and is guarded as the value that it is


def owner_of(chunk: Chunk) -> str:
    """Whose stream a chunk carries or ends: the call, task or step that it names."""
    payload = getattr(chunk, "payload", None)
    beside: Any = payload
    if isinstance(payload, Part):
        beside = {**payload.__dict__, **(payload.__pydantic_extra__ or {})}
    if not isinstance(beside, dict):
        return ""
    for key in ("task_id", "tool_call_id", "taskId", "toolCallId", "id", "stepId", "agentId"):
        if isinstance(beside.get(key), str):
            return str(beside[key])
    return ""


def side_of(inside: Inside, path: str) -> str:
    """Which of the texts that a provider streams side by side a leaf of a `raw` chunk is a piece of.

    Args:
        inside: the chunk.
        path: where the leaf is, as visits are told.
    """
    value: Any = getattr(inside.chunk, "payload", None)
    sides: list[str] = []
    for found in _STEP.finditer(path.removeprefix(_told((*inside.path, "payload")))):
        if isinstance(value, dict):
            given = ((key, value[key]) for key in _SIDES if isinstance(value.get(key), str | int))
            sides += [f"{key}={one if isinstance(one, str) else _written(one)}" for key, one in given]
            value = value[found[0]] if found[1] is None else [*value.values()][int(found[1])]
        else:
            value = value[int(found[1])]
    return " ".join(sides)


def part_of(chunk: Chunk) -> str:
    """Which of the texts that a tool streams side by side a chunk has a piece of: the ids in its object."""
    payload: Any = getattr(chunk, "payload", None)
    key = STREAMED.get(chunk.type, "")
    part = payload.get(key) if isinstance(payload, dict) else getattr(payload, key, None)
    below = part.get("payload") if isinstance(part, dict) else None
    ids = [one["id"] for one in (part, below) if isinstance(one, dict) and isinstance(one.get("id"), str)]
    return " ".join(ids)


def pieces_in(inside: Inside) -> Callable[[str], bool] | None:
    """Tells by its path whether a leaf is a piece of a text that streams through chunks which are no deltas.

    Gives None for a chunk that has no such leaves.
    """
    kind = type(inside.chunk)
    if kind is Raw or (kind is UnknownChunk and inside.chunk.type.endswith("-delta")):
        whole = _told((*inside.path, "payload"))
        return lambda path: path.rpartition(".")[2] in PIECES or path == whole
    if inside.chunk.type in STREAMED:
        streamed = _told((*inside.path, "payload", STREAMED[inside.chunk.type]))
        within = {f"{streamed}{at}.{key}" for at in ("", ".payload") for key in STREAMED_WITHIN}
        return lambda path: path == streamed or path in within
    return None


def rewritten(
    outer: dict[str, Any], roots: tuple[Path, ...], visit: Visit, skipped: Path | None = None
) -> dict[str, Any]:
    """The JSON of a chunk with its leaves visited; the object that was given if each of them stays.

    Args:
        outer: the JSON of the outermost chunk.
        roots: where chunks stand in it, see `Inside`.
        visit: called for each leaf, in order; where keys may be content, paths tell them by their place.
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

    @property
    def told(self) -> str:
        return _told(self.path)


def _told(path: Path) -> str:
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
            said, encoding = _read(value, "")
            answer = self._plain(said, spot)
            return value if answer is said else _written_like(value, answer, encoding)
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = _written(value)
            answer = self._plain(text, spot)
            return value if answer is text else answer
        return value

    def _text(self, text: str, spot: _Spot) -> str:
        if not text:
            return text
        uri = _DATA_URI.match(text)
        if uri is None:
            return self._plain(text, spot)
        before, data = uri[0], text[uri.end() :]
        parted = self._plain(before, spot) + self._file(data, uri[1], spot)
        whole = self._plain(text, spot)
        return whole if parted == text else parted

    def _object(self, given: dict[str, Any], spot: _Spot) -> dict[str, Any]:
        out: dict[str, Any] = {}
        alike: Counter[str] = Counter()
        media = next((given[key] for key in _MEDIA_KEYS if isinstance(given.get(key), str)), None)
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
        named = spot.context == "open" and (key in _KNOWN_KEYS or names(key, "", spot.under))
        if named or not key:
            return key
        return self._visit(spot.surface, _told((*spot.path, f"{{{at}}}")), key)

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
        is_uri = isinstance(value, str) and _DATA_URI.match(value)
        if key in _FILE_KEYS and media is not None and not is_uri and not isinstance(value, list):
            return self._file(value, media, below)
        return self.value(value, below)

    @staticmethod
    def _is_name(key: str, value: Any, spot: _Spot) -> bool:
        if spot.context == "data":
            return isinstance(value, int | float) and is_time(key)
        return names(key, value, spot.under)

    def _file(self, data: Any, media: str, spot: _Spot) -> Any:
        """The content of a file: what can be read as text is, unless its media type says it is none."""
        raw = _bytes_of(data)
        if raw is None:  # no file after all
            return self.value(data, spot) if not isinstance(data, str) else self._plain(data, spot)
        if _BINARY_MEDIA.match(media):
            short = isinstance(data, str) and len(data) < _SHORT_FILE
            return self._plain(data, spot) if short else data
        text, encoding = _read(raw, media)
        answer = self._plain(text, spot)
        # What is base64 may be meant as it stands all the same, so it is looked at both ways.
        as_it_stands = self._plain(data, spot) if isinstance(data, str) else data
        return as_it_stands if answer == text else _written_like(data, answer, encoding)

    def _plain(self, text: str, spot: _Spot) -> str:
        answer = self._visit(spot.surface, spot.told, text) if text else text
        return text if answer == text else answer  # so that what is the same is the same object


def _written(number: Any) -> str:
    """A number as JSON has it; a whole one without its `.0`, as JavaScript writes it."""
    if isinstance(number, float) and number.is_integer() and abs(number) < _WHOLE_NUMBER:
        return str(int(number))
    try:
        return json.dumps(number)
    except ValueError:  # with more digits than Python writes, so that nobody can be given it
        return ""


def _bytes_of(data: Any) -> bytes | None:
    """The bytes that a base64 text or the object of a byte array stands for; None if it stands for none."""
    try:
        if isinstance(data, str):
            plain = "".join(data.split()).replace("+", "-").replace("/", "_")
            return (
                base64.urlsafe_b64decode(plain + "=" * (-len(plain) % 4))
                if _BASE64.fullmatch(plain)
                else None
            )
        if isinstance(data, dict) and data.keys() == {str(at) for at in range(len(data))}:
            return bytes(data[str(at)] for at in range(len(data)))
    except (TypeError, ValueError):
        return None
    return data if isinstance(data, bytes) else None


def _read(raw: bytes, media: str) -> tuple[str, str]:
    """The text that bytes are, and its encoding; empty if they are none."""
    marked = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    last = ("latin-1",) if _TEXT_MEDIA.match(media) else ()
    for encoding in (*(("utf-16",) if marked else ()), "utf-8", *last):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return "", "utf-8"


def _written_like(data: Any, text: str, encoding: str) -> Any:
    raw = text.encode(encoding, "replace" if encoding == "latin-1" else "surrogatepass")
    if isinstance(data, bytes):
        return raw
    if isinstance(data, Mapping):
        return {str(at): byte for at, byte in enumerate(raw)}
    return base64.b64encode(raw).decode("ascii")


def put(outer: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The JSON of a chunk with another value at a place; what is not on the way there is shared."""
    if not path:
        return value  # type: ignore[no-any-return]  # the object that takes the place of all
    first, *rest = path
    return {**outer, first: put(outer[first], tuple(rest), value)}
