"""Errors: they name the place and what would be right, and keep private data private."""

import json
import sys
import traceback
from typing import Any

import pytest

from guardrails.chunks import MAX_DEPTH, ChunkError, UnknownChunk, dump_chunk, dump_json, parse_chunk
from tests.chunks.samples import CONTROL_TYPES, SAMPLES, sample

MARKER = "jane.doe.4111111111111111"


def refuse(source: Any) -> str:
    """The message that a source is refused with, after checking that nothing of it leaks."""
    with pytest.raises(ChunkError) as caught:
        parse_chunk(source)
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None
    printed = "".join(traceback.format_exception(error)).replace(__file__, "")
    assert MARKER not in printed
    return str(error)


def with_payload(name: str, **changes: Any) -> dict[str, Any]:
    """A minimal chunk with other values in its payload."""
    value = sample(name)
    value["payload"].update(changes)
    return value


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("text-delta", {"text": 5}, "text-delta: payload.text: a string is required, got a number"),
        ("text-delta", {"text": None}, "text-delta: payload.text: a string is required, got null"),
        ("text-delta", {"text": [MARKER]}, "text-delta: payload.text: a string is required, got an array"),
        ("text-delta", {"text": b"x"}, "text-delta: payload.text: a string is required, got bytes"),
        (
            "text-delta",
            {"id": True, "text": {MARKER: 1}, "providerMetadata": MARKER},
            (
                "text-delta: payload.id: a string is required, got a boolean; "
                "payload.text: a string is required, got an object; "
                "payload.providerMetadata: an object is required, got a string"
            ),
        ),
        (
            "source",
            {"sourceType": MARKER},
            "source: payload.sourceType: one of url, document is required, got a string",
        ),
        (
            "goal",
            {"status": "\ud83d", "results": MARKER, "iteration": True, "passed": 1},
            (
                "goal: payload.iteration: a number is required, got a boolean; "
                "payload.passed: true or false is required, got a number; "
                "payload.status: one of active, paused, done is required, got a string; "
                "payload.results: an array is required, got a string"
            ),
        ),
        (
            "background-task-failed",
            {"error": MARKER},
            "background-task-failed: payload.error: an object is required, got a string",
        ),
        (
            "background-task-progress",
            {"taskIds": ["a", 5]},
            "background-task-progress: payload.taskIds[1]: a string is required, got a number",
        ),
        (
            "finish",
            {"output": {"usage": {"inputTokens": MARKER}}},
            "finish: payload.output.usage.inputTokens: a number is required, got a string",
        ),
        ("finish", {"stepResult": MARKER}, "finish: payload.stepResult: an object is required, got a string"),
        (
            "file",
            {"data": 5},
            "file: payload.data: a string, bytes or an object of bytes is required, got a number",
        ),
        ("tool-call", {"args": MARKER}, "tool-call: payload.args: an object is required, got a string"),
        ("step-start", {"warnings": {}}, "step-start: payload.warnings: an array is required, got an object"),
    ],
)
def test_a_wrong_type_is_named(name: str, changes: dict[str, Any], message: str) -> None:
    """The error must name the chunk, the place, what is required and what kind of value was found."""
    assert refuse(with_payload(name, **changes)) == message


def test_faults_in_lists_of_models_are_placed() -> None:
    """A fault within a list must be named by its index, even if a key near by cannot be encoded."""
    value = with_payload(
        "goal", results=[{"score": MARKER, "passed": True, "scorerId": "s", "\ud83d": MARKER}]
    )
    assert refuse(value) == (
        "goal: payload.results[0].score: a number is required, got a string; "
        "payload.results[0].scorerName: is required, but the key is missing; "
        "payload.results[0].duration: is required, but the key is missing"
    )


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_required_key_is_missed(name: str) -> None:
    """Each key of a content chunk's minimal example must be required; a control chunk requires none."""
    value = sample(name)
    body = value["payload"] if isinstance(value.get("payload"), dict) else value
    for key in set(body) - ({"type", "runId", "from"} if body is value else set()):
        kept = body.pop(key)
        if name in CONTROL_TYPES:
            parse_chunk(value)
        else:
            place = key if body is value else f"payload.{key}"
            assert refuse(value) == f"{name}: {place}: is required, but the key is missing"
        body[key] = kept


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"raw", "object", "object-result"}))
@pytest.mark.parametrize("payload", [MARKER, None, [MARKER], 5])
def test_a_payload_must_be_an_object(name: str, payload: Any) -> None:
    """No payload but the raw one may be anything but an object, not even that of a control chunk."""
    assert refuse({**sample(name), "payload": payload}).startswith(
        f"{name}: payload: an object is required, got "
    )


@pytest.mark.parametrize(
    ("envelope", "message"),
    [
        ({"runId": 5}, "runId: a string is required, got a number"),
        ({"metadata": MARKER}, "metadata: an object is required, got a string"),
        ({"from": MARKER}, "from: one of AGENT, USER, SYSTEM, WORKFLOW, NETWORK is required, got a string"),
        ({"from": "\ud83d"}, "from: one of AGENT, USER, SYSTEM, WORKFLOW, NETWORK is required, got a string"),
        ({"from": 5}, "from: one of AGENT, USER, SYSTEM, WORKFLOW, NETWORK is required, got a number"),
    ],
)
@pytest.mark.parametrize("name", ["text-delta", "finish", "workflow-start"])
def test_the_envelope_is_checked(name: str, envelope: dict[str, Any], message: str) -> None:
    """A wrong envelope key must be an error in every chunk, an unknown type's included."""
    assert refuse({**SAMPLES.get(name, {}), "type": name, **envelope}) == f"{name}: {message}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "chunk: not JSON at line 1, column 1"),
        (f'{{"type": {MARKER}}}', "chunk: not JSON at line 1, column 10"),
        (f'{{"type": "x"}} {MARKER}', "chunk: not JSON at line 1, column 15"),
        (b'{"type": "\xff"}', "chunk: not UTF-8 at byte 11"),
        (f'"{MARKER}"', "chunk: an object is required, got a string"),
        ([MARKER], "chunk: an object is required, got an array"),
        (None, "chunk: an object is required, got null"),
        (object(), "chunk: an object is required, got a Python object"),
        ({"x": MARKER}, "chunk: type: a string is required, but the key is missing"),
        ({"type": [MARKER]}, "chunk: type: a string is required, got an array"),
        ({"type": None}, "chunk: type: a string is required, got null"),
        ({"type": f"{MARKER}@example.com", "runId": 5}, "chunk: runId: a string is required, got a number"),
    ],
)
def test_what_is_no_chunk_is_refused(source: Any, message: str) -> None:
    """What is not JSON, not an object, or without type must be refused in those words."""
    assert refuse(source) == message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(number: str) -> None:
    """NaN and the infinities must be refused in text and in objects."""
    words = "a finite number is required, got NaN or Infinity, which JSON does not have"
    assert refuse(f'{{"type": "raw", "payload": [{number}]}}') == f"chunk: {words}"
    assert refuse({"type": "raw", "payload": [float(number)]}) == f"raw: payload[0]: {words}"
    assert refuse(with_payload("goal", duration=float(number))) == f"goal: payload.duration: {words}"


def test_numbers_that_overflow_are_refused() -> None:
    """A number that would become infinite must be refused, and not be read as infinite."""
    message = "chunk: a finite number is required, got one too large for a float"
    assert refuse('{"type": "raw", "payload": -1e999}') == message


def test_integers_that_python_does_not_read_are_refused() -> None:
    """An integer beyond Python's limit of digits must be refused, both ways."""
    words = "an integer has more digits than Python reads or writes"
    assert refuse('{"type": "raw", "payload": ' + "9" * 5000 + "}") == f"chunk: {words}"
    with pytest.raises(ChunkError, match=f"^raw: {words}$"):
        dump_json(parse_chunk({"type": "raw", "payload": 10**5000}))


def nested(depth: int, kind: type = list) -> Any:
    """A value that is nested so deep, itself included."""
    value: Any = kind()
    for _ in range(depth - 1):
        value = [value] if kind is list else {"k": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
def test_depth_has_a_limit(kind: type) -> None:
    """A chunk may be nested up to the limit, and no deeper, as text and as object."""
    value = {"type": "raw", "payload": nested(MAX_DEPTH - 1, kind)}
    assert dump_chunk(parse_chunk(json.dumps(value))) == value
    assert json.loads(dump_json(parse_chunk(value))) == value
    deeper = {"type": "raw", "payload": nested(MAX_DEPTH, kind)}
    for source in (deeper, json.dumps(deeper), json.dumps(deeper).encode()):
        assert "nested deeper than 200 levels" in refuse(source)


@pytest.mark.parametrize("source", ['{"type":"raw","payload":' + "[" * 100_000, '{"a":' * 100_000])
def test_depth_beyond_the_stack_is_refused(source: str) -> None:
    """Text nested deeper than the decoder can follow must be refused, and not end in a RecursionError."""
    assert refuse(source) == "chunk: nested deeper than 200 levels"


def test_brackets_in_text_are_no_depth() -> None:
    """Many brackets must not be taken for nesting."""
    value = {"type": "raw", "payload": ["[" * 500, *([] for _ in range(500))]}
    assert dump_chunk(parse_chunk(json.dumps(value))) == value


def test_an_object_that_holds_itself_is_refused() -> None:
    """A cycle must be refused as too deep, and not be followed for ever."""
    value: dict[str, Any] = {"type": "raw"}
    value.update(payload=value, again=value)
    assert "nested deeper" in refuse(value)
    inner: list[Any] = []
    inner.append(inner)
    with pytest.raises(ChunkError, match=r"^x: nested deeper than 200 levels$"):
        dump_chunk(UnknownChunk(type="x", payload=inner))


def test_a_full_stack_is_no_recursion_error() -> None:
    """Little room on the call stack must show as a chunk's error, wherever it runs out."""
    value = {"type": "raw", "\ud83d": 1, "payload": nested(MAX_DEPTH - 1)}
    chunk = parse_chunk(value)
    line = dump_json(chunk)
    refused = set()

    def descend(left: int) -> None:
        if left:
            descend(left - 1)
            return
        for act in (lambda: parse_chunk(value), lambda: parse_chunk(line), lambda: dump_json(chunk)):
            try:
                act()
            except ChunkError as error:
                refused.add(str(error))

    free = sys.getrecursionlimit() - len(traceback.extract_stack())
    for left in range(0, free - 50, 5):
        descend(left)
    assert "raw: nested too deep for what is left of the call stack" in refused


@pytest.mark.parametrize("key", [1, None, b"x", (MARKER,)])
def test_keys_must_be_strings(key: Any) -> None:
    """An object with keys that are no strings must be refused at any level."""
    assert "a string is required as a key, got " in refuse({"type": "raw", key: 1})
    message = refuse(with_payload("tool-call", args={"x": [{key: 1}]}))
    assert message.startswith("tool-call: payload.args: a string is required as a key, got ")


@pytest.mark.parametrize("value", [object(), {MARKER}, (MARKER,), 1j])
def test_values_must_be_json(value: Any) -> None:
    """An object that holds what JSON cannot must be refused, and so must a chunk when it is written."""
    message = refuse({"type": "tool-result", "payload": {"result": {MARKER: [value]}}})
    assert message == "tool-result: payload.result: a JSON value is required, got a Python object"


def test_a_chunk_that_json_cannot_hold_is_refused() -> None:
    """A chunk made in Python with a value that JSON lacks must be refused when written, without the value."""
    for value in ({MARKER}, float("nan")):
        with pytest.raises(
            ChunkError, match=r"^x: payload\[0\]: a (JSON value|finite number) is required"
        ) as caught:
            dump_json(UnknownChunk(type="x", payload=[value]))
        assert caught.value.__context__ is None
        assert MARKER not in "".join(traceback.format_exception(caught.value)).replace(__file__, "")


def test_keys_that_are_not_the_protocols_are_not_shown() -> None:
    """A key of the application may be private, so a place ends before it."""
    message = refuse({"type": "data-x", "data": {MARKER: float("nan")}})
    assert message.startswith("data-x: data: a finite number")
