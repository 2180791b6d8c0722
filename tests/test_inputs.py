"""Guarding what goes to a model: which texts of messages are guarded, and that nothing else is touched."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
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
)
from guardrails.testing import BACKENDS, Idle, Patterns, SlowWords
from tests.helpers import does

FOUR: Final = r"\d{4}"


def inputs(*processors: Processor, **settings: Any) -> Pipeline:
    """A pipeline that guards its input."""
    return Pipeline([], input_processors=processors or [Patterns(find=FOUR)], **settings)


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
        ["content[0].result"],
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
            "content[3].output.value[0].text",
        ],
    ),
    "Mastra": (
        {
            "id": "1234",
            "role": "user",
            "content": {"format": 2, "parts": [{"type": "text", "text": "1234"}], "content": "1234"},
        },
        ["content.content", "content.parts[0].text"],
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
_PART: Final = st.recursive(
    _TEXT | st.fixed_dictionaries({"text": _TEXT, "id": _TEXT}) | st.fixed_dictionaries({"n": st.integers()}),
    lambda parts: st.fixed_dictionaries({"type": _TEXT, "content": st.lists(parts, max_size=3) | parts}),
    max_leaves=6,
)
_MESSAGES: Final = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": _PART}
    ),
    max_size=4,
)


def _redacted(part: Any) -> Any:
    if isinstance(part, str):
        return re.sub(r"[12]{4}", "[FOUND]", part)
    if isinstance(part, list):
        return [_redacted(each) for each in part]
    return {key: _redacted(value) if key in ("text", "content") else value for key, value in part.items()}


@pytest.mark.parametrize("backend", BACKENDS)
@settings(deadline=None)
@given(messages=_MESSAGES)
def test_texts_are_guarded_wherever_they_stand(backend: str, messages: list[dict[str, Any]]) -> None:
    """However messages are built, each text is guarded by itself, and the given ones stay as they are."""
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


async def test_a_copy_shares_nothing_with_what_was_given() -> None:
    """Whoever changes a guarded message does not change the given one."""
    message = {"role": "user", "content": [{"text": "1234", "more": {"list": [1]}}]}
    (after,) = (await inputs().guard_input([message])).messages
    after["content"][0]["more"]["list"].append(2)
    assert message == {"role": "user", "content": [{"text": "1234", "more": {"list": [1]}}]}


async def test_any_mapping_is_a_message() -> None:
    """Read-only mappings and sequences other than lists are taken."""
    guarded = await inputs().guard_input((MappingProxyType({"role": "user", "content": "1234"}),))
    assert guarded.messages == ({"role": "user", "content": "[FOUND]"},)


async def test_a_blocked_input_says_why() -> None:
    """The tripwire is that of a stream, and findings up to it are told, without the text."""
    pipeline = inputs(Patterns(find="bad", strategy="block", id="guard", retry=True), Patterns(find=FOUR))
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
    guarded = await inputs(Patterns(find=FOUR, strategy=strategy)).guard_input(messages)
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
    group = Parallel(members=(Counts(), Patterns(find=FOUR, strategy="mask")))
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


async def test_without_input_processors_messages_pass() -> None:
    """With nothing to ask, the messages are those that were given."""
    messages = [{"role": "user", "content": "1234"}]
    guarded = await Pipeline([Patterns(find=FOUR)]).guard_input(messages)
    assert guarded == GuardedInput(tuple(messages), (), None)
    assert guarded.messages[0] is messages[0]
    assert await inputs().guard_input([]) == GuardedInput((), (), None)


def test_ids_differ_between_input_and_output() -> None:
    """A tripwire names one processor, so an id is used once in both lists."""
    with pytest.raises(ValueError, match="each processor needs an id of its own; used twice: patterns"):
        Pipeline([Patterns(find="a")], input_processors=[Patterns(find="a")])
    with pytest.raises(TypeError, match="a list of processors"):
        Pipeline([], input_processors=Idle())  # type: ignore[arg-type]


def test_a_generator_of_processors_is_a_list_of_them() -> None:
    """Processors are not lost because they can be read once."""
    assert len(Pipeline(Idle(id=name) for name in "ab").processors) == 2  # type: ignore[arg-type]


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
        ([{"content": 5}], "messages[0].content must be text, a part or a list of parts, not int"),
        ([{"content": b"secret"}], "messages[0].content must be text, a part or a list of parts, not bytes"),
        ([{"parts": [None]}], "messages[0].parts[0] must be text, a part or a list of parts, not NoneType"),
        (
            [{"content": [{"text": {"value": "secret"}}]}],
            "messages[0].content[0].text must be text, not dict",
        ),
        (
            [{"content": [{"output": {"type": "text", "value": 5}}]}],
            "messages[0].content[0].output.value must be text, a part or a list of parts, not int",
        ),
    ],
)
@pytest.mark.parametrize("processors", [[], [Patterns(find=FOUR)]], ids=["none", "one"])
async def test_wrong_shapes_are_refused(
    processors: Sequence[Processor], messages: Any, sentence: str
) -> None:
    """What cannot be read as messages raises an error that says where and what, never the content."""
    with pytest.raises(TypeError) as caught:
        await Pipeline([], input_processors=processors).guard_input(messages)
    assert str(caught.value) == sentence
