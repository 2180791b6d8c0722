"""Parse and dump: what goes in comes out equal."""

import json
import re
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardrails.chunks import Chunk, UnknownChunk, dump_chunk, dump_json, parse_chunk
from tests.chunks.samples import SAMPLES, STREAMS, sample

# Two surrogates that make a pair are one character once they have been through JSON, so they are left out.
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
TEXTS = st.sampled_from(["\ud83d", "a\ude00", "run_id"]) | st.text(
    st.characters(exclude_categories=())
).filter(lambda text: not PAIR.search(text))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
# Names that no model declares: what stands under a declared one must have its type.
EXTRAS = st.dictionaries(
    st.sampled_from(
        ["run_id", "from_", "tool_call_id", "\ud83d", "x\udc00", "é", "", "__dict__", "model_config"]
    ),
    VALUES,
    max_size=4,
)


def identical(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal, 1 and 1.0 and true being three values."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(identical(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(identical, left, right))
    return bool(left == right)


def survives(value: dict[str, Any]) -> Chunk:
    """Check that an object goes through every way in and out, and give its chunk."""
    chunk = parse_chunk(value)
    assert identical(dump_chunk(chunk), value)
    line = dump_json(chunk)
    assert len(line.splitlines()) == 1
    again = parse_chunk(line.encode("utf-8"))
    assert again == chunk
    assert identical(dump_chunk(again), value)
    assert parse_chunk(json.dumps(value)) == chunk
    return chunk


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_recorded_streams_survive(path: Path) -> None:
    """Every line of every recorded stream must come out as an equal object."""
    lines = path.read_bytes().splitlines()
    assert lines
    for line in lines:
        value = json.loads(line)
        assert identical(dump_chunk(parse_chunk(line)), value)
        survives(value)


def test_all_recorded_streams_are_there() -> None:
    """The test above must not pass because there is nothing to read."""
    assert len(STREAMS) == 111


@given(name=st.sampled_from(sorted(SAMPLES)), outer=EXTRAS, inner=EXTRAS)
def test_unknown_keys_survive(name: str, outer: dict[str, Any], inner: dict[str, Any]) -> None:
    """Keys that no model knows must be kept in the envelope and in the payload, whatever their names hold."""
    value = {**sample(name), **outer}
    if isinstance(value.get("payload"), dict):
        value["payload"] = {**value["payload"], **inner}
    survives(value)


@given(
    payload=VALUES, rest=st.dictionaries(TEXTS.filter(lambda key: key not in {"from", "metadata"}), VALUES)
)
def test_unknown_types_survive(payload: Any, rest: dict[str, Any]) -> None:
    """A type without a class must be kept whole."""
    value = {**rest, "type": "workflow-new", "runId": "r", "payload": payload}
    assert isinstance(survives(value), UnknownChunk)


@given(value=VALUES, text=TEXTS)
def test_nested_values_survive(value: Any, text: str) -> None:
    """Any JSON value must survive where the protocol allows any, and any text where it asks for text."""
    survives({"type": "tool-output", "payload": {"output": value, "toolCallId": text}})
    survives({"type": "object", "object": value})
    survives({"type": "data-x", "data": value, "id": text})
    survives({"type": "text-delta", "runId": text, "payload": {"id": text, "text": text}})
    survives({"type": "text-delta", "payload": {"id": "t", "text": text, "providerMetadata": {text: value}}})


@given(inner=EXTRAS)
def test_unknown_keys_survive_in_nested_models(inner: dict[str, Any]) -> None:
    """Unknown keys must be kept in models within payloads, and within lists of models, too."""
    usage = {"inputTokens": None, "outputTokens": 2, "cacheCreationInputTokens": 3, **inner}
    finish = {
        "stepResult": {"reason": "stop", **inner},
        "output": {"usage": usage, **inner},
        "response": inner,
    }
    survives({"type": "finish", "payload": finish})
    goal = sample("goal")
    score = {"score": 0.5, "passed": False, "scorerId": "s", "scorerName": "S", "duration": 1, **inner}
    goal["payload"]["results"] = [score, {**score, "score": 1}]
    survives(goal)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_null_and_absent_differ(name: str) -> None:
    """An optional envelope key that is null must stay null, and one that is absent must stay absent."""
    bare = {key: value for key, value in sample(name).items() if key not in {"runId", "from"}}
    assert dump_chunk(survives(bare)).keys() == bare.keys()
    survives({**bare, "runId": None, "from": None, "metadata": None})


@pytest.mark.parametrize("key", ["providerMetadata", "signature", "suspendData"])
def test_optional_payload_keys_may_be_null(key: str) -> None:
    """An optional payload key must accept null and keep it."""
    name = {"suspendData": "background-task-suspended"}.get(key, "reasoning-start")
    value = sample(name)
    value["payload"][key] = None
    survives(value)


@pytest.mark.parametrize("number", [3, 3.0, 2**80, -0.5, 1e300])
def test_numbers_stay_what_they_are(number: float) -> None:
    """An int must stay an int and a float a float, in typed fields and elsewhere."""
    goal = sample("goal")
    goal["payload"].update(duration=number, extra=[number])
    survives(goal)


def test_any_mapping_is_read() -> None:
    """A mapping that is no dict, and a dict of a subclass, must be read like a dict."""

    class Odd(dict[str, Any]):
        """A subclass of dict."""

    value = sample("text-delta")
    expected = parse_chunk(value)
    assert parse_chunk(MappingProxyType(value)) == expected
    assert parse_chunk(Odd({**value, "payload": Odd(value["payload"])})) == expected


def test_lone_surrogates_are_written_as_ascii() -> None:
    """A line that holds a lone surrogate must be ASCII, any other must keep its characters."""
    value = sample("text-delta")
    value["payload"]["text"] = "é\ud83d"
    assert '"\\u00e9\\ud83d"' in dump_json(parse_chunk(value))
    value["payload"]["text"] = "é😀"
    assert '"é😀"' in dump_json(parse_chunk(value))


def test_bytes_may_hold_surrogates_and_characters_beyond_ascii() -> None:
    """UTF-8 must be read, with a lone surrogate that was encoded as if it were a character too."""
    line = '{"type":"raw","payload":"é😀\ud83d"}'.encode("utf-8", "surrogatepass")
    assert dump_chunk(parse_chunk(line)) == {"type": "raw", "payload": "é😀\ud83d"}


def test_line_separators_do_not_cut_the_line() -> None:
    """A reader that splits text at every line separator must still get one line."""
    survives({"type": "raw", "payload": "a\u2028b\u2029c\x85d\r\n\x0b\x0c\x1c"})


def test_a_dump_is_fresh() -> None:
    """Changing a dump must not change the chunk, at any level."""
    value = sample("tool-call")
    value["payload"].update(args={"list": [{"x": 1}]}, providerMetadata={"p": {}}, extra={"y": [1]})
    value["metadata"] = {"a": [1]}
    chunk = parse_chunk(value)
    dump = dump_chunk(chunk)
    dump["payload"]["args"]["list"][0]["x"] = 2
    dump["payload"]["extra"]["y"].append(2)
    dump["payload"]["providerMetadata"].clear()
    dump["metadata"]["a"].append(2)
    dump["payload"].pop("toolName")
    assert dump_chunk(chunk) == value
