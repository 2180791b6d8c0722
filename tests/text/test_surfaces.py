"""Where a text processor looks: every surface of a chunk, and nothing that only names."""

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Final

import anyio
import pytest
from anyio.lowlevel import checkpoint

from guardrails import Detection, Parallel, Pipeline, Processor, Result, Segment, TextProcessor
from guardrails.chunks import Chunk, ToolResult, ToolResultPayload, dump_chunk, parse_chunk
from guardrails.testing import Patterns, SlowWords
from guardrails.text.feeds import SLICE
from guardrails.text.pattern import Pattern

CARD: Final = "4539578122045518"
ENCODED: Final = base64.b64encode(CARD.encode()).decode()
BROKEN: Final = f"{ENCODED[:9]}\n{ENCODED[9:]}"
FILE: Final = {"mimeType": "text/plain", "data": ENCODED}
RUN: Final = {"runId": "run", "from": "AGENT"}


def card(**settings: Any) -> Processor:
    return Patterns(find=r"\d{16}", **settings)


def call(id_: str = "c1") -> dict[str, Any]:
    return {"toolCallId": id_, "toolName": "t"}


def body(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"type": kind, **RUN, "payload": payload}


def streamed(pieces: Sequence[str], id_: str = "c1", *, whole: Any = None) -> list[dict[str, Any]]:
    """A tool call as it streams, with the whole arguments at its end if they are given."""
    final = [] if whole is None else [body("tool-call", **call(id_), args=whole)]
    return [
        body("tool-call-input-streaming-start", **call(id_)),
        *(body("tool-call-delta", **call(id_), argsTextDelta=piece) for piece in pieces),
        body("tool-call-input-streaming-end", toolCallId=id_),
        *final,
    ]


def nested(*bodies: Any, id_: str = "c1") -> list[dict[str, Any]]:
    return [body("tool-output", **call(id_), output=inner) for inner in bodies]


def delta(text: str, id_: str = "t1", kind: str = "text") -> dict[str, Any]:
    return body(f"{kind}-delta", id=id_, text=text)


def guarded(
    bodies: Iterable[dict[str, Any] | Chunk], *processors: Processor
) -> tuple[list[dict[str, Any]], Result]:
    """What comes out of a stream."""
    pipeline = Pipeline(processors or [card()])
    with pipeline.stream_sync([*bodies], run_id="run") as chunks:
        out = [dump_chunk(chunk) for chunk in chunks]
    return out, chunks.result


def same_when_slow(bodies: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], Result]:
    """What comes out, which is the same in a group with a detector whose answers come late."""
    out, result = guarded(bodies)
    slow = Parallel(members=(Patterns(id="patterns", find=r"\d{16}"), SlowWords(find="never")))
    late, _ = guarded(bodies, slow)
    assert late == out
    return out, result


def deltas_of(out: Sequence[dict[str, Any]], id_: str = "c1") -> str:
    return "".join(
        one["payload"]["argsTextDelta"]
        for one in out
        if one["type"] == "tool-call-delta" and one["payload"]["toolCallId"] == id_
    )


PLACES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "arguments": ("tool_args", body("tool-call", **call(), args={"a": [{"b": CARD}]})),
    "a key of arguments": ("tool_args", body("tool-call", **call(), args={CARD: 1})),
    "a number": ("tool_args", body("tool-call", **call(), args={"n": int(CARD)})),
    "a float": ("tool_args", body("tool-call", **call(), args={"n": float(CARD)})),
    "an id in arguments": ("tool_args", body("tool-call", **call(), args={"id": CARD})),
    "what a provider's tool gave": ("tool_results", body("tool-call", **call(), args={}, output=CARD)),
    "result": ("tool_results", body("tool-result", **call(), result={"x": CARD})),
    "arguments repeated": ("tool_args", body("tool-result", **call(), result=1, args={"x": CARD})),
    "error": ("tool_results", body("tool-error", **call(), error={"message": CARD})),
    "output": ("tool_results", body("tool-output", **call(), output={"x": CARD})),
    "output of a step": ("tool_results", body("step-output", output=CARD)),
    "suspension": (
        "tool_results",
        body("tool-call-suspended", **call(), suspendPayload={"x": CARD}, args={}, resumeSchema="{}"),
    ),
    "approval": ("tool_args", body("tool-call-approval", **call(), args={"x": CARD}, resumeSchema="{}")),
    "background result": (
        "tool_results",
        body("background-task-completed", **call(), taskId="k", agentId="a", runId="r", result=CARD,
             completedAt="2026-01-01"),
    ),
    "object": ("object", {"type": "object-result", **RUN, "object": {"x": CARD}}),
    "data": ("data", {"type": "data-x", "data": [CARD]}),
    "custom": ("data", body("custom", kind="x", said=CARD)),
    "source": ("sources", body("source", id="s", sourceType="url", title=f"about {CARD}")),
    "file of text": ("sources", body("file", data=ENCODED, mimeType="text/csv")),
    "file with line breaks": ("sources", body("file", data=BROKEN, mimeType="text/csv")),
    "file of another encoding": (
        "sources",
        body("file", data=base64.b64encode(f"café {CARD}".encode("latin-1")).decode(), mimeType="text/plain"),
    ),
    "what is no picture": ("data", {"type": "data-x", "data": {"mimeType": "image/png", "data": CARD}}),
    "file in an object": ("object", {"type": "object", **RUN, "object": FILE}),
    "data URI": ("data", {"type": "data-x", "data": f"data:text/plain;base64,{ENCODED}"}),
    "file as it stands": ("sources", body("file", data=f"n: {CARD}", mimeType="text/plain")),
    "file of bytes": (
        "sources",
        body("file", data={str(at): byte for at, byte in enumerate(CARD.encode())}, mimeType="text/plain"),
    ),
    "a score that is text": ("other", body("something-new", results=[{"score": CARD}])),
    "raw": ("other", body("raw", choices=[{"delta": CARD}])),
    "bare raw": ("other", {"type": "raw", **RUN, "payload": CARD}),
    "error of the stream": ("other", body("error", error={"message": CARD})),
    "unknown type": ("other", body("something-new", deep=[[{"x": CARD}]])),
    "unknown top-level key": ("other", {"type": "start", **RUN, "payload": {}, "note": CARD}),
    "workflow": ("tool_results", body("workflow-step-output", output={"x": CARD})),
    "metadata of a provider": (
        "text",
        body("text-start", id="t1", providerMetadata={"p": {"note": CARD}}),
    ),
}  # fmt: skip
"""A card in each kind of place, with its surface."""


def hidden(text: str) -> bool:
    """Whether a card is neither in a text nor in its base64."""
    numbers = ",".join(f'"{at}": {byte}' for at, byte in enumerate(CARD.encode()))
    return CARD not in text and ENCODED.rstrip("=") not in text and numbers not in text


@pytest.mark.parametrize("place", PLACES)
def test_a_card_is_found_wherever_it_stands(place: str) -> None:
    """It is redacted there, reported with its surface, and refused under `block`."""
    surface, given = PLACES[place]
    out, result = same_when_slow([given])
    assert hidden(json.dumps(out))
    assert [finding.surface for finding in result.findings] == [surface]
    assert [one["type"] for one in out] == [given["type"]]
    parse_chunk(out[0])
    out, result = guarded([given], card(strategy="block"))
    assert result.status == "blocked"
    assert hidden(json.dumps(out))


@pytest.mark.parametrize("place", PLACES)
def test_a_surface_that_is_not_named_passes(place: str) -> None:
    """What `surfaces` leaves out passes unseen by that processor, and by that one alone."""
    surface, given = PLACES[place]
    others = [name for name in ("text", "tool_args", "tool_results", "data", "other") if name != surface]
    blind = card(id="blind", surfaces=others, strategy="block")
    out, result = guarded([given], blind)
    assert out == [dump_chunk(parse_chunk(given))]
    assert result.findings == ()
    out, result = guarded([given], blind, card(id="seeing", surfaces=[surface]))
    assert [finding.processor_id for finding in result.findings] == ["seeing"]


NAMING: Final = (
    body("tool-call", **call(CARD), args={}),
    body("tool-result", **call(), result=1) | {"runId": CARD},
    body("source", id=CARD, sourceType="document", title="x", mimeType=CARD),
    body("something-new", itemId=CARD, taskIds=[CARD], createdAt=int(CARD), timestamp=CARD, status=CARD),
    body("tool-call", **call(), args={"createdAt": int(CARD), "timestamp": int(CARD), "duration": int(CARD)}),
    body("tool-call", toolCallId="c1", toolName=CARD, args={}, title=CARD),
    body("step-finish", stepResult={"reason": CARD}, output={"usage": {"inputTokens": int(CARD)}}),
    body("finish", messages={"all": [{"role": CARD, "id": CARD, "content": []}]}),
    body("file", data=base64.b64encode(b"\x89PNG" + CARD.encode()).decode(), mimeType="image/png"),
)  # fmt: skip


@pytest.mark.parametrize("given", NAMING)
def test_what_names_is_left_alone(given: dict[str, Any]) -> None:
    """Ids, types, names, roles, states, times and pictures are neither looked at nor changed."""
    out, result = guarded([given], card(strategy="block"))
    assert out == [dump_chunk(parse_chunk(given))]
    assert result.status == "completed"


def test_a_clean_chunk_is_the_same_object() -> None:
    """What nothing was found in leaves as it came, not as a copy."""
    chunks = [
        parse_chunk(given) for given in (*NAMING, body("tool-result", **call(), result={"a": [1.5, None]}))
    ]
    with Pipeline([card()]).stream_sync(chunks) as stream:
        assert all(new is old for new, old in zip(stream, chunks, strict=True))


def test_two_keys_that_are_hidden_alike_both_stay() -> None:
    """A redaction loses no value, although the keys become the same."""
    other = CARD[:-1] + "9"
    out, _ = guarded([body("tool-result", **call(), result={CARD: 1, other: 2, "[FOUND]": 3})])
    result = out[0]["payload"]["result"]
    assert sorted(result.values()) == [1, 2, 3]
    assert hidden(json.dumps(out))


def test_many_keys_that_are_hidden_alike_stay_short() -> None:
    """Thousands of keys that are the same after redaction differ by a number, not by ever longer tails."""
    result = {f"see {CARD} {number:016}": number for number in range(3000)}
    (out,), _ = guarded([body("tool-result", toolCallId="c1", toolName="t", result=result)])
    keys = list(out["payload"]["result"])
    assert len(keys) == 3000
    assert not any(CARD in key for key in keys)
    assert sum(map(len, keys)) < 3000 * 60


def test_keys_that_a_type_needs_are_left_alone() -> None:
    """A word that is also a key of the protocol is hidden as content and not as that key."""
    bodies = [
        body("custom", kind="x", said="the kind"),
        {"type": "data-x", **RUN, "data": "is transient", "transient": True},
    ]
    out, result = guarded(bodies, Patterns(find="kind|transient"))
    assert result.status == "completed"
    assert out[0]["payload"] == {"kind": "x", "said": "the [FOUND]"}
    assert (out[1]["data"], out[1]["transient"]) == ("is [FOUND]", True)


def test_paths_do_not_tell_keys() -> None:
    """Where something was found is told by places: a key may be what another processor looks for."""
    given = body("tool-result", **call(), result={"orchid": {"x": [CARD]}})
    _, result = guarded([given])
    assert [finding.channel for finding in result.findings] == ["c1:result[0][0][0]"]


def test_bytes_of_python_are_looked_into() -> None:
    """A value that is bytes is guarded as the text that it is."""
    payload = ToolResultPayload(tool_call_id="c", tool_name="t", result=[f"x {CARD}".encode()])
    with Pipeline([card()]).stream_sync([ToolResult(payload=payload)]) as stream:
        (chunk,) = stream
    assert chunk.payload.result == [b"x [FOUND]"]  # type: ignore[union-attr]


# --- tool calls


ARGS: Final = {"to": f"card {CARD}", "n": 3, "deep": [{"é": None}]}
CLEAN_ARGS: Final = {"to": "nobody", "n": 3, "deep": [{"é": None}]}


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("escaped", [True, False])
def test_arguments_are_judged_decoded(size: int, *, escaped: bool) -> None:
    """However they are cut, the deltas become one piece of valid JSON that agrees with the call."""
    text = json.dumps(ARGS)
    if escaped:
        text = text.replace(CARD, "".join(f"\\u{ord(digit):04x}" for digit in CARD))
    out, result = same_when_slow(streamed(cut(text, size), whole=ARGS))
    args = {**ARGS, "to": "card [FOUND]"}
    assert json.loads(deltas_of(out)) == args
    assert out[-1]["payload"]["args"] == args
    assert [one["type"] for one in out].count("tool-call-delta") == 1
    assert [finding.channel for finding in result.findings] == ["c1:args[0]"]


def test_clean_arguments_keep_their_text() -> None:
    """What is clean leaves with the JSON text as it was written."""
    text = json.dumps(CLEAN_ARGS, indent=3)
    out, _ = same_when_slow(streamed(cut(text, 5), whole=CLEAN_ARGS))
    assert deltas_of(out) == text
    assert out[-1]["payload"]["args"] == CLEAN_ARGS


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_no_part_of_a_blocked_call_leaves(size: int) -> None:
    """What stands before the call does; of the call, neither its opening nor any piece."""
    bodies = [delta("Let me see."), *streamed(cut(json.dumps(ARGS), size), whole=ARGS)]
    out, result = guarded(bodies, card(strategy="block"))
    assert [one["type"] for one in out] == ["text-delta", "tripwire", "finish"]
    assert result.text == "Let me see."
    assert result.tool_calls == ()


def test_arguments_that_are_complete_json_too_early_are_no_verdict() -> None:
    """A number whose beginning is a number is judged when the call is complete."""
    out, _ = same_when_slow([*streamed(list(CARD)), delta("done")])
    assert json.loads(deltas_of(out)) == "[FOUND]"


def test_a_call_without_its_end_chunk_is_decided() -> None:
    """Without a `tool-call`, the next other chunk decides; without an end, that of the step does."""
    text = json.dumps(ARGS)
    out, _ = same_when_slow([*streamed([text]), delta("x"), body("finish")])
    assert json.loads(deltas_of(out))["to"] == "card [FOUND]"
    out, _ = same_when_slow([*streamed([text])[:-1], body("step-finish"), body("finish")])
    assert json.loads(deltas_of(out))["to"] == "card [FOUND]"
    out, _ = same_when_slow(streamed([text])[:-1])
    assert json.loads(deltas_of(out))["to"] == "card [FOUND]"


@pytest.mark.parametrize("size", [1, 4, 6000])
def test_long_arguments_wait_as_long_as_their_text(size: int) -> None:
    """How finely arguments are cut does not decide whether they fit into what may wait."""
    text = json.dumps({"content": "The quick brown fox jumps. " * 220})
    out, result = guarded(streamed(cut(text, size)), card(max_waiting=20_000))
    assert result.status == "completed"
    assert deltas_of(out) == text


@pytest.mark.parametrize(
    "text",
    [
        f'{{"to": "card {CARD}", "x',
        '{"to": "card ' + "".join(f"\\u{ord(digit):04x}" for digit in CARD) + '", "x',
        f'{{"a": {CARD}, "a": 1}}',
        f'{{"a": NaN, "b": {CARD}}}',
        "[" * 300 + f'"{CARD}"' + "]" * 300,
        CARD + " is no JSON",
    ],
    ids=["cut off", "escaped and cut off", "doubled key", "not a number", "deep", "text"],
)
def test_arguments_that_are_no_json_are_judged_as_text(text: str) -> None:
    """Whatever a producer sends as arguments, the card in it does not get out."""
    out, _ = same_when_slow([*streamed(cut(text, 9)), delta("on")])
    assert hidden(deltas_of(out))
    assert "0034" not in deltas_of(out)
    assert out[-1] == delta("on")


def test_a_call_that_differs_from_what_streamed_is_judged_too() -> None:
    """Both are looked at, whatever the other says."""
    out, result = same_when_slow(streamed(['{"a": 1}'], whole={"a": CARD}))
    assert (deltas_of(out), out[-1]["payload"]["args"]) == ('{"a": 1}', {"a": "[FOUND]"})
    out, result = same_when_slow(streamed([json.dumps({"a": CARD})], whole={"a": 1}))
    assert (json.loads(deltas_of(out)), out[-1]["payload"]["args"]) == ({"a": "[FOUND]"}, {"a": 1})
    assert len(result.findings) == 1


def test_parallel_calls_do_not_mix() -> None:
    """Two calls whose parts take turns are judged each by itself and leave in their order."""
    first, second = (streamed([f'{{"a": "{half}'[:-8], f'{half[-8:]}"}}'], id_, whole={"a": half})
                     for id_, half in (("c1", CARD[:8]), ("c2", CARD[8:])))  # fmt: skip
    bodies = [one for pair in zip(first, second, strict=True) for one in pair]
    out, result = same_when_slow(bodies)
    assert result.findings == ()
    order = [(one["type"], one["payload"]["toolCallId"]) for one in out if one["type"] != "tool-call-delta"]
    assert order == [
        (one["type"], one["payload"]["toolCallId"]) for one in bodies if one["type"] != "tool-call-delta"
    ]
    assert [deltas_of(out, id_) for id_ in ("c1", "c2")] == [
        f'{{"a": "{CARD[:8]}"}}',
        f'{{"a": "{CARD[8:]}"}}',
    ]


def test_a_call_does_not_wait_for_texts_that_nobody_looks_at() -> None:
    """What follows a call whose input has ended decides it, whatever surface it stands on."""
    alone = card(surfaces=["tool_args"], max_waiting=200, max_hold=64)
    out, result = guarded([*streamed(['{"a":1}']), *(delta("word " * 9) for _ in range(90))], alone)
    assert (result.status, len(out)) == ("completed", 93)


def test_parts_of_a_call_that_name_no_run_belong_to_it() -> None:
    """A producer that leaves `runId` out of some parts does not part a call by that."""
    parts = streamed([f'{{"a":"{CARD[:8]}', f'{CARD[8:]}"}}'])
    parts[2] = {key: value for key, value in parts[2].items() if key != "runId"}
    out, _ = guarded([*parts[:2], delta("x") | {"runId": "other"}, *parts[2:]])
    assert json.loads(deltas_of(out)) == {"a": "[FOUND]"}


# --- texts that grow in other chunks


@pytest.mark.parametrize(
    "ending",
    [
        body("tool-result", **call(), result=1),
        body("tool-error", **call(), error="x"),
        body(
            "background-task-completed",
            **call(),
            taskId="c1",
            agentId="a",
            runId="r",
            result=1,
            completedAt="",
        ),
        body("workflow-step-result", id="c1", status="success"),
    ],
    ids=lambda given: given["type"],
)
def test_what_was_streamed_is_over_when_it_is_answered(ending: dict[str, Any]) -> None:
    """A nested text that nobody closed is decided then, and holds nothing back any longer."""
    seen: list[int] = []
    source = [*nested(delta(CARD[:8])), ending, delta("on"), delta("and on")]

    def asked() -> Iterator[dict[str, Any]]:
        for one in source:
            seen.append(len(out))
            yield one

    out: list[Chunk] = []

    async def guard() -> None:
        async with Pipeline([card()]).stream(asked()) as chunks:
            async for chunk in chunks:
                out.append(chunk)  # noqa: PERF401 - what has come is counted meanwhile

    anyio.run(guard)
    assert seen == [0, 0, 2, 3]


def test_a_card_over_two_nested_deltas_is_found() -> None:
    """The chunks of a sub-agent are a stream of their own."""
    inner = [delta("card " + CARD[:5]), delta(CARD[5:]), delta(" ok")]
    out, result = same_when_slow([*nested(*inner), body("tool-result", **call(), result=1)])
    said = "".join(one["payload"]["output"]["payload"]["text"] for one in out[:-1])
    assert said == "card [FOUND] ok"
    assert [finding.channel for finding in result.findings] == ["c1/t1"]


def test_nested_texts_of_different_owners_do_not_mix() -> None:
    """Halves in two sub-agents, in two runs or in two ids are no card."""
    halves = CARD[:8], CARD[8:]
    bodies = [
        *(
            one
            for id_, half in zip(("c1", "c2"), halves, strict=True)
            for one in nested(delta(half), id_=id_)
        ),
        *(delta(half) | {"runId": run} for run, half in zip(("r1", "r2"), halves, strict=True)),
        delta(halves[0], "t8"),
        delta(halves[1], "t9"),
        delta(halves[0], "t7"),
        delta(halves[1], "t7", "reasoning"),
    ]
    _, result = guarded(bodies)
    assert result.findings == ()


def test_a_chunk_without_its_run_belongs_to_the_one_that_spoke_last() -> None:
    """A producer that leaves `runId` out of some chunks does not part a text by that."""
    second = {key: value for key, value in delta(CARD[8:]).items() if key != "runId"}
    _, result = guarded([delta(CARD[:8]), second])
    assert result.text == "[FOUND]"


def test_chunks_stand_in_one_another() -> None:
    """A background task that streams a tool that streams a workflow that speaks is looked into."""
    about = {"taskId": "k", "agentId": "a", "runId": "r", **call()}
    bodies = [
        body("background-task-output", **about, payload=nested(body("step-output", output=delta(half)))[0])
        for half in (CARD[:8], CARD[8:])
    ]
    out, result = same_when_slow(bodies)
    assert CARD[:8] not in json.dumps(out)
    assert CARD[8:] not in json.dumps(out)
    assert len(result.findings) == 1


def test_nested_tool_calls_and_copies_are_guarded_as_outside() -> None:
    """Arguments that stream within a sub-agent wait for their verdict; its copies are hidden in silence."""
    out, result = same_when_slow(nested(*streamed(cut(json.dumps(ARGS), 4), whole=ARGS)))
    assert hidden(json.dumps(out))
    assert len(result.findings) == 1
    out, result = guarded(nested(body("finish", output={"text": CARD})), card(strategy="block"))
    assert (hidden(json.dumps(out)), result.status, result.findings) == (True, "completed", ())


def test_a_delta_that_carries_more_is_guarded_whole() -> None:
    """What a delta says besides its text is looked at, and leaves once."""
    with_more = [
        body("text-delta", id="t1", text=half, providerMetadata={"p": {"note": f"{CARD} {at}"}})
        for at, half in enumerate((CARD[:8], CARD[8:]))
    ]
    out, result = same_when_slow(with_more)
    assert hidden(json.dumps(out))
    assert result.text == "[FOUND]"
    assert [one["payload"]["providerMetadata"]["p"]["note"] for one in out] == ["[FOUND] 0", "[FOUND] 1"]


# --- texts that stream in chunks which are no deltas

GROWING: Final[dict[str, Callable[[str], dict[str, Any]]]] = {
    "raw of a chat": lambda text: body("raw", choices=[{"index": 0, "delta": {"content": text}}]),
    "raw of messages": lambda text: body("raw", type="x_delta", delta={"type": "text_delta", "text": text}),
    "raw of responses": lambda text: body("raw", type="response.output_text.delta", delta=text),
    "raw as it stands": lambda text: {"type": "raw", **RUN, "payload": text},
    "a task's output": lambda text: body(
        "background-task-output", **call(), taskId="k", runId="r", agentId="a", payload=text
    ),
    "a tool's output": lambda text: body("tool-output", **call(), output=text),
    "a step's output": lambda text: body("step-output", id="s", output=text),
    "a workflow's output": lambda text: body("workflow-step-output", output=text),
    "a router's text": lambda text: body("routing-agent-text-delta", text=text),
    "a tool's object": lambda text: nested({"text": text})[0],
    "a part of another kit": lambda text: nested({"type": "text-delta", "id": "1", "delta": text})[0],
    "a chunk without its id": lambda text: nested({"type": "text-delta", "payload": {"text": text}})[0],
    "a router's text in a tool's output": lambda text: nested(body("routing-agent-text-delta", text=text))[0],
}


def said(make: Callable[[str], dict[str, Any]], out: Iterable[dict[str, Any]]) -> str:
    """What chunks of one kind say together."""

    def at(pattern: Any, given: Any) -> str:
        if isinstance(pattern, dict):
            return "".join(at(pattern[key], given[key]) for key in pattern)
        if isinstance(pattern, list):
            return "".join(at(*pair) for pair in zip(pattern, given, strict=True))
        return given if pattern == "?" else ""

    return "".join(at(make("?"), one) for one in out)


@pytest.mark.parametrize("size", [1, 3, 7, 100])
@pytest.mark.parametrize("kind", GROWING)
def test_a_card_in_pieces_is_found_in_any_chunk(kind: str, size: int) -> None:
    """What streams in chunks that are no deltas is held as a text is, and found however it was cut."""
    make = GROWING[kind]
    out, result = same_when_slow([make(piece) for piece in cut(f"card {CARD} ok", size)])
    assert said(make, out) == "card [FOUND] ok"
    assert [(finding.start, finding.end) for finding in result.findings] == [(5, 21)]


@pytest.mark.parametrize("kind", [kind for kind in GROWING if "router" not in kind])
def test_a_piece_is_read_alone_too(kind: str) -> None:
    """What may as well be a list of lines is not made one word in which nothing is found."""
    make = GROWING[kind]
    out, result = guarded([make("done"), make(CARD), make("7 more")], Patterns(find=r"\b\d{16}\b"))
    assert said(make, out) == "done[FOUND]7 more"
    assert len(result.findings) == 1


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("raw of a chat", body("step-finish")),
        ("a tool's output", body("tool-result", **call(), result=1)),
        ("a step's output", body("workflow-step-result", id="s", status="success")),
        ("a router's text", body("routing-agent-end", result="x")),
        ("a router's text", body("routing-agent-text-end", id="x")),
    ],
)
def test_a_text_of_pieces_ends(kind: str, ending: dict[str, Any]) -> None:
    """With what ends it, its last piece is decided, and what comes next is another text."""
    make, half = GROWING[kind], CARD[:8]
    out, result = guarded([make(half), ending, make(CARD[8:]), ending])
    assert out == [make(half), ending, make(CARD[8:]), ending]
    assert result.findings == ()


def test_pieces_of_arguments_that_say_nothing_are_bounded() -> None:
    """Empty pieces of a call take memory, and do not wait without an end."""
    _, result = guarded(streamed([""] * 300), card(max_waiting=250, max_hold=100))
    assert result.tripwire is not None
    assert result.tripwire.payload.code == "limit.waiting"


def test_a_text_held_in_nested_deltas_waits_as_long_as_it_is() -> None:
    """How finely a text is cut does not decide whether it may wait, in a chunk that carries it neither."""
    out, result = guarded(nested(*map(delta, f"<{'a' * 5000}>")), Patterns(find="<a+>"))
    assert [finding.end for finding in result.findings] == [5002]
    assert "aaa" not in json.dumps(out)


def test_a_number_that_cannot_be_written_tells_no_texts_apart() -> None:
    """A raw chunk may have any number as its index."""
    _, result = guarded([body("raw", index=10**5000, delta=f"see {CARD} now")])
    assert [finding.label for finding in result.findings] == ["FOUND"]


@pytest.mark.parametrize("closing", ["text-end", "reasoning-end"])
def test_what_grows_beside_a_text_does_not_end_with_it(closing: str) -> None:
    """The end of a text of some id decides nothing about raw text or an object that grows beside it."""
    first, second = f"see {CARD[:8]}", f"{CARD[8:]} now"
    end = body(closing, id="t1")
    for bodies in (
        [body("raw", delta=first), end, body("raw", delta=second)],
        [*snapshots({"a": first}), end, *snapshots({"a": first + second}, final={"a": first + second})],
    ):
        out, result = guarded(bodies)
        assert [finding.label for finding in result.findings] == ["FOUND"]
        assert CARD[:8] not in json.dumps(out)


@pytest.mark.parametrize(
    "side",
    [
        lambda at, text: {"choices": [{"index": at, "delta": {"content": text}}]},
        lambda at, text: {"item_id": f"i{at}", "delta": text},
        lambda at, text: {"type": "content_block_delta", "index": at, "delta": {"text": text}},
        lambda at, text: {
            "choices": [{"index": 0, "delta": {"tool_calls": [{"index": at, "f": {"arguments": text}}]}}]
        },
    ],
    ids=["choices", "items", "blocks", "calls"],
)
def test_raw_texts_that_take_turns_do_not_mix(side: Callable[[int, str], dict[str, Any]]) -> None:
    """What a provider streams side by side is several texts; what each chunk is called is no matter."""
    said = [(0, f"see {CARD[:8]}"), (1, "hello "), (0, f"{CARD[8:]} now"), (1, f"world {CARD} ok")]
    out, result = guarded([body("raw", id=f"e{at}", **side(*one)) for at, one in enumerate(said)])
    assert [finding.label for finding in result.findings] == ["FOUND", "FOUND"]
    assert CARD[:8] not in json.dumps(out)
    assert CARD[8:] not in json.dumps(out)


def test_raw_texts_in_one_chunk_do_not_mix() -> None:
    """Several choices may stand in one chunk, and one of them alone in the next."""

    def choices(*said: tuple[int, str]) -> dict[str, Any]:
        return body("raw", choices=[{"index": at, "delta": {"content": text}} for at, text in said])

    first, second = CARD[:8], CARD[8:]
    bodies = [
        choices((0, f"a {first}"), (1, f"b {first}")),
        choices((1, f"{second} d")),
        choices((0, second)),
    ]
    out, result = guarded(bodies)
    assert [finding.label for finding in result.findings] == ["FOUND", "FOUND"]
    assert not any(half in json.dumps(out) for half in (first, second))


@pytest.mark.parametrize(
    "shape",
    [
        {"payload": {"payload": {"text": "?"}}},
        {"payload": {"x": 1}, "metadata": {"text": "?"}},
        {"payload": {"x": 1}, "content": "?"},
        {"payload": {"delta": "?"}, "delta": "?"},
    ],
)
@pytest.mark.parametrize("carried", [False, True])
def test_a_raw_chunk_of_any_shape_is_guarded(shape: dict[str, Any], *, carried: bool) -> None:
    """Pieces of text are looked for in its payload, and all else in it is complete."""

    def with_text(text: str) -> dict[str, Any]:
        raw = json.loads(json.dumps({"type": "raw", **RUN, **shape}).replace("?", text))
        return nested(raw)[0] if carried else raw

    clean, out = [with_text("hi "), with_text("there")], guarded([with_text(f"see {CARD} now")])
    assert guarded(clean)[0] == clean
    assert CARD not in json.dumps(out[0])
    assert "see [FOUND] now" in json.dumps(out[0])


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "data-order", "data": {"type": "order", "customerId": CARD, "id": CARD, "data": {"a": 1}}},
        nested({"type": "order", "status": CARD, "payload": {"from": CARD, "cardId": CARD, "role": [CARD]}})[
            0
        ],
        body("workflow-step-result", id="s", status="success", resumePayload={"userId": CARD, "from": CARD}),
        body("raw", **{f"{CARD}Id": 1, f"{CARD} At": "x", f"{CARD}Ids": [CARD]}),
        body("tool-result", **call(), result={"mimeType": "image/png", "data": f"{'a caption ' * 30}{CARD}"}),
    ],
    ids=[
        "data with a type",
        "output with a type",
        "resumed with",
        "keys that end in Id",
        "words as a picture",
    ],
)
def test_what_only_looks_like_the_protocol_hides_nothing(chunk: dict[str, Any]) -> None:
    """A value of somebody else has no names in it, whatever its keys are called."""
    out, _ = guarded([chunk])
    assert CARD not in json.dumps(out)


@pytest.mark.parametrize("key", ["response", "generation", "completion", "outputText", "transcript"])
def test_texts_of_many_providers_are_held(key: str) -> None:
    """A card cut over the events of a provider is found, whatever the provider calls its text."""
    out, _ = guarded([body("raw", **{key: half}) for half in (CARD[:8], CARD[8:])])
    assert [one["payload"][key] for one in out] == ["[FOUND]", ""]


@pytest.mark.parametrize("event", ["response.output_text.done", "content_block_stop", "text-end"])
def test_the_last_event_of_a_text_holds_nothing(event: str) -> None:
    """An event that says the whole text once more does not go on in the next, and leaves at once."""
    with Pipeline([card()]).stream_sync(iter([body("raw", type=event, text=CARD[:8])] * 3)) as chunks:
        first = dump_chunk(next(chunks))
    assert first["payload"]["text"] == CARD[:8]
    out, _ = guarded([body("raw", type=event, text=half) for half in (CARD[:8], CARD[8:])])
    assert [one["payload"]["text"] for one in out] == [CARD[:8], CARD[8:]]


def test_numbers_are_no_pieces_of_a_text() -> None:
    """How far a tool has come, said in numbers, makes no number of them all."""
    quarters = [int(CARD[at : at + 4]) for at in (0, 4, 8, 12)]
    for bodies in (nested(*quarters), nested(*({"delta": one} for one in quarters))):
        assert guarded(bodies)[0] == bodies


def test_texts_that_nothing_ends_make_room() -> None:
    """A tool that numbers what it says may say as much as it wants, as long as nothing of it is held."""
    bodies = nested(*({"type": "line", "id": f"e{at}", "text": "so."} for at in range(1100)))
    out, result = guarded(bodies)
    assert (out, result.status) == (bodies, "completed")


def test_what_carries_a_delta_keeps_what_it_says() -> None:
    """Of chunks whose deltas are redacted as one, each keeps what stands beside its delta."""
    pieces = (f"see {CARD[:8]}", CARD[8:12], f"{CARD[12:]} now")
    bodies = [
        body("tool-output", **call(), note=str(at), output=delta(piece)) for at, piece in enumerate(pieces)
    ]
    out, _ = guarded(bodies)
    assert "".join(one["payload"]["output"]["payload"]["text"] for one in out) == "see [FOUND] now"
    assert list(dict.fromkeys(one["payload"]["note"] for one in out)) == ["0", "1", "2"]


def test_parts_that_a_tool_streams_side_by_side_do_not_mix() -> None:
    """The ids of what a tool streams tell texts apart, also in what is no chunk of ours."""
    parts = [(half, id_) for half in (CARD[:8], CARD[8:]) for id_ in ("1", "2")]
    out, _ = guarded(nested(*({"type": "text-delta", "id": id_, "delta": half} for half, id_ in parts)))
    assert "".join(one["payload"]["output"]["delta"] for one in out) == "[FOUND][FOUND]"


@pytest.mark.anyio
async def test_many_small_leaves_let_others_run() -> None:
    """So much as one slice of them is looked through between two turns of others."""
    rows = [{"id": at, "name": f"row {at}", "card": CARD} for at in range(1000)]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        result = await Pipeline([card()]).run([body("tool-result", **call(), result=rows)])
        tasks.cancel_scope.cancel()
    assert len(result.findings) == 1000
    assert turns > 20


def test_a_file_as_a_data_uri_beside_its_media_type_is_decoded() -> None:
    """A text file is looked into, whether it is given as base64 or as a data URI."""
    data = "data:text/plain;base64," + base64.b64encode(f"see {CARD} now".encode()).decode()
    _, result = guarded([body("file", mimeType="text/plain", data=data)])
    assert [finding.label for finding in result.findings] == ["FOUND"]


def test_pieces_of_different_tools_do_not_mix() -> None:
    """What two tools stream in turns are two texts, and so are two answers of one tool."""
    bodies = [
        body("tool-output", **call(id_), output=half) for half in (CARD[:8], CARD[8:]) for id_ in ("c1", "c2")
    ]
    out, result = guarded(bodies)
    assert "".join(one["payload"]["output"] for one in out) == "[FOUND][FOUND]"
    assert [finding.channel for finding in result.findings] == ["c1:output", "c2:output"]


@pytest.mark.parametrize("escape", ["\\u0040", "@"])
def test_escapes_in_json_hide_nothing(escape: str) -> None:
    """A result that is the text of JSON is read as what it says, and stays JSON."""
    text = rf'{{"to": "jane{escape}x.com", "says": "\\u0022 \n \\u0040"}}'
    bodies = [
        body("tool-result", **call(), result=text),
        body("tool-result", **call("c2"), result=r"\u0040 ["),
    ]
    out, _ = guarded(bodies, Patterns(find=r"\w+@x\.com"))
    given = json.loads(text)
    assert json.loads(out[0]["payload"]["result"]) == given | {"to": "[FOUND]"}
    assert out[1] == bodies[1]


# --- structured output


def snapshots(*values: Any, final: Any = None) -> list[dict[str, Any]]:
    grown = [{"type": "object", **RUN, "object": value} for value in values]
    return grown if final is None else [*grown, {"type": "object-result", **RUN, "object": final}]


def test_snapshots_show_no_part_of_a_card() -> None:
    """A snapshot waits until its growing end is decided; successive ones agree, and nothing is told twice."""
    grown = [{"name": "Jo", "card": CARD[:size]} for size in range(0, 17, 3)]
    final = {"name": "Jo", "card": CARD, "ok": True}
    out, result = same_when_slow(snapshots({"name": "J"}, *grown, final=final))
    shown = [one["object"] for one in out]
    assert shown[0] == {"name": "J"}
    assert all(one["card"] in ("", "[FOUND]") for one in shown[1:])
    assert shown[-1] == {"name": "Jo", "card": "[FOUND]", "ok": True}
    assert len(out) == len(grown) + 2
    assert len(result.findings) == 1


def test_clean_snapshots_come_out_equal() -> None:
    """In order, each as it was."""
    given = snapshots({}, {"a": "x"}, {"a": "xy", "n": 1}, {"a": "xy", "n": 12}, final={"a": "xy", "n": 12})
    out, _ = same_when_slow(given)
    assert out == given


def test_a_snapshot_may_take_back_what_it_said() -> None:
    """A leaf that becomes another is judged anew, and what was there before is not lost."""
    given = snapshots({"n": 12}, {"n": "half"}, ["other"], final=[CARD])
    out, result = same_when_slow(given)
    assert [one["object"] for one in out] == [{"n": 12}, {"n": "half"}, ["other"], ["[FOUND]"]]
    assert result.object == ["[FOUND]"]


def test_snapshots_that_just_end_are_decided() -> None:
    """Without an `object-result`, the end of the step or of the stream decides the last one."""
    for ending in ([], [body("step-finish"), body("finish")]):
        out, _ = same_when_slow([*snapshots({"card": CARD[:8]}, {"card": CARD}), *ending])
        assert [one["object"] for one in out[:2]] == [{"card": "[FOUND]"}] * 2


# --- size


class Checked(TextProcessor):
    """Asks a function about each card, as soon as it comes across it."""

    check: Callable[[str], int]

    def patterns(self) -> Sequence[Pattern]:
        return [Pattern("FOUND", r"\d{16}", "test.found", verify=self.check)]


def test_a_large_leaf_is_looked_through_in_slices() -> None:
    """A leaf of a megabyte gives what it would in small pieces, and others run after each slice."""
    period = "plain words " * 50 + CARD
    text, seen, turns = period * 1500, Counter[str](), [0]

    def check(found: str) -> int:
        seen[found] += 1
        return len(found)

    async def tick() -> None:
        while True:
            turns.append(seen.total())
            await checkpoint()

    async def guard() -> Result:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tick)
            result = await Pipeline([Checked(check=check)]).run(
                [body("tool-result", **call(), result=[text]), body("text-delta", id="t", text=text)]
            )
            tasks.cancel_scope.cancel()
        return result

    result = anyio.run(guard)
    assert len(result.findings) == seen.total() == 3000
    assert result.text == text.replace(CARD, "[FOUND]")
    most = 2 * SLICE // len(period)  # one slice has half as many; which task has its turn first may change
    assert max(after - before for before, after in pairwise(turns)) <= most


class Counting(TextProcessor):
    """Counts the characters that it is asked about; finds cards."""

    asked: ClassVar[list[str]] = []
    longest_segment: ClassVar[int] = 10_000

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        self.asked.extend(segment.text for segment in segments)
        places = [segment.text.find(CARD) for segment in segments]
        return [[Detection(at, at + 16, "CARD", "x.card")] if at >= 0 else [] for at in places]


def test_copies_are_looked_at_once() -> None:
    """What a copy repeats, and what later copies repeat again, is not looked at anew while it is clean."""
    said, secret = "nothing but plain words", f"and a card {CARD} in it"
    content = [{"type": "text", "text": text} for text in (said, secret)]
    copy = {"output": {"text": said, "steps": [{"content": content}]}, "messages": {"all": content}}
    Counting.asked.clear()
    out, result = guarded([body("step-finish", **copy), body("finish", **copy)], Counting())
    assert Counting.asked.count(said) == 1
    assert Counting.asked.count(secret) == 2
    assert json.dumps(out).count("and a card [CARD] in it") == 4
    assert result.findings == ()


def test_a_large_text_has_no_time_limit() -> None:
    """Only answers that are waited for have one: a long copy is no reason to end a stream."""
    out, result = guarded([body("finish", output={"text": "plain words " * 20_000})], card(timeout=1e-6))
    assert (result.status, len(out)) == ("completed", 1)
