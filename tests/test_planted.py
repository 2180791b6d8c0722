"""Private data and keys that are planted anywhere in recorded streams: no part of them comes out."""

import base64
import json
import os
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Final
from urllib.parse import quote

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from guardrails import Parallel, Pipeline, Strategy
from processors.regex import Regex
from tests.planting import (
    COPIES,
    MAKERS,
    STREAMS,
    Body,
    Came,
    Leaf,
    Planted,
    Value,
    apart,
    api_key,
    came_of,
    card,
    email,
    escaped,
    innermost,
    leaked,
    leaves,
    plant,
    planted,
    recorded,
)

_PRIVATE: Final = "private-data"
_SECRETS: Final = "secrets"


def both(strategy: Strategy) -> Pipeline:
    """One processor with both presets."""
    return Pipeline([Regex(presets=(_PRIVATE, _SECRETS), strategy=strategy)])


def _two(strategy: Strategy) -> list[Regex]:
    return [Regex(id=name, presets=(name,), strategy=strategy) for name in (_PRIVATE, _SECRETS)]


PIPELINES: Final[dict[str, Callable[[Strategy], Pipeline]]] = {
    "one": both,
    "parallel": lambda strategy: Pipeline([Parallel(members=_two(strategy))]),
    "chain": lambda strategy: Pipeline(_two(strategy)),
}

many = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a seed does not become simpler
)

streams = st.builds(planted, st.sampled_from(STREAMS), st.integers(0, 2**32))


def check(stream: Planted, came: Came, strategy: Strategy, *, whole: bool) -> None:
    """Nothing planted is seen anywhere, and the stream went on or was refused for what was found."""
    assert leaked(stream.values, stream.clean, came.everything, whole=whole) == [], stream.places
    found = {finding.label for finding in came.result.findings}
    if strategy == "block" and stream.told:
        assert came.result.status == "blocked", stream.places
        assert came.result.tripwire is not None
        assert came.result.tripwire.payload.code == came.result.findings[-1].code, stream.places
    elif strategy == "redact":
        assert came.result.status == "completed", (stream.places, came.result.tripwire)
        assert {value.label for value in stream.told} <= found, stream.places


def try_planted(stream: Planted, name: str, strategy: Strategy) -> Came:
    """Guard a planted stream and look for what was planted."""
    came = anyio.run(came_of, PIPELINES[name](strategy), stream.bodies)
    # A refusal ends the text for the next in a chain, which may then see the beginning of a value only.
    check(stream, came, strategy, whole=name == "chain" and strategy == "block")
    return came


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("strategy", ["redact", "block"])
def test_nothing_planted_comes_out(name: str, strategy: Strategy) -> None:
    """No part of what was planted is in a chunk, a joined text, a finding, a tripwire or a log line."""

    @many
    @given(streams)
    def run(stream: Planted) -> None:
        note(str(stream.places))
        try_planted(stream, name, strategy)

    run()


@pytest.mark.fuzz
def test_nothing_planted_comes_out_at_length() -> None:
    """The same for as long as FUZZ_SECONDS says, from a seed of the clock."""
    seed = time.time_ns()
    print(f"seed {seed}")  # noqa: T201 - what a failure is repeated with
    random, ends = Random(seed), time.monotonic() + float(os.environ.get("FUZZ_SECONDS", "60"))
    tried = 0
    while time.monotonic() < ends:
        stream = planted(random.choice(STREAMS), random.randrange(2**32))
        strategy: Strategy = random.choice(["redact", "block"])
        try_planted(stream, random.choice(list(PIPELINES)), strategy)
        tried += 1
    print(f"{tried} planted streams")  # noqa: T201 - the evidence


# --- each place once


def places() -> dict[str, list[tuple[Body, Leaf]]]:
    """Each place of content in the recordings once, by the type of the chunk."""
    found: dict[str, dict[str, tuple[Body, Leaf]]] = {}
    for path in STREAMS:
        for body in recorded(path):
            for leaf in leaves(body):
                found.setdefault(body["type"], {}).setdefault(leaf.pattern, (body, leaf))
    return {kind: list(here.values()) for kind, here in found.items()}


PLACES: Final = places()


def planted_at(body: Body, leaf: Leaf, value: Value, random: Random) -> Planted:
    """One chunk with something planted at one place."""
    clean, given = json.dumps(body, ensure_ascii=False), json.loads(json.dumps(body))
    plant(given, leaf, value, random)
    told = [] if innermost(body).body["type"] in COPIES else [value]
    return Planted([given], [value], told, clean, [f"{body['type']} {leaf.pattern}: {value.text}"])


@pytest.mark.parametrize("kind", PLACES)
def test_each_place_is_looked_at(kind: str) -> None:
    """Whatever stands at any place of content of a recorded chunk is found there and taken out."""
    random, missed = Random(kind), {}
    for body, leaf in PLACES[kind]:
        makers = {"keys": MAKERS, "number": [card], "string": random.sample(MAKERS, 2)}
        for make in makers[leaf.kind]:
            value = make(random)
            try:
                try_planted(planted_at(body, leaf, value, random), "one", "redact")
            except AssertionError as error:
                missed[f"{leaf.pattern}: {value.label}"] = str(error)
    assert missed == {}


# --- a look that is not ours


def as_sse(lines: Sequence[str]) -> bytes:
    """Chunks as server-sent events."""
    return "".join(f"data: {line}\n\n" for line in lines).encode("utf-8", "surrogatepass")


def disguises(value: Value) -> set[bytes]:
    """A value as it may stand in bytes: plain, in escapes of JSON or URLs, in base64 at any place."""
    found = {text.encode() for text in value.forms}
    for text in value.forms:
        found |= {quote(text, safe="").encode(), "".join(f"%{ord(char):02X}" for char in text).encode()}
        found |= {"".join(f"\\u{ord(char):04x}" for char in text).encode()}
        found |= {text.replace("@", escape).encode() for escape in ("\\u0040", "%40", "&#64;")}
        found |= {_in_base64(text, shift) for shift in range(3)}
    return found


def _in_base64(text: str, shift: int) -> bytes:
    """What a text always is in base64, if it begins `shift` bytes behind a multiple of three."""
    encoded = base64.b64encode(b"\0" * shift + text.encode())
    whole = (shift + len(text)) // 3 * 4  # what comes after that depends on the bytes that follow
    return encoded[4 if shift else 0 : whole]


def with_disguised(stream: Planted, random: Random) -> Planted:
    """The stream, and behind it a text file and a tool call that hide values as such chunks do."""
    values = [email(random), api_key(random), card(random)]
    file, key, number = values
    data = base64.b64encode(("-" * random.randrange(3) + apart(file)).encode()).decode()
    call = {"toolCallId": "planted", "toolName": "t"}
    args = f'{{"{escaped(key.text, random)}": "{escaped(apart(number), random)}"}}'
    where = random.randrange(len(args))
    bodies: list[Body] = [
        {"type": "file", "payload": {"data": data, "mimeType": "text/plain"}},
        {"type": "tool-call-input-streaming-start", "payload": call},
        {"type": "tool-call-delta", "payload": {**call, "argsTextDelta": args[:where]}},
        {"type": "tool-call-delta", "payload": {**call, "argsTextDelta": args[where:]}},
        {"type": "tool-call", "payload": {**call, "args": json.loads(args)}},
    ]
    at = random.randrange(len(stream.bodies) + 1)
    mixed = [*stream.bodies[:at], *bodies, *stream.bodies[at:]]
    told = [*stream.told, *values]
    return Planted(
        mixed, [*stream.values, *values], told, stream.clean, [*stream.places, f"at {at}: {values}"]
    )


@pytest.mark.parametrize("strategy", ["redact", "block"])
def test_no_disguise_of_what_was_planted_is_in_the_bytes(strategy: Strategy) -> None:
    """As server-sent events, the stream has what was planted neither plain nor in any usual encoding."""

    @settings(many, max_examples=100)
    @given(streams, st.integers(0, 2**32))
    def run(given_stream: Planted, seed: int) -> None:
        stream = with_disguised(given_stream, Random(seed))
        note(str(stream.places))
        came = try_planted(stream, "one", strategy)
        sent = as_sse(came.lines)
        for value in stream.values:
            assert [one for one in disguises(value) if one in sent] == [], stream.places

    run()


@pytest.mark.parametrize("seed", range(20))
def test_the_look_itself_sees_each_disguise(seed: int) -> None:
    """What passes unguarded is seen, in whichever encoding it stands."""
    random = Random(seed)
    value = random.choice(MAKERS)(random)
    for text in value.forms:
        written = [
            json.dumps({"t": f"a {text} b"}),
            quote(text, safe=""),
            *(base64.b64encode(b"x" * shift + f"{text} and".encode()).decode() for shift in range(3)),
        ]
        for one in written:
            assert any(disguise in as_sse([one]) for disguise in disguises(value)), one
    assert leaked([value], "", apart(value))
