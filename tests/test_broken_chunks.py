"""Chunks that are none, or none that a producer in its right mind sends: refused by name, or guarded."""

import json
import os
import time
from collections.abc import Callable, Sequence
from copy import copy
from random import Random
from typing import Any, Final

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from guardrails import Pipeline, parse_chunk
from guardrails.chunks import CHUNK_TYPES, ChunkError, TextDelta, TextDeltaPayload, ToolOutput, dump_json
from guardrails.chunks.tools import ToolOutputPayload
from processors.regex import Regex
from tests.planting import (
    STREAMS,
    Body,
    Came,
    Value,
    apart,
    came_of,
    card,
    email,
    iban,
    joined_texts,
    leaked,
    put,
    recorded,
)
from tests.text.streams import within

SECONDS: Final = 10
"""What one input may take on a slow core; the usual one takes some milliseconds."""

VALUES: Final = [make(Random(7)) for make in (card, iban, email)]
"""What must not come out."""

ENVELOPE: Final[Body] = {"runId": "run", "from": "AGENT"}
CALL: Final[Body] = {"toolCallId": "c", "toolName": "t"}
TYPES: Final = [*CHUNK_TYPES, "data-note", "something-new"]


def guard(source: Sequence[Any]) -> Came | ChunkError:
    """Guard what may be no stream; a stream that cannot be read raises `ChunkError` and nothing else."""
    began = time.monotonic()
    try:
        with within(SECONDS):
            return anyio.run(came_of, Pipeline([Regex(presets=("private-data", "secrets"))]), source)
    except ChunkError as error:
        return error
    finally:
        assert time.monotonic() - began < SECONDS


def check(came: Came | ChunkError, values: Sequence[Value] = VALUES) -> None:
    """Nothing planted is seen, in the error neither, and no processor failed."""
    if isinstance(came, ChunkError):
        assert leaked(values, "", f"{came!r} {came.__cause__!r} {came.__context__!r}") == []
        return
    assert leaked(values, "", came.everything) == []
    tripwire = came.result.tripwire
    if came.result.status == "blocked" and tripwire is not None:
        assert tripwire.payload.metadata.get("cause") != "error", tripwire.payload.metadata


def delta(text: str, id_: str = "t", kind: str = "text") -> Body:
    """A piece of text."""
    return {"type": f"{kind}-delta", **ENVELOPE, "payload": {"id": id_, "text": text}}


def piece(text: str, id_: str = "c") -> Body:
    """A piece of the arguments of a call."""
    return {"type": "tool-call-delta", **ENVELOPE, "payload": {"toolCallId": id_, "argsTextDelta": text}}


def nested(body: Any, depth: int) -> Any:
    """A chunk in a chunk, so many times."""
    for level in range(depth):
        payload = {"toolCallId": f"c{level % 3}", "toolName": "t", "output": body}
        body = {"type": "tool-output", **ENVELOPE, "payload": payload}
    return body


def deep(depth: int, core: Any = 1) -> Any:
    """Lists and objects in one another."""
    for level in range(depth):
        core = [core] if level % 2 else {"k": core}
    return core


# --- what may stand anywhere

_TEXTS: Final = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "\ud83d", "\udc4d\ud83d", "\x00", "text-delta", "t", "c", "9" * 300, "é" * 3000]),
)
_KEYS: Final = st.sampled_from(["say", "n", "text", "output", "payload", "args", "toolCallId", "\ud83d", ""])
_NUMBERS: Final = st.sampled_from(
    [0, -1, 1.5, -0.0, 1e308, 5e-324, 10**400, 2**63, float("nan"), float("inf")]
)
_PLANTED: Final = st.sampled_from([apart(value) for value in VALUES])


def json_values(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Lists and objects with these leaves and keys."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), leaves),
        lambda below: st.one_of(st.lists(below, max_size=3), st.dictionaries(keys, below, max_size=3)),
        max_leaves=8,
    )


no_json: Final = st.sampled_from(
    [object(), (1, 2), b"\xff\x00", b"text", {1, 2}, {1: 2}, {None: 1}, Random, TextDelta, parse_chunk]
).map(copy)
too_deep: Final = st.sampled_from([201, 1000]).map(deep)
harmless: Final = json_values(st.one_of(_TEXTS, _NUMBERS), _KEYS)
planted: Final = json_values(
    st.one_of(_TEXTS, _NUMBERS, _PLANTED, st.just(VALUES[0].number)),
    st.one_of(_KEYS.filter(lambda key: key != "toolCallId"), _PLANTED),  # under a name nothing is content
)
odd: Final = st.one_of(planted, planted, no_json, too_deep)
"""JSON with something planted in it, and now and then what is none, or is nested too deep."""

_RECORDED: Final = [body for path in STREAMS for body in recorded(path)]


class Given:
    """Something broken, which may be too large or too deep to be printed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        try:
            return repr(self.value)[:3000]
        except RecursionError:
            return "nested too deep to be printed"


def spots(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """All places in a JSON value, down to twelve levels."""
    items: list[tuple[str | int, Any]] = []
    if len(at) >= 12:
        return []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [spot for key, item in items for spot in ((*at, key), *spots(item, (*at, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A recorded chunk in which something is missing, of another kind, or there twice."""
    body = json.loads(json.dumps(draw(st.sampled_from(_RECORDED))))
    for _ in range(draw(st.integers(1, 3))):
        places = spots(body)
        if not places:
            break
        place = draw(st.sampled_from(places))
        box = body
        for key in place[:-1]:
            box = box[key]
        if draw(st.booleans()):
            box.pop(place[-1])
        else:
            # Nothing is planted, since it may become a name.
            put(body, place, draw(st.one_of(harmless, harmless, no_json, too_deep)))
    return body


@st.composite
def invented(draw: st.DrawFn) -> Any:
    """A chunk of a known type with whatever payload."""
    payload: Any = {
        "id": draw(st.sampled_from(["t", "u"])),
        "toolCallId": draw(st.sampled_from(["c", "d"])),
        **draw(st.dictionaries(st.sampled_from(["text", "args", "result", "error", "say"]), odd, max_size=3)),
    }
    if draw(st.integers(0, 4)) == 0:
        payload = draw(odd)
    body = {"type": draw(st.sampled_from(TYPES)), **ENVELOPE, "payload": payload}
    for key in draw(st.lists(st.sampled_from(["runId", "from", "payload"]), max_size=1)):
        del body[key]
    if body["type"] in {"object", "object-result"}:
        body["object"] = draw(planted)
    return body


@st.composite
def disordered(draw: st.DrawFn) -> list[Any]:
    """Sound chunks in an order in which nobody sends them, with broken JSON in arguments."""
    value = draw(st.sampled_from(VALUES)).text
    at = draw(st.integers(0, len(value)))
    halves = (f"see {value[:at]}", f"{value[at:]} now ")
    parts: list[Body] = [
        {"type": "start", **ENVELOPE, "payload": {}},
        {"type": "step-start", **ENVELOPE, "payload": {}},
        *({"type": f"text-{what}", **ENVELOPE, "payload": {"id": "t"}} for what in ("start", "end")),
        *({"type": f"reasoning-{what}", **ENVELOPE, "payload": {"id": "t"}} for what in ("start", "end")),
        {"type": "tool-call-input-streaming-start", **ENVELOPE, "payload": CALL},
        {"type": "tool-call-input-streaming-end", **ENVELOPE, "payload": {"toolCallId": "c"}},
        {"type": "tool-call", **ENVELOPE, "payload": {**CALL, "args": {"say": apart(VALUES[0])}}},
        {"type": "tool-result", **ENVELOPE, "payload": {**CALL, "result": VALUES[0].number}},
        {"type": "object", **ENVELOPE, "object": {"say": "see "}},
        {"type": "object", **ENVELOPE, "object": {"say": apart(VALUES[1]), "n": [VALUES[0].number]}},
        {"type": "object-result", **ENVELOPE, "object": {"say": apart(VALUES[2])}},
        {"type": "step-finish", **ENVELOPE, "payload": {}},
        {"type": "finish", **ENVELOPE, "payload": {}},
        delta("no more "),
        piece('{"a": "' + apart(VALUES[1])),
        piece(f'", "a": 1, "a": {VALUES[0].number}' + "}"),
        piece('{"\\u00'),
        piece("[" * 300),
    ]
    depths = st.sampled_from([0, 0, 0, 1, 50])
    source = [nested(one, draw(depths)) for one in draw(st.lists(st.sampled_from(parts), max_size=12))]
    kind, depth = draw(st.sampled_from(["text", "reasoning"])), draw(depths)
    where = draw(st.integers(0, len(source)))
    source[where:where] = [nested(delta(half, "whole", kind), depth) for half in halves]
    return source


streams: Final = st.one_of(
    disordered(),
    st.lists(st.one_of(mutated(), invented()), max_size=6),
    st.lists(invented(), max_size=4).map(lambda bodies: [nested(body, 50) for body in bodies]),
).map(Given)
anything: Final = st.one_of(mutated(), invented(), odd).map(Given)

often = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def try_chunk(body: Any) -> None:
    """Parse what may be no chunk; what is one goes to JSON and back unchanged."""
    refused: ChunkError | None = None
    try:
        with within(SECONDS):
            chunk = parse_chunk(body)
            assert parse_chunk(dump_json(chunk)).type == chunk.type
    except ChunkError as error:
        refused = error
    if refused is not None:
        check(refused)


@often
@given(anything)
def test_parse_gives_a_chunk_or_says_why_not(body: Given) -> None:
    """Whatever it is given, `parse_chunk` gives a chunk or a `ChunkError` that repeats no value."""
    try_chunk(body.value)


@often
@given(st.sampled_from(_RECORDED), st.data())
def test_parse_takes_any_text(body: Body, data: st.DataObject) -> None:
    """The same for JSON lines in which characters are missing, doubled or others."""
    line = json.dumps(body)
    at = data.draw(st.integers(0, len(line)))
    size = data.draw(st.integers(0, 9))
    new = data.draw(
        st.sampled_from(["", "{", "}", '"', "\\", "\\ud83d", "[" * 1000, "1e999", "9" * 5000, "NaN"])
    )
    text = line[:at] + new + line[at + size :]
    try_chunk(data.draw(st.sampled_from([text, text.encode(), text.encode("utf-16")])))


@often
@given(streams)
def test_a_broken_stream_is_refused_or_guarded(source: Given) -> None:
    """Chunks of any shape, in any order, are guarded, or the stream ends with a `ChunkError`."""
    check(guard(source.value))


@pytest.mark.fuzz
def test_a_broken_stream_is_refused_or_guarded_at_length() -> None:
    """The same for as long as FUZZ_SECONDS says."""
    ends, tried = time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60")), 0

    @settings(often, max_examples=500, database=None, phases=[Phase.generate])
    @given(streams, anything)
    def run(source: Given, body: Given) -> None:
        nonlocal tried
        if time.monotonic() < ends:
            tried += 1 + len(source.value)
            check(guard(source.value))
            try_chunk(body.value)

    while time.monotonic() < ends:
        run()
    print(f"{tried} chunks")  # noqa: T201 - the evidence


# --- what deserves a name

_SECRET: Final = apart(VALUES[2])
_CARD: Final = apart(VALUES[0])
NAMED: Final[dict[str, list[Any]]] = {
    "1,000 levels in a result": [{"type": "tool-result", "payload": {**CALL, "result": deep(1000, _SECRET)}}],
    "190 levels in a result": [{"type": "tool-result", "payload": {**CALL, "result": deep(190, _SECRET)}}],
    "1,000 levels in arguments": [
        piece('{"a":' * 1000),
        piece(f'"{_SECRET}"' + "}" * 1000),
        {"type": "tool-call-input-streaming-end", "payload": {"toolCallId": "c"}},
    ],
    "1,000 levels of chunks": [nested(delta(_SECRET), 1000)],
    "a number of 5,000 digits": [{"type": "data-n", "data": 10**5000}],
    "a number of 5,000 digits in text": ['{"type": "data-n", "data": ' + "1" * 5000 + "}"],
    "one key twice": [
        piece('{"a": "' + _SECRET + '", "a": "b"}'),
        {"type": "tool-call", **ENVELOPE, "payload": {**CALL, "args": {"a": "b"}}},
    ],
    "one key twice, nested": [
        piece('{"x": [{"a": "' + _SECRET + '", "a": "b"}]}'),
        {"type": "tool-call", **ENVELOPE, "payload": {**CALL, "args": {"x": [{"a": "b"}]}}},
    ],
    "arguments that are no JSON": [
        piece('{"a": "' + _SECRET[:8]),
        piece(_SECRET[8:]),
        {"type": "tool-call", **ENVELOPE, "payload": CALL},
    ],
    "arguments with escapes that are no JSON": [
        piece('{"a": "' + "".join(f"\\u{ord(char):04X}" for char in _SECRET)),
        {"type": "finish", **ENVELOPE, "payload": {}},
    ],
    "a delta after its end": [
        delta(_SECRET[:8]),
        {"type": "text-end", **ENVELOPE, "payload": {"id": "t"}},
        delta(_SECRET),
    ],
    "ends without starts": [
        {"type": "text-end", **ENVELOPE, "payload": {"id": "t"}},
        {"type": "tool-call-input-streaming-end", **ENVELOPE, "payload": {"toolCallId": "c"}},
        {"type": "finish", **ENVELOPE, "payload": {}},
        delta(_SECRET),
    ],
    "no run": [{"type": "text-delta", "payload": {"id": "t", "text": part}} for part in ("a", *_SECRET)],
    "a run on the second piece only": [
        {"type": "text-delta", "payload": {"id": "t", "text": _CARD[:14]}},
        {"type": "text-delta", "runId": "run", "payload": {"id": "t", "text": _CARD[14:]}},
    ],
    "a run on the first piece only": [
        {"type": "text-delta", "runId": "run", "payload": {"id": "t", "text": _CARD[:14]}},
        {"type": "data-n", "runId": "other", "data": 1},
        {"type": "text-delta", "payload": {"id": "t", "text": _CARD[14:]}},
    ],
    "half surrogates in keys and values": [
        {"type": "data-n", "data": {"\ud83d": "\udc4d" + _SECRET, "half": ["\ud83d"]}},
        delta("\ud83d"),
        delta(_SECRET + "\udc4d"),
    ],
    "an object that holds itself": [],
    "a chunk as a Python object": [
        ToolOutput(
            payload=ToolOutputPayload(output=TextDelta(payload=TextDeltaPayload(id="t", text=part))),
        )
        for part in (_SECRET[:9], _SECRET[9:])
    ],
    "a Python object in a chunk": [
        {
            "type": "tool-output",
            "payload": {"output": TextDelta(payload=TextDeltaPayload(id="t", text=_SECRET))},
        }
    ],
    "200,000 characters": [{"type": "data-n", "data": {"say": "x " * 100_000 + _SECRET}}],
    "2,000 keys": [{"type": "data-n", "data": {f"k {at}": _SECRET for at in range(2_000)}}],
}
_RING: Final[Body] = {"type": "data-n", "data": {"say": _SECRET}}
_RING["data"]["ring"] = _RING
NAMED["an object that holds itself"].append(_RING)


@pytest.mark.parametrize("name", NAMED)
def test_broken_in_a_way_that_has_a_name(name: str) -> None:
    """Each is refused with a `ChunkError` or guarded, and nothing of what stands in it is seen."""
    check(guard(NAMED[name]))


@pytest.mark.parametrize("depth", [1, 16, 17, 50, 99])
@pytest.mark.parametrize("make", [delta, piece])
def test_texts_in_nested_chunks_are_guarded(make: Callable[[str], Body], depth: int) -> None:
    """What a text or a call says however deep in other chunks is redacted there, though it is cut in two."""
    text = apart(VALUES[0])
    came = guard([nested(make(part), depth) for part in (text[:14], text[14:])])
    check(came)
    assert isinstance(came, Came)
    assert " see [CREDIT_CARD] now " in joined_texts(came.bodies)
