"""What a case may expect, each thing with the code that can find it wanting."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias, cast

from guardrails import Result
from guardrails.testing.endings import unbalanced
from tests.cases.reading import Json, known
from tests.cases.running import Outcome

Check: TypeAlias = Callable[[Outcome, Any], None]
"""Holds an outcome against what a case expects.

Raises:
    AssertionError: it is otherwise.
"""

_INSIDE: Final = {"text-delta": "text", "reasoning-delta": "reasoning"}
_TRIPWIRE_ENDS: Final = frozenset({"step-finish", "finish"})


def must(holds: bool, sentence: str) -> None:
    """Say what does not hold.

    Raises:
        AssertionError: it does not.
    """
    if not holds:
        raise AssertionError(sentence)


def same(what: str, came: object, wanted: object) -> None:
    """Two things are equal."""
    must(came == wanted, f"{what} is {came!r}, not {wanted!r}")


def result_of(came: Outcome) -> Result:
    """The result, which is there if the configuration was taken."""
    must(came.result is not None, f"there was no run: {came.refused}")
    return cast("Result", came.result)


def strings_in(value: object) -> Iterator[str]:
    """All strings in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from strings_in(item)


def joined(came: Outcome) -> list[str]:
    """The joined streams of all surfaces."""
    kinds = ("text-delta", "reasoning-delta", "tool-call-delta")
    return [text for kind in kinds for text in came.texts(kind).values()]


# --- what came out


def _emitted_text(came: Outcome, wanted: str) -> None:
    same("the text", came.text("text-delta"), wanted)


def _emitted_text_by_id(came: Outcome, wanted: Mapping[str, str]) -> None:
    same("the text by id", came.texts("text-delta"), wanted)


def _emitted_text_regex(came: Outcome, wanted: str) -> None:
    text = came.text("text-delta")
    must(re.fullmatch(wanted, text) is not None, f"the text {text!r} does not match {wanted!r}")


def _emitted_text_prefix_of(came: Outcome, wanted: str) -> None:
    text = came.text("text-delta")
    must(wanted.startswith(text), f"the text {text!r} is no beginning of {wanted!r}")


def _emitted_reasoning(came: Outcome, wanted: str) -> None:
    same("the reasoning", came.text("reasoning-delta"), wanted)


def _emitted_tool_args(came: Outcome, wanted: Json) -> None:
    given = {one["toolCallId"]: one["args"] for one in came.payloads("tool-call")}
    same("the arguments", given, wanted)
    for id_, text in came.texts("tool-call-delta").items():
        same(f"the arguments of {id_} as they stream", json.loads(text), wanted.get(id_))


def _emitted_tool_results(came: Outcome, wanted: Json) -> None:
    given = {one["toolCallId"]: one["result"] for one in came.payloads("tool-result")}
    same("the results of tools", given, wanted)


def _emitted_data(came: Outcome, wanted: Json) -> None:
    given = {told["id"]: told["data"] for told in came.told if told["type"].startswith("data-")}
    same("the data", given, wanted)


def _args_delta_json_valid(came: Outcome, wanted: bool) -> None:
    def valid(text: str) -> bool:
        try:
            json.loads(text)
        except ValueError:
            return False
        return True

    texts = came.texts("tool-call-delta")
    must(bool(texts), "no arguments streamed")
    same("whether all arguments are JSON", all(map(valid, texts.values())), wanted)


def _transcript(came: Outcome, wanted: Sequence[Sequence[str]]) -> None:
    same("the transcript", transcript(came), list(wanted))


def transcript(came: Outcome) -> list[list[str]]:
    """What was said, in order: neighbouring deltas of one id joined, calls, results, data."""
    out: list[list[str]] = []
    for (kind, id_), group in groupby(came.told, _said):
        texts = [told["payload"]["text"] for told in group if kind in _INSIDE]
        if kind in _INSIDE and any(texts):
            out.append([_INSIDE[kind], id_, "".join(texts)])
        elif kind in {"tool-call", "tool-result", "tool-error"} or kind.startswith("data-"):
            out.append([kind, id_])
    return out


def _said(told: Json) -> tuple[str, str]:
    payload = told.get("payload", {})
    return told["type"], payload.get("toolCallId") or payload.get("id") or told.get("id", "")


def _must_not_emit(came: Outcome, unwanted: Sequence[str]) -> None:
    lines = [json.dumps(told, ensure_ascii=False) for told in came.told]
    leaves = [text for told in came.told for text in strings_in(told)]
    for text in unwanted:
        seen = [one for one in [*joined(came), *leaves, *lines] if text in one]
        must(not seen, f"{text!r} was seen in {seen[:1]}")


def _must_not_emit_types(came: Outcome, unwanted: Sequence[str]) -> None:
    seen = set(came.types) & set(unwanted)
    must(not seen, f"chunks of the type {', '.join(sorted(seen))} came out")


def _must_not_emit_after_removing(came: Outcome, unwanted: Json) -> None:
    known("must_not_emit_after_removing", unwanted, {"chars", "strings"})
    removed = str.maketrans("", "", unwanted["chars"])
    for text in unwanted["strings"]:
        seen = [one for one in joined(came) if text in one.translate(removed)]
        must(not seen, f"{text!r} can be read in {seen}")


def _each_chunk_utf8(came: Outcome, wanted: bool) -> None:
    def encodes(told: object) -> bool:
        try:
            json.dumps(told, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return False
        return True

    same("whether each chunk is UTF-8", all(map(encodes, came.told)), wanted)


def _ids(came: Outcome, wanted: Sequence[str]) -> None:
    same("the ids of texts", [one["id"] for one in came.payloads("text-start")], list(wanted))


def _run_ids(came: Outcome, wanted: Sequence[str]) -> None:
    same("the runs", sorted({told.get("runId", "") for told in came.told}), sorted(wanted))


def _count(came: Outcome, wanted: Mapping[str, int]) -> None:
    same("the count", {kind: came.types.count(kind) for kind in wanted}, wanted)


# --- the ending


def _tripwire(came: Outcome, wanted: Json | None) -> None:
    payloads = came.payloads("tripwire")
    if wanted is None:
        same("what was refused", payloads, [])
        return
    parts = {"processorId", "retry", "reason", "metadata_has", "metadata_must_not_contain"}
    known("tripwire", wanted, {*parts, "reason_must_not_contain", "metadata"})
    must(bool(payloads), "there is no tripwire")
    payload = payloads[-1]
    metadata = payload.get("metadata") or {}
    _silent("the reason", payload["reason"], wanted.get("reason_must_not_contain", ()))
    _silent("the metadata", json.dumps(metadata), wanted.get("metadata_must_not_contain", ()))
    for key in sorted(wanted.keys() & {"processorId", "retry", "reason"}):
        same(f"{key} of the tripwire", payload.get(key), wanted[key])
    for key, value in wanted.get("metadata", {}).items():
        same(f"{key} of the metadata", metadata.get(key), value)
    for key in wanted.get("metadata_has", ()):
        must(metadata.get(key) is not None, f"the metadata says nothing of {key}: {metadata}")


def _silent(what: str, text: str, unwanted: Sequence[str]) -> None:
    for one in unwanted:
        must(one not in text, f"{what} repeats {one!r}: {text}")


def _tripwire_count(came: Outcome, wanted: int) -> None:
    same("the number of tripwires", came.types.count("tripwire"), wanted)


def _type_order(came: Outcome, wanted: Sequence[str]) -> None:
    types = iter(came.types)
    must(all(kind in types for kind in wanted), f"{wanted} do not come in this order in {came.types}")


def _last_type(came: Outcome, wanted: str) -> None:
    same("the last type", came.types[-1:], [wanted])


def _last_type_any(came: Outcome, wanted: Sequence[str]) -> None:
    must(set(came.types[-1:]) <= set(wanted), f"the last type is {came.types[-1:]}, none of {wanted}")


def _finish_reason(came: Outcome, wanted: str) -> None:
    same("the reasons", [one["stepResult"]["reason"] for one in came.payloads("finish")], [wanted])
    same("the reason of the result", result_of(came).finish_reason, wanted)


def usage_of(came: Outcome) -> dict[str, int] | None:
    """What the stream says of the tokens used."""
    payloads = came.payloads("finish")
    must(bool(payloads), "there is no finish")
    usage: dict[str, int] | None = payloads[-1]["output"].get("usage")
    return usage


def _usage(came: Outcome, wanted: Mapping[str, int] | None) -> None:
    same("the usage", usage_of(came), wanted)


def _usage_at_least(came: Outcome, wanted: Mapping[str, int]) -> None:
    usage = usage_of(came) or {}
    low = [name for name, least in wanted.items() if usage.get(name, -1) < least]
    must(not low, f"too little usage ({', '.join(low)}): {usage}")


def _usage_not_zero(came: Outcome, wanted: bool) -> None:
    usage = usage_of(came)
    same("whether the usage is not zero", usage is None or any(usage.values()), wanted)


def _balanced_blocks(came: Outcome, wanted: bool) -> None:
    same("whether blocks are opened and closed around what they hold", not unbalanced(came.chunks), wanted)


# --- when


def _first_text_by_input_index(came: Outcome, wanted: int) -> None:
    first = next((at for at, kind in zip(came.asked, came.types, strict=True) if kind == "text-delta"), None)
    must(first is not None and first - 1 <= wanted, f"the first text came at {first}, not by {wanted}")


def _text_deltas_min(came: Outcome, wanted: int) -> None:
    must(came.types.count("text-delta") >= wanted, f"fewer than {wanted} pieces of text came")


def _max_held_chars(came: Outcome, wanted: int) -> None:
    held = max(held_of(came), default=0)
    must(held <= wanted, f"{held} characters were held, more than {wanted}")


def held_of(came: Outcome) -> Iterator[int]:
    """Characters of text and reasoning that were held each time the source was asked for more."""
    given = left = 0
    sizes = [len(told["payload"]["text"]) if told["type"] in _INSIDE else 0 for told in came.told]
    received = iter(zip(came.asked, sizes, strict=True))
    ahead = next(received, None)
    for index, chunk in enumerate(came.feed.chunks[: came.feed.asked], 1):
        given += len(chunk["payload"]["text"]) if chunk["type"] in _INSIDE else 0
        while ahead is not None and ahead[0] <= index:
            left += ahead[1]
            ahead = next(received, None)
        yield given - left


def _detector_calls_max(came: Outcome, wanted: int) -> None:
    must(came.world.asked <= wanted, f"detectors were asked {came.world.asked} times")


def _detector_errors(came: Outcome, wanted: int) -> None:
    same("the errors of detectors", came.world.errors, wanted)


def _wall_ms_max(came: Outcome, wanted: float) -> None:
    must(came.wall_ms <= wanted, f"it took {came.wall_ms:.0f} ms")


# --- the result


def _result_text(came: Outcome, wanted: str) -> None:
    same("the text of the result", result_of(came).text, wanted)


def _result_status(came: Outcome, wanted: str) -> None:
    same("the status", result_of(came).status, wanted)


def _result_must_not_contain(came: Outcome, unwanted: Sequence[str]) -> None:
    _silent("the result", repr(result_of(came)), unwanted)


def _result_accessors_agree(came: Outcome, wanted: bool) -> None:
    result = result_of(came)
    agree = (
        result.text == came.text("text-delta")
        and result.reasoning == came.text("reasoning-delta")
        and [call.payload.args for call in result.tool_calls]
        == [payload.get("args") for payload in came.payloads("tool-call")]
        and (result.tripwire is not None) == ("tripwire" in came.types)
        and (result.status == "blocked") == (result.finish_reason == "tripwire")
    )
    same("whether the result is what came out", agree, wanted)


def _then(came: Outcome, wanted: Json) -> None:
    must(came.then is not None, "there was no second run")
    check(cast("Outcome", came.then), wanted)


def _second_emitted_text(came: Outcome, wanted: str) -> None:
    other = came.second or came.then
    must(other is not None, "there was no second run")
    same("the text of the second run", cast("Outcome", other).text("text-delta"), wanted)


# --- what is left


def _upstream_closed(came: Outcome, wanted: bool) -> None:
    same("whether the source was closed once", came.feed.closed == 1, wanted)


def _upstream_pulled_max(came: Outcome, wanted: int) -> None:
    must(came.feed.asked <= wanted, f"{came.feed.asked} chunks were read")


def _tasks_leaked(came: Outcome, wanted: int) -> None:
    same("the number of tasks left", came.tasks_leaked, wanted)


def _unraisable(came: Outcome, wanted: int) -> None:
    must(len(came.unraisable) == wanted, f"nobody could catch {came.unraisable}")


def _side_effects(came: Outcome, wanted: Sequence[str]) -> None:
    same("what was finished", came.world.side_effects, list(wanted))


# --- the configuration


def _config_error(came: Outcome, wanted: Json) -> None:
    known("config_error", wanted, {"mentions"})
    must(came.refused is not None, "the configuration was taken")
    _mentions(came, wanted["mentions"])


def _mentions(came: Outcome, wanted: Sequence[str]) -> None:
    told = f"{came.refused or ''} {json.dumps(came.payloads('tripwire'))}"
    for text in wanted:
        must(text in told, f"{text!r} is not mentioned: {told}")


def _chunks_processed(came: Outcome, wanted: int) -> None:
    same("the number of chunks read", came.feed.asked, wanted)


def _outcome_any(came: Outcome, wanted: Sequence[str]) -> None:
    known("outcome_any", wanted, {"config_error", "tripwire"})
    outcomes = {"config_error": came.refused is not None, "tripwire": "tripwire" in came.types}
    must(any(outcomes[one] for one in wanted), f"there was none of {wanted}")


CHECKS: Final[Mapping[str, Check]] = {
    check.__name__[1:]: check
    for check in (
        _emitted_text,
        _emitted_text_by_id,
        _emitted_text_regex,
        _emitted_text_prefix_of,
        _emitted_reasoning,
        _emitted_tool_args,
        _emitted_tool_results,
        _emitted_data,
        _args_delta_json_valid,
        _transcript,
        _must_not_emit,
        _must_not_emit_types,
        _must_not_emit_after_removing,
        _each_chunk_utf8,
        _ids,
        _run_ids,
        _count,
        _tripwire,
        _tripwire_count,
        _type_order,
        _last_type,
        _last_type_any,
        _finish_reason,
        _usage,
        _usage_at_least,
        _usage_not_zero,
        _balanced_blocks,
        _first_text_by_input_index,
        _text_deltas_min,
        _max_held_chars,
        _detector_calls_max,
        _detector_errors,
        _wall_ms_max,
        _result_text,
        _result_status,
        _result_must_not_contain,
        _result_accessors_agree,
        _then,
        _second_emitted_text,
        _upstream_closed,
        _upstream_pulled_max,
        _tasks_leaked,
        _unraisable,
        _side_effects,
        _config_error,
        _mentions,
        _chunks_processed,
        _outcome_any,
    )
}
"""The checks, by the key of `expect` that they serve."""

AS_GIVEN: Final = frozenset({"first_text_by_input_index", "text_deltas_min", "upstream_pulled_max"})
"""Keys that are about the deltas as they stand in the case, and say nothing of other cuttings."""

REFUSALS: Final = frozenset({"config_error", "outcome_any"})
"""Keys of cases whose configuration may be refused."""


def check(came: Outcome, expect: Json, *, as_given: bool = True) -> None:
    """Hold an outcome against all that a case expects, and against what always holds.

    Raises:
        UnknownKeyError: it expects something that is not checked.
        AssertionError: something is otherwise.
    """
    known("expect", expect, CHECKS)
    must(
        came.refused is None or not REFUSALS.isdisjoint(expect),
        f"the configuration was refused: {came.refused}",
    )
    must(came.fault is None or came.feed.raises, f"the stream raised {came.fault!r}")
    after = came.types[came.types.index("tripwire") + 1 :] if "tripwire" in came.types else []
    must(set(after) <= _TRIPWIRE_ENDS, f"after the tripwire came {after}")
    for key, wanted in expect.items():
        if as_given or key not in AS_GIVEN:
            CHECKS[key](came, wanted)
