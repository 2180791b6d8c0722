"""The harness of the field cases: every key is checked by code that can fail, and no other key is taken."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import anyio
import pytest

from guardrails import Pipeline
from guardrails.testing import Idle
from tests.cases.checks import AS_GIVEN, CHECKS, check
from tests.cases.cutting import CUTS, at_places, recut, texts_of
from tests.cases.doubles import World
from tests.cases.harness import LEFT_OUT, run_case
from tests.cases.reading import OPEN, OWN, Case, Json, UnknownKeyError, case_of, cases_of
from tests.cases.running import Feed, Outcome, run

USAGE: Final = {"inputTokens": 3, "outputTokens": 4}
STREAM: Final[list[Json]] = [
    {"type": "reasoning-start", "payload": {"id": "r1"}},
    {"type": "reasoning-delta", "payload": {"id": "r1", "text": "hm"}},
    {"type": "reasoning-end", "payload": {"id": "r1"}},
    {"type": "text-start", "payload": {"id": "t1"}},
    {"type": "text-delta", "payload": {"id": "t1", "text": "one "}},
    {"type": "text-delta", "payload": {"id": "t1", "text": "t\u200bwo"}},
    {"type": "text-end", "payload": {"id": "t1"}},
    {"type": "tool-call-input-streaming-start", "payload": {"toolCallId": "c1", "toolName": "t"}},
    {"type": "tool-call-delta", "payload": {"toolCallId": "c1", "argsTextDelta": '{"n":'}},
    {"type": "tool-call-delta", "payload": {"toolCallId": "c1", "argsTextDelta": "1}"}},
    {"type": "tool-call-input-streaming-end", "payload": {"toolCallId": "c1"}},
    {"type": "tool-call", "payload": {"toolCallId": "c1", "toolName": "t", "args": {"n": 1}}},
    {"type": "tool-result", "payload": {"toolCallId": "c1", "toolName": "t", "result": [2]}},
    {"type": "data-note", "id": "d1", "data": {"say": "three"}},
    {"type": "tripwire", "payload": {"reason": "it says so", "retry": False, "metadata": {"code": "x"}}},
    {
        "type": "finish",
        "payload": {"stepResult": {"reason": "tripwire"}, "output": {"usage": USAGE}},
    },
]
"""A stream in which there is something for most keys."""

SAID: Final = [
    ["reasoning", "r1", "hm"],
    ["text", "t1", "one t\u200bwo"],
    ["tool-call", "c1"],
    ["tool-result", "c1"],
    ["data-note", "d1"],
]

HIDDEN: Final = {"chars": "\u200b", "strings": ["two"]}

RIGHT_AND_WRONG: Final[Mapping[str, tuple[Any, Any]]] = {
    "emitted_text": ("one t\u200bwo", "one"),
    "emitted_text_by_id": ({"t1": "one t\u200bwo"}, {"t2": "one t\u200bwo"}),
    "emitted_text_regex": ("one .*", "two .*"),
    "emitted_text_prefix_of": ("one t\u200bwo three", "one"),
    "emitted_reasoning": ("hm", ""),
    "emitted_tool_args": ({"c1": {"n": 1}}, {"c1": {"n": 2}}),
    "emitted_tool_results": ({"c1": [2]}, {}),
    "emitted_data": ({"d1": {"say": "three"}}, {"d1": {}}),
    "args_delta_json_valid": (True, False),
    "transcript": (SAID, SAID[1:]),
    "must_not_emit": (["four"], ["one t"]),
    "must_not_emit_types": (["object"], ["text-delta"]),
    "must_not_emit_after_removing": ({**HIDDEN, "strings": ["four"]}, HIDDEN),
    "each_chunk_utf8": (True, False),
    "ids": (["t1"], ["r1"]),
    "run_ids": (["run"], ["other"]),
    "count": ({"text-delta": 2}, {"text-delta": 1}),
    "tripwire": ({"retry": False, "metadata_has": ["code"]}, None),
    "tripwire_count": (1, 0),
    "type_order": (["text-end", "tripwire"], ["tripwire", "text-end"]),
    "last_type": ("finish", "tripwire"),
    "last_type_any": (["finish", "abort"], ["abort"]),
    "finish_reason": ("tripwire", "stop"),
    "usage": (USAGE, None),
    "usage_at_least": ({"inputTokens": 3}, {"totalTokens": 1}),
    "usage_not_zero": (True, False),
    "balanced_blocks": (True, False),
    "first_text_by_input_index": (4, 3),
    "text_deltas_min": (2, 3),
    "max_held_chars": (0, -1),
    "detector_calls_max": (2, 1),
    "detector_errors": (1, 0),
    "wall_ms_max": (10_000, 0),
    "result_text": ("one t\u200bwo", ""),
    "result_status": ("completed", "blocked"),
    "result_must_not_contain": (["four"], ["one "]),
    "result_accessors_agree": (False, True),
    "then": ({"emitted_text": "one t\u200bwo"}, {"emitted_text": ""}),
    "second_emitted_text": ("one t\u200bwo", ""),
    "upstream_closed": (True, False),
    "upstream_pulled_max": (len(STREAM), len(STREAM) - 1),
    "tasks_leaked": (0, 1),
    "unraisable": (0, 1),
    "side_effects": (["mark"], []),
    "chunks_processed": (len(STREAM), 0),
    "outcome_any": (["tripwire"], ["config_error"]),
    "mentions": (["it says"], ["four"]),
}
"""For each key, an expectation that the stream meets and one that it does not."""

WRONG_TRIPWIRES: Final = (
    {"processorId": "other"},
    {"retry": True},
    {"reason": "other"},
    {"metadata": {"code": "y"}},
    {"metadata_has": ["cause"]},
    {"metadata_must_not_contain": ["x"]},
    {"reason_must_not_contain": ["says"]},
)


async def _came() -> Outcome:
    world = World(asked=2, errors=1, side_effects=["mark"])
    return await run(Pipeline([Idle()]), world, STREAM, {"then_run": STREAM})


@pytest.fixture(scope="module")
def came() -> Outcome:
    """What comes of the stream, unguarded; the processor that made its tripwire is elsewhere."""
    return anyio.run(_came)


@pytest.mark.parametrize("key", [key for key in CHECKS if key != "config_error"])
def test_each_key_can_fail(key: str, came: Outcome) -> None:
    """An expectation that is met passes, and one that is not fails."""
    right, wrong = RIGHT_AND_WRONG[key]
    check(came, {key: right})
    with pytest.raises(AssertionError):
        check(came, {key: wrong})


def test_config_error_can_fail(came: Outcome) -> None:
    """A configuration that is taken, or refused without saying why, is no error as it is expected."""
    refused = replace(came, chunks=[], asked=[], refused="no such strategy")
    check(refused, {"config_error": {"mentions": ["strategy"]}})
    for outcome, mentions in ((refused, ["entity"]), (came, [])):
        with pytest.raises(AssertionError):
            check(outcome, {"config_error": {"mentions": mentions}})


def test_refusal_must_be_expected() -> None:
    """A configuration that is refused fails a case that does not expect it, whatever else it expects."""
    with pytest.raises(AssertionError, match="was refused"):
        check(Outcome(Feed([]), refused="no such type"), {"must_not_emit": ["x"]})


@pytest.mark.parametrize("wrong", WRONG_TRIPWIRES, ids=json.dumps)
def test_each_part_of_a_tripwire_can_fail(wrong: Json, came: Outcome) -> None:
    """Each thing that is said of a tripwire is held against it."""
    with pytest.raises(AssertionError):
        check(came, {"tripwire": wrong})


def test_each_key_is_used() -> None:
    """Every key that is checked stands in a case, and every key of a case that can run is checked."""
    cases = [case for case in cases_of(OPEN, OWN) if case.id not in LEFT_OUT]
    assert {key for case in cases for key in case.expect} == set(CHECKS)


@pytest.mark.parametrize(
    "change",
    [
        {"expect": {"emited_text": ""}},
        {"expect": {"tripwire": {"procesorId": "pii"}}},
        {"harness": {"then_runs": []}},
        {"config": {"processors": [], "paralel": True}},
        {"config": {"processors": [{"use": "pi"}]}},
        {"config": {"processors": [{"use": "pii", "entities": [], "cadense": "word"}]}},
        {"config": {"processors": [{"use": "pii", "entities": [], "replacement": "[X]"}]}},
        {"config": {"processors": [{"use": "test_double", "behaviour": {"sleep": 1}}]}},
    ],
    ids=json.dumps,
)
def test_unknown_keys_are_refused(change: dict[str, Any]) -> None:
    """A key that nobody looks at, at any place, stops the run of a case instead of passing unseen."""
    case = Case("X", "kind", "title", {"processors": [{"use": "pii", "entities": []}]}, STREAM, {})
    with pytest.raises(UnknownKeyError):
        run_case(replace(case, **change), "asyncio")


def test_unknown_keys_of_a_case_are_refused() -> None:
    """So does a key beside those of a case."""
    with pytest.raises(UnknownKeyError):
        case_of({"id": "X", "expects": {}})


@pytest.mark.parametrize("name", CUTS)
def test_cuttings_say_the_same(name: str) -> None:
    """However they are cut, texts stay whole, and all other chunks stay in their order."""
    cut = recut(STREAM, CUTS[name])
    assert texts_of(cut) == texts_of(STREAM)
    kinds = [[chunk["type"] for chunk in chunks if "delta" not in chunk["type"]] for chunks in (cut, STREAM)]
    assert kinds[0] == kinds[1]


def test_cut_at_places() -> None:
    """A text is cut where it is asked for, in whole characters, and keeps its place among others."""
    delta = {"type": "text-delta", "payload": {"id": "t1", "text": "a\U0001f642bc"}}
    chunks: list[Json] = [delta, {"type": "finish"}]
    cut = recut(chunks, at_places({("text-delta", "t1", 0): [2, 3]}))
    assert [chunk["payload"]["text"] for chunk in cut[:-1]] == ["a\U0001f642", "b", "c"]
    assert cut[-1] == {"type": "finish"}


def test_timed_keys_are_known() -> None:
    """Keys that are checked for the deltas as given alone are keys that are checked."""
    assert set(CHECKS) > AS_GIVEN
