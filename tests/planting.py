"""Private data planted in recorded streams, and what is looked for in what came out of them.

Where content is, is said here once more and on its own, from the protocol, so that what the library overlooks
is not overlooked here as well.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final, Literal, TypeAlias

from guardrails import Pipeline, Result
from guardrails.chunks import Chunk, dump_json
from guardrails.testing.outcomes import logged

Body: TypeAlias = dict[str, Any]
"""A chunk as a JSON object."""

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indexes that lead to a value."""

STREAMS: Final = sorted((Path(__file__).parent / "data" / "mastra").glob("*.jsonl"))
COPIES: Final = frozenset({"step-start", "step-finish", "finish"})
"""Chunks that repeat what was said: what is found there is hidden, and neither refused nor told."""


@cache
def _lines(path: Path) -> tuple[str, ...]:
    return tuple(line for line in path.read_text(encoding="utf-8").splitlines() if line)


def recorded(path: Path) -> list[Body]:
    """The chunks of a recorded stream, fresh ones each time."""
    return [json.loads(line) for line in _lines(path)]


# --- what is planted: all of it invented


@dataclass(frozen=True)
class Value:
    """Something that must not come out.

    Attributes:
        label: what the presets call it.
        text: how it is written.
    """

    label: str
    text: str

    @property
    def number(self) -> int:
        """A card as a number."""
        return int(self.text.replace(" ", ""))

    @property
    def forms(self) -> frozenset[str]:
        """It with its spaces and without."""
        return frozenset({self.text, self.text.replace(" ", "")})

    @property
    def fragments(self) -> frozenset[str]:
        """Each six characters of it in a row, with its spaces and without."""
        return frozenset(text[at : at + 6] for text in self.forms for at in range(len(text) - 5))


def _some(random: Random, letters: str, count: int) -> str:
    return "".join(random.choices(letters, k=count))


def _in_fours(random: Random, text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4)) if random.random() < 0.4 else text


def card(random: Random) -> Value:
    """A payment card with the check digit that it needs."""
    body = "4" + _some(random, digits, 14)
    doubled = [int(digit) * (2 - at % 2) for at, digit in enumerate(body)]
    check = -sum(sum(divmod(number, 10)) for number in doubled) % 10
    return Value("CREDIT_CARD", _in_fours(random, f"{body}{check}"))


def iban(random: Random) -> Value:
    """A German IBAN with the check digits that it needs."""
    account = _some(random, "123456789", 18)
    check = 98 - int(account + "131400") % 97  # D is 13, E is 14
    return Value("IBAN_CODE", _in_fours(random, f"DE{check:02}{account}"))


def email(random: Random) -> Value:
    """An address."""
    words = [_some(random, ascii_lowercase, count) for count in (5, 6, 8)]
    return Value("EMAIL_ADDRESS", "{}.{}@{}.com".format(*words))


def api_key(random: Random) -> Value:
    """A key of a cloud."""
    if random.random() < 0.5:
        return Value("AWS_ACCESS_KEY", "AK" + "IA" + _some(random, ascii_uppercase + "234567", 16))
    return Value("GOOGLE_API_KEY", "AI" + "za" + _some(random, ascii_letters + digits, 35))


MAKERS: Final[Sequence[Callable[[Random], Value]]] = (card, iban, email, api_key)


def apart(value: Value) -> str:
    """A value that stands apart from whatever is around it."""
    return f" see {value.text} now "


# --- where content is: everywhere but under the keys of names, times and counts

_TIMES: Final = frozenset({"timestamp", "eventTimestamp", "created", "duration", "elapsedMs"})
"""Times and durations: many a long number of this kind looks like a card."""
_NAMES: Final = _TIMES | {"type", "from", "id", "toolName", "status", "role", "mimeType", "mediaType"}
"""What says who or what something is: with another value there, the chunk would be another one."""
_NAMES_TOO: Final = frozenset(
    {("sourceType", "source"), ("reason", "stepResult"), ("title", "tool-call")}
    # Counts, which the protocol wants to be numbers.
    | {("iteration", "goal"), ("maxRuns", "goal"), ("iteration", "is-task-complete"), ("score", "results")}
    | {("runningCount", "background-task-progress")}
)
"""The same for keys that say so only under another one, which stands beside each."""
_VALUES: Final = frozenset({"args", "result", "error", "suspendPayload", "suspendData", "value"})
"""Under these stands somebody else's value, whose own keys are content as well."""
_STREAMED: Final = frozenset({"tool-output", "step-output"})
"""Types of chunks whose `output` is what a tool gave."""
_COUNTED: Final = frozenset({"usage", "totalUsage"})
"""Counts of tokens."""


def _is_time(key: str) -> bool:
    return key in _TIMES or key.endswith("At")


def names(key: str, under: str) -> bool:
    """Whether a key of the protocol only names what stands under it."""
    return key in _NAMES or _is_time(key) or key.endswith(("Id", "Ids")) or (key, under) in _NAMES_TOO


def is_chunk(value: object) -> bool:
    """Whether a value within a chunk is a chunk itself."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "payload" in value


@dataclass(frozen=True)
class Leaf:
    """A place of content.

    Attributes:
        kind: a string, a number, or an object whose keys are content too.
        path: where it is.
    """

    kind: Literal["string", "number", "keys"]
    path: Place

    @property
    def pattern(self) -> str:
        """The place whatever the index."""
        return ".".join("*" if isinstance(part, int) else part for part in self.path) + f" ({self.kind})"


def leaves(body: Body, at: Place = ()) -> Iterator[Leaf]:
    """All places of content in a chunk, but those of a growing text or object."""
    name = body["type"]
    for key, value in body.items():
        here = (*at, key)
        if key == "data" and name.startswith("data-"):
            yield from _of_value(value, here)
        elif is_chunk(value):
            yield from leaves(value, here)
        elif not names(key, "") and key != "object":
            yield from _of_protocol(value, here, name)


def _of_protocol(value: Any, at: Place, under: str) -> Iterator[Leaf]:
    """What stands in an object whose keys are the protocol's; `under` names it."""
    if not isinstance(value, dict):
        yield from _of_list(value, at, lambda item, place: _of_protocol(item, place, under))
        return
    for key, item in value.items():
        here = (*at, key)
        kind = value.get("type", under) if under != key else under
        grows = (key, under) in {("text", "text-delta"), ("text", "reasoning-delta")}
        if grows or key == "argsTextDelta" or key in _COUNTED or _is_file(key, value):
            continue
        if names(key, under) and not _holds_objects(item):
            continue
        if is_chunk(item):
            yield from leaves(item, here)
        elif key in _VALUES or (key == "output" and kind in _STREAMED):
            yield from _of_value(item, here)
        else:
            yield from _of_protocol(item, here, under if key == "payload" else key)


def _of_value(value: Any, at: Place) -> Iterator[Leaf]:
    """What stands in somebody else's value."""
    if not isinstance(value, dict):
        yield from _of_list(value, at, _of_value)
        return
    yield Leaf("keys", at)
    for key, item in value.items():
        if _is_file(key, value) or (_is_time(key) and not isinstance(item, str | dict | list)):
            continue
        yield from _of_value(item, (*at, key))


def _of_list(value: Any, at: Place, walk: Callable[[Any, Place], Iterator[Leaf]]) -> Iterator[Leaf]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, (*at, index))
    elif isinstance(value, str):
        yield Leaf("string", at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield Leaf("number", at)


def _holds_objects(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_holds_objects, value)))


def _is_file(key: str, beside: Mapping[str, Any]) -> bool:
    """Whether this is the content of a file; those that are no text are not guarded."""
    return key in {"data", "base64", "base64Data"} and bool({"mimeType", "mediaType"} & beside.keys())


def at_path(value: Any, path: Place) -> Any:
    """What stands at a place."""
    for part in path:
        value = value[part]
    return value


def put(value: Any, path: Place, new: Any) -> None:
    """Let something else stand at a place."""
    at_path(value, path[:-1])[path[-1]] = new


def plant(value: Any, leaf: Leaf, planted: Value, random: Random) -> None:
    """Plant something at a place of content."""
    if leaf.kind == "keys":
        at_path(value, leaf.path)[random.choice([planted.text, apart(planted)])] = True
    elif leaf.kind == "number":
        put(value, leaf.path, planted.number)
    else:
        text = at_path(value, leaf.path)
        where = random.randint(0, len(text))
        put(value, leaf.path, random.choice([planted.text, text[:where] + apart(planted) + text[where:]]))


# --- chunks within chunks

_CARRIED: Final[Sequence[tuple[str, ...]]] = (("payload", "output"), ("payload", "payload"), ("payload",))
_OWNERS: Final = ("taskId", "toolCallId", "id", "stepId", "agentId", "stepName")


@dataclass(frozen=True)
class Inner:
    """The innermost chunk of one that carries another: where, what, and whose stream it is of."""

    path: Place
    body: Body
    owners: tuple[str, ...]


def innermost(body: Body) -> Inner:
    """The innermost chunk; the chunk itself if it carries none."""
    inner = Inner((), body, ())
    while (below := _below(inner)) is not None:
        inner = below
    return inner


def _below(inner: Inner) -> Inner | None:
    for place in _CARRIED:
        value: Any = inner.body
        for key in place:
            value = value.get(key) if isinstance(value, dict) else None
        if is_chunk(value):
            payload = inner.body["payload"]
            owner = next((str(payload[key]) for key in _OWNERS if key in payload), "")
            return Inner((*inner.path, *place), value, (*inner.owners, owner))
    return None


# --- growing texts

_TEXT_KEYS: Final = {"text-delta": "text", "reasoning-delta": "text", "tool-call-delta": "argsTextDelta"}
_ENDS: Final = {
    "text-end": "text-delta",
    "reasoning-end": "reasoning-delta",
    "tool-call-input-streaming-end": "tool-call-delta",
    "tool-call": "tool-call-delta",
    "object-result": "object",
}


@dataclass
class Channel:
    """A text, or an object, that grows over several chunks.

    Attributes:
        kind: the type of the chunks.
        slots: which chunks of the stream they are, and where in them the chunk stands.
        last: the chunk that states all of it once more, if one does.
    """

    kind: str
    slots: list[tuple[int, Place]] = field(default_factory=list)
    last: tuple[int, Place] | None = None

    @property
    def indexes(self) -> set[int]:
        """The chunks that say any of it."""
        return {index for index, _ in [*self.slots, *([self.last] if self.last else [])]}


def key_of(inner: Inner, kind: str) -> tuple[Any, ...]:
    """What names a channel: whose stream it is of, its kind, its id."""
    payload = inner.body.get("payload")
    id_ = (payload.get("id") or payload.get("toolCallId")) if isinstance(payload, dict) else None
    return (inner.owners, str(inner.body.get("runId")), kind, None if kind == "object" else str(id_))


def channels(bodies: Sequence[Body]) -> list[Channel]:
    """All growing texts and objects of a stream."""
    found: list[Channel] = []
    growing: dict[tuple[Any, ...], Channel] = {}
    for index, body in enumerate(bodies):
        inner = innermost(body)
        kind = inner.body["type"]
        if kind in {"step-finish", "finish"}:
            growing.clear()
        elif kind in _TEXT_KEYS or kind == "object":
            key = key_of(inner, kind)
            if key not in growing:
                growing[key] = Channel(kind)
                found.append(growing[key])
            growing[key].slots.append((index, inner.path))
        elif kind in _ENDS:
            _end(growing, key_of(inner, _ENDS[kind]), (index, inner.path), kind)
    return found


def _end(
    growing: dict[tuple[Any, ...], Channel], key: tuple[Any, ...], slot: tuple[int, Place], kind: str
) -> None:
    states_all = kind in {"tool-call", "object-result"}
    if key in growing and states_all:
        growing[key].last = slot
    if kind != "tool-call-input-streaming-end":
        growing.pop(key, None)


def cut(text: str, random: Random) -> list[str]:
    """The text in pieces of any size."""
    if random.random() < 0.2:
        return list(text)
    places = sorted(random.randint(0, len(text)) for _ in range(random.randint(0, 12)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def _spread(pieces: Sequence[Any], slots: int, random: Random) -> list[list[Any]]:
    """The pieces, in order, each at one of the slots."""
    chosen = sorted(random.randrange(slots) for _ in pieces)
    return [[piece for piece, at in zip(pieces, chosen, strict=True) if at == slot] for slot in range(slots)]


def plant_in_channel(bodies: list[list[Body]], channel: Channel, value: Value, random: Random) -> None:
    """Plant something in a growing text, which is then cut anew.

    Args:
        bodies: what stands in the place of each chunk of the stream.
        channel: the text.
        value: what is planted.
        random: says where.
    """
    if channel.kind == "object":
        pieces: list[Any] = _grown(_planted_object(bodies, channel, value, random), random)
        tail: Place = ("object",)
    else:
        tail = ("payload", _TEXT_KEYS[channel.kind])
        whole = "".join(at_path(bodies[index][0], (*path, *tail)) for index, path in channel.slots)
        is_args = channel.kind == "tool-call-delta"
        planted = _planted_args(bodies, channel, whole, value, random) if is_args else None
        pieces = cut(planted or _planted_text(whole, value, random), random)
    for (index, path), here in zip(channel.slots, _spread(pieces, len(channel.slots), random), strict=True):
        like = bodies[index][0]
        bodies[index] = [deepcopy(like) for _ in here]
        for body, piece in zip(bodies[index], here, strict=True):
            put(body, (*path, *tail), piece)


def _planted_text(text: str, value: Value, random: Random) -> str:
    where = random.randint(0, len(text))
    return text[:where] + apart(value) + text[where:]


def _planted_args(
    bodies: list[list[Body]], channel: Channel, text: str, value: Value, random: Random
) -> str | None:
    """The JSON text of arguments with something in them, now and then the call's own as well."""
    try:
        args = {"": json.loads(text)}
    except ValueError:
        return None
    _plant_in_value(args, value, random)
    if channel.last is not None and random.random() < 0.7:
        index, path = channel.last
        put(bodies[index][0], (*path, "payload", "args"), deepcopy(args[""]))
    written = json.dumps(args[""], ensure_ascii=False)
    if random.random() < 0.5:
        in_a_string = re.compile(rf"(?<=[\" ]){re.escape(value.text)}(?=[\" ])")
        written = in_a_string.sub(lambda found: escaped(found[0], random), written)
    return written


def escaped(text: str, random: Random) -> str:
    """The same text in JSON, some of its characters written as escapes."""
    return "".join(f"\\u{ord(char):04x}" if random.random() < 0.4 else char for char in text)


def _plant_in_value(box: Body, value: Value, random: Random) -> None:
    """Plant something in the value that stands in a box under an empty key."""
    if not isinstance(box[""], dict | list | str):
        box[""] = {"n": box[""]}
    here = [leaf for leaf in _of_value(box[""], ("",)) if fits(leaf, value)]
    if here:
        plant(box, random.choice(here), value, random)
    else:
        box[""] = [apart(value)]


def fits(leaf: Leaf, value: Value) -> bool:
    """Whether this can stand there; only a card is a number."""
    return leaf.kind != "number" or value.label == "CREDIT_CARD"


def _planted_object(bodies: list[list[Body]], channel: Channel, value: Value, random: Random) -> Any:
    """The whole of a growing object with something in it."""
    index, path = channel.last or channel.slots[-1]
    box = {"": deepcopy(at_path(bodies[index][0], (*path, "object")))}
    _plant_in_value(box, value, random)
    if channel.last is not None:
        put(bodies[index][0], (*path, "object"), deepcopy(box[""]))
    return box[""]


def _grown(value: Any, random: Random) -> list[Any]:
    """Snapshots of a value as it grows, the last one whole."""
    size = _size(value)
    budgets = sorted(random.randint(1, size) for _ in range(random.randint(0, 8)))
    return [_first(value, budget)[0] for budget in [*budgets, size]]


def _size(value: Any) -> int:
    if isinstance(value, str):
        return 1 + len(value)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_size, items))


def _first(value: Any, budget: int) -> tuple[Any, int]:
    """As much of a value as has come, and what is left of the budget."""
    budget -= 1
    if isinstance(value, str):
        return value[: max(budget, 0)], budget - len(value)
    if not isinstance(value, dict | list):
        return value, budget
    keys: Any = list(value) if isinstance(value, dict) else range(len(value))
    out: list[tuple[Any, Any]] = []
    for key in keys:
        if budget <= 0:
            break
        item, budget = _first(value[key], budget)
        out.append((key, item))
    return (dict(out) if isinstance(value, dict) else [item for _, item in out]), budget


# --- planted streams


@dataclass(frozen=True)
class Planted:
    """A recorded stream in which something was planted.

    Attributes:
        bodies: its chunks.
        values: what was planted.
        told: those of them that are not in copies alone, so that they must be found.
        clean: what was in the stream before.
        places: where it was planted, for people.
    """

    bodies: list[Body]
    values: list[Value]
    told: list[Value]
    clean: str
    places: list[str]


def planted(path: Path, seed: int) -> Planted:
    """A recorded stream with some planted values, cut anew where they are in a growing text."""
    random = Random(seed)
    given = recorded(path)
    bodies = [[body] for body in given]
    growing = channels(given)
    stream = Planted([], [], [], "\n".join(_lines(path)), [path.stem])
    used: set[tuple[int, Place]] = set()
    for _ in range(random.randint(1, 3)):
        value = random.choice(MAKERS)(random)
        free = [one for one in growing if one.indexes.isdisjoint(index for index, _ in used)]
        if free and random.random() < 0.4:
            channel = random.choice(free)
            plant_in_channel(bodies, channel, value, random)
            used |= {(index, ()) for index in channel.indexes}
            stream.places.append(f"{channel.kind} of {channel.slots[0]}: {value.text}")
            _note(stream, value, told=True)
        else:
            _plant_somewhere(bodies, used, value, stream, random)
    stream.bodies.extend(body for group in bodies for body in group)
    return stream


def _note(stream: Planted, value: Value, *, told: bool) -> None:
    stream.values.append(value)
    if told:
        stream.told.append(value)


def _plant_somewhere(
    bodies: list[list[Body]], used: set[tuple[int, Place]], value: Value, stream: Planted, random: Random
) -> None:
    """Plant something in a chunk in which no growing text has been cut anew."""
    index = random.randrange(len(bodies))
    if (index, ()) in used or not bodies[index]:
        return
    body = bodies[index][0]
    here = [leaf for leaf in leaves(body) if fits(leaf, value) and (index, leaf.path) not in used]
    if not here:
        return
    leaf = random.choice(here)
    used.add((index, leaf.path))
    plant(body, leaf, value, random)
    stream.places.append(f"{index} {body['type']} {leaf.pattern}: {value.text}")
    _note(stream, value, told=innermost(body).body["type"] not in COPIES)


# --- what came out


@dataclass(frozen=True)
class Came:
    """What came out of a guarded stream.

    Attributes:
        chunks: the chunks.
        lines: they as JSON.
        result: what came of it.
        log: what the library logged meanwhile.
    """

    chunks: list[Chunk]
    lines: list[str]
    result: Result
    log: str

    @property
    def bodies(self) -> list[Body]:
        """The chunks as JSON objects."""
        return [json.loads(line) for line in self.lines]

    @property
    def everything(self) -> str:
        """All that a consumer, an operator or a log reader gets to see."""
        joined = "\n".join(joined_texts(self.bodies))
        told = repr(self.result.findings) + repr(self.result.tripwire) + repr(self.result)
        return "\n".join([*self.lines, joined, told, self.log])


async def came_of(pipeline: Pipeline, source: Sequence[Any]) -> Came:
    """Guard a whole stream."""
    chunks: list[Chunk] = []
    with logged() as lines:
        async with pipeline.stream(source, run_id="run") as stream:
            chunks.extend([chunk async for chunk in stream])
    return Came(chunks, [dump_json(chunk) for chunk in chunks], stream.result, "\n".join(lines))


def joined_texts(bodies: Sequence[Body]) -> list[str]:
    """The text of each channel, all its pieces together; of arguments, what they say as well."""
    texts: dict[tuple[Any, ...], str] = {}
    for body in bodies:
        inner = innermost(body)
        kind = inner.body["type"]
        if kind in _TEXT_KEYS and isinstance(inner.body["payload"], dict):
            key = (inner.owners, kind, key_of(inner, kind)[-1])
            texts[key] = texts.get(key, "") + str(inner.body["payload"].get(_TEXT_KEYS[kind]))
    said = [_unescaped(text) for key, text in texts.items() if key[1] == "tool-call-delta"]
    return [*texts.values(), *said]


def _unescaped(text: str) -> str:
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)


def leaked(values: Sequence[Value], clean: str, seen: str, *, whole: bool = False) -> list[str]:
    """Parts of planted values (or `whole` ones) that can be seen and were not in the stream before."""
    parts = [part for value in values for part in (value.forms if whole else value.fragments)]
    return [part for part in parts if part in seen and part not in clean]


def joined(bodies: Sequence[Body]) -> list[Body]:
    """The chunks with neighbouring pieces of one text, or of one call's arguments, as one."""
    out: list[Body] = []
    for body in bodies:
        if out and (place := _piece(body)) is not None and _emptied(out[-1]) == _emptied(body):
            last = deepcopy(out.pop())
            put(last, place, at_path(last, place) + at_path(body, place))
            out.append(last)
        else:
            out.append(body)
    return out


def _piece(body: Body) -> Place | None:
    """Where a piece of a growing text stands, if there is one."""
    inner = innermost(body)
    key = _TEXT_KEYS.get(inner.body["type"])
    return None if key is None else (*inner.path, "payload", key)


def _emptied(body: Body) -> Body:
    """The chunk without its piece of a growing text."""
    place = _piece(body)
    if place is None:
        return {}
    copy = deepcopy(body)
    put(copy, place, "")
    return copy
