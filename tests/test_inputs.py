"""Guarding what goes to a model: which texts of messages are guarded, and that nothing else is touched."""

import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardrails import (
    Detection,
    Finding,
    GuardedInput,
    Item,
    Parallel,
    Pipeline,
    Processor,
    Run,
    Segment,
    TextProcessor,
    load_pipeline,
)
from guardrails.chunks import TextDeltaPayload
from guardrails.testing import BACKENDS, Idle, Patterns, SlowWords
from tests.helpers import does, four


def inputs(*processors: Processor, **settings: Any) -> Pipeline:
    """A pipeline that guards its input."""
    return Pipeline([], input_processors=processors or [four()], **settings)


def said(guarded: GuardedInput) -> list[Any]:
    return [message["content"] for message in guarded.messages]


FORMS: Final[dict[str, tuple[Any, list[str]]]] = {
    "a string": ({"role": "user", "content": "id 1234"}, ["content"]),
    "no role": ({"content": "id 1234"}, ["content"]),
    "strings": ({"role": "user", "content": ["1234", "and", "1234"]}, ["content[0]", "content[2]"]),
    "OpenAI parts": (
        {
            "role": "user",
            "name": "1234",
            "content": [
                {"type": "text", "text": "1234"},
                {"type": "image_url", "image_url": {"url": "https://x/?text=1234"}},
            ],
        },
        ["content[0].text"],
    ),
    "an OpenAI call": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1234", "function": {"name": "f", "arguments": '{"text": "1234"}'}}],
        },
        [],
    ),
    "an OpenAI tool": ({"role": "tool", "tool_call_id": "1234", "content": "1234"}, ["content"]),
    "OpenAI's other API": (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "1234"}]},
        ["content[0].text"],
    ),
    "a result there": ({"type": "function_call_output", "call_id": "1234", "output": "1234"}, ["output"]),
    "Anthropic parts": (
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "1234", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "data": "1234"}},
                {
                    "type": "tool_result",
                    "tool_use_id": "1234",
                    "content": [{"type": "text", "text": "1234"}, {"type": "text", "text": "1234"}],
                },
                {"type": "tool_result", "tool_use_id": "1234", "content": "1234"},
            ],
        },
        ["content[0].text", "content[2].content[0].text", "content[2].content[1].text", "content[3].content"],
    ),
    "an Anthropic call": (
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1234", "input": {"text": "1234"}}]},
        [],
    ),
    "Vercel v4": (
        {
            "id": "1234",
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolCallId": "1234", "result": "1234"},
                {"type": "tool-result", "toolCallId": "1234", "result": {"n": "1234", "text": 1234}},
            ],
        },
        ["content[0].result", "content[1].result.n"],
    ),
    "Vercel v5": (
        {"id": "1234", "role": "user", "parts": [{"type": "text", "text": "1234"}, {"type": "step-start"}]},
        ["parts[0].text"],
    ),
    "Vercel v5 results": (
        {
            "role": "tool",
            "content": [
                {"type": "tool-result", "toolName": "1234", "output": {"type": "text", "value": "1234"}},
                {"type": "tool-result", "output": {"type": "error-text", "value": "1234"}},
                {"type": "tool-result", "output": {"type": "json", "value": {"text": "1234"}}},
                {
                    "type": "tool-result",
                    "output": {"type": "content", "value": [{"type": "text", "text": "1234"}]},
                },
                {"type": "tool-result", "output": [1234, None]},
            ],
        },
        [
            "content[0].output.value",
            "content[1].output.value",
            "content[2].output.value.text",
            "content[3].output.value[0].text",
        ],
    ),
    "Mastra": (
        {
            "id": "1234",
            "role": "user",
            "content": {"format": 2, "parts": [{"type": "text", "text": "1234"}], "content": "1234"},
        },
        ["content.parts[0].text", "content.content"],
    ),
    "Mastra's tools and thoughts": (
        {
            "role": "assistant",
            "createdAt": "1234",
            "threadId": "1234",
            "content": {
                "format": 2,
                "parts": [
                    {
                        "type": "tool-invocation",
                        "toolInvocation": {
                            "state": "result",
                            "toolCallId": "1234",
                            "toolName": "1234",
                            "args": {"q": "1234"},
                            "result": "1234",
                        },
                    },
                    {
                        "type": "reasoning",
                        "reasoning": "1234",
                        "details": [{"type": "text", "text": "1234", "signature": "1234"}],
                        "providerMetadata": {"x": {"y": "1234"}},
                    },
                ],
                "reasoning": "1234",
                "toolInvocations": [{"state": "result", "args": {"a": "1234"}, "result": {"name": "1234"}}],
            },
            "toolInvocations": [{"state": "result", "toolCallId": "1234", "result": ["1234", 1234]}],
        },
        [
            "content.parts[0].toolInvocation.result",
            "content.parts[1].reasoning",
            "content.parts[1].details[0].text",
            "content.reasoning",
            "content.toolInvocations[0].result.name",
            "toolInvocations[0].result[0]",
        ],
    ),
    "OpenAI's refusals and thoughts": (
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "1234"}],
            "refusal": "1234",
            "reasoning_content": "1234",
            "reasoning": "1234",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "1234", "id": "1234"}],
            "function_call": {"name": "1234", "arguments": "1234"},
        },
        ["content[0].refusal", "refusal", "reasoning_content", "reasoning"],
    ),
    "OpenAI's results in parts": (
        {
            "type": "function_call_output",
            "call_id": "1234",
            "output": [
                {"type": "input_text", "text": "1234"},
                {"type": "input_image", "image_url": "data:image/png;base64,1234"},
            ],
        },
        ["output[0].text"],
    ),
    "OpenAI's thoughts in parts": (
        {
            "type": "reasoning",
            "id": "1234",
            "encrypted_content": "1234",
            "summary": [{"type": "summary_text", "text": "1234"}],
            "content": [{"type": "reasoning_text", "text": "1234"}],
        },
        ["summary[0].text", "content[0].text"],
    ),
    "OpenAI's search": (
        {
            "type": "file_search_call",
            "results": [
                {"file_id": "1234", "filename": "1234", "text": "1234", "attributes": {"id": "1234"}}
            ],
        },
        ["results[0].filename", "results[0].text", "results[0].attributes.id"],
    ),
    "OpenAI's image": ({"type": "image_generation_call", "id": "1234", "result": "1234"}, []),
    "OpenAI's files": (
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_data": "1234", "filename": "1234"}},
                {"type": "input_file", "file_data": "1234", "file_id": "1234"},
                {"type": "input_image", "image_url": "1234", "detail": "1234"},
                {"type": "input_audio", "input_audio": {"data": "1234", "format": "wav"}},
            ],
        },
        [],
    ),
    "Anthropic's thoughts": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "1234", "signature": "1234"},
                {"type": "redacted_thinking", "data": "1234"},
            ],
        },
        ["content[0].thinking"],
    ),
    "Anthropic's documents": (
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "title": "1234",
                    "source": {"type": "text", "media_type": "text/plain", "data": "1234"},
                },
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "1234"},
                },
                {
                    "type": "document",
                    "source": {"type": "content", "content": [{"type": "text", "text": "1234"}]},
                },
                {"type": "document", "source": {"type": "url", "url": "1234"}},
                {"type": "search_result", "title": "1234", "content": [{"type": "text", "text": "1234"}]},
                {"type": "text", "text": "", "citations": [{"type": "char_location", "cited_text": "1234"}]},
            ],
        },
        [
            "content[0].title",
            "content[0].source.data",
            "content[2].source.content[0].text",
            "content[4].title",
            "content[4].content[0].text",
            "content[5].citations[0].cited_text",
        ],
    ),
    "Anthropic's code": (
        {
            "role": "user",
            "content": [
                {
                    "type": "code_execution_tool_result",
                    "tool_use_id": "1234",
                    "content": {"type": "code_execution_result", "stdout": "1234", "stderr": "1234"},
                }
            ],
        },
        ["content[0].content.stdout", "content[0].content.stderr"],
    ),
    "Vercel's JSON": (
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "output": {
                        "type": "json",
                        "value": {
                            "id": "1234",
                            "name": "1234",
                            "url": "1234",
                            "input": "1234",
                            "type": "1234",
                            "deep": [["1234", 1234, None, True]],
                        },
                    },
                    "providerOptions": {"x": "1234"},
                },
                {"type": "tool-result", "output": {"type": "error-json", "value": ["1234"]}},
                {
                    "type": "tool-result",
                    "output": {
                        "type": "content",
                        "value": [
                            {"type": "media", "data": "1234", "mediaType": "image/png"},
                            {"type": "media", "data": "1234", "mediaType": "Text/plain"},
                            {"type": "media", "data": "so: 1234", "mediaType": "application/json"},
                        ],
                    },
                },
            ],
        },
        [
            *(f"content[0].output.value.{key}" for key in ("id", "name", "url", "input", "type")),
            "content[0].output.value.deep[0][0]",
            "content[1].output.value[0]",
            "content[2].output.value[1].data",
            "content[2].output.value[2].data",
        ],
    ),
    "Vercel's interface": (
        {
            "role": "assistant",
            "parts": [
                {
                    "type": "tool-search",
                    "toolCallId": "1234",
                    "state": "output-available",
                    "input": {"q": "1234"},
                    "output": {"status": "1234", "type": "text"},
                },
                {"type": "dynamic-tool", "state": "output-error", "errorText": "1234", "rawInput": "1234"},
                {"type": "data-weather", "id": "1234", "data": {"id": "1234"}},
                {"type": "data-word", "data": "1234"},
                {"type": "file", "mediaType": "image/png", "url": "1234"},
                {"type": "source-url", "sourceId": "1234", "url": "1234", "title": "1234"},
            ],
        },
        [
            "parts[0].output.status",
            "parts[1].errorText",
            "parts[2].data.id",
            "parts[3].data",
            "parts[5].title",
        ],
    ),
    "what nobody knows": (
        {
            "role": "new",
            "content": [{"type": "new", "said": "1234", "more": {"id": "1234", "url": "1234"}}],
            "status": {"message": "1234"},
            "1234": 1234,
        },
        ["content[0].said", "content[0].more.id", "content[0].more.url", "status.message"],
    ),
    "the JSON of a tool as content": (
        {"role": "tool", "content": {"name": "1234", "rows": [{"id": "1234"}]}},
        ["content.name", "content.rows[0].id"],
    ),
    "a tuple": ({"role": "user", "content": ({"type": "text", "text": "1234"},)}, ["content[0].text"]),
    "nothing": ({"role": "user", "content": "", "parts": []}, []),
    "the application's": ({"role": "system", "content": "1234"}, []),
    "the developer's": ({"role": "developer", "content": [{"type": "text", "text": "1234"}]}, []),
}


@pytest.mark.parametrize("form", FORMS)
async def test_every_text_of_a_message_is_guarded(form: str) -> None:
    """In each form, the texts named are redacted where they stand, and everything else is as it was."""
    message, places = FORMS[form]
    before = deepcopy(message)
    guarded = await inputs().guard_input([message])
    assert [finding.channel for finding in guarded.findings] == [f"messages[0].{place}" for place in places]
    assert all((finding.surface, finding.code) == ("text", "test.found") for finding in guarded.findings)
    (after,) = guarded.messages
    assert message == before
    assert guarded.tripwire is None
    expected = deepcopy(message)
    for place in places:
        _edit(expected, re.findall(r"\w+", place))
    assert json.loads(json.dumps(after)) == json.loads(json.dumps(expected))
    assert (after is message) is (not places)


def _edit(value: Any, keys: Sequence[str]) -> None:
    """Redact the text at a place, as plainly as can be."""
    first, *others = [int(key) if key.isdigit() else key for key in keys]
    if not others:
        value[first] = value[first].replace("1234", "[FOUND]")
    elif isinstance(value[first], tuple):
        value[first] = list(value[first])
        _edit(value, keys)
    else:
        _edit(value[first], [str(key) for key in others])


_TEXT: Final = st.text(st.sampled_from("12 ab👍"), max_size=8)
_KEYS: Final = st.sampled_from(["id", "name", "text", "a.b", "a", "b", "url", "content", "12 12", ""])
_DATA: Final = st.recursive(
    _TEXT | st.none() | st.integers(),
    lambda data: st.lists(data, max_size=3) | st.dictionaries(_KEYS, data, max_size=3),
    max_leaves=6,
)
_PART: Final = st.recursive(
    _TEXT
    | st.fixed_dictionaries({"type": _TEXT, "text": _TEXT, "id": _TEXT})
    | st.fixed_dictionaries({"type": _TEXT, "result": _DATA, "args": _DATA}),
    lambda parts: st.fixed_dictionaries({"type": _TEXT, "content": st.lists(parts, max_size=3) | parts}),
    max_leaves=6,
)
_MESSAGES: Final = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": _PART}
    ),
    max_size=4,
)


def _redacted(part: Any, passing: Sequence[str] = ("role", "type", "id", "args")) -> Any:
    if isinstance(part, str):
        return re.sub(r"[12]{4}", "[FOUND]", part)
    if isinstance(part, list):
        return [_redacted(each, passing) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value if key in passing else _redacted(value, () if key == "result" else passing)
        for key, value in part.items()
    }


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None)
@given(messages=_MESSAGES)
def test_texts_are_guarded_wherever_they_stand(backend: str, messages: list[dict[str, Any]]) -> None:
    """However messages and results are built, each text is guarded by itself, and no given one changes."""
    before = deepcopy(messages)
    guarded = anyio.run(inputs(Idle(), Patterns(find="[12]{4}")).guard_input, messages, backend=backend)
    expected = [one if one["role"] == "system" else _redacted(one) for one in before]
    assert list(guarded.messages) == expected
    assert messages == before
    for given_one, came in zip(messages, guarded.messages, strict=True):
        assert (came is given_one) is (came == given_one)


@settings(deadline=None)
@given(messages=_MESSAGES)
def test_a_refusal_keeps_every_message_back(messages: list[dict[str, Any]]) -> None:
    """Where something must not be said, no message goes on; where nothing is found, all do."""
    guarded = anyio.run(inputs(Patterns(find="[12]{4}", strategy="block")).guard_input, messages)
    found = [one for one in messages if one["role"] != "system" and _redacted(one) != one]
    assert (guarded.tripwire is not None) is bool(found)
    assert guarded.messages == (() if found else tuple(messages))
    assert len(guarded.findings) == bool(found)


async def test_only_what_leads_to_a_changed_text_is_new() -> None:
    """The rest is what was given, so that what cannot be copied does no harm."""
    kept = {"client": threading.Lock(), "text": "fine"}
    message = {"role": "user", "content": [{"type": "text", "text": "1234", "more": kept}, kept], "it": kept}
    (after,) = (await inputs().guard_input([message])).messages
    assert message["content"] == [{"type": "text", "text": "1234", "more": kept}, kept]
    assert after["content"] == [{"type": "text", "text": "[FOUND]", "more": kept}, kept]
    assert after["it"] is after["content"][0]["more"] is after["content"][1] is kept


async def test_a_path_names_one_text_and_tells_no_data() -> None:
    """Keys that look like paths are not taken for others, and a key that may be data is not in a finding."""
    result = {"a.b": "1 1234", "a": {"b": "2 1234"}, "card 1234": "3 1234", 7: "4 1234", "[0]": "5 1234"}
    guarded = await inputs().guard_input([{"role": "tool", "content": [{"type": "x", "result": result}]}])
    (after,) = said(guarded)[0]
    assert list(after["result"].values()) == ["1 [FOUND]", {"b": "2 [FOUND]"}] + [
        f"{at} [FOUND]" for at in (3, 4, 5)
    ]
    places = ["[0]", ".a.b", "[2]", "[3]", "[4]"]
    assert [one.channel for one in guarded.findings] == [f"messages[0].content[0].result{x}" for x in places]


async def test_texts_that_come_meanwhile_do_not_pass() -> None:
    """Who changes the messages while they are guarded gets an error, or what was guarded."""
    content = ["first 1234"]

    def change(_run: Run, item: Item) -> Any:
        content[:] = ["another"]
        return [item]

    guarded = await inputs(does(change)).guard_input([{"role": "user", "content": content}])
    assert said(guarded) == [["first 1234"]]

    def add(_run: Run, item: Item) -> Any:
        content.append("secret")
        return [item]

    with pytest.raises(KeyError):
        await inputs(does(add)).guard_input([{"role": "user", "content": content}])


async def test_any_mapping_is_a_message() -> None:
    """Read-only mappings and sequences other than lists are taken."""
    guarded = await inputs().guard_input((MappingProxyType({"role": "user", "content": "1234"}),))
    assert guarded.messages == ({"role": "user", "content": "[FOUND]"},)


async def test_a_blocked_input_says_why() -> None:
    """The tripwire is that of a stream, and findings up to it are told, without the text."""
    pipeline = inputs(Patterns(find="bad", strategy="block", id="guard", retry=True), four())
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "1234"},
        {"role": "user", "content": ["fine", "so bad"]},
    ]
    guarded = await pipeline.guard_input(messages, run_id="mine")
    assert guarded.messages == ()
    assert [finding.processor_id for finding in guarded.findings] == ["patterns", "guard"]
    assert guarded.tripwire is not None
    assert (guarded.tripwire.run_id, guarded.tripwire.from_) == ("mine", "AGENT")
    payload = guarded.tripwire.payload
    assert (payload.processor_id, payload.retry) == ("guard", True)
    assert payload.metadata == {
        "code": "test.found",
        "label": "FOUND",
        "surface": "text",
        "channel": "messages[1].content[1]",
        "score": 1.0,
    }


async def test_a_processor_that_fails_blocks() -> None:
    """A fault keeps the messages back as it would end a stream."""

    def fail(_run: Run, _item: Item) -> Any:
        raise ValueError("1234")

    guarded = await inputs(does(fail, "boom")).guard_input([{"role": "user", "content": "1234"}])
    assert guarded.messages == ()
    assert guarded.tripwire is not None
    assert guarded.tripwire.payload.metadata["cause"] == "error"
    assert "1234" not in repr(guarded)


@pytest.mark.parametrize("strategy", ["redact", "mask", "remove", "warn"])
async def test_texts_are_edited_under_every_strategy(strategy: str) -> None:
    """What a strategy makes of a text stands in its place, be it nothing."""
    messages = [{"role": "user", "content": [{"text": "1234"}, {"text": "no 1234 yes"}]}]
    guarded = await inputs(four(strategy=strategy)).guard_input(messages)
    expected = {"redact": "[FOUND]", "mask": "***4", "remove": "", "warn": "1234"}[strategy]
    assert said(guarded) == [[{"text": expected}, {"text": f"no {expected} yes"}]]
    assert [(one.start, one.end) for one in guarded.findings] == [(0, 4), (3, 7)]


async def test_each_text_stands_alone() -> None:
    """What only two texts together would make is not found, and each one is looked at to its end."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": ["12", "34"]},
        {"role": "user", "content": "34 1234"},
    ]
    assert said(await inputs().guard_input(messages)) == [["12", "34"], "34 [FOUND]"]


async def test_many_texts_are_no_reason_to_block() -> None:
    """Each text is closed before the next, so a long conversation is guarded whole."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"text": f"1234 {at:x}"} for at in range(3000)]},
        {"content": "1234 "},
    ]
    guarded = await inputs(Patterns(find="1234 "), Idle()).guard_input(messages)
    assert guarded.tripwire is None
    assert said(guarded)[0][2999] == {"text": "[FOUND]bb7"}
    assert len(guarded.findings) == 3001


class Counts(TextProcessor):
    """Finds the word `bad`, and notes what it was asked about."""

    async def detect(self, segments: Sequence[Segment]) -> Sequence[Sequence[Detection]]:
        """One detection for each `bad`."""
        await anyio.sleep(0.001)
        return [
            [
                Detection(found.start(), found.end(), "BAD", "test.bad")
                for found in re.finditer("bad", one.text)
            ]
            for one in segments
        ]


async def test_detectors_and_groups_guard_input() -> None:
    """Checks that take their time, chains and groups work as in a stream, in the order of the messages."""
    group = Parallel(members=(Counts(), four(strategy="mask")))
    messages = [{"role": "user", "content": f"a bad day {at}. No 1234! slow."} for at in range(40)]
    guarded = await inputs(group, SlowWords(find="slow")).guard_input(messages)
    assert said(guarded) == [f"a [BAD] day {at}. No ***4! [WORD]." for at in range(40)]
    channels = [finding.channel for finding in guarded.findings]
    assert channels == [f"messages[{at}].content" for at in range(40) for _ in range(3)]


async def test_inputs_are_told_to_the_listener() -> None:
    """`on_finding` hears of what is found in the input."""
    heard: list[Finding] = []
    pipeline = inputs(on_finding=heard.append)
    guarded = await pipeline.guard_input([{"role": "user", "content": "1234 1234"}])
    assert tuple(heard) == guarded.findings
    assert len(heard) == 2


async def test_input_and_output_are_guarded_apart() -> None:
    """Input processors see the input alone, the others the stream; how the stream is released is its own."""
    pipeline = Pipeline(
        [Patterns(id="out", find="a")],
        input_processors=[Patterns(id="in", find="b")],
        release="step",
        max_buffer=64,
    )
    assert [one.id for one in pipeline.input_processors] == ["in"]
    assert said(await pipeline.guard_input([{"role": "user", "content": "ab" * 100}])) == ["a[FOUND]" * 100]
    assert (
        await pipeline.run([{"type": "text-delta", "payload": {"id": "t", "text": "ab"}}])
    ).text == "[FOUND]b"


async def test_without_input_processors_nothing_passes() -> None:
    """With nothing to ask, every message would pass in silence."""
    sentence = "this pipeline has no input_processors, so it would pass everything"
    for pipeline in (Pipeline([four()]), load_pipeline("default")):
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            await pipeline.guard_input([{"role": "user", "content": "1234"}])
    assert await inputs().guard_input([]) == GuardedInput((), (), None)


def test_ids_differ_between_input_and_output() -> None:
    """A tripwire names one processor, so an id is used once in both lists."""
    with pytest.raises(ValueError, match="each processor needs an id of its own; used twice: patterns"):
        Pipeline([Patterns(find="a")], input_processors=[Patterns(find="a")])
    with pytest.raises(TypeError, match="a list of processors"):
        Pipeline([], input_processors=Idle())  # type: ignore[arg-type]


def test_an_input_processor_looks_where_messages_are() -> None:
    """One that looks only at surfaces which messages never have would let everything pass, and is refused."""
    blind = Patterns(id="blind", find="a", surfaces=["tool_args", "reasoning"])
    sentence = (
        "surfaces of the input processor blind: messages have only the surface `text`, so it would guard"
    )
    for processor in (blind, Parallel(members=[Patterns(find="a"), blind])):
        with pytest.raises(ValueError, match=sentence):
            inputs(processor)
    assert Pipeline([blind]).processors == (blind,)
    seeing = Patterns(find="a", surfaces=["tool_args", "text"])
    assert inputs(seeing).input_processors == (seeing,)


def test_a_generator_of_processors_is_a_list_of_them() -> None:
    """Processors are not lost because they can be read once."""
    assert len(Pipeline(Idle(id=name) for name in "ab").processors) == 2  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Object:
    text: str = "secret"


def _deep() -> list[Any]:
    """A list that contains itself."""
    deep: list[Any] = []
    deep.append(deep)
    return deep


def _stream() -> Iterator[Mapping[str, Any]]:
    yield {"role": "user", "content": "secret"}


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ("secret", "messages must be a list of mappings, not str"),
        (b"secret", "messages must be a list of mappings, not bytes"),
        ({"role": "user", "content": "secret"}, "messages must be a list of mappings, not dict"),
        (_stream(), "messages must be a list of mappings, not generator"),
        (None, "messages must be a list of mappings, not NoneType"),
        ([{"content": ""}, "secret"], "messages[1] must be a mapping, not str"),
        ([{"content": b"secret"}], "messages[0].content must be text, a mapping or a list, not bytes"),
        ([{"parts": [{"secret"}]}], "messages[0].parts[0] must be text, a mapping or a list, not set"),
        ([{"content": _deep()}], "messages[0] is too deep to be looked into, or contains itself"),
        ([{"content": [_Object()]}], "messages[0].content[0] must be text, a mapping or a list, not _Object"),
        (
            [{"content": [TextDeltaPayload(id="1", text="secret")]}],
            "messages[0].content[0] must be text, a mapping or a list, not TextDeltaPayload",
        ),
    ],
)
async def test_wrong_shapes_are_refused(messages: Any, sentence: str) -> None:
    """What cannot be looked into raises an error that says where and what, never the content."""
    with pytest.raises(TypeError) as caught:
        await inputs().guard_input(messages)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("content", [None, 5, 0.5, True, {}, [], [None, 1, {"text": 5, "content": None}]])
async def test_what_has_no_text_passes(content: Any) -> None:
    """Numbers and nothing at all are no reason to refuse a message."""
    message = {"role": "user", "content": content}
    assert (await inputs().guard_input([message])).messages[0] is message


async def test_bytes_of_files_pass() -> None:
    """Where a file is expected, it may be bytes."""
    parts = [{"type": "image", "image": b"1"}, {"type": "file", "data": b"1", "mediaType": "text/plain"}]
    message = {"role": "user", "content": [*parts, {"type": "x", "result": [{"bytes": b"1"}]}]}
    assert (await inputs().guard_input([message])).messages[0] is message
